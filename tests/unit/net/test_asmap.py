"""Maps of autonomous systems, written down here bit by bit."""

import ipaddress
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.net.address import NetAddress, parse_address
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.address_manager.peers_file import deserialize, serialize
from clarion.node.net.address_manager.tables import AddressTables
from clarion.node.net.asmap import AsMap, BadMap
from clarion.node.net.messages.addresses import TimedAddress
from clarion.node.net.network_groups import NetGroups, group_of, load_groups
from clarion.node.net.reader import Reader
from helpers.wire_peer import endpoint_of

# The map and its version of Core's feature_asmap.py.
CORE_MAP = bytes.fromhex(
    "fb03ec0fb03fc0fe00fb03ec0fb03fc0fe00fb03ec0fb0fffffeffedb0ffd486e628290000400000400040990100800180040000050006001cf039"
)
CORE_VERSION = "bafc9da308f45179443bd1d22325400ac9104f741522d003e3fac86700f68895"


def number(value: int, least: int, sizes: Sequence[int]) -> str:
    """Return a number's bits: ones for its class, and its place in that."""
    value -= least
    for cls, size in enumerate(sizes):
        if value < 1 << size:
            end = "0" if cls < len(sizes) - 1 else ""
            return "1" * cls + end + (f"{value:0{size}b}" if size else "")
        value -= 1 << size
    raise AssertionError("too large")


def answer(system: int) -> str:
    return "0" + number(system, 1, range(15, 25))


def default(system: int) -> str:
    return "111" + number(system, 1, range(15, 25))


def jump(zero: str, one: str) -> str:
    return "10" + number(len(zero), 17, range(5, 31)) + zero + one


def match(bits: str) -> str:
    return "110" + number(int("1" + bits, 2), 2, range(1, 9))


def map_of(bits: str) -> bytes:
    """Return bytes whose lowest bits come first."""
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))


def tree(prefixes: dict[str, int], depth: int = 0) -> str:
    """Return the steps for prefixes in bits, all of which are known to lie below this place."""
    if set(prefixes) == {""}:
        return answer(prefixes[""])
    halves = [{bits[1:]: system for bits, system in prefixes.items() if bits[0] == first} for first in "01"]
    zero, one = (tree(half, depth + 1) if half else answer(1) for half in halves)
    return jump(zero, one)


def whole(bits: str) -> bytes:
    """Return 16 bytes that begin with these bits."""
    return int(bits.ljust(128, "0"), 2).to_bytes(16, "big")


def address(text: str) -> NetAddress:
    found = parse_address(text)
    assert found is not None
    return found


def test_a_tree_of_jumps() -> None:
    chance = random.Random(3)
    prefixes = {f"{place:05b}": chance.randrange(1, 1 << 24) for place in range(32) if place % 3}
    asmap = AsMap(map_of(tree(prefixes)))
    for place in range(32):
        bits = f"{place:05b}"
        assert asmap.system_of(whole(bits)) == prefixes.get(bits, 1)


def test_comparisons_and_defaults() -> None:
    asmap = AsMap(map_of(default(70_000) + match("10110011") + match("01") + answer(33_000)))
    assert asmap.system_of(whole("1011001101")) == 33_000
    assert asmap.system_of(whole("1011001111")) == 70_000
    assert AsMap(map_of(match("1") + answer(5))).system_of(whole("0")) == 0


@pytest.mark.parametrize(
    ("bits", "why"),
    [
        ("", "without an answer"),
        (match("1"), "in the middle|without an answer"),
        (answer(5) + "1", "something follows"),
        (answer(5) + "0" * 8, "something follows"),
        (default(5) + answer(6), "no effect"),
        (default(5) + default(6) + match("1") + answer(7), "no effect"),
        (match("1") + match("1") + answer(7), "could be one"),
        (match("1" * 8) * 16 + match("1") + answer(7), "no bit left"),
        ("10" + number(4_000, 17, range(5, 31)) + answer(7) + answer(8), "out of the map"),
        ("10" + number(20, 17, range(5, 31)) + answer(7) + answer(80_000), "nothing leads|something follows|middle"),
        (jump(jump(answer(7), answer(8)), answer(9)).replace("10", "10", 1)[:-3], "in the middle"),
    ],
)
def test_what_is_no_map(bits: str, why: str) -> None:
    with pytest.raises(BadMap, match=why):
        AsMap(map_of(bits))


def test_no_bytes_do_more_than_be_no_map() -> None:
    chance = random.Random(5)
    good = map_of(tree({f"{place:04b}": 100 * place + 1 for place in range(16)}))
    for _ in range(2_000):
        spoiled = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
        try:
            asmap = AsMap(bytes(spoiled[: chance.randrange(len(spoiled) + 1)]))
        except BadMap:
            continue
        asmap.system_of(chance.randbytes(16))


def test_the_reference_s_map() -> None:
    asmap = AsMap(CORE_MAP)
    assert asmap.version[::-1].hex() == CORE_VERSION
    groups = NetGroups(asmap)
    systems = [groups.system_of(address(f"101.{number}.0.0")) for number in range(4)]
    assert 0 not in systems
    assert len(set(systems)) == 3


def test_groups_are_systems_where_they_are_known() -> None:
    ipv4 = ipaddress.IPv6Address("::ffff:9.0.0.0")
    prefix = f"{int(ipv4):0128b}"[:104]
    steps = "".join(match(prefix[at : at + 8]) for at in range(0, 104, 8))
    groups = NetGroups(AsMap(map_of(steps + answer(0x010203))))
    assert groups.group_of(address("9.9.9.9")) == groups.group_of(address("9.1.2.3")) == bytes((2, 3, 2, 1, 0))
    # One that is known by its IPv4 address alone (6to4).
    assert groups.system_of(address("2002:909:909::1")) == 0x010203
    for text in ("8.8.8.8", "2a00::1", "127.0.0.1"):
        assert groups.group_of(address(text)) == group_of(address(text))


def test_addresses_move_when_the_map_changes(tmp_path: Path) -> None:
    def tables(groups: NetGroups | None) -> AddressTables:
        return AddressTables(deterministic=True, groups=groups)

    before = AddressManager(lambda: 1_000_000_000, tables(None))
    for number in range(1, 30):
        before.add([TimedAddress(1_000_000_000, 9, endpoint_of(f"101.{number}.0.1:8333"))], address("101.9.9.9"), 0)
    after = tables(NetGroups(AsMap(CORE_MAP)))
    deserialize(after, Reader(serialize(before.tables)))
    # Two may want the same place there.
    assert 25 <= len(after.order) <= len(before.tables.order)
    assert all(
        after.new_place(after.entries[number])[0] == bucket for bucket, _, number in after.places(is_tried=False)
    )
    assert serialize(after)[-32:] == after.placement.groups.version


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "map"
    with pytest.raises(ConfigError, match='Could not find asmap file "'):
        load_groups(path)
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match='Could not parse asmap file "'):
        load_groups(path)
    path.write_bytes(CORE_MAP)
    assert load_groups(path).has_map
    assert not load_groups(None).has_map
