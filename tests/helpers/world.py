"""A chain manager on an in-memory database, with coins to spend and a clock that stands still.

Owns: the base chain that the generated tests start from. Never: expectations.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from clarion.node.chain.clock import Clock
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.state import ChainOptions
from clarion.node.chain.stores import ChainStores
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.database import open_database
from clarion.node.storage.undo_files import UndoFiles
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.pipeline import ScriptPipeline
from helpers import chain_builder as build
from helpers.chain_builder import COIN, OP_TRUE, Built
from helpers.oracle import Oracle
from helpers.signing import Key, hash160, push, sha256, sign, u32

Spendable = tuple[OutPoint, TxOut]

KEY = Key(7)
BASE_HEIGHT = build.COINBASE_MATURITY + 11
NEVER_OLD_S = 10**10

REDEEM_TRUE = OP_TRUE
SIGOPS_REDEEM = b"\xac" * 520  # 520 signature operations, if it only gets counted
CLTV_SCRIPT = push(u32(500)[:2]) + b"\xb1\x75\x51"  # 500 CHECKLOCKTIMEVERIFY DROP TRUE
CSV_SCRIPT = b"\x5a\xb2\x75\x51"  # 10 CHECKSEQUENCEVERIFY DROP TRUE


def p2sh(redeem: bytes) -> bytes:
    """Return the output script that pays to a script's hash."""
    return b"\xa9\x14" + hash160(redeem) + b"\x87"


def p2wsh(script: bytes) -> bytes:
    """Return the output script that pays to a witness script's hash."""
    return b"\x00\x20" + sha256(script)


MULTISIG = b"\x51\x21" + KEY.public + b"\x51\xae"

FAN_OUT: dict[str, bytes] = {
    "true": OP_TRUE,
    "true2": OP_TRUE,
    "pkh": KEY.pkh,
    "wpkh": KEY.wpkh,
    "tr": KEY.tr,
    "p2sh": p2sh(REDEEM_TRUE),
    "p2wsh": p2wsh(OP_TRUE),
    "p2wsh-sigops": p2wsh(b"\xac" * (build.MAX_BLOCK_SIGOPS_COST + 1)),
    "multisig": MULTISIG,
    "return": b"\x51\x6a",  # with OP_RETURN in front it would not be kept as a coin
    "cltv": CLTV_SCRIPT,
    "csv": CSV_SCRIPT,
    "unknown-witness": b"\x52\x02\x01\x01",
    "false": b"\x00",
    "disabled": b"\x51\x51\x7e",
    **{f"p2sh-sigops-{i}": p2sh(SIGOPS_REDEEM) for i in range(40)},
}
FAN_OUT_VALUE = 50 * COIN // 64
"""Value in satoshis of each output of the transaction that the base chain ends with."""


def spend(
    coins: Sequence[Spendable],
    outputs: Sequence[TxOut] | None = None,
    *,
    fee: int = 0,
    version: int = 2,
    lock_time: int = 0,
    sequence: int = 0xFFFFFFFE,
    spoil: bool = False,
) -> Transaction:
    """Return a transaction that spends `coins`, signed where they pay KEY; by default to one OP_TRUE output."""
    if outputs is None:
        outputs = [TxOut(sum(output.value for _, output in coins) - fee, OP_TRUE)]
    inputs = sign(KEY, coins, outputs, version=version, lock_time=lock_time, sequence=sequence, spoil=spoil)
    return Transaction(version, inputs, outputs, lock_time)


def with_script(tx: Transaction, script_sig: bytes = b"", witness: tuple[bytes, ...] = ()) -> Transaction:
    """Return `tx` with another scriptSig and witness in its first input."""
    first = tx.inputs[0]
    inputs = [TxIn(first.prevout, script_sig, first.sequence, witness), *tx.inputs[1:]]
    return Transaction(tx.version, inputs, tx.outputs, tx.lock_time)


def make_base_chain() -> list[Built]:
    """Return blocks 1 to BASE_HEIGHT; the last one spends the first coinbase to one output of each kind."""
    chain = build.make_chain(build.genesis(), BASE_HEIGHT - 1)
    outputs = [TxOut(FAN_OUT_VALUE, script) for script in FAN_OUT.values()]
    fan_out = spend([chain[0].coinbase_output()], outputs)
    return [*chain, build.make_block(chain[-1], [fan_out])]


class World:
    """A regtest node's chain without the node. Blocks are given on the thread of the test."""

    def __init__(
        self,
        folder: Path,
        base: Sequence[Built] = (),
        *,
        params: ChainParams | None = None,
        oracle: Oracle | None = None,
    ) -> None:
        """With an `oracle`, each block is given to it too, and both must say the same."""
        self.oracle = oracle
        self.params = params or select_params("regtest")
        self._database = open_database("sqlite://", folder, self.params)
        blocks = folder / "blocks"
        blocks.mkdir()
        self._block_files = BlockFiles(blocks, self.params.magic)
        self._undo_files = UndoFiles(blocks, self.params.magic)
        stores = ChainStores(self._database.chain, self._database.coins, self._block_files, self._undo_files)
        self.clock = Clock(mock_time=int(time.time()))
        options = ChainOptions(minimum_chainwork=0, assume_valid=None, max_tip_age=NEVER_OLD_S)
        self.manager = ChainManager(self.params, stores, ScriptPipeline(InlineQueue()), options, self.clock)
        self.manager.load()
        self.manager.set_importing(False)
        self.base = list(base)
        for block in self.base:
            assert self.give(block) is None

    @property
    def tip(self) -> Built:
        """The last block of the base chain: what a test builds upon."""
        return self.base[-1]

    @property
    def tip_hash(self) -> bytes:
        """Hash of the node's tip."""
        return self.manager.tip.hash

    def coin(self, kind: str) -> Spendable:
        """Return the output of that kind (see FAN_OUT) that the base chain's last block made."""
        return build.spendable(self.tip.txs[1], list(FAN_OUT).index(kind))

    def outcome(self, built: Built) -> BlockOutcome:
        """Give the node a block and return what became of it."""
        assert built.block is not None
        outcome = self.manager.process_new_block(built.block)
        if self.oracle is not None and self.oracle.can_decode(built.block):
            verdict = str(outcome.invalid) if outcome.invalid else None
            assert verdict == self.oracle.judge(built.block), "the reference says otherwise"
            assert self.tip_hash == self.oracle.tip_hash, "the reference has another tip"
        return outcome

    def give_headers(self, blocks: Sequence[Built]) -> None:
        """Give the node the headers of several blocks."""
        headers = [built.block.header for built in blocks if built.block is not None]
        self.manager.process_new_headers(headers)
        for built in blocks:
            if self.oracle is not None and built.block is not None:
                self.oracle.add_header(built.block)

    def dismiss_oracle(self) -> None:
        """Go on alone: for what the oracle can't be told, such as the time or an operator's verdict."""
        self.oracle = None

    def give(self, built: Built) -> str | None:
        """Give the node a block and return the reason of its refusal, None if it was taken."""
        invalid = self.outcome(built).invalid
        return invalid.reject_reason if invalid else None

    def give_all(self, blocks: Sequence[Built]) -> list[str | None]:
        """Give the node several blocks and return the reasons."""
        return [self.give(block) for block in blocks]

    def has_coin(self, outpoint: OutPoint) -> bool:
        """Whether the output is unspent at the tip."""
        return self.manager.get_coin(outpoint)[0] is not None

    def close(self) -> None:
        """Close the database and the files."""
        self._block_files.close()
        self._undo_files.close()
        self._database.close()
