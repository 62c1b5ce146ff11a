"""One order over all topics for blocks and the mempool, on real sockets and through crashes."""

import contextlib
import http.client
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from clarion.node.events.mempool_rows import read_added_transaction
from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import Txid, hash_to_hex
from clarion.node.primitives.transaction import Transaction
from helpers.anyone import FEE_SAT, Money, made_by, mine, mine_money, send, spend
from helpers.event_source import wait_until
from helpers.node import TOPICS, Node, RpcFailure, events_process_of
from helpers.node_database import on_server
from helpers.stored_log import stored_rows

Message = tuple[str, bytes, int]


def _brief(messages: list[Message]) -> list[str]:
    """Return what the topic `sequence` said, and which blocks the others told, in order."""
    told = []
    for topic, body, _ in messages:
        if topic == "sequence":
            told.append(f"{chr(body[32])} {body[:32].hex()[:8]}")
        elif topic == "hashblock":
            told.append(f"tip {body.hex()[:8]}")
    return told


def _short(tx: Transaction) -> str:
    return hash_to_hex(tx.txid)[:8]


def _mempool_sequences(messages: list[Message]) -> list[int]:
    return [
        int.from_bytes(body[33:], "little")
        for topic, body, _ in messages
        if topic == "sequence" and body[32:33] in (b"A", b"R")
    ]


def _counters_are_whole(messages: list[Message]) -> bool:
    """Whether each topic's counter rises by one from message to message."""
    last: dict[str, int] = {}
    for topic, _, counter in messages:
        if last.setdefault(topic, counter - 1) + 1 != counter:
            return False
        last[topic] = counter
    return True


@pytest.mark.parametrize("eventsprocess", ["1", "0"])
def test_one_order_across_replacement_block_and_reorganisation(tmp_path: Path, eventsprocess: str) -> None:
    with Node(tmp_path, "-par=1", f"-eventsprocess={eventsprocess}", topics=TOPICS) as node:
        one, two, three = mine_money(node, 3)
        node.rpc("syncwithvalidationinterfacequeue")
        with node.subscriber() as subscriber:
            first, kept = spend([one]), spend([two])
            child, richer = spend([made_by(first)]), spend([one], fee_sat=9 * FEE_SAT)
            for tx in (first, kept, child, richer):
                send(node, tx)
            (old,) = mine(node)
            late = spend([three])
            send(node, late)
            node.rpc("invalidateblock", old)
            new = mine(node, 2)
            node.rpc("syncwithvalidationinterfacequeue")
            messages = subscriber.drain()
    told = _brief(messages)
    assert told[:6] == [
        f"A {_short(first)}",
        f"A {_short(kept)}",
        f"A {_short(child)}",
        *sorted([f"R {_short(first)}", f"R {_short(child)}"], key=told.index),
        f"A {_short(richer)}",
    ]
    assert told[6:10] == [f"C {old[:8]}", f"tip {old[:8]}", f"A {_short(late)}", f"D {old[:8]}"]
    # What the lost block held comes back before anything else happens; then it is mined again.
    assert sorted(told[10:12]) == sorted([f"A {_short(kept)}", f"A {_short(richer)}"])
    assert told[12:] == [f"{what} {name[:8]}" for name in new for what in ("C", "tip")]
    # Two transactions left for each of the first blocks, and three for the next, silently.
    assert _mempool_sequences(messages) == [1, 2, 3, 4, 5, 6, 9, 10, 11]
    assert _counters_are_whole(messages)


