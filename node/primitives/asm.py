"""Scripts as text, as the reference's RPC shows them.

Owns: the `asm` form and its guess at signature hash types. Never: reading text back into scripts.
"""

from clarion.node.primitives.opcodes import OP_PUSHDATA1, OP_PUSHDATA4, opcode_name
from clarion.node.primitives.script import decode_number, is_unspendable

SIGHASH_NAMES = {
    0x01: "ALL",
    0x81: "ALL|ANYONECANPAY",
    0x02: "NONE",
    0x82: "NONE|ANYONECANPAY",
    0x03: "SINGLE",
    0x83: "SINGLE|ANYONECANPAY",
}
"""Display names of the signature hash types that legacy and v0 signatures can carry."""

_NAMES = [opcode_name(opcode) for opcode in range(256)]


def to_asm(script: bytes, *, decode_sighash: bool = False) -> str:
    """Return the script's operations as text; `[error]` stands where it ends inside a push.

    Pushes of at most four bytes are shown as numbers, longer ones as hex. With `decode_sighash` (for scriptSigs
    only) the last byte of what looks like a signature is shown as `[ALL]` and so on.
    """
    decode_sighash = decode_sighash and not is_unspendable(script)
    text = script.hex()
    words = []
    at = 0
    size = len(script)
    while at < size:
        opcode = script[at]
        at += 1
        if opcode > OP_PUSHDATA4:
            words.append(_NAMES[opcode])
            continue
        if opcode >= OP_PUSHDATA1:
            prefix = 1 << opcode - OP_PUSHDATA1
            opcode = int.from_bytes(script[at : at + prefix], "little")
            at += prefix
        end = at + opcode
        if end > size:
            words.append("[error]")
            break
        if opcode <= 4:
            words.append(str(decode_number(script[at:end])))
        elif decode_sighash and script[at] == 0x30 and is_strict_signature(script[at:end]):
            words.append(f"{text[2 * at : 2 * end - 2]}[{SIGHASH_NAMES[script[end - 1]]}]")
        else:
            words.append(text[2 * at : 2 * end])
        at = end
    return " ".join(words)


def is_strict_signature(data: bytes) -> bool:
    """Whether it is strict DER (BIP66) followed by a defined hash type."""
    return len(data) > 0 and data[0] == 0x30 and data[-1] in SIGHASH_NAMES and is_strict_der(data)


def is_strict_der(data: bytes) -> bool:
    """Whether a signature with its hash type byte is 0x30 len 0x02 len R 0x02 len S type by the rules of BIP66."""
    size = len(data)
    if not 9 <= size <= 73 or data[0] != 0x30 or data[1] != size - 3:
        return False
    r_size = data[3]
    s_at = 6 + r_size
    if s_at > size:
        return False
    s_size = data[s_at - 1]
    if r_size + s_size + 7 != size or data[2] != 2 or data[s_at - 2] != 2 or not r_size or not s_size:
        return False
    # Neither integer is negative nor has a zero in front that its sign does not need.
    if data[4] & 0x80 or data[s_at] & 0x80:
        return False
    r_padded = r_size > 1 and data[4] == 0 and not data[5] & 0x80
    s_padded = s_size > 1 and data[s_at] == 0 and not data[s_at + 1] & 0x80
    return not r_padded and not s_padded
