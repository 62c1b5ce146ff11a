"""Miniscript: types, limits, sanity, and reading scripts, against the reference's own test values."""

import pytest

from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.miniscript.decoding import decode_script
from clarion.node.primitives.miniscript.node import Node
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.miniscript.writing import to_text
from clarion.node.primitives.opcodes import OP_0NOTEQUAL, OP_1, OP_VERIFY
from helpers.miniscript_text import key, parse, to_script

# Text, properties (None: not valid at top level), start of the script's SHA-256, operations, stack items. Keys and
# preimages are numbers. The reference writes `m` as not malleable, `s` as needing a signature, `k` as locks that agree.
VECTORS: list[tuple[str, str | None, str | None, int | None, int | None]] = [
    ("l:older(1)", "mk", None, None, None),
    ("l:older(0)", None, None, None, None),
    ("l:older(2147483647)", "mk", None, None, None),
    ("l:older(2147483648)", None, None, None, None),
    ("u:after(1)", "mk", None, None, None),
    ("u:after(0)", None, None, None, None),
    ("u:after(2147483647)", "mk", None, None, None),
    ("u:after(2147483648)", None, None, None, None),
    ("andor(0,1,1)", "mk", None, None, None),
    ("andor(a:0,1,1)", None, None, None, None),
    ("andor(0,a:1,a:1)", None, None, None, None),
    ("andor(1,1,1)", None, None, None, None),
    ("andor(n:or_i(0,after(1)),1,1)", "k", None, None, None),
    ("andor(or_i(0,after(1)),1,1)", None, None, None, None),
    ("c:andor(0,pk_k(10),pk_k(30))", "msk", None, None, None),
    ("t:andor(0,v:1,v:1)", "mk", None, None, None),
    ("and_v(v:1,1)", "mk", None, None, None),
    ("t:and_v(v:1,v:1)", "mk", None, None, None),
    ("c:and_v(v:1,pk_k(30))", "msk", None, None, None),
    ("and_v(1,1)", None, None, None, None),
    ("and_v(pk_k(21),1)", None, None, None, None),
    ("and_v(v:1,a:1)", None, None, None, None),
    ("and_b(1,a:1)", "mk", None, None, None),
    ("and_b(1,1)", None, None, None, None),
    ("and_b(v:1,a:1)", None, None, None, None),
    ("and_b(a:1,a:1)", None, None, None, None),
    ("and_b(pk_k(18),a:1)", None, None, None, None),
    ("or_b(0,a:0)", "msk", None, None, None),
    ("or_b(1,a:0)", None, None, None, None),
    ("or_b(0,a:1)", None, None, None, None),
    ("or_b(0,0)", None, None, None, None),
    ("or_b(v:0,a:0)", None, None, None, None),
    ("or_b(a:0,a:0)", None, None, None, None),
    ("or_b(pk_k(18),a:0)", None, None, None, None),
    ("t:or_c(0,v:1)", "mk", None, None, None),
    ("t:or_c(a:0,v:1)", None, None, None, None),
    ("t:or_c(1,v:1)", None, None, None, None),
    ("t:or_c(n:or_i(0,after(1)),v:1)", "k", None, None, None),
    ("t:or_c(or_i(0,after(1)),v:1)", None, None, None, None),
    ("t:or_c(0,1)", None, None, None, None),
    ("or_d(0,1)", "mk", None, None, None),
    ("or_d(a:0,1)", None, None, None, None),
    ("or_d(1,1)", None, None, None, None),
    ("or_d(n:or_i(0,after(1)),1)", "k", None, None, None),
    ("or_d(or_i(0,after(1)),1)", None, None, None, None),
    ("or_d(0,v:1)", None, None, None, None),
    ("or_i(1,1)", "k", None, None, None),
    ("t:or_i(v:1,v:1)", "k", None, None, None),
    ("c:or_i(pk_k(10),pk_k(30))", "msk", None, None, None),
    ("or_i(a:1,a:1)", None, None, None, None),
    ("or_b(l:after(100),al:after(1000000000))", "k", None, None, None),
    ("and_b(after(100),a:after(1000000000))", "m", None, None, None),
    ("pk(32)", "msk", "8a4e3697408cc52a", None, None),
    ("pkh(32)", "msk", "5ebad93eac0724c5", None, None),
    ("lltvln:after(1231488000)", "mk", "bbd201c789c8e8ed", 12, 3),
    ("uuj:and_v(v:multi(2,12,18),after(1231488000))", "msk", "17193589b8af9c83", 14, 5),
    ("or_b(un:multi(2,27,20),al:older(16))", "k", "162b4ee9a5f4516f", 14, 5),
    ("j:and_v(vdv:after(1567547623),older(2016))", "mk", "dc1547feb992b906", 11, 1),
    ("t:and_v(vu:hash256(5),v:sha256(1))", "mk", "25e17b0614d5906d", 12, 3),
    ("t:andor(multi(3,15,6,4),v:older(4194305),v:sha256(2))", "mk", "4aacb354b6337bd9", 13, 5),
    ("or_d(multi(1,3),or_b(multi(3,8,23,12),su:after(500000)))", "mk", "0211045019c1458b", 15, 7),
    ("or_d(sha256(8),and_n(un:after(499999999),older(4194305)))", "k", "a5d45f06daa15660", 16, 1),
    ("and_v(or_i(v:multi(2,2,11),v:multi(2,16,7)),sha256(6))", "msk", "7d43e9e627b982a0", 11, 5),
    ("j:and_b(multi(2,1,20),s:or_i(older(1),older(4252898)))", "sk", "9a185fd7b015709e", 14, 4),
    ("and_b(older(16),s:or_d(sha256(4),n:after(1567547623)))", "k", "59cbb240976579e2", 12, 1),
    ("j:and_v(v:hash160(8),or_d(sha256(5),older(16)))", "k", "63d42bb5819f6e6d", 16, 2),
    ("and_b(hash256(1),a:and_b(hash256(5),a:older(1)))", "mk", "62371f1bf021b6d6", 15, 2),
    ("thresh(2,multi(2,10,30),a:multi(1,30),ac:pk_k(8))", "msk", "6a6c42f62db9fab0", 13, 6),
    ("and_n(sha256(6),t:or_i(v:older(4252898),v:older(144)))", "k", "ffc7b1e0ca917238", 14, 2),
    ("or_d(nd:and_v(v:older(4252898),v:older(4252898)),sha256(8))", "k", "7a084dbf8a091e5f", 15, 2),
    ("c:and_v(or_c(sha256(2),v:multi(1,29)),pk_k(9))", "sk", "96af94a17de99423", 8, 2),
    ("c:and_v(or_c(multi(2,30,21),v:ripemd160(4)),pk_k(6))", "msk", "7d9098a2532ecae5", 10, 5),
    ("and_v(andor(hash256(6),v:hash256(2),v:older(50000)),after(499999999))", "k", "90d9f248dbb8df89", 14, 2),
    ("andor(hash256(4),j:and_v(v:hash160(6),older(4194305)),ripemd160(3))", "k", "f0d312d615ff0de3", 20, 2),
    ("or_i(c:and_v(v:after(500000),pk_k(2)),sha256(3))", "mk", "22b72777f9829fb3", 10, 2),
    ("thresh(2,c:pk_h(7),s:sha256(4),a:hash160(3))", "k", "d75ab7a29780aac8", 18, 4),
    ("and_n(sha256(2),uc:and_v(v:older(144),pk_k(24)))", "sk", "f1495d789d29c7e0", 13, 3),
    ("and_n(c:pk_k(27),and_b(l:older(4252898),a:older(16)))", "ms", "e1e0cbca1879570b", 12, 2),
    ("c:or_i(and_v(v:older(16),pk_h(15)),pk_h(31))", "msk", "164c94ad9087baa9", 12, 3),
    ("or_d(c:pk_h(4),andor(c:pk_k(20),older(2016),after(1567547623)))", "mk", "fd30d0e70b6753a6", 13, 3),
    ("c:andor(ripemd160(7),pk_h(15),and_v(v:hash256(6),pk_h(12)))", "sk", "d5713963ee04c9a2", 18, 3),
    ("c:andor(u:ripemd160(7),pk_h(27),or_i(pk_h(8),pk_h(1)))", "sk", "91a74b3af633e175", 23, 4),
    ("c:or_i(andor(c:pk_h(32),pk_h(8),pk_h(2)),pk_k(15))", "msk", "d28d916aa75b8374", 17, 5),
    ("thresh(1,c:pk_k(32),altv:after(1000000000),altv:after(100))", "k", "88f4d646c74a460b", 18, 3),
    ("thresh(2,c:pk_k(32),ac:pk_k(6),altv:after(1000000000),altv:after(100))", "m", "5dae67596bf9f907", 22, 4),
    ("thresh(2,dv:older(42),s:pk(7),s:pk(32))", None, None, None, None),
    ("thresh(2,c:pk_k(32),altv:after(100))", "msk", "b7ee4ce9d2f77d89", None, None),
    ("thresh(1,c:pk_k(32),sc:pk_k(6))", "msk", "37632ee4cd09fc7b", None, None),
    ("thresh(3,c:pk_k(32),sc:pk_k(6))", None, None, None, None),
    ("thresh(0,c:pk_k(32),sc:pk_k(6))", None, None, None, None),
    ("after(100)", "mk", None, None, None),
    ("after(1000000000)", "mk", None, None, None),
    ("or_b(l:after(100),al:after(1000000000))", "k", None, None, None),
    ("and_b(after(100),a:after(1000000000))", "m", None, None, None),
    ("thresh(2,ltv:after(1000000000),altv:after(100),a:pk(32))", "m", None, None, None),
    ("thresh(1,c:pk_k(32),altv:after(1000000000),altv:after(100))", "k", None, None, None),
]
VALID = [vector for vector in VECTORS if vector[1] is not None]