def test_a_conflict_that_a_block_brings_is_told_before_the_block(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", topics=TOPICS) as node:
        (money,) = mine_money(node, 1)
        mined, loser = spend([money]), spend([money], fee_sat=5 * FEE_SAT)
        child = spend([made_by(loser)])
        send(node, loser)
        send(node, child)
        node.rpc("syncwithvalidationinterfacequeue")
        with node.subscriber() as subscriber:
            block = node.rpc("generateblock", "raw(51)", [mined.raw.hex()])["hash"]
            node.rpc("syncwithvalidationinterfacequeue")
            told = _brief(subscriber.drain())
    assert sorted(told[:2]) == sorted([f"R {_short(loser)}", f"R {_short(child)}"])
    assert told[2:] == [f"C {block[:8]}", f"tip {block[:8]}"]


@pytest.mark.skipif(on_server(), reason="holds the write lock of an SQLite file")
@pytest.mark.parametrize("eventsprocess", ["1", "0"])
def test_the_mempool_is_told_while_the_log_can_not_be_written(tmp_path: Path, eventsprocess: str) -> None:
    with Node(tmp_path, "-par=1", f"-eventsprocess={eventsprocess}", topics=("sequence",)) as node:
        (money,) = mine_money(node, 1)
        node.rpc("syncwithvalidationinterfacequeue")
        seen = stored_rows(node)[-1].seq
        tx = spend([money])
        database = sqlite3.connect(node.chain_dir / "chainstate" / "chain.sqlite", isolation_level=None)
        with node.subscriber() as subscriber, contextlib.closing(database):
            database.execute("BEGIN IMMEDIATE")
            send(node, tx)
            _, body, _ = subscriber.receive(5)
            assert body[:33] == tx.txid[::-1] + b"A"
            assert stored_rows(node, seen) == []
            database.execute("ROLLBACK")
            wait_until(lambda: len(stored_rows(node, seen)) == 1)
            assert subscriber.drain() == []


def _send_many(node: Node, money: list[Money], sent: list[Txid]) -> None:
    """Send transactions, and mine now and then, until there is no money or the node is gone."""
    with contextlib.suppress(OSError, RpcFailure, http.client.HTTPException):
        for number, each in enumerate(money):
            tx = spend([each])
            send(node, tx)
            sent.append(tx.txid)
            if number % 20 == 19:
                mine(node)


def test_a_killed_events_process_leaves_nothing_out(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", topics=("sequence",)) as node:
        money = mine_money(node, 100)
        first = events_process_of(node)
        assert first is not None
        sent: list[Txid] = []
        sender = threading.Thread(target=_send_many, args=(node, money, sent))
        with node.subscriber() as subscriber:
            sender.start()
            before = [subscriber.receive() for _ in range(30)]
            os.kill(first, signal.SIGKILL)
            sender.join()
            wait_until(lambda: events_process_of(node) not in (None, first), 20)
            node.rpc("syncwithvalidationinterfacequeue")
            after = subscriber.drain()
        rows = stored_rows(node)
    assert len(sent) == 100
    assert _mempool_sequences(before) == sorted(_mempool_sequences(before))
    numbers = _mempool_sequences(after)
    assert numbers == sorted(numbers)
    # The subscriber may miss what was told while it found the new socket; the log has every change.
    added = [row for row in rows if row.kind is EventKind.TX_ADDED]
    assert [row.txid for row in added] == sent


def _kill_in_a_burst(node: Node, sent: list[Txid]) -> list[Message]:
    """Kill the node while transactions and blocks rush in, and return what it told until then."""
    money = mine_money(node, 200)
    node.rpc("syncwithvalidationinterfacequeue")
    with node.subscriber() as subscriber:
        sender = threading.Thread(target=_send_many, args=(node, money, sent))
        sender.start()
        messages = [subscriber.receive() for _ in range(300)]
        node.kill()
        sender.join()
        return messages + subscriber.drain()


def _blocks_told(messages: list[Message]) -> list[bytes]:
    return [body[:32][::-1] for topic, body, _ in messages if topic == "sequence" and body[32:33] == b"C"]


def test_a_killed_node_has_told_no_block_that_it_forgets_and_its_log_is_a_prefix(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1", "-persistmempool=0", topics=TOPICS)
    node.start()
    sent: list[Txid] = []
    messages = _kill_in_a_burst(node, sent)
    node.start()
    try:
        rows = stored_rows(node)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        connected = [bytes(row.block_hash) for row in rows if row.kind is EventKind.BLOCK_CONNECTED]
        told = _blocks_told(messages)
        at = connected.index(told[0])
        assert told == connected[at : at + len(told)]
        _check_prefix(rows, sent)
        assert rows[-1].kind is EventKind.MEMPOOL_RESET
        assert node.rpc("getbestblockhash") == hash_to_hex(connected[-1])
    finally:
        node.stop()


def _check_prefix(rows: list[EventRow], sent: list[Txid]) -> None:
    """Check that the log holds the first of the transactions that were sent, in their order and numbers."""
    added = [row for row in rows if row.kind is EventKind.TX_ADDED]
    assert [row.txid for row in added[: len(sent)]] == sent[: len(added)]
    sequences = [read_added_transaction(row.body)[0] for row in added]
    assert sequences == sorted(sequences)
    assert sequences[0] == 1


def test_answers_come_before_the_commit_and_the_log_follows(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1") as node:
        money = mine_money(node, 30)
        seen = stored_rows(node)[-1].seq
        for each in money:
            send(node, spend([each]))
        begin = time.monotonic()
        wait_until(lambda: len(stored_rows(node, seen)) == 30, 5)
        assert time.monotonic() - begin < 2
