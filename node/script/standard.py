"""A short cut for what most inputs spend: P2PKH, P2WPKH, P2SH-P2WPKH, P2WSH multisig, taproot's key path.

Owns: recognising a spend that the interpreter would certainly accept if a signature is right. Never: refusing one:
whatever is unusual in the least is left to the interpreter, which also names the errors. Tests prove that both agree.
The signature itself is verified later: verifying many in a row, with nothing between that drives the curve's tables
out of the processor's caches, saves a tenth of the time.
"""

from collections.abc import Sequence

from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.script.flags import (
    SCRIPT_VERIFY_CLEANSTACK,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_TAPROOT,
    SCRIPT_VERIFY_WITNESS,
)
from clarion.node.script.signatures import ECDSA, MULTISIG, SCHNORR, KnownKeys, PreparedCheck
from clarion.node.script.spending_tx import SpendingTx

_SEGWIT = SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS
_SEGWIT_TAPROOT = _SEGWIT | SCRIPT_VERIFY_TAPROOT
_DEPENDENT_FLAGS = _SEGWIT | SCRIPT_VERIFY_CLEANSTACK
_VALID_COMBINATIONS = frozenset({0, SCRIPT_VERIFY_P2SH, _SEGWIT, _DEPENDENT_FLAGS})
_MIN_SIGNATURE = 60
"""Shorter signatures are so rare that they need no short cut; their pushes could stand in the script code."""
_MAX_SIGNATURE = 73
_ALL = 1
"""The hash type of nearly all signatures; the others are left to the interpreter."""
_MAX_TEMPLATE_KEYS = 16
_KEY_PUSH_SIZE = 34
_OP_1 = 0x51
_OP_CHECKMULTISIG = 0xAE

_keys = KnownKeys()


def prepare_check(tx: SpendingTx, index: int, flags: int) -> PreparedCheck | None:
    """Return the one check that is left if input `index` spends by a template: valid under `flags` if it passes.

    None means: ask the interpreter. The same goes for a check that fails, and for any exception. Every flag is
    respected but LOW_S, which is the check's.
    """
    script = tx.scripts[index]
    size = len(script)
    if size == 22:
        if script[:2] == b"\x00\x14" and not tx.script_sigs[index]:
            return _p2wpkh(tx, index, script, flags)
    elif size == 34:
        if script[:2] == b"\x51\x20":
            return _taproot_key_path(tx, index, script, flags)
        if script[:2] == b"\x00\x20":
            return _p2wsh_multisig(tx, index, script, flags)
    elif size == 25:
        if script[:3] == b"\x76\xa9\x14" and script[23:] == b"\x88\xac":
            return _p2pkh(tx, index, script, flags)
    elif size == 23 and script[:2] == b"\xa9\x14" and script[22] == 0x87:
        script_sig = tx.script_sigs[index]
        if len(script_sig) == 23 and script_sig[:3] == b"\x16\x00\x14" and hash160(script_sig[1:]) == script[2:22]:
            return _p2wpkh(tx, index, script_sig[1:], flags)
    return None


def _p2pkh(tx: SpendingTx, index: int, script: bytes, flags: int) -> PreparedCheck | None:
    script_sig = tx.script_sigs[index]
    # Witness data where none is expected fails under WITNESS; and the flags must be a set of rules.
    if not script_sig or tx.witnesses[index] or flags & _DEPENDENT_FLAGS not in _VALID_COMBINATIONS:
        return None
    size = script_sig[0]
    if not _MIN_SIGNATURE <= size <= _MAX_SIGNATURE or script_sig[size] != _ALL:
        return None
    pubkey = script_sig[size + 2 :]
    # Two direct pushes and nothing else; keys compressed or not, but not hybrid.
    if script_sig[size + 1] != len(pubkey) or (len(pubkey), pubkey[0]) not in ((33, 2), (33, 3), (65, 4)):
        return None
    key = _keys.full(pubkey)
    if key is None or key[0] != script[3:23]:
        return None
    return ECDSA, script_sig[1:size], key[1], tx.legacy_digest(index, b"\x19" + script)


def _p2wpkh(tx: SpendingTx, index: int, program: bytes, flags: int) -> PreparedCheck | None:
    witness = tx.witnesses[index]
    if len(witness) != 2 or flags & _SEGWIT != _SEGWIT:
        return None
    signature, pubkey = witness
    # The interpreter leaves the program on the stack and wants it to be true; its last byte settles that.
    if not program[21] & 0x7F or not _MIN_SIGNATURE <= len(signature) <= _MAX_SIGNATURE or signature[-1] != _ALL:
        return None
    if len(pubkey) != 33:
        return None
    key = _keys.full(pubkey)
    if key is None or key[0] != program[2:]:
        return None
    digest = tx.v0_digest(index, b"\x19\x76\xa9\x14" + program[2:] + b"\x88\xac")
    return ECDSA, signature[:-1], key[1], digest


def _p2wsh_multisig(tx: SpendingTx, index: int, program: bytes, flags: int) -> PreparedCheck | None:
    witness = tx.witnesses[index]
    if len(witness) < 3 or witness[0] or tx.script_sigs[index] or flags & _SEGWIT != _SEGWIT or not program[33] & 0x7F:
        return None
    script = witness[-1]
    signatures = witness[1:-1]
    points = _multisig_points(script, len(signatures))
    if points is None or sha256(script) != program[2:]:
        return None
    if not all(_MIN_SIGNATURE <= len(each) <= _MAX_SIGNATURE and each[-1] == _ALL for each in signatures):
        return None
    digest = tx.v0_digest(index, var_bytes(script))
    return MULTISIG, [each[:-1] for each in signatures], points, [digest] * len(signatures)


def _multisig_points(script: bytes, required: int) -> Sequence[object] | None:
    """Return the keys of `<required> <compressed keys> <their number> OP_CHECKMULTISIG`, None if it is not that."""
    count = (len(script) - 3) // _KEY_PUSH_SIZE
    if (
        not required <= count <= _MAX_TEMPLATE_KEYS
        or len(script) != 3 + count * _KEY_PUSH_SIZE
        or script[0] != _OP_1 - 1 + required
        or script[-2] != _OP_1 - 1 + count
        or script[-1] != _OP_CHECKMULTISIG
    ):
        return None
    points = []
    for at in range(1, len(script) - 2, _KEY_PUSH_SIZE):
        key = _keys.full(script[at + 1 : at + _KEY_PUSH_SIZE]) if script[at] == 33 else None
        if key is None:
            return None
        points.append(key[1])
    return points


def _taproot_key_path(tx: SpendingTx, index: int, script: bytes, flags: int) -> PreparedCheck | None:
    witness = tx.witnesses[index]
    if len(witness) != 1 or tx.script_sigs[index] or flags & _SEGWIT_TAPROOT != _SEGWIT_TAPROOT:
        return None
    signature = witness[0]
    hash_type = 0
    if len(signature) == 65:
        hash_type = signature[64]
        signature = signature[:64]
        if hash_type != _ALL:
            return None
    point = _keys.xonly(script[2:])
    if point is None or len(signature) != 64 or not script[33] & 0x7F:
        return None
    return SCHNORR, signature, point, tx.taproot_digest(index, hash_type)
