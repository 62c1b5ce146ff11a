"""A miniscript's text and script.

Owns: writing both. Never: reading them (see `parsing` and `decoding`).
"""

from collections.abc import Callable
from itertools import chain

from clarion.node.primitives import opcodes as op
from clarion.node.primitives.miniscript.node import Node, fold
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.script import push_data, push_number

_WRAPPERS = (
    Fragment.WRAP_A,
    Fragment.WRAP_S,
    Fragment.WRAP_C,
    Fragment.WRAP_D,
    Fragment.WRAP_V,
    Fragment.WRAP_J,
    Fragment.WRAP_N,
)


def to_text(root: Node, key_text: Callable[[bytes], str]) -> str:
    """Return a miniscript's text; `key_text` says how a key is shown."""
    # Whether a node stands behind wrappers, and so needs a colon, is settled by the node above.
    text, _ = fold(root, lambda node, parts: _text(node, parts, key_text))
    return text


def _wrapper_letter(node: Node) -> str:
    """Return the letter in front of the colon that stands for a node, "" if it is shown as a function."""
    kinds = [sub.fragment for sub in node.subs]
    if node.fragment in _WRAPPERS:
        return node.fragment.value
    if node.fragment is Fragment.AND_V and kinds[1] is Fragment.TRUE:
        return "t"
    if node.fragment is Fragment.OR_I and Fragment.FALSE in kinds:
        return "l" if kinds[0] is Fragment.FALSE else "u"
    return ""


def _text(node: Node, parts: list[tuple[str, bool]], key_text: Callable[[bytes], str]) -> tuple[str, bool]:
    """Return (the text, whether it begins with wrappers)."""
    if node.fragment is Fragment.WRAP_C and node.subs[0].fragment in (Fragment.PK_K, Fragment.PK_H):
        name = "pk" if node.subs[0].fragment is Fragment.PK_K else "pkh"
        return f"{name}({key_text(node.subs[0].keys[0])})", False
    letter = _wrapper_letter(node)
    if letter:
        inner, has_wrappers = parts[1 if letter == "l" else 0]
        return letter + ("" if has_wrappers else ":") + inner, True
    name = node.fragment.value
    if node.fragment in (Fragment.FALSE, Fragment.TRUE):
        return name, False
    if node.fragment is Fragment.ANDOR and node.subs[2].fragment is Fragment.FALSE:
        name, parts = "and_n", parts[:2]
    arguments = [str(node.k)] if node.k else []
    arguments += [node.data.hex()] if node.data else []
    arguments += map(key_text, node.keys)
    arguments += [part for part, _ in parts]
    return f"{name}({','.join(arguments)})", False


KeyBytes = Callable[[bytes], bytes]
"""Returns the public key that stands in the script for a node's key."""

_VERIFIED = {
    op.OP_CHECKSIG: op.OP_CHECKSIGVERIFY,
    op.OP_CHECKMULTISIG: op.OP_CHECKMULTISIGVERIFY,
    op.OP_EQUAL: op.OP_EQUALVERIFY,
    op.OP_NUMEQUAL: op.OP_NUMEQUALVERIFY,
}
_HASH_OPCODES = {
    Fragment.SHA256: op.OP_SHA256,
    Fragment.HASH256: op.OP_HASH256,
    Fragment.RIPEMD160: op.OP_RIPEMD160,
    Fragment.HASH160: op.OP_HASH160,
}
# What stands in front of a part or two, between two, and behind.
_FRAMES: dict[Fragment, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    Fragment.WRAP_A: ((op.OP_TOALTSTACK,), (), (op.OP_FROMALTSTACK,)),
    Fragment.WRAP_S: ((op.OP_SWAP,), (), ()),
    Fragment.WRAP_C: ((), (), (op.OP_CHECKSIG,)),
    Fragment.WRAP_D: ((op.OP_DUP, op.OP_IF), (), (op.OP_ENDIF,)),
    Fragment.WRAP_J: ((op.OP_SIZE, op.OP_0NOTEQUAL, op.OP_IF), (), (op.OP_ENDIF,)),
    Fragment.WRAP_N: ((), (), (op.OP_0NOTEQUAL,)),
    Fragment.AND_V: ((), (), ()),
    Fragment.AND_B: ((), (), (op.OP_BOOLAND,)),
    Fragment.OR_B: ((), (), (op.OP_BOOLOR,)),
    Fragment.OR_C: ((), (op.OP_NOTIF,), (op.OP_ENDIF,)),
    Fragment.OR_D: ((), (op.OP_IFDUP, op.OP_NOTIF), (op.OP_ENDIF,)),
    Fragment.OR_I: ((op.OP_IF,), (op.OP_ELSE,), (op.OP_ENDIF,)),
}


