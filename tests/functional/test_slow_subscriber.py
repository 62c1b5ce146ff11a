"""A subscriber whose high-water mark overflows has every message in the end; one that keeps up loses none."""

import threading
from pathlib import Path

from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.notifiers.client import core_messages
from helpers.anyone import SCRIPT, WITNESS_SCRIPT, Money, mine, mine_money, send
from helpers.event_source import free_tcp_address, wait_until
from helpers.node import Node

DATA_BYTES = 90_000
TRANSACTIONS = 20
ROUNDS = 8
OTHERS = "raw(51)"


def _large(money: Money) -> Transaction:
    """Return a transaction that is long enough for sockets' buffers to fill up."""
    data = b"\x6a\x4e" + DATA_BYTES.to_bytes(4, "little") + bytes(DATA_BYTES)
    inputs = [TxIn(money.outpoint, b"", 0xFFFFFFFD, (WITNESS_SCRIPT,))]
    return Transaction(2, inputs, [TxOut(money.value - DATA_BYTES * 2, SCRIPT), TxOut(0, data)])


class Reader:
    """Reads rawtx with the client library; `go` lets it begin."""

    def __init__(self, node: Node, replay: str, hwm: int) -> None:
        self.go = threading.Event()
        self.connected = threading.Event()
        self.got: list[tuple[int, bytes]] = []
        self._arguments = (node.zmq_address, ["rawtx"], replay)
        self._hwm = hwm
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        source = core_messages(*self._arguments, hwm=self._hwm, on_connect=self.connected.set)
        for _, body, counter in source:
            self.got.append((counter, body))
            self.go.wait()


def test_every_message_is_recovered_and_a_fast_subscriber_loses_none(tmp_path: Path) -> None:
    replay = free_tcp_address()
    options = ("-par=1", f"-zmqreplay={replay}", "-zmqpubrawtxhwm=2", "-datacarriersize=100000")
    with Node(tmp_path, *options, topics=["rawtx"]) as node:
        money = mine_money(node, TRANSACTIONS)
        slow, fast = Reader(node, replay, 1), Reader(node, replay, 0)
        fast.go.set()
        assert slow.connected.wait(30)
        assert fast.connected.wait(30)
        for each in money:
            send(node, _large(each))
        (block,) = node.rpc("generatetodescriptor", 1, OTHERS)
        for _ in range(ROUNDS):
            node.rpc("invalidateblock", block)
            node.rpc("reconsiderblock", block)
        node.rpc("syncwithvalidationinterfacequeue")
        assert len(slow.got) <= 1, "it was not slow"
        assert "a subscriber of" in node.debug_log(), "its mark did not overflow"
        target = fast.got[-1][0]
        slow.go.set()
        # What comes last may have been dropped, too, and only a message behind it shows that.
        wait_until(lambda: mine(node, 1) != [] and slow.got[-1][0] >= target, timeout_s=60)
    first, last = slow.got[0][0], slow.got[-1][0]
    assert [counter for counter, _ in slow.got] == list(range(first, last + 1))
    told = dict(fast.got)
    assert all(told.get(counter, body) == body for counter, body in slow.got)
    assert last - first > TRANSACTIONS * ROUNDS
    assert [counter for counter, _ in fast.got] == list(range(fast.got[0][0], fast.got[-1][0] + 1))
