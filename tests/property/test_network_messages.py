"""Messages of the network: every one survives encoding, and no bytes do more than fail to decode."""

import contextlib
import dataclasses
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarion.node.errors import DecodeError
from clarion.node.net.address import Endpoint, NetAddress, Network
from clarion.node.net.messages.addresses import Addr, TimedAddress
from clarion.node.net.messages.blocks import BlockMessage, TxMessage
from clarion.node.net.messages.compact import CompactBlock, Prefilled
from clarion.node.net.messages.handshake import Ping, Version
from clarion.node.net.messages.inventory import Inv
from clarion.node.net.messages.message import Message
from clarion.node.net.messages.registry import MESSAGES
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.partial_merkle_tree import PartialMerkleTree
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
HASH = st.binary(min_size=32, max_size=32)
LENGTHS = {Network.IPV4: 4, Network.IPV6: 16, Network.ONION: 32, Network.I2P: 32, Network.CJDNS: 16}
OLD_NETWORKS = (Network.IPV4, Network.IPV6)


def addresses(networks: typing.Iterable[Network]) -> st.SearchStrategy[NetAddress]:
    # A leading byte that no embedded prefix has.
    return st.one_of(
        [
            st.binary(min_size=LENGTHS[each] - 1, max_size=LENGTHS[each] - 1).map(
                lambda rest, each=each: NetAddress(each, b"\x20" + rest)
            )
            for each in networks
        ]
    )


def endpoints(networks: typing.Iterable[Network]) -> st.SearchStrategy[Endpoint]:
    return st.builds(Endpoint, addresses(networks), st.integers(0, 65535))


HEADERS = st.builds(BlockHeader, st.integers(-(2**31), 2**31 - 1), HASH, HASH, U32, U32, U32)
TXS = st.builds(
    lambda prevout, script, value, witness: Transaction(
        2, [TxIn(OutPoint(prevout), script, 5, (witness,) if witness else ())], [TxOut(value, script)], 7
    ),
    st.binary(min_size=36, max_size=36),
    st.binary(max_size=40),
    st.integers(0, 2**50),
    st.binary(max_size=9),
)
TIMED = {
    networks: st.lists(st.builds(TimedAddress, U32, U64, endpoints(networks)), max_size=5).map(tuple)
    for networks in (OLD_NETWORKS, tuple(LENGTHS))
}
RISING = st.sets(st.integers(0, 60_000), max_size=6).map(lambda each: tuple(sorted(each)))

FIELDS: dict[object, st.SearchStrategy[typing.Any]] = {
    ("addr", "addresses"): TIMED[OLD_NETWORKS],
    ("addrv2", "addresses"): TIMED[tuple(LENGTHS)],
    ("getblocktxn", "indexes"): RISING,
    ("cmpctblock", "short_ids"): st.lists(st.integers(0, 2**48 - 1), max_size=5).map(tuple),
    ("cmpctblock", "prefilled"): st.lists(TXS, max_size=3).map(
        lambda txs: tuple(Prefilled(3 * number, tx) for number, tx in enumerate(txs))
    ),
    ("version", "version"): st.integers(-(2**31), 2**31 - 1),
    ("version", "time"): st.integers(-(2**63), 2**63 - 1),
    ("feefilter", "fee_rate"): st.integers(-(2**63), 2**63 - 1),
    ("filterload", "data"): st.binary(max_size=50),
    ("filterload", "hashes"): U32,
    "tweak": U32,
    "flags": st.integers(0, 255),
    "tree": st.builds(
        PartialMerkleTree,
        U32,
        st.lists(HASH, max_size=4),
        st.integers(0, 3).flatmap(lambda count: st.lists(st.booleans(), min_size=8 * count, max_size=8 * count)),
    ),
    "start_height": st.integers(0, 2**31 - 1),
    "filter_type": st.integers(0, 255),
    "subversion": st.text(st.characters(codec="ascii"), max_size=256),
    "items": st.lists(st.builds(Inv, U32, HASH), max_size=5).map(tuple),
    "headers": st.lists(HEADERS, max_size=3).map(tuple),
    ("cfcheckpt", "headers"): st.lists(HASH, max_size=3).map(tuple),
    "header": HEADERS,
    "tx": TXS,
    "txs": st.lists(TXS, max_size=3).map(tuple),
    "block": st.builds(lambda header, tx: Block(header, [tx]), HEADERS, TXS),
    "version": U32,
    ("sendcmpct", "version"): U64,
    "nonce": U64,
    "services": U64,
    "sender_services": U64,
    "receiver_services": U64,
    "sender": endpoints(OLD_NETWORKS),
    "receiver": endpoints(OLD_NETWORKS),
    "relay": st.booleans(),
    "high_bandwidth": st.booleans(),
    "fee_rate": U64,
    "encoded": st.binary(max_size=300),
    "witness": st.just(True),
    "locator": st.lists(HASH, max_size=5).map(tuple),
    "hashes": st.lists(HASH, max_size=5).map(tuple),
}


