"""Core's topics over real sockets: bytes, counters, order."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq

from clarion.node.errors import BlockFileError, ConfigError
from clarion.notifiers.feed import Feed
from clarion.notifiers.zmq_address import TOPICS, ZmqAddress
from clarion.notifiers.zmq_core import CoreTopics
from helpers.event_source import ListSource, Subscriber, free_tcp_address, make_block


def _all_topics(address: str) -> list[ZmqAddress]:
    return [ZmqAddress(topic, address) for topic in reversed(TOPICS)]


@contextmanager
def _opened(*addresses: ZmqAddress) -> Iterator[CoreTopics]:
    topics = CoreTopics(addresses, bind_wait_s=0)
    try:
        topics.open()
        yield topics
    finally:
        topics.close()


def _tell_all(topics: CoreTopics, source: ListSource) -> None:
    for event in Feed(source).read(0, 1000):
        topics.tell(event)


def test_connected_block_is_told_transaction_by_transaction_then_the_block_then_the_tip() -> None:
    block, source, address = make_block(1, 2), ListSource(), free_tcp_address()
    source.connect(block)
    with _opened(*_all_topics(address)) as topics, Subscriber(address) as subscriber:
        _tell_all(topics, source)
        first, second = block.txs
        assert subscriber.receive(7) == [
            ("hashtx", first.txid[::-1], 0),
            ("rawtx", first.raw, 0),
            ("hashtx", second.txid[::-1], 1),
            ("rawtx", second.raw, 1),
            ("sequence", block.hash[::-1] + b"C", 0),
            ("hashblock", block.hash[::-1], 0),
            ("rawblock", block.raw, 0),
        ]
        assert subscriber.is_silent()


def test_pure_disconnect_tells_transactions_and_d_but_no_block() -> None:
    block, source, address = make_block(1, 2), ListSource(), free_tcp_address()
    source.connect(block, initial_download=True)
    del source.rows[:]
    source.disconnect(block, bytes(32))
    with _opened(*_all_topics(address)) as topics, Subscriber(address) as subscriber:
        _tell_all(topics, source)
        assert [(topic, body) for topic, body, _ in subscriber.receive(5)] == [
            ("hashtx", block.txs[0].txid[::-1]),
            ("rawtx", block.txs[0].raw),
            ("hashtx", block.txs[1].txid[::-1]),
            ("rawtx", block.txs[1].raw),
            ("sequence", block.hash[::-1] + b"D"),
        ]
        assert subscriber.is_silent()


def test_initial_download_is_silent_on_the_block_topics_only() -> None:
    source, address = ListSource(), free_tcp_address()
    source.connect(make_block(1), initial_download=True)
    with _opened(*_all_topics(address)) as topics, Subscriber(address) as subscriber:
        _tell_all(topics, source)
        assert [topic for topic, _, _ in subscriber.receive(3)] == ["hashtx", "rawtx", "sequence"]
        assert subscriber.is_silent()


def test_mempool_messages_carry_the_mempool_sequence() -> None:
    (tx,), source, address = make_block(1).txs, ListSource(), free_tcp_address()
    source.reset_mempool(1)
    source.add_to_mempool(tx, 1)
    source.remove_from_mempool(tx.txid, "conflict", 0x0102030405060708)
    with _opened(*_all_topics(address)) as topics, Subscriber(address) as subscriber:
        _tell_all(topics, source)
        assert subscriber.receive(4) == [
            ("hashtx", tx.txid[::-1], 0),
            ("rawtx", tx.raw, 0),
            ("sequence", tx.txid[::-1] + b"A" + bytes.fromhex("0100000000000000"), 0),
            ("sequence", tx.txid[::-1] + b"R" + bytes.fromhex("0807060504030201"), 1),
        ]
        assert subscriber.is_silent()


def test_removal_for_a_block_is_silent() -> None:
    txs, source, address = make_block(1, 2).txs, ListSource(), free_tcp_address()
    source.confirm([(tx.txid, number) for number, tx in enumerate(txs)])
    with _opened(*_all_topics(address)) as topics, Subscriber(address) as subscriber:
        _tell_all(topics, source)
        assert subscriber.is_silent()


def test_each_address_of_a_topic_has_its_own_counter() -> None:
    source, addresses = ListSource(), [free_tcp_address(), free_tcp_address()]
    source.connect(make_block(1))
    with (
        _opened(*(ZmqAddress("hashblock", each) for each in addresses)) as topics,
        Subscriber(addresses[0]) as one,
        Subscriber(addresses[1]) as two,
    ):
        _tell_all(topics, source)
        assert one.receive(1) == two.receive(1) == [("hashblock", make_block(1).hash[::-1], 0)]


def test_same_topic_twice_at_one_address_is_told_twice() -> None:
    source, address = ListSource(), free_tcp_address()
    source.connect(make_block(1))
    twice = ZmqAddress("sequence", address)
    with _opened(twice, twice) as topics, Subscriber(address) as subscriber:
        _tell_all(topics, source)
        assert [counter for _, _, counter in subscriber.receive(2)] == [0, 0]


def test_counter_wraps_at_32_bits() -> None:
    source, address = ListSource(), free_tcp_address()
    source.connect(make_block(1))
    source.connect(make_block(2))
    with _opened(ZmqAddress("hashblock", address)) as topics, Subscriber(address) as subscriber:
        topics._publishers["hashblock"][0].counter = 0xFFFFFFFF
        _tell_all(topics, source)
        assert [counter for _, _, counter in subscriber.receive(2)] == [0xFFFFFFFF, 0]


def test_description_is_in_cores_order_with_the_address_as_core_rewrites_it(tmp_path: Path) -> None:
    path = tmp_path / "s"
    given = [
        ZmqAddress("rawtx", f"unix:{path}", 5),
        ZmqAddress("hashtx", f"unix:{path}", 7),
        ZmqAddress("rawtx", "foo"),
    ]
    with _opened(*given) as topics:
        assert topics.describe() == [
            {"type": "pubhashtx", "address": f"ipc://{path}", "hwm": 7},
            {"type": "pubrawtx", "address": f"ipc://{path}", "hwm": 5},
        ]


def test_sockets_are_set_up_as_cores() -> None:
    address = free_tcp_address()
    with _opened(ZmqAddress("rawtx", address, 5), ZmqAddress("hashtx", address, 7)) as topics:
        (bound,) = topics._sockets.values()
        assert bound.socket.get(zmq.SNDHWM) == 7
        assert (bound.socket.get(zmq.TCP_KEEPALIVE), bound.socket.get(zmq.IPV6)) == (1, 0)


def test_ipv6_address() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            address = f"tcp://[::1]:{probe.getsockname()[1]}"
    except OSError:
        pytest.skip("no IPv6 on this machine")
    source = ListSource()
    source.connect(make_block(1))
    with _opened(ZmqAddress("hashblock", address)) as topics, Subscriber(address, ipv6=True) as subscriber:
        _tell_all(topics, source)
        assert subscriber.receive(1) == [("hashblock", make_block(1).hash[::-1], 0)]


@pytest.mark.parametrize("address", ["tcp://nonsense.invalid:1", "gopher://127.0.0.1:1", "ipc:///no/such/folder/s"])
def test_impossible_address_names_the_option(address: str) -> None:
    with pytest.raises(ConfigError, match="-zmqpubhashtx=") as caught, _opened(ZmqAddress("hashtx", address)):
        pass
    assert address in str(caught.value)


def test_port_in_use_names_the_option() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match="in use"), _opened(ZmqAddress("hashtx", address)):
            pass


def test_failed_send_keeps_the_notifier_and_shows_as_a_gap(caplog: pytest.LogCaptureFixture) -> None:
    source, address = ListSource(), free_tcp_address()
    source.connect(make_block(1))
    source.connect(make_block(2))
    with _opened(ZmqAddress("hashblock", address)) as topics, Subscriber(address) as subscriber:
        (publisher,) = topics._publishers["hashblock"]
        send, publisher._send = publisher._send, _refuse
        topics.tell(Feed(source).read(1, 1)[0])
        publisher._send = send
        topics.tell(Feed(source).read(3, 1)[0])
        assert [counter for _, _, counter in subscriber.receive(1)] == [1]
    assert "lost message 0 of hashblock" in caplog.text


def _refuse(*_: object) -> None:
    raise zmq.ZMQError(zmq.ETERM)


def test_unreadable_block_is_noticed_before_anything_is_sent() -> None:
    source, address = ListSource(), free_tcp_address()
    source.connect(make_block(1))
    source.blocks.clear()
    with _opened(*_all_topics(address)) as topics, Subscriber(address) as subscriber:
        for event in Feed(source).read(0, 10):
            with pytest.raises(BlockFileError):
                topics.tell(event)
        assert subscriber.is_silent()


def test_hashes_alone_read_no_block() -> None:
    source, address = ListSource(), free_tcp_address()
    source.connect(make_block(1))
    with _opened(ZmqAddress("hashblock", address), ZmqAddress("sequence", address)) as topics:
        _tell_all(topics, source)
    assert source.block_reads == 0
