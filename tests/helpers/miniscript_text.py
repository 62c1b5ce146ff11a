"""Miniscripts written by hand: text to tree and tree to script, apart from the code under test.

Owns: a reader of texts in which keys and preimages are numbers, `pk(3)` and `sha256(7)`. Never: asserting.
"""

from clarion.node.primitives.hashes import hash160, ripemd160, sha256, sha256d
from clarion.node.primitives.keys import pubkey_of_secret
from clarion.node.primitives.miniscript.node import Node
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.script import push_data, push_number

HASHES = {"sha256": sha256, "hash256": sha256d, "ripemd160": ripemd160, "hash160": hash160}
HASH_OPCODES = {"sha256": 0xA8, "hash256": 0xAA, "ripemd160": 0xA6, "hash160": 0xA9}
FALSE, TRUE = Node(Fragment.FALSE), Node(Fragment.TRUE)


def key(number: int) -> bytes:
    """Return the public key of a small secret."""
    return pubkey_of_secret(number.to_bytes(32, "big"))


def _split(text: str) -> list[str]:
    parts, level, start = [], 0, 0
    for at, char in enumerate(text):
        level += (char == "(") - (char == ")")
        if char == "," and not level:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _wrap(letter: str, inner: Node) -> Node:
    if letter == "t":
        return Node(Fragment.AND_V, [inner, TRUE])
    if letter in "lu":
        return Node(Fragment.OR_I, [FALSE, inner] if letter == "l" else [inner, FALSE])
    return Node(Fragment(letter), [inner])


def parse(text: str) -> Node | None:
    """Return the tree of a text, None if a number is out of range."""
    wrappers, colon, rest = text.partition(":")
    if colon and "(" not in wrappers:
        inner = parse(rest)
        for letter in reversed(wrappers):
            inner = None if inner is None else _wrap(letter, inner)
        return inner
    if text in ("0", "1"):
        return TRUE if text == "1" else FALSE
    name, _, arguments = text.removesuffix(")").partition("(")
    return _function(name, _split(arguments))


def _function(name: str, arguments: list[str]) -> Node | None:
    if name in ("pk", "pkh", "pk_k", "pk_h"):
        node = Node(Fragment("pk_h" if name.endswith("h") else "pk_k"), keys=[key(int(arguments[0]))])
        return node if "_" in name else Node(Fragment.WRAP_C, [node])
    if name in HASHES:
        return Node(Fragment(name), data=HASHES[name](int(arguments[0]).to_bytes(32, "big")))
    if name in ("older", "after"):
        k = int(arguments[0])
        return Node(Fragment(name), k=k) if 1 <= k < 1 << 31 else None
    k = int(arguments.pop(0)) if name in ("multi", "thresh") else 0
    if name in ("multi", "thresh") and not 1 <= k <= len(arguments):
        return None
    if name == "multi":
        return Node(Fragment.MULTI, k=k, keys=[key(int(number)) for number in arguments])
    subs = [parse(argument) for argument in arguments]
    if name == "and_n":
        name, subs = "andor", [*subs, FALSE]
    known = [sub for sub in subs if sub is not None]
    return Node(Fragment(name), known, k=k) if len(known) == len(subs) else None


def _verified(script: bytes) -> bytes:
    """Return a script with its last opcode in the form that verifies too."""
    return script[:-1] + bytes((script[-1] + 1,))


def to_script(node: Node) -> bytes:
    """Return the script of a tree."""
    kind, subs = node.fragment, [to_script(sub) for sub in node.subs]
    match kind:
        case Fragment.FALSE | Fragment.TRUE:
            return b"\x51" if kind is Fragment.TRUE else b"\0"
        case Fragment.PK_K:
            return push_data(node.keys[0])
        case Fragment.PK_H:
            return b"\x76\xa9" + push_data(hash160(node.keys[0])) + b"\x88"
        case Fragment.OLDER | Fragment.AFTER:
            return push_number(node.k) + (b"\xb2" if kind is Fragment.OLDER else b"\xb1")
        case Fragment.MULTI:
            keys = b"".join(map(push_data, node.keys))
            return push_number(node.k) + keys + push_number(len(node.keys)) + b"\xae"
        case Fragment.THRESH:
            return subs[0] + b"".join(sub + b"\x93" for sub in subs[1:]) + push_number(node.k) + b"\x87"
        case Fragment.ANDOR:
            return subs[0] + b"\x64" + subs[2] + b"\x67" + subs[1] + b"\x68"
        case Fragment.WRAP_V:
            return subs[0] + b"\x69" if "x" in node.subs[0].type else _verified(subs[0])
    if kind.value in HASHES:
        return b"\x82\x01\x20\x88" + bytes((HASH_OPCODES[kind.value],)) + push_data(node.data) + b"\x87"
    before, between, behind = _AROUND[kind]
    return before + between.join(subs) + behind


_AROUND = {
    Fragment.WRAP_A: (b"\x6b", b"", b"\x6c"),
    Fragment.WRAP_S: (b"\x7c", b"", b""),
    Fragment.WRAP_C: (b"", b"", b"\xac"),
    Fragment.WRAP_D: (b"\x76\x63", b"", b"\x68"),
    Fragment.WRAP_J: (b"\x82\x92\x63", b"", b"\x68"),
    Fragment.WRAP_N: (b"", b"", b"\x92"),
    Fragment.AND_V: (b"", b"", b""),
    Fragment.AND_B: (b"", b"", b"\x9a"),
    Fragment.OR_B: (b"", b"", b"\x9b"),
    Fragment.OR_C: (b"", b"\x64", b"\x68"),
    Fragment.OR_D: (b"", b"\x73\x64", b"\x68"),
    Fragment.OR_I: (b"\x63", b"\x67", b"\x68"),
}
"""What stands before, between and behind the parts."""