def to_script(root: Node, key_bytes: KeyBytes, key_hash: KeyBytes) -> bytes:
    """Return a miniscript's script; `key_bytes` gives the keys in it, `key_hash` their hash160s."""
    operations: list[bytes] = fold(root, lambda node, parts: _script(node, parts, key_bytes, key_hash))
    return b"".join(operations)


def _script(node: Node, parts: list[list[bytes]], key_bytes: KeyBytes, key_hash: KeyBytes) -> list[bytes]:
    """Return a node's script as its operations: whoever verifies it changes the last one."""
    fragment = node.fragment
    if not parts:
        return _leaf(node, key_bytes, key_hash)
    if fragment is Fragment.WRAP_V:
        last = parts[0][-1]
        if "x" in node.subs[0].type:
            return [*parts[0], bytes((op.OP_VERIFY,))]
        return [*parts[0][:-1], bytes((_VERIFIED[last[0]],))]
    if fragment is Fragment.THRESH:
        added = chain.from_iterable([*part, bytes((op.OP_ADD,))] for part in parts[1:])
        return [*parts[0], *added, push_number(node.k), bytes((op.OP_EQUAL,))]
    if fragment is Fragment.ANDOR:
        x, y, z = parts
        return [*x, bytes((op.OP_NOTIF,)), *z, bytes((op.OP_ELSE,)), *y, bytes((op.OP_ENDIF,))]
    front, between, behind = ([bytes((code,)) for code in codes] for codes in _FRAMES[fragment])
    return [*front, *parts[0], *between, *(parts[1] if len(parts) > 1 else ()), *behind]


def _leaf(node: Node, key_bytes: KeyBytes, key_hash: KeyBytes) -> list[bytes]:
    fragment = node.fragment
    if fragment in (Fragment.FALSE, Fragment.TRUE):
        return [push_number(int(fragment is Fragment.TRUE))]
    if fragment is Fragment.PK_K:
        return [push_data(key_bytes(node.keys[0]))]
    if fragment is Fragment.PK_H:
        front = bytes((op.OP_DUP, op.OP_HASH160))
        return [front, push_data(key_hash(node.keys[0])), bytes((op.OP_EQUALVERIFY,))]
    if fragment in (Fragment.OLDER, Fragment.AFTER):
        code = op.OP_CHECKSEQUENCEVERIFY if fragment is Fragment.OLDER else op.OP_CHECKLOCKTIMEVERIFY
        return [push_number(node.k), bytes((code,))]
    if fragment in _HASH_OPCODES:
        front = bytes((op.OP_SIZE,)) + push_number(32) + bytes((op.OP_EQUALVERIFY, _HASH_OPCODES[fragment]))
        return [front, push_data(node.data), bytes((op.OP_EQUAL,))]
    keys = [push_data(key_bytes(key)) for key in node.keys]
    if fragment is Fragment.MULTI:
        return [push_number(node.k), *keys, push_number(len(keys)), bytes((op.OP_CHECKMULTISIG,))]
    signed = [keys[0] + bytes((op.OP_CHECKSIG,)), *[key + bytes((op.OP_CHECKSIGADD,)) for key in keys[1:]]]
    return [*signed, push_number(node.k), bytes((op.OP_NUMEQUAL,))]
