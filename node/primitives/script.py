"""Scripts as raw bytes: reading their operations, telling their shape, and building them.

Owns: the walk over operations and the predicates that consensus, policy and display share. Never: execution.
Scripts are arbitrary bytes. One that ends inside a push parses as far as it goes; nothing here raises on it.
"""

from collections.abc import Iterator

from clarion.node.primitives.opcodes import (
    MAX_OPCODE,
    OP_0,
    OP_1,
    OP_16,
    OP_CHECKMULTISIG,
    OP_CHECKSIG,
    OP_DUP,
    OP_EQUAL,
    OP_EQUALVERIFY,
    OP_HASH160,
    OP_PUSHDATA1,
    OP_PUSHDATA2,
    OP_PUSHDATA4,
    OP_RETURN,
)

MAX_SCRIPT_SIZE = 10_000
"""Longest script in bytes that can be executed."""

MAX_SCRIPT_ELEMENT_SIZE = 520
"""Longest item in bytes that a script may push."""

MAX_PUBKEYS_PER_MULTI_A = 999
"""Most keys of a multisig in a leaf that policy and tools know."""

MAX_PUBKEYS_PER_MULTISIG = 20

ANCHOR_SCRIPT = bytes((OP_1, 2, 0x4E, 0x73))
"""Pay-to-anchor: a witness v1 program of two bytes that anyone can spend."""

ScriptOp = tuple[int, bytes, int]
"""(opcode, the bytes that it pushes or nothing, offset behind it)."""


def read_op(script: bytes, offset: int) -> ScriptOp | None:
    """Return the operation at `offset`, None at the script's end and where the script ends inside a push."""
    size = len(script)
    if offset >= size:
        return None
    opcode = script[offset]
    start = offset + 1
    if opcode > OP_PUSHDATA4:
        return opcode, b"", start
    length = opcode
    if opcode >= OP_PUSHDATA1:
        prefix = 1 << (opcode - OP_PUSHDATA1)
        length = int.from_bytes(script[start : start + prefix], "little")
        start += prefix
    end = start + length
    if end > size:
        return None
    return opcode, script[start:end], end


def iter_ops(script: bytes) -> Iterator[ScriptOp]:
    """Yield the operations in order, up to the script's end or to a push that it cuts off.

    The script is whole if the last offset equals its length.
    """
    op = read_op(script, 0)
    while op is not None:
        yield op
        op = read_op(script, op[2])


def has_valid_ops(script: bytes) -> bool:
    """Whether the script parses to its end, knows all its opcodes and pushes at most 520 bytes at once."""
    end = 0
    while (op := read_op(script, end)) is not None:
        opcode, data, end = op
        if opcode > MAX_OPCODE or len(data) > MAX_SCRIPT_ELEMENT_SIZE:
            return False
    return end == len(script)


def is_push_only(script: bytes, offset: int = 0) -> bool:
    """Whether everything from `offset` on parses and is a push. OP_RESERVED counts as one, as in the reference."""
    op = read_op(script, offset)
    while op is not None:
        if op[0] > OP_16:
            return False
        offset = op[2]
        op = read_op(script, offset)
    return offset >= len(script)


def is_unspendable(script: bytes) -> bool:
    """Whether no input can ever spend it: it starts with OP_RETURN or is longer than 10,000 bytes."""
    return (len(script) > 0 and script[0] == OP_RETURN) or len(script) > MAX_SCRIPT_SIZE


def is_p2sh(script: bytes) -> bool:
    """Whether it is exactly OP_HASH160 <20 bytes> OP_EQUAL (BIP16)."""
    return len(script) == 23 and script[0] == OP_HASH160 and script[1] == 20 and script[22] == OP_EQUAL


def is_p2pkh(script: bytes) -> bool:
    """Whether it is exactly OP_DUP OP_HASH160 <20 bytes> OP_EQUALVERIFY OP_CHECKSIG."""
    return len(script) == 25 and script[:3] == b"\x76\xa9\x14" and script[23:] == b"\x88\xac"


def is_p2wsh(script: bytes) -> bool:
    """Whether it is exactly OP_0 <32 bytes> (BIP141)."""
    return len(script) == 34 and script[0] == OP_0 and script[1] == 32


def is_p2wpkh(script: bytes) -> bool:
    """Whether it is exactly OP_0 <20 bytes> (BIP141)."""
    return len(script) == 22 and script[0] == OP_0 and script[1] == 20


