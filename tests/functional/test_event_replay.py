"""The event stream over ZMQ on a real node, and the client library across kills."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
import zmq.auth

from clarion.notifiers.client import ClientKeys, StreamRefused, core_messages, core_messages_async, events, events_async
from helpers.anyone import mine, mine_money, send, spend
from helpers.event_source import free_tcp_address, wait_until
from helpers.node import Node, events_process_of, run_program
from helpers.shared import PROJECT_ROOT

OTHERS = "raw(51)"
RANGED = "wpkh(tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B/0/*)"


def _ids(messages: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in messages if "id" in each]


class Follower:
    """Runs the client on a thread of its own."""

    def __init__(self, address: str, **fields: Any) -> None:
        self.got: list[dict[str, Any]] = []
        threading.Thread(target=self._run, args=(address, fields), daemon=True).start()

    def _run(self, address: str, fields: dict[str, Any]) -> None:
        for event in events(address, **fields):
            self.got.append(event)


def test_client_has_the_whole_history_once_across_kills_of_node_and_events_process(tmp_path: Path) -> None:
    address = free_tcp_address()
    node = Node(tmp_path, "-par=1", f"-zmqreplay={address}", topics=["hashblock"])
    with node:
        follower = Follower(address, start="start")
        for round_ in range(4):
            mine(node, 3)
            if round_ == 1:
                node.rpc("invalidateblock", node.rpc("getbestblockhash"))
                node.rpc("generatetodescriptor", 2, OTHERS)
            tip = node.rpc("getbestblockhash")
            wait_until(lambda tip=tip: follower.got and follower.got[-1]["hash"] == tip, timeout_s=60)  # type: ignore[misc]
            assert node.process is not None
            if round_ == 2:
                delivery = events_process_of(node)
                assert delivery is not None
                os.kill(delivery, signal.SIGKILL)
                continue
            os.kill(node.process.pid, signal.SIGKILL)
            node.process.wait()
            node.start()
        everything = list(events(address, start="start", follow=False))
        wait_until(lambda: len(follower.got) == len(everything), timeout_s=60)
    assert _ids(follower.got) == _ids(everything)
    assert len(set(_ids(everything))) == len(everything)


def test_a_range_that_has_grown_stays_so_for_clients_that_come_again(tmp_path: Path) -> None:
    address = free_tcp_address()
    fields = {"descriptors": [{"desc": RANGED, "range": [0, 5], "gap": 5}], "types": ["tx_confirmed"]}
    with Node(tmp_path, "-par=1", f"-zmqreplay={address}") as node:
        paid = node.rpc("deriveaddresses", node.rpc("getdescriptorinfo", RANGED)["descriptor"], [0, 20])
        follower = Follower(address, start="start", **fields)
        told: list[str] = []
        for index in (5, 9, 14, 19, 4):
            # Each payment lies behind the range as it was two payments, and two restarts of the node, before.
            node.rpc("generatetoaddress", 1, paid[index])
            told.append(node.rpc("getbestblockhash"))
            wait_until(lambda: [each["hash"] for each in follower.got] == told, timeout_s=60)
            polled = [
                event
                for cursor in _cursors(follower)
                for event in events(address, start=cursor, follow=False, **fields)
            ]
            assert [each["hash"] for each in polled] == [
                told[at] for begin in range(len(told)) for at in range(begin, len(told))
            ]
            node.stop()
            node.start()


def _cursors(follower: Follower) -> list[str]:
    """Return the cursors in front of each event that a client got."""
    return ["start", *(each["cursor"] for each in follower.got[:-1])]


def test_published_events_are_those_of_the_replay(tmp_path: Path) -> None:
    address, replay = free_tcp_address(), free_tcp_address()
    with Node(tmp_path, "-par=1", f"-zmqpubevent={address}", f"-zmqreplay={replay}", topics=["hashblock"]) as node:
        with zmq.Context() as context, context.socket(zmq.SUB) as socket:
            socket.connect(address)
            socket.subscribe("event")
            mine(node, 1)
            wait_until(lambda: mine(node) is not None and bool(socket.poll(500)), timeout_s=30)
            topic, body, counter = socket.recv_multipart()
            first = json.loads(body)
            (money,) = mine_money(node, 1)
            send(node, spend([money]))
            node.rpc("syncwithvalidationinterfacequeue")
            wait_until(lambda: list(events(replay, start=first["cursor"], follow=False))[-1]["type"] == "tx_added")
            rest = list(events(replay, start=first["cursor"], follow=False))
            published = [json.loads(socket.recv_multipart()[1]) for _ in rest]
        assert (topic, len(counter)) == (b"event", 8)
        assert published == rest
        assert {each["type"] for each in node.rpc("getzmqnotifications")} == {"pubhashblock"}


def test_lost_messages_of_a_core_topic_are_fetched(tmp_path: Path) -> None:
    replay = free_tcp_address()
    with Node(tmp_path, "-par=1", f"-zmqreplay={replay}", topics=["rawtx", "sequence"]) as node:
        mine(node, 5)
        node.rpc("syncwithvalidationinterfacequeue")
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.connect(replay)
            asked = {"topic": "sequence", "counter": 2, "count": 2}
            socket.send_multipart([b"a", json.dumps(asked).encode()])
            got = [socket.recv_multipart() for _ in range(3)]
        hashes = [bytes.fromhex(node.rpc("getblockhash", height)) for height in (2, 3)]
        assert [each[2] for each in got[:2]] == [block_hash + b"C" for block_hash in hashes]
        assert [each[3] for each in got[:2]] == [bytes([2, 0, 0, 0]), bytes([3, 0, 0, 0])]
        assert got[2][1] == b"end"


def _first(source: Iterator[tuple[str, bytes, int]], got: list[tuple[str, bytes, int]]) -> None:
    got.extend(next(source) for _ in range(4))


def _first_async(source: AsyncIterator[tuple[str, bytes, int]], got: list[tuple[str, bytes, int]]) -> None:
    async def read() -> None:
        async with contextlib.aclosing(source):  # type: ignore[type-var]
            async for message in source:
                got.append(message)
                if len(got) == 4:
                    return

    asyncio.run(read())


@pytest.mark.parametrize(("client", "read"), [(core_messages, _first), (core_messages_async, _first_async)])
def test_client_fills_a_gap_in_a_core_topic(
    client: Callable[..., Any], read: Callable[[Any, list[tuple[str, bytes, int]]], None], tmp_path: Path
) -> None:
    replay, forged = free_tcp_address(), free_tcp_address()
    with Node(tmp_path, "-par=1", f"-zmqreplay={replay}", topics=["hashtx"]) as node:
        mine(node, 4)
        node.rpc("syncwithvalidationinterfacequeue")
        with zmq.Context() as context, context.socket(zmq.XPUB) as publisher:
            publisher.bind(forged)
            got: list[tuple[str, bytes, int]] = []
            source = client(forged, ["hashtx"], replay)
            threading.Thread(target=read, args=(source, got), daemon=True).start()
            assert publisher.recv() == b"\x01hashtx"
            # A subscriber that heard message 0 and next 3, as after an overflow.
            for counter in (0, 3):
                publisher.send_multipart([b"hashtx", bytes(32), counter.to_bytes(4, "little")])
            wait_until(lambda: len(got) == 4, timeout_s=30)
        txids = [bytes.fromhex(node.rpc("getblock", node.rpc("getblockhash", h))["tx"][0]) for h in (1, 2)]
    assert [counter for _, _, counter in got] == [0, 1, 2, 3]
    assert [body for _, body, _ in got[1:3]] == txids


def test_refusals_have_their_code_in_asyncio_too(tmp_path: Path) -> None:
    replay = free_tcp_address()

    async def collect(start: str) -> list[dict[str, Any]]:
        return [event async for event in events_async(replay, start=start, follow=False, types=["block_connected"])]

    with Node(tmp_path, "-par=1", f"-zmqreplay={replay}") as node:
        mine(node, 2)
        node.rpc("syncwithvalidationinterfacequeue")
        assert [each["height"] for each in asyncio.run(collect("height:1"))] == [1, 2]
        with pytest.raises(StreamRefused, match="no-such-height"):
            asyncio.run(collect("height:9"))
        with pytest.raises(StreamRefused, match="bad-cursor"):
            asyncio.run(collect("yesterday"))
        with pytest.raises(StreamRefused, match="true or false"):
            list(events(replay, start="start", follow="no"))  # type: ignore[arg-type]
        with pytest.raises(StreamRefused, match="addresses: at least one word"):
            list(events(replay, start="start", follow=False, addresses=[]))
        assert [each["height"] for each in asyncio.run(collect("height:1"))] == [1, 2]


@pytest.mark.skipif(not zmq.has("curve"), reason="this build of libzmq has no CURVE")
def test_encrypted_replay_over_a_unix_socket_and_ipv6(tmp_path: Path) -> None:
    _, path = zmq.auth.create_certificates(tmp_path, "node")
    public, _ = zmq.auth.load_certificate(tmp_path / "node.key")
    unix, event = f"unix:{tmp_path}/replay.sock", free_tcp_address()
    loopback = free_tcp_address().replace("127.0.0.1", "[::1]" if _has_ipv6() else "127.0.0.1")
    options = (f"-zmqreplay={unix}", f"-zmqreplay={loopback}", f"-zmqpubevent={event}", f"-zmqcurvekey={path}")
    with Node(tmp_path / "node", "-par=1", *options, "-zmqpubeventencoding=msgpack", topics=["hashtx"]) as node:
        mine(node, 2)
        node.rpc("syncwithvalidationinterfacequeue")
        keys = ClientKeys(public)
        told = [_ids(list(events(each, start="start", follow=False, keys=keys))) for each in (unix, loopback)]
        assert told[0] == told[1]
        assert len(told[0]) == 10
        with node.subscriber("hashtx") as subscriber:  # Core's topics stay as they are
            mine(node, 1)
            assert subscriber.receive()[0] == "hashtx"


def _has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


@pytest.mark.parametrize("option", ["zmqpubevent", "zmqreplay"])
def test_an_address_that_can_not_be_bound_stops_the_start(tmp_path: Path, option: str) -> None:
    done = run_program(f"-datadir={tmp_path}", "-regtest", "-connect=0", "-server=0", f"-{option}=tcp://192.0.2.1:5")
    assert (done.returncode, f"-{option}=tcp://192.0.2.1:5: can't bind" in done.stderr) == (1, True)
    done = run_program(f"-datadir={tmp_path}", "-regtest", "-connect=0", "-server=0", f"-{option}=foo")
    assert "is no ZMQ address: tcp://host:port or unix:/path expected" in done.stderr


def test_exactly_once_example_counts_right_across_its_own_kills(tmp_path: Path) -> None:
    replay, book = free_tcp_address(), tmp_path / "balances.db"
    example = PROJECT_ROOT / "examples" / "exactly_once.py"
    with Node(tmp_path / "node", "-par=1", f"-zmqreplay={replay}") as node:
        address = node.rpc("decodescript", "00" + "14" + "11" * 20)["address"]
        command = [sys.executable, str(example), replay, str(book), address]
        for height in (2, 5):
            node.rpc("generatetoaddress", 3, address)
            if height == 2:
                node.rpc("invalidateblock", node.rpc("getbestblockhash"))
                node.rpc("generatetodescriptor", 1, OTHERS)
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
                wait_until(lambda height=height: _balance(book) == height * 50 * 10**8, timeout_s=60)  # type: ignore[misc]
                process.kill()


def _balance(book: Path) -> int:
    try:
        with contextlib.closing(sqlite3.connect(book)) as database:
            return int(database.execute("SELECT COALESCE(SUM(sat), 0) FROM balances").fetchone()[0])
    except sqlite3.OperationalError:
        return -1  # not made yet, or being written