def tree(text: str) -> Node:
    node = parse(text)
    assert node is not None
    return node


KEYS_BY_HASH = {hash160(key(number)): key(number) for number in range(1, 256)}


def decode(script: bytes) -> Node | None:
    """Return the tree of a script; the keys behind hashes are known."""
    return decode_script(script, KEYS_BY_HASH.get)


@pytest.mark.parametrize(("text", "properties", "digest", "operations", "stack"), VECTORS)
def test_reference_values(
    text: str, properties: str | None, digest: str | None, operations: int | None, stack: int | None
) -> None:
    node = parse(text)
    if node is None or properties is None:
        assert properties is None
        assert node is None or "B" not in node.type
        return
    assert "B" in node.type
    assert node.type & frozenset("msk") == frozenset(properties)
    assert digest in (None, sha256(to_script(node)).hex()[:16])
    assert operations in (None, node.operations + node.extra_operations.satisfied)
    assert stack in (None, node.max_stack)


@pytest.mark.parametrize("text", [vector[0] for vector in VALID])
def test_read_back(text: str) -> None:
    node = tree(text)
    found = decode(to_script(node))
    assert found is not None
    assert to_script(found) == to_script(node)
    assert found.type == node.type
    assert found.is_sane == node.is_sane


def test_not_everything_is_sane() -> None:
    sane = [vector[0] for vector in VALID if tree(vector[0]).is_sane]
    assert 10 < len(sane) < len(VALID) - 10


