"""peers.dat and anchors.dat."""

from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.net.address_manager.anchors_file import save_anchors, take_anchors
from clarion.node.net.address_manager.consistency import fault_of
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.address_manager.peers_file import load_peers, save_peers
from clarion.node.net.address_manager.placement import NEW_BUCKETS
from clarion.node.net.address_manager.tables import AddressTables
from clarion.node.primitives.hashes import sha256d
from helpers.addresses import NOW, ONION, Time, address_of, endpoint_of, many, timed

MAGIC = bytes.fromhex("fabfb5da")


def i32(number: int) -> bytes:
    return number.to_bytes(4, "little", signed=True)


def empty_file(
    *, magic: bytes = MAGIC, format_number: int = 1, compatible: int = 4, key: int = 1, new: int = 0, tried: int = 0
) -> bytes:
    """Return a file as the reference's own tests make it."""
    head = magic + bytes((format_number, 32 + compatible)) + key.to_bytes(32, "little") + i32(new) + i32(tried)
    body = head + i32(NEW_BUCKETS ^ 1 << 30) + NEW_BUCKETS * i32(0)
    return body + sha256d(body)


def load(path: Path) -> AddressTables:
    return load_peers(path, MAGIC, AddressTables)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "peers.dat"


def test_round_trip(path: Path) -> None:
    addresses = AddressManager(Time())
    addresses.add([*many(300), timed(ONION), timed("[2001:4860::1]:77", services=1 << 40)], address_of("250.1.1.1"))
    addresses.add(many(300, age_s=-5), address_of(ONION))
    for each in many(50):
        addresses.good(each.endpoint)
    addresses.attempt(endpoint_of("[2001:4860::1]:77"), counts=True)
    save_peers(addresses.tables, path, MAGIC)
    again = load(path)
    assert fault_of(again) == 0
    for is_tried in (False, True):
        stored = [(b, p, again.entries[number]) for b, p, number in again.places(is_tried=is_tried)]
        kept = list(addresses.places(is_tried=is_tried))
        assert [(b, p, e.shown(), e.source, e.last_success, e.attempts) for b, p, e in stored] == [
            (b, p, e.shown(), e.source, e.last_success, e.attempts) for b, p, e in kept
        ]
    assert len(list(path.parent.iterdir())) == 1


def test_an_old_empty_file(path: Path) -> None:
    path.write_bytes(empty_file())
    assert load(path).order == []


def test_a_missing_file_is_made(path: Path) -> None:
    tables = load(path)
    assert load(path).placement.key == tables.placement.key


def test_a_file_from_the_future_is_put_aside(path: Path) -> None:
    path.write_bytes(empty_file(compatible=111))
    load(path)
    assert path.with_name("peers.dat.bak").read_bytes() == empty_file(compatible=111)
    assert load(path).order == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (empty_file(compatible=-32), "Corrupted addrman database: The compat value (0) is lower than the expected"),
        (empty_file()[:-1], "AutoFile::read: end of file: iostream error"),
        (empty_file(magic=bytes(4)), "Invalid network magic number"),
        (empty_file()[:-32] + bytes(32), "Checksum mismatch, data corrupted"),
        (empty_file(tried=-1), "Corrupt AddrMan serialization: nTried=-1, should be in [0, 16384]: iostream error"),
        (empty_file(new=65537), "Corrupt AddrMan serialization: nNew=65537, should be in [0, 65536]: iostream error"),
        (empty_file(key=0), "Corrupt data. Consistency check failed with code -16: iostream error"),
    ],
    ids=["compatible", "end", "magic", "checksum", "tried", "new", "key"],
)  # fmt: skip
def test_a_broken_file_stops_the_start(path: Path, data: bytes, reason: str) -> None:
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"Invalid or corrupt peers.dat ({reason}")
    assert f'move the file ("{path}") out of the way' in str(caught.value)


def test_anchors_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "anchors.dat"
    anchors = [timed(ONION), timed("1.2.3.4:5")]
    save_anchors(path, MAGIC, anchors)
    assert take_anchors(path, MAGIC) == anchors
    assert not path.exists()
    assert take_anchors(path, MAGIC) == []
    save_anchors(path, MAGIC, [*anchors, timed("1.2.3.5")])
    assert take_anchors(path, MAGIC) == anchors


def test_broken_anchors_are_none(tmp_path: Path) -> None:
    path = tmp_path / "anchors.dat"
    save_anchors(path, MAGIC, [timed("1.2.3.4:5")])
    data = path.read_bytes()
    # Network magic, count, format, time, and then the services as in the reference's file.
    assert data[:13] == MAGIC + b"\x01" + (1 << 29 | 220_000).to_bytes(4, "little") + NOW.to_bytes(4, "little")
    path.write_bytes(data[:20] + b"1" + data[20:])
    assert take_anchors(path, MAGIC) == []
    assert not path.exists()
