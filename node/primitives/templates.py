"""Standard script templates: which kind of output a script is.

Owns: the reference's classification (Solver) and its names. Never: addresses, or what policy thinks of a kind.
"""

from enum import StrEnum
from typing import NamedTuple

from clarion.node.primitives.opcodes import (
    OP_0,
    OP_1,
    OP_16,
    OP_CHECKMULTISIG,
    OP_CHECKSIG,
    OP_CHECKSIGADD,
    OP_NUMEQUAL,
    OP_PUSHDATA4,
    OP_RETURN,
)
from clarion.node.primitives.script import (
    ANCHOR_SCRIPT,
    MAX_PUBKEYS_PER_MULTI_A,
    MAX_PUBKEYS_PER_MULTISIG,
    ScriptOp,
    decode_number,
    is_minimal_push,
    is_p2pkh,
    is_p2sh,
    is_push_only,
    is_valid_pubkey_size,
    read_op,
    witness_program,
)


class ScriptType(StrEnum):
    """The kinds of scripts, by the names that RPC shows."""

    NONSTANDARD = "nonstandard"
    ANCHOR = "anchor"
    PUBKEY = "pubkey"
    PUBKEYHASH = "pubkeyhash"
    SCRIPTHASH = "scripthash"
    MULTISIG = "multisig"
    NULLDATA = "nulldata"
    WITNESS_V0_KEYHASH = "witness_v0_keyhash"
    WITNESS_V0_SCRIPTHASH = "witness_v0_scripthash"
    WITNESS_V1_TAPROOT = "witness_v1_taproot"
    WITNESS_UNKNOWN = "witness_unknown"


class Solution(NamedTuple):
    """A script's kind and its parts.

    `data` holds the key, the hash or the program; for MULTISIG the keys, with `number` the required signatures;
    for WITNESS_UNKNOWN `number` is the witness version.
    """

    type: ScriptType
    data: tuple[bytes, ...] = ()
    number: int = 0


_XONLY_SIZE = 32
_NONSTANDARD = Solution(ScriptType.NONSTANDARD)
_NULLDATA = Solution(ScriptType.NULLDATA)
_ANCHOR = Solution(ScriptType.ANCHOR)


def solve(script: bytes) -> Solution:
    """Return the kind and the parts of an output's script. Never raises."""
    # No two templates overlap, so the most frequent ones come first.
    if is_p2pkh(script):
        return Solution(ScriptType.PUBKEYHASH, (script[3:23],))
    if is_p2sh(script):
        return Solution(ScriptType.SCRIPTHASH, (script[2:22],))
    program = witness_program(script)
    if program is not None:
        return _solve_witness(script, *program)
    if script and script[0] == OP_RETURN and is_push_only(script, 1):
        return _NULLDATA
    if len(script) in (35, 67) and script[-1] == OP_CHECKSIG and script[0] == len(script) - 2:
        key = script[1:-1]
        return Solution(ScriptType.PUBKEY, (key,)) if is_valid_pubkey_size(key) else _NONSTANDARD
    return _solve_multisig(script)


def _solve_witness(script: bytes, version: int, program: bytes) -> Solution:
    if version == 0:
        if len(program) == 20:
            return Solution(ScriptType.WITNESS_V0_KEYHASH, (program,))
        if len(program) == 32:
            return Solution(ScriptType.WITNESS_V0_SCRIPTHASH, (program,))
        return _NONSTANDARD
    if version == 1 and len(program) == 32:
        return Solution(ScriptType.WITNESS_V1_TAPROOT, (program,))
    if script == ANCHOR_SCRIPT:
        return _ANCHOR
    return Solution(ScriptType.WITNESS_UNKNOWN, (program,), version)


def _solve_multisig(script: bytes) -> Solution:
    if not script or script[-1] != OP_CHECKMULTISIG:
        return _NONSTANDARD
    op = read_op(script, 0)
    required = _small_number(op)
    if op is None or not 1 <= required <= MAX_PUBKEYS_PER_MULTISIG:
        return _NONSTANDARD
    keys = []
    op = read_op(script, op[2])
    while op is not None and is_valid_pubkey_size(op[1]):
        keys.append(op[1])
        op = read_op(script, op[2])
    count = _small_number(op)
    if op is None or count != len(keys) or not required <= count <= MAX_PUBKEYS_PER_MULTISIG:
        return _NONSTANDARD
    if op[2] + 1 != len(script):
        return _NONSTANDARD
    return Solution(ScriptType.MULTISIG, tuple(keys), required)


def _small_number(op: ScriptOp | None) -> int:
    """Return the number that an operation pushes in its shortest form, -1 if it pushes none."""
    if op is None:
        return -1
    opcode, data, _ = op
    if OP_1 <= opcode <= OP_16:
        return opcode - OP_1 + 1
    if not OP_0 < opcode <= OP_PUSHDATA4 or len(data) > 4 or not is_minimal_push(data, opcode):
        return -1
    # A number is minimal unless its last byte carries nothing but a sign that the byte before could carry.
    if data[-1] & 0x7F == 0 and (len(data) == 1 or not data[-2] & 0x80):
        return -1
    return decode_number(data)


def match_multi_a(script: bytes) -> tuple[int, tuple[bytes, ...]] | None:
    """Return (threshold, x-only keys) of a leaf that is a multisig (BIP387), None if it is none."""
    if not script or script[0] != _XONLY_SIZE or script[-1] != OP_NUMEQUAL:
        return None
    keys: list[bytes] = []
    at = 0
    while len(script) - at >= _XONLY_SIZE + 2:
        code = OP_CHECKSIGADD if keys else OP_CHECKSIG
        if script[at] != _XONLY_SIZE or script[at + _XONLY_SIZE + 1] != code:
            return None
        keys.append(script[at + 1 : at + _XONLY_SIZE + 1])
        at += _XONLY_SIZE + 2
    op = read_op(script, at)
    required = _small_number(op)
    if op is None or op[2] + 1 != len(script) or not 1 <= required <= len(keys) <= MAX_PUBKEYS_PER_MULTI_A:
        return None
    return required, tuple(keys)
