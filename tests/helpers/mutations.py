"""Seeded changes to spends, mild enough that what they break is worth testing.

Owns: mutating spends, signatures and scripts. Never: whether the result is valid.
"""

import random

from clarion.node.primitives.script import iter_ops, push_data
from helpers.spends import ORDER, Spend

_ANY_OPCODES = [0x00, *range(0x4F, 0xBB)]
# Opcodes that leave a random script a chance: stack, numbers, hashes, conditionals that stay balanced by luck.
_MILD_OPCODES = [
    *[0x61, 0x63, 0x67, 0x68, 0x6B, 0x6C, 0x6E, 0x6F, 0x70, 0x73, 0x74, 0x76, 0x76, 0x77, 0x78, 0x7B, 0x7C, 0x7D],
    *[0x82, 0x87, 0x8B, 0x8C, 0x8F, 0x90, 0x91, 0x92, 0x93, 0x94, *range(0x9A, 0x9D), *range(0x9E, 0xAC), 0xB0, 0xB1],
    *[0xB2, 0xAC, 0xAE],
]


def flip_bit(source: random.Random, data: bytes) -> bytes:
    """Return the bytes with one bit changed."""
    if not data:
        return bytes((source.randrange(256),))
    at = source.randrange(len(data))
    return data[:at] + bytes((data[at] ^ (1 << source.randrange(8)),)) + data[at + 1 :]


def _integer(data: bytes, source: random.Random) -> bytes:
    """Return a DER integer, sometimes padded or with its length in the long form."""
    choice = source.randrange(8)
    if choice == 0:
        data = b"\0" + data
    if choice == 1:
        data = data.lstrip(b"\0")
    if choice == 2:
        return b"\x02\x81" + bytes((len(data) & 0xFF,)) + data
    if choice == 3:
        return b"\x02\x82\0" + bytes((len(data) & 0xFF,)) + data
    return b"\x02" + bytes((len(data) & 0xFF,)) + data


def mutate_signature(source: random.Random, signature: bytes) -> bytes:
    """Return an ECDSA signature with hash type, changed: high S, lax encoding, another hash type, a bit, or garbage."""
    if len(signature) < 9 or signature[0] != 0x30 or len(signature) != signature[1] + 3:
        return flip_bit(source, signature)
    s_at = 4 + signature[3] + 2
    r, s, hash_type = signature[4 : 4 + signature[3]], signature[s_at:-1], signature[-1:]
    choice = source.randrange(6)
    if choice <= 1:
        number = -int.from_bytes(s, "big") % ORDER
        s = number.to_bytes(number.bit_length() // 8 + 1, "big")
    if choice in (1, 2):
        body = _integer(r, source) + _integer(s, source)
    else:
        body = b"\x02" + bytes((len(r),)) + r + b"\x02" + bytes((len(s),)) + s
    if choice == 3:
        hash_type = bytes((source.choice([0, 1, 2, 3, 4, 0x41, 0x81, 0x82, 0x83, 0x84, 0xFF]),))
    if choice == 4:
        body += bytes(source.randrange(3))
    result = b"\x30" + bytes((len(body) & 0xFF,)) + body + hash_type
    return flip_bit(source, result) if choice == 5 else result


def random_script(source: random.Random, size: int) -> bytes:
    """Return a script of about `size` operations, most of which run."""
    parts = []
    for _ in range(size):
        choice = source.randrange(10)
        if choice < 3:
            parts.append(push_data(source.randbytes(source.choice([0, 1, 1, 2, 4, 5, 20, 32, 33]))))
        elif choice < 6:
            parts.append(bytes((source.randrange(0x51, 0x61),)))
        else:
            parts.append(bytes((source.choice(_MILD_OPCODES if source.randrange(12) else _ANY_OPCODES),)))
    script = b"".join(parts)
    return script if source.randrange(20) else script[: source.randrange(len(script) + 1)]


def mutate_pushes(source: random.Random, script: bytes) -> bytes:
    """Return a push-only script with one push changed, or pushed another way."""
    pushes = [op[1] for op in iter_ops(script)]
    if not pushes:
        return bytes((source.randrange(256),))
    at = source.randrange(len(pushes))
    choice = source.randrange(5)
    if choice <= 1:
        pushes[at] = mutate_signature(source, pushes[at])
    elif choice == 2:
        pushes[at] = flip_bit(source, pushes[at])
    parts = [push_data(push) for push in pushes]
    if choice == 3:
        parts[at] = b"\x4d" + len(pushes[at]).to_bytes(2, "little") + pushes[at]
    if choice == 4:
        parts.insert(at, source.choice([b"\x61", b"\x51", b"\x00", b"\xab"]))
    return b"".join(parts)


def _mutate_witness(source: random.Random, witness: tuple[bytes, ...]) -> tuple[bytes, ...]:
    items = list(witness)
    choice = source.randrange(8)
    if choice == 0 or not items:
        items.insert(source.randrange(len(items) + 1), source.choice([b"", b"\x01", b"\x50\x01", bytes(521)]))
    elif choice == 1:
        del items[source.randrange(len(items))]
    elif choice == 2:
        items.append(b"\x50" + source.randbytes(3))
    elif choice == 3:
        items[source.randrange(len(items))] = source.choice([b"", b"\x50", bytes(64), bytes(65)])
    else:
        at = source.randrange(len(items))
        items[at] = mutate_signature(source, items[at])
    return tuple(items)


def mutate(source: random.Random, spend: Spend) -> Spend:
    """Return the spend with one part changed."""
    choice = source.randrange(12)
    if choice <= 4 and (spend.witness or choice == 0):
        return spend.with_changes(witness=_mutate_witness(source, spend.witness))
    if choice <= 7 and (spend.script_sig or choice == 7):
        return spend.with_changes(script_sig=mutate_pushes(source, spend.script_sig))
    if choice == 8:
        return spend.with_changes(script_sig=flip_bit(source, spend.script_sig))
    if choice == 9:
        return spend.with_changes(script_pubkey=flip_bit(source, spend.script_pubkey))
    if choice == 10:
        return spend.with_changes(lock_time=source.choice([1, 499_999_999, 500_000_000, 0xFFFFFFFF]))
    return spend.with_changes(sequence=source.choice([0, 1, 1 << 22, 1 << 31, 0xFFFFFFFF]))
