"""A mempool on a regtest chain whose coinbases anybody can spend by standard means, to offer transactions to.

Owns: the chain, spends of its coins and of each other, an acceptor with everything on one thread. Never: verdicts.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast

from clarion.node.chain.clock import Clock
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.service import ChainService
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.accept.result import AcceptResult
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.validation.check_queue import CheckQueue
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.script_cache import ScriptCache
from clarion.node.validation.tx_scripts import TxScripts
from helpers.chain_builder import OP_TRUE, Built, genesis, make_block, subsidy
from helpers.chain_node import ChainNode
from helpers.pool import Listener
from helpers.signing import sha256

ANYONE = b"\x00\x20" + sha256(OP_TRUE)
"""P2WSH of OP_TRUE: standard, and spent without a key."""
WITNESS = (OP_TRUE,)
MATURE = 20
"""Coinbases that can be spent on top of the chain."""


def build_chain(folder: Path) -> tuple[ChainNode, list[Built]]:
    """Return a node at height 100 + MATURE - 1 and its blocks, the first at height 1."""
    node = ChainNode(folder)
    blocks = [genesis()]
    for _ in range(100 + MATURE - 1):
        blocks.append(make_block(blocks[-1], script=ANYONE))
    node.submit(*blocks[1:])
    return node, blocks


class InlineChain:
    """Runs jobs at once, on the caller's thread. Stands for ChainService."""

    def __init__(self, manager: ChainManager) -> None:
        self.manager = manager
        self.jobs = 0

    def submit(self, call: Any, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run `call` and return its outcome."""
        self.jobs += 1
        future: Future[Any] = Future()
        try:
            future.set_result(call(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class CountedScripts(TxScripts):
    """Script checks that say how many transactions were really checked."""

    def __init__(self, queue: CheckQueue, cache: ScriptCache) -> None:
        super().__init__(queue, cache)
        self.runs = 0

    def check(self, job: Any, policy_flags: int, block_flags: int) -> Any:
        """Count and check."""
        self.runs += not self.known(job, policy_flags, block_flags)
        return super().check(job, policy_flags, block_flags)


class Accepting:
    """An empty pool on the chain, with everything that transactions of a test are made of."""

    def __init__(
        self,
        node: ChainNode,
        blocks: Sequence[Built],
        options: MempoolOptions | None = None,
        queue: CheckQueue | None = None,
    ) -> None:
        self.node = node
        self.blocks = list(blocks)
        self.clock: Clock = node.clock
        self.pool = Mempool(options or MempoolOptions(), node.clock)
        self.listener = Listener()
        self.pool.observers.append(self.listener)
        self.cache = ScriptCache(1 << 20)
        self.scripts = CountedScripts(queue or InlineQueue(), self.cache)
        self.chain = InlineChain(node.manager)
        self.acceptor = Acceptor(self.pool, cast(ChainService, self.chain), self.scripts)
        self._values: dict[OutPoint, int] = {}

    def coin(self, number: int = 0) -> OutPoint:
        """Return a mature coinbase's output; it is worth 50 coins."""
        return self.coinbase(number + 1)

    def coinbase(self, height: int) -> OutPoint:
        """Return the output of the coinbase at `height`."""
        outpoint = self.blocks[height].coinbase_output()[0]
        self._values[outpoint] = subsidy(height)
        return outpoint

    def spend(
        self,
        *prevouts: OutPoint,
        fee: int = 10_000,
        outputs: int | Sequence[TxOut] = 1,
        version: int = 2,
        sequence: int = 0xFFFFFFFD,
        witness: tuple[bytes, ...] = WITNESS,
        lock_time: int = 0,
        padding: int = 0,
    ) -> Transaction:
        """Return a transaction that pays what it spends, less the fee, to anyone.

        `outputs`: how many, or the ones in front of the only such one. `padding`: bytes of data that it carries.
        """
        rest = sum(self._values[prevout] for prevout in prevouts) - fee
        if isinstance(outputs, int):
            made = [TxOut(rest // outputs, ANYONE)] * (outputs - 1)
        else:
            made = list(outputs)
        made.append(TxOut(rest - sum(txout.value for txout in made), ANYONE))
        if padding:
            made.append(TxOut(0, b"\x6a" + b"\x4d" + padding.to_bytes(2, "little") + bytes(padding)))
        inputs = [TxIn(prevout, sequence=sequence, witness=witness) for prevout in prevouts]
        return self.note(Transaction(version, inputs, made, lock_time))

    def note(self, tx: Transaction) -> Transaction:
        """Remember what the outputs of a transaction are worth, so that `spend` can spend them."""
        for index, txout in enumerate(tx.outputs):
            self._values[make_outpoint(tx.txid, index)] = txout.value
        return tx

    def offer(self, tx: Transaction, *, test: bool = False) -> AcceptResult:
        """Offer a transaction by itself."""
        return self.acceptor.accept(tx, test=test)

    def put(self, tx: Transaction) -> Transaction:
        """Offer a transaction that must come in, and return it."""
        result = self.offer(tx)
        assert result.valid, result.error
        return tx

    def reason(self, tx: Transaction) -> str | None:
        """Return why a transaction is refused, None if it comes in."""
        error = self.offer(tx).error
        return None if error is None else str(error)


def out(tx: Transaction, index: int = 0) -> OutPoint:
    """Return the outpoint of an output."""
    return make_outpoint(tx.txid, index)