def messages_of(kind: type[Message]) -> st.SearchStrategy[Message]:
    assert dataclasses.is_dataclass(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    return st.builds(kind, **{name: FIELDS.get((kind.command, name), FIELDS.get(name, HASH)) for name in names})


ANY = st.sampled_from(sorted(MESSAGES)).flatmap(lambda command: messages_of(MESSAGES[command]))


def plain(value: object) -> object:
    """Return a value that compares by content: headers, blocks and transactions have no equality of their own."""
    if isinstance(value, BlockHeader):
        return value.serialize()
    if isinstance(value, Block | Transaction):
        return value.raw
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    return value


@pytest.mark.parametrize("command", sorted(MESSAGES))
@given(data=st.data())
def test_messages_survive_encoding(command: str, data: st.DataObject) -> None:
    message = data.draw(messages_of(MESSAGES[command]))
    back = MESSAGES[command].parse(message.serialize())
    assert plain(back) == plain(message)


def decode_or_refuse(command: str, payload: bytes) -> None:
    """Any other exception than this one fails the test; what decodes can be encoded again."""
    with contextlib.suppress(DecodeError):
        MESSAGES[command].parse(payload).serialize()


@given(ANY, st.data())
def test_damaged_payloads_only_fail_to_decode(message: Message, data: st.DataObject) -> None:
    raw = bytearray(message.serialize())
    for _ in range(data.draw(st.integers(1, 4))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    decode_or_refuse(message.command, bytes(raw[: data.draw(st.integers(0, len(raw)))]))


@given(st.sampled_from(sorted(MESSAGES)), st.binary(max_size=200))
def test_random_payloads_only_fail_to_decode(command: str, payload: bytes) -> None:
    decode_or_refuse(command, payload)


def test_a_long_count_takes_no_memory() -> None:
    with pytest.raises(DecodeError, match="bytes are wanted"):
        Addr.parse(bytes.fromhex("fe00000002"))
    with pytest.raises(DecodeError):
        CompactBlock.parse(bytes(88) + bytes.fromhex("fe00000002"))


def test_short_forms_of_old_peers() -> None:
    version = Version.parse(bytes(46))
    assert (version.start_height, version.relay, version.subversion) == (-1, True, "")
    assert Ping.parse(b"").nonce is None
    with pytest.raises(DecodeError, match="at most 256"):
        Version.parse(bytes(80) + b"\xfd\x01\x01" + bytes(257))


@given(TXS)
def test_encodings_without_witness(tx: Transaction) -> None:
    assert TxMessage(tx, witness=False).serialize() == tx.serialize_without_witness()
    block = Block(BlockHeader(1, bytes(32), bytes(32), 0, 0, 0), [tx])
    assert BlockMessage(block, witness=False).serialize() == block.raw[:81] + tx.serialize_without_witness()
