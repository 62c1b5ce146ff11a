"""PSBTs and miniscripts: what is written is read again, and nonsense fails in a known way."""

import base64
import contextlib

from hypothesis import given
from hypothesis import strategies as st

from clarion.node.params.networks import regtest_params
from clarion.node.primitives.descriptor import parse_descriptors
from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.miniscript.decoding import decode_script
from clarion.node.primitives.miniscript.node import Node
from clarion.node.primitives.miniscript.parsing import parse_miniscript
from clarion.node.primitives.miniscript.writing import to_script, to_text
from clarion.node.primitives.script import iter_ops
from clarion.node.primitives.taproot_tree import TapLeaf, build_tap_tree
from clarion.node.script.psbt.analysis import analyze_psbt
from clarion.node.script.psbt.psbt import parse_psbt
from clarion.node.script.psbt.reader import PsbtError
from clarion.node.script.psbt.signing import finalize_psbt

REGTEST = regtest_params()
KEYS = [bytes((2,)) + bytes((number,)) * 32 for number in range(1, 30)]
FORMS = [
    "and_v(v:{},{})",
    "and_b({},a:{})",
    "or_b({},s:{})",
    "or_d({},{})",
    "or_i({},{})",
    "andor({},{},{})",
    "thresh(2,{},s:{},a:{})",
    "l:{}",
    "u:{}",
    "t:v:{}",
    "j:{}",
    "n:{}",
    "dv:{}",
    "c:{}",
    "and_n({},{})",
]
# One input that spends a 2-of-2 in P2SH-P2WSH, with signatures, scripts and paths, of version 2.
SEED = base64.b64decode(
    "cHNidP8BAgQCAAAAAQMEAAAAAAEEAQEBBQECAfsEAgAAAAABASAA8gUqAQAAABepFGYdPmTfmjJv5phk5bPfGvaDT3akhwEEIgAgZeEhn4km0o3t"
    "IzgK5ErlVkn6VHTzlsq/Gjwjp4o0R08BBWlRIQJFoS0s4HXZR7YjKz5CT/pdIgi2/2mACh8lAaxjkkmb+CEClYO/Oa4KYJdHrRma3dY0+mEIVZ1s"
    "XNObTCGD8auW4H8hApWDvzmuCmCXR60Zmt3WNPphCFWdbFzTm0whg/GrluB/U64iBgJFoS0s4HXZR7YjKz5CT/pdIgi2/2mACh8lAaxjkkmb+BDe"
    "rb7vBQAAgAEAAAABAAAAAQ4g2rD2qE9KwQ+Cw7+oHoE5jEwHOeOHptICp4dp0DWfy/cBDwQAAAAAARAEkAAAAAABAwgA4fUFAAAAAAEEF6kUZh0+"
    "ZN+aMm/mmGTls98a9oNPdqSHAAEDCADC6wsAAAAAAQQWABR1HnboGZGW1FSUHEXRs6Mj8UM71gA="
)


@given(st.lists(st.tuples(st.integers(0, len(SEED) - 1), st.integers(0, 255)), max_size=4), st.integers(0, len(SEED)))
def test_damaged_psbts_are_read_as_they_are_or_refused(changes: list[tuple[int, int]], end: int) -> None:
    data = bytearray(SEED)
    for at, byte in changes:
        data[at] = byte
    for damaged in (bytes(data), bytes(data[:end])):
        with contextlib.suppress(PsbtError):
            psbt = parse_psbt(damaged)
            assert parse_psbt(psbt.serialize()).serialize() == psbt.serialize()
            before = psbt.serialize()
            analyze_psbt(psbt)
            assert psbt.serialize() == before
            finalize_psbt(psbt)


@st.composite
def texts(draw: st.DrawFn, depth: int = 3) -> str:
    """Return a text in the grammar of miniscript, valid or not."""
    inner = texts(depth=depth - 1)
    if depth == 0 or draw(st.booleans()):
        key = KEYS[draw(st.integers(0, len(KEYS) - 1))].hex()
        return draw(st.sampled_from(["0", "1", "older(3)", "after(9)", f"pk({key})", f"pkh({key})", f"pk_k({key})"]))
    form = draw(st.sampled_from(FORMS))
    return form.format(*[draw(inner) for _ in range(form.count("{}"))])


@given(texts(), st.booleans())
def test_valid_miniscripts_survive_text_and_script(text: str, tapscript: bool) -> None:
    node = parse_miniscript(text, bytes.fromhex, tapscript=tapscript)
    if node is None or not node.is_valid or "B" not in node.type:
        return
    again = parse_miniscript(to_text(node, bytes.hex), bytes.fromhex, tapscript=tapscript)
    assert again is not None
    in_script = {key: key[1:] if tapscript else key for key in KEYS}
    script = _script(node, in_script)
    assert _script(again, in_script) == script
    assert len(script) == node.script_size
    assert sum(code > 0x60 for code, _, _ in iter_ops(script)) == node.operations
    by_hash = {hash160(key): key for key in in_script.values()}
    found = decode_script(script, by_hash.get, tapscript=tapscript)
    assert found is not None
    assert _script(found, {key: key for key in in_script.values()}) == script


def _script(node: Node, keys: dict[bytes, bytes]) -> bytes:
    return to_script(node, lambda key: keys[key], lambda key: hash160(keys[key]))


@given(st.text("trwshpkm(){},:/*<>;0129af'[]_", max_size=60))
def test_nonsense_is_no_descriptor(text: str) -> None:
    with contextlib.suppress(DescriptorError):
        for descriptor in parse_descriptors(text, REGTEST):
            assert str(parse_descriptors(str(descriptor), REGTEST)[0]) == str(descriptor)


@given(st.lists(st.integers(0, 5), max_size=12))
def test_leaves_of_a_tree_lead_to_its_root(depths: list[int]) -> None:
    tree = build_tap_tree([TapLeaf(depth, 0xC0, bytes((at,))) for at, depth in enumerate(depths)])
    assert (tree is not None) == (not depths or _is_complete(depths))
    if tree is not None:
        assert sorted(leaf.script for leaf in tree.by_script()) == sorted(leaf.script for leaf, _ in tree.leaves)
        assert all(len(path) == 32 * leaf.depth for leaf, path in tree.leaves)


def _is_complete(depths: list[int]) -> bool:
    """Whether a binary tree has leaves at these depths, from left to right."""

    def take(level: int) -> bool:
        if not rest or rest[0] < level:
            return False
        if rest[0] == level:
            rest.pop(0)
            return True
        return take(level + 1) and take(level + 1)

    rest = list(depths)
    return take(0) and not rest
