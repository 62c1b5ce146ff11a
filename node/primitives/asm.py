"""Scripts as text, as the reference's RPC shows them.

Owns: the `asm` form and its guess at signature hash types. Never: reading text back into scripts.
"""

from clarion.node.primitives.opcodes import OP_PUSHDATA4, OPCODE_NAMES
from clarion.node.primitives.script import decode_number, is_unspendable, read_op

SIGHASH_NAMES = {
    0x01: "ALL",
    0x81: "ALL|ANYONECANPAY",
    0x02: "NONE",
    0x82: "NONE|ANYONECANPAY",
    0x03: "SINGLE",
    0x83: "SINGLE|ANYONECANPAY",
}
"""Display names of the signature hash types that legacy and v0 signatures can carry."""


def to_asm(script: bytes, *, decode_sighash: bool = False) -> str:
    """Return the script's operations as text; `[error]` stands where it ends inside a push.

    Pushes of at most four bytes are shown as numbers, longer ones as hex. With `decode_sighash` (for scriptSigs
    only) the last byte of what looks like a signature is shown as `[ALL]` and so on.
    """
    decode_sighash = decode_sighash and not is_unspendable(script)
    words = []
    end = 0
    while (op := read_op(script, end)) is not None:
        opcode, data, end = op
        if opcode > OP_PUSHDATA4:
            words.append(OPCODE_NAMES.get(opcode, "OP_UNKNOWN"))
        elif len(data) <= 4:
            words.append(str(decode_number(data)))
        elif decode_sighash and is_strict_signature(data):
            words.append(f"{data[:-1].hex()}[{SIGHASH_NAMES[data[-1]]}]")
        else:
            words.append(data.hex())
    if end < len(script):
        words.append("[error]")
    return " ".join(words)


def is_strict_signature(data: bytes) -> bool:
    """Whether it is strict DER (BIP66) followed by a defined hash type."""
    return len(data) > 0 and data[-1] in SIGHASH_NAMES and is_strict_der(data)


def is_strict_der(data: bytes) -> bool:
    """Whether a signature with its hash type byte is 0x30 len 0x02 len R 0x02 len S type by the rules of BIP66."""
    size = len(data)
    if not 9 <= size <= 73 or data[0] != 0x30 or data[1] != size - 3:
        return False
    r_size = data[3]
    if 5 + r_size >= size:
        return False
    s_size = data[5 + r_size]
    if r_size + s_size + 7 != size:
        return False
    return _is_strict_integer(data, 2, r_size) and _is_strict_integer(data, 4 + r_size, s_size)


def _is_strict_integer(data: bytes, offset: int, size: int) -> bool:
    # Tag 0x02, not empty, not negative, no zero in front that the sign does not need.
    if data[offset] != 0x02 or size == 0:
        return False
    first = data[offset + 2]
    return not first & 0x80 and not (size > 1 and first == 0 and not data[offset + 3] & 0x80)
