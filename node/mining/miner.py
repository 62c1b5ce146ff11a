"""Making block templates on the tip.

Owns: the steps from the pool's transactions to a template that our own rules accept, and what was assembled last.
Never: the search for a nonce (`generate`), what clients are shown.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from clarion.node.chain.clock import Clock
from clarion.node.chain.service import ChainService
from clarion.node.consensus.versionbits import VersionBits
from clarion.node.errors import BlockInvalid, RpcError
from clarion.node.mempool.pool import Mempool
from clarion.node.mining.assembler import Selection, log_feerates, select_transactions
from clarion.node.mining.options import MiningOptions
from clarion.node.mining.template import BlockTemplate, build_block, minimum_time
from clarion.node.primitives.block import Block
from clarion.node.primitives.opcodes import OP_TRUE
from clarion.node.primitives.transaction import Transaction

ANYONE_CAN_SPEND = bytes((OP_TRUE,))
"""The coinbase's script where the miner will put his own in its place."""

_RPC_MISC_ERROR = -1

logger = logging.getLogger(__name__)


class LastAssembly(NamedTuple):
    """What `getmininginfo` tells of the block that was assembled last; without the coinbase's transaction."""

    weight: int
    tx_count: int


class Miner:
    """Makes templates. Its calls come from any thread; the work is done on the chain thread."""

    def __init__(
        self,
        chain: ChainService,
        pool: Mempool,
        clock: Clock,
        options: MiningOptions,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`stopping` says whether the node shuts down: nothing is mined any more then."""
        self.chain = chain
        self.clock = clock
        self.options = options
        self.params = chain.manager.state.params
        self.stopping = stopping
        self.last: LastAssembly | None = None
        self.pool = pool
        # Used by the chain thread alone.
        self._version_bits = VersionBits(self.params)

    @property
    def pool_updates(self) -> int:
        """How often the pool has changed since the start."""
        return self.pool.transactions_updated

    def create_template(self, script_pubkey: bytes = ANYONE_CAN_SPEND) -> BlockTemplate:
        """Return a template on the tip with the pool's best transactions. Raises RpcError if it would be invalid."""
        return self.chain.submit(self.create_template_here, script_pubkey).result()

    def create_template_here(self, script_pubkey: bytes) -> BlockTemplate:
        """Do so for a caller who is on the chain thread."""
        return self._create(script_pubkey, self.pool)

    def create_block(self, script_pubkey: bytes, txs: Sequence[Transaction]) -> Block:
        """Return a block of `txs`, in their order, whose fees nobody claims.

        Raises BlockInvalid if it would break a rule, RpcError if it would do so even without `txs`.
        """
        return self.chain.submit(self._create_with, script_pubkey, txs).result()

    def _create_with(self, script_pubkey: bytes, txs: Sequence[Transaction]) -> Block:
        template = self._create(script_pubkey, None)
        header = template.block.header
        block = build_block(template.prev, self.params, header.time, script_pubkey, txs, version=header.version)
        self._test(block)
        return block

    def _create(self, script_pubkey: bytes, pool: Mempool | None) -> BlockTemplate:
        prev = self.chain.manager.settled_tip()
        selection, pool_updates = self._select(prev.height + 1, prev.median_time_past(), pool)
        if self.options.log_feerates:
            log_feerates(selection)
        self.last = LastAssembly(selection.weight, len(selection.entries))
        version = self.options.version
        if version is None:
            version = self._version_bits.block_version(prev)
        txs = [entry.tx for entry in selection.entries]
        block = build_block(
            prev, self.params, self.clock.now(), script_pubkey, txs, fees=selection.fees, version=version
        )
        logger.info(
            "CreateNewBlock(): block weight: %d txs: %d fees: %d sigops %d",
            block.weight,
            len(txs),
            selection.fees,
            selection.sigop_cost,
        )
        try:
            self._test(block)
        except BlockInvalid as invalid:
            raise RpcError(_RPC_MISC_ERROR, f"TestBlockValidity failed: {invalid}") from None
        return BlockTemplate(
            block=block,
            prev=prev,
            min_time=minimum_time(prev, self.params),
            fees=[entry.base_fee_sat for entry in selection.entries],
            sigop_costs=[entry.sigop_cost for entry in selection.entries],
            deployments={name: self._version_bits.state(prev, name) for name in self.params.deployments},
            pool_updates=pool_updates,
        )

    def _select(self, height: int, lock_time_cutoff: int, pool: Mempool | None) -> tuple[Selection, int]:
        if pool is None:
            return select_transactions(None, height, lock_time_cutoff, self.options), 0
        with pool.lock, pool.graph.block_builder() as chunks:
            return select_transactions(chunks, height, lock_time_cutoff, self.options), pool.transactions_updated

    def _test(self, block: Block) -> None:
        # The merkle root is right as it is built from the same list; the reference leaves it unchecked here too.
        self.chain.manager.dry_run(block, check_merkle=False)
