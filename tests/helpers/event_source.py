"""An event log in memory, with blocks, for tests of delivery."""

import time
from collections.abc import Callable, Mapping, Sequence

import zmq

from clarion.node.errors import BlockFileError
from clarion.node.events.mempool_rows import BLOCK_REASON, added_body, confirmed_body, removed_body, reset_body
from clarion.node.events.row import EventKind, EventRow, tip_body
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash, Txid, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.storage.rows import BlockPosition
from clarion.notifiers.notifier import LoggedEvent
from helpers.node import free_port

_SUBSCRIPTION_S = 0.1

LOG_ID = "00112233aabbccdd"
SPENT = TxOut(500, b"\x51")
"""The one output that transactions of the mempool spend here."""


def make_block(nonce: int, tx_count: int = 1, prev_hash: bytes = bytes(32)) -> Block:
    """Return a block that only has the right shape; `nonce` makes it and its transactions unique."""
    txs = [
        Transaction(2, [TxIn(make_outpoint(nonce.to_bytes(32, "big"), at))], [TxOut(at, b"\x51")], nonce)
        for at in range(tx_count)
    ]
    return Block(BlockHeader(1, prev_hash, bytes(32), 0, 0, nonce), txs)


class ListSource:
    """An `EventSource` over lists."""

    log_id = LOG_ID

    def __init__(self) -> None:
        self.rows: list[EventRow] = []
        self.blocks: dict[BlockHash, bytes] = {}
        self.block_reads = 0
        self.closed = False

    def last_seq(self) -> int:
        """Return the last row's number."""
        return len(self.rows)

    def read(self, after_seq: int, limit: int) -> list[EventRow]:
        """Return rows."""
        return self.rows[after_seq : after_seq + limit]

    def behind(self, seq: int) -> tuple[int, int | None]:
        """Return how many rows are behind, and the oldest one's time."""
        rows = self.rows[seq:]
        return len(rows), rows[0].time if rows else None

    def block_bytes(self, block_hash: BlockHash) -> bytes:
        """Return raw bytes, or raise as missing block files do."""
        self.block_reads += 1
        try:
            return self.blocks[block_hash]
        except KeyError:
            raise BlockFileError("no such block") from None

    def stored_bytes(self, position: BlockPosition) -> bytes:
        """Return the bytes of the block of this number among those that were connected, or raise."""
        self.block_reads += 1
        try:
            return list(self.blocks.values())[position.offset]
        except IndexError:
            raise BlockFileError("no such block") from None

    def close(self) -> None:
        """Note that it was closed."""
        self.closed = True

    def connect(self, block: Block, *, fork: bytes | None = None, initial_download: bool = False) -> None:
        """Log a connected block, then the new tip."""
        self.blocks[block.hash] = block.raw
        self._add(EventKind.BLOCK_CONNECTED, block.hash)
        self._add(EventKind.TIP_CHANGED, block.hash, tip_body(BlockHash(fork or bytes(32)), initial_download))

    def disconnect(self, block: Block, new_tip: bytes) -> None:
        """Log a disconnected block, then the tip that was there before."""
        self._add(EventKind.BLOCK_DISCONNECTED, block.hash)
        self._add(EventKind.TIP_CHANGED, BlockHash(new_tip), tip_body(BlockHash(new_tip), False))

    def add_to_mempool(
        self, tx: Transaction, mempool_sequence: int = 1, *, fee_sat: int = 200, vsize: int = 110
    ) -> EventRow:
        """Log a transaction that entered the mempool, and return its row."""
        body = added_body(mempool_sequence, fee_sat, vsize, tx.raw, [SPENT])
        return self._add(EventKind.TX_ADDED, BlockHash(bytes(32)), body, tx.txid)

    def remove_from_mempool(
        self, txid: Txid, reason: str, mempool_sequence: int = 2, *, replaced_by: Txid | None = None
    ) -> EventRow:
        """Log a transaction that left the mempool, not for a block, and return its row."""
        body = removed_body(mempool_sequence, replaced_by)
        return self._add(EventKind.TX_REMOVED, BlockHash(bytes(32)), body, txid, reason)

    def confirm(self, confirmed: Sequence[tuple[Txid, int]]) -> None:
        """Log transactions that left the mempool for a block."""
        self._add(EventKind.TX_REMOVED, BlockHash(bytes(32)), confirmed_body(confirmed), reason=BLOCK_REASON)

    def reset_mempool(self, mempool_sequence: int) -> None:
        """Log that the mempool starts empty."""
        self._add(EventKind.MEMPOOL_RESET, BlockHash(bytes(32)), reset_body(mempool_sequence))

    def _add(
        self,
        kind: EventKind,
        block_hash: BlockHash,
        body: bytes = b"",
        txid: Txid | None = None,
        reason: str | None = None,
    ) -> EventRow:
        row = EventRow(kind, block_hash, 7, 1_700_000_000, body, len(self.rows) + 1, txid, reason)
        self.rows.append(row)
        return row


class RecordingNotifier:
    """A notifier that remembers the rows it was told; `before` runs first and may raise or wait."""

    awaited = True
    early = False

    def __init__(self, name: str = "recorder", before: Callable[[LoggedEvent], None] = lambda event: None) -> None:
        self.name = name
        self.told: list[int] = []
        self.opened = 0
        self.closed = 0
        self._before = before

    def open(self) -> None:
        """Count."""
        self.opened += 1

    def close(self) -> None:
        """Count."""
        self.closed += 1

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return one line."""
        return [{"name": self.name}]

    def tell(self, event: LoggedEvent) -> None:
        """Remember the row's number."""
        self._before(event)
        self.told.append(event.row.seq)


def wait_until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Return when the condition holds; fail after the timeout."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "condition did not come true in time"
        time.sleep(0.005)


def free_tcp_address() -> str:
    """Return a loopback address that nobody listens on."""
    return f"tcp://127.0.0.1:{free_port()}"


class Subscriber:
    """A SUB socket of all topics at some addresses; a context manager."""

    def __init__(self, *addresses: str, ipv6: bool = False, hwm: int = 0) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.set(zmq.RCVHWM, hwm)
        self._socket.set(zmq.IPV6, int(ipv6))
        self._socket.subscribe(b"")
        monitor = self._socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        for address in addresses:
            self._socket.connect(address)
            assert monitor.poll(10_000), f"nobody publishes at {address}"
            monitor.recv_multipart()
        self._socket.disable_monitor()
        monitor.close(linger=0)
        # The publisher drops what it sends before the subscription, which follows the handshake, has reached it.
        time.sleep(_SUBSCRIPTION_S)

    def __enter__(self) -> "Subscriber":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close(linger=0)
        self._context.term()

    def receive(self, count: int, timeout_s: float = 10.0) -> list[tuple[str, bytes, int]]:
        """Return `count` messages as (topic, body, counter); fail if they do not come in time."""
        messages: list[tuple[str, bytes, int]] = []
        for _ in range(count):
            assert self._socket.poll(int(timeout_s * 1000)), f"only {len(messages)} of {count} messages came"
            topic, body, counter = self._socket.recv_multipart()
            assert len(counter) == 4
            messages.append((topic.decode(), body, int.from_bytes(counter, "little")))
        return messages

    def is_silent(self, seconds: float = 0.1) -> bool:
        """Whether nothing comes for a while."""
        return not self._socket.poll(int(seconds * 1000))