def is_p2tr(script: bytes) -> bool:
    """Whether it is exactly OP_1 <32 bytes> (BIP341)."""
    return len(script) == 34 and script[0] == OP_1 and script[1] == 32


def witness_program(script: bytes) -> tuple[int, bytes] | None:
    """Return (version 0 to 16, program of 2 to 40 bytes) if the script is a witness program (BIP141), else None."""
    size = len(script)
    if not 4 <= size <= 42 or script[1] + 2 != size:
        return None
    opcode = script[0]
    if opcode == OP_0:
        return 0, script[2:]
    if OP_1 <= opcode <= OP_16:
        return opcode - OP_1 + 1, script[2:]
    return None


def is_valid_pubkey_size(key: bytes) -> bool:
    """Whether the first byte announces the key's length: 2 and 3 for 33 bytes, 4, 6 and 7 for 65."""
    if len(key) == 33:
        return key[0] in (2, 3)
    return len(key) == 65 and key[0] in (4, 6, 7)


def push_data(data: bytes) -> bytes:
    """Return the shortest length-prefixed push of `data`; small numbers are not turned into OP_1 to OP_16."""
    size = len(data)
    if size < OP_PUSHDATA1:
        return bytes((size,)) + data
    if size <= 0xFF:
        return bytes((OP_PUSHDATA1, size)) + data
    if size <= 0xFFFF:
        return bytes((OP_PUSHDATA2,)) + size.to_bytes(2, "little") + data
    return bytes((OP_PUSHDATA4,)) + size.to_bytes(4, "little") + data


def encode_number(value: int) -> bytes:
    """Return a script number: little-endian magnitude, sign in the highest bit, nothing for zero."""
    if value == 0:
        return b""
    magnitude = abs(value)
    # One bit more than the magnitude: the sign.
    data = bytearray(magnitude.to_bytes(magnitude.bit_length() // 8 + 1, "little"))
    if value < 0:
        data[-1] |= 0x80
    return bytes(data)


def decode_number(data: bytes) -> int:
    """Return the value of a script number of any length, in any (also not minimal) encoding."""
    if not data:
        return 0
    value = int.from_bytes(data, "little")
    sign = 0x80 << (8 * (len(data) - 1))
    return -(value ^ sign) if value & sign else value


def push_number(value: int) -> bytes:
    """Return the push of a number as the reference builds it: OP_0, OP_1NEGATE, OP_1 to OP_16, else its bytes."""
    if value == 0:
        return bytes((OP_0,))
    if value == -1 or 1 <= value <= 16:
        return bytes((OP_1 - 1 + value,))
    return push_data(encode_number(value))


def is_minimal_push(data: bytes, opcode: int) -> bool:
    """Whether `opcode` (at most OP_PUSHDATA4) is the shortest way to push `data` (BIP62 rule 3)."""
    size = len(data)
    if size == 0:
        return opcode == OP_0
    if size == 1 and (1 <= data[0] <= 16 or data[0] == 0x81):
        return False
    if size < OP_PUSHDATA1:
        return opcode == size
    if size <= 0xFF:
        return opcode == OP_PUSHDATA1
    if size <= 0xFFFF:
        return opcode == OP_PUSHDATA2
    return True


def p2pk_script(pubkey: bytes) -> bytes:
    """Return <pubkey> OP_CHECKSIG."""
    return push_data(pubkey) + bytes((OP_CHECKSIG,))


def p2pkh_script(key_hash: bytes) -> bytes:
    """Return the script that pays to a 20-byte key hash."""
    return bytes((OP_DUP, OP_HASH160, 20)) + key_hash + bytes((OP_EQUALVERIFY, OP_CHECKSIG))


def p2sh_script(script_hash: bytes) -> bytes:
    """Return the script that pays to a 20-byte script hash (BIP16)."""
    return bytes((OP_HASH160, 20)) + script_hash + bytes((OP_EQUAL,))


def witness_script(version: int, program: bytes) -> bytes:
    """Return the script of a witness program: version 0 to 16, 2 to 40 bytes (BIP141)."""
    return push_number(version) + push_data(program)


def multisig_script(required: int, pubkeys: list[bytes]) -> bytes:
    """Return <required> <keys…> <count> OP_CHECKMULTISIG."""
    keys = b"".join([push_data(key) for key in pubkeys])
    return push_number(required) + keys + push_number(len(pubkeys)) + bytes((OP_CHECKMULTISIG,))