MANY_KEYS = ",".join(["pk(1)", *(f"s:pk({number})" for number in range(2, 102))])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("or_b(pk(1),s:pk(1))", id="the-same-key-twice"),
        pytest.param("or_i(older(1),pk(1))", id="a-way-without-signature"),
        pytest.param("and_v(v:pk(1),and_b(older(1),a:older(4194305)))", id="locks-that-exclude-each-other"),
        pytest.param("and_b(pk(1),a:or_i(sha256(1),sha256(2)))", id="malleable"),
        pytest.param(f"thresh(2,{MANY_KEYS})", id="too-many-stack-items"),
    ],
)
def test_not_sane(text: str) -> None:
    node = tree(text)
    assert "B" in node.type
    assert not node.is_sane


def test_sane() -> None:
    assert tree("and_v(v:pk(1),or_d(pk(2),older(12960)))").is_sane
    # That nothing satisfies it does not make it insane.
    impossible = tree("and_v(v:pk(1),0)")
    assert impossible.is_sane
    assert impossible.max_stack == float("-inf")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("c:pk_k(1)", "pk(K1)"),
        ("vc:pk_h(1)", "v:pkh(K1)"),
        ("and_v(v:pk(1),1)", "tv:pk(K1)"),
        ("or_i(0,pk(1))", "l:pk(K1)"),
        ("or_i(pk(1),0)", "u:pk(K1)"),
        ("or_i(0,0)", "l:0"),
        ("andor(pk(1),older(5),0)", "and_n(pk(K1),older(5))"),
        ("asn:multi(1,1,2)", "asn:multi(1,K1,K2)"),
        ("thresh(1,pk(1),s:pk(2))", "thresh(1,pk(K1),s:pk(K2))"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    names = {key(number): f"K{number}" for number in (1, 2)}
    assert to_text(tree(text), names.__getitem__) == shown


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("", id="empty"),
        pytest.param("51" * 2, id="two-values"),
        pytest.param("4c21" + key(1).hex() + "ac", id="push-too-long"),
        pytest.param("21" + key(1).hex() + "ac6951", id="plain-verify"),
        pytest.param("20" + key(1).hex()[2:] + "ac", id="x-only-key"),
        pytest.param("2104" + key(1).hex()[2:] + "ac", id="key-of-a-wrong-form"),
        pytest.param("76a914" + "11" * 20 + "88ac", id="unknown-key-hash"),
        pytest.param("00b2", id="lock-of-zero"),
        pytest.param("0500000000" + "80" + "b2", id="lock-too-large"),
        pytest.param("020500b2", id="number-not-minimal"),
        pytest.param("0051ae", id="multi-of-none"),
        pytest.param("5221" + key(1).hex() + "51ae", id="multi-of-too-few"),
        pytest.param("5293", id="unknown-opcode"),
        pytest.param("5268", id="endif-alone"),
        pytest.param("21" + key(1).hex()[:20], id="cut-off"),
        pytest.param("00" * 3601, id="too-long"),
    ],
)
def test_no_miniscript(script: str) -> None:
    assert decode(bytes.fromhex(script)) is None


def test_deep_nesting() -> None:
    script = bytes((OP_1,)) + bytes((OP_0NOTEQUAL,)) * 3599
    node = decode(script)
    assert node is not None
    assert to_text(node, bytes.hex) == "n" * 3599 + ":1"
    assert sum(each.fragment is Fragment.WRAP_N for each in node.walk()) == 3599
    assert not node.is_sane
    assert decode(script[:-1] + bytes((OP_VERIFY,))) is None
