"""What a reader without a node answers where API processes ask the node (`clarion api`).

Owns: the answers that follow from the database alone, and the refusal of all others. Never: writing, a mempool.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

import orjson

from clarion.api.rpc import registry
from clarion.api.rpc.context import ScanState
from clarion.api.rpc.control import STOPPING
from clarion.api.rpc.deployments import deployment_info
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.node_methods import CallRunner, load_methods
from clarion.api.rpc.parse import UINT32, parse_hash, parse_int
from clarion.api.rpc.reader_chain import chain_info, chain_tips, index_info
from clarion.api.rpc.scan import scan_state
from clarion.api.rpc.scan_blocks import block_scan_state
from clarion.api.rpc.stored_position import StoredPosition
from clarion.api.rpc.utxo import unspent_json
from clarion.api.rpc.waiting import Waiting
from clarion.node.errors import RpcError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint, make_outpoint
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.index_store import IndexSnapshot

NEEDS_NODE = "needs the node: this is a reader of its database (clarion api)"
BEHIND = "The coins of the last blocks are not in the database yet, try again"

PATIENCE_S = 30.0
"""How long the node is given to write behind its tip: coins and indexes."""

NEWS_PATIENCE_S = 10.0
_POLL_S = 0.1


class ReaderMethods(CallRunner):
    """Answers the questions of API processes that have no node. Thread-safe.

    `open_index` returns a snapshot of an index by its public name, one of `indexes`; `request_stop` asks the reader to
    end.
    """

    def __init__(
        self,
        reader: ChainReader,
        params: ChainParams,
        open_index: Callable[[str], AbstractContextManager[IndexSnapshot]],
        request_stop: Callable[[], None],
        indexes: Collection[str] = (),
    ) -> None:
        load_methods()
        self.scan = ScanState()
        self.filter_scan = ScanState()
        self._reader = reader
        self._params = params
        self._open_index = open_index
        self._request_stop = request_stop
        self._started_at = time.monotonic()
        self._stopping = threading.Event()
        self._answers: dict[str, Callable[..., Any]] = {
            "_status": lambda: {"ready": True, "message": ""},
            "_flush": self._wait_for_coins,
            "_index_synced": self._wait_for_index,
            "_scan": lambda *params: scan_state(self, *params),
            "_scan_blocks": lambda *params: block_scan_state(self, *params),
            "_find_coins": self._find_coins,
            "_find_unspent": self._find_unspent,
            "_mempool_transaction": lambda txid: None,
            "_script_in_pool": lambda script_hash: None,
            "_wait_events": self._wait_for_events,
            "getblockchaininfo": lambda: chain_info(reader, params),
            "getchaintips": lambda: chain_tips(reader),
            "getdeploymentinfo": self._getdeploymentinfo,
            "getindexinfo": lambda wanted: index_info(reader, indexes, open_index, wanted),
            "gettxout": self._gettxout,
            "stop": self._stop,
            "uptime": lambda: int(time.monotonic() - self._started_at),
        }

    def start(self, name: str, params: Sequence[Any]) -> bytes | Waiting:
        """Return the JSON result of method `name`. Raises RpcError, -9 for what only a node knows."""
        answer = self._answers.get(name)
        if answer is not None:
            return orjson.dumps(answer(*params))
        method = registry.find_internal(name)
        if method is None or method.where is not registry.NODE:
            raise RpcError(RpcCode.METHOD_NOT_FOUND, "Method not found")
        raise RpcError(RpcCode.CLIENT_NOT_CONNECTED, f"{'This' if method.internal else name} {NEEDS_NODE}")

    def end_waiting(self) -> None:
        """Have those give up who wait for the node's next writing."""
        self._stopping.set()

    def _wait(self, is_there: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
        deadline = time.monotonic() + patience_s
        while not is_there():
            if time.monotonic() > deadline or self._stopping.wait(_POLL_S):
                return False
        return True

    def _tip(self) -> tuple[int, BlockHash]:
        with self._reader.snapshot() as snapshot:
            row = snapshot.tip()
        assert row is not None, "the active chain is empty"
        return row.height, row.hash

    def _has_coins_of(self, tip: BlockHash) -> bool:
        with self._reader.coins() as coins:
            return coins.tip() == tip

    def _wait_for_coins(self) -> dict[str, Any]:
        """Return the tip that the coins in the database stand at, which is the chain's as soon as they are written."""
        height, tip = self._tip()

        def have_come() -> bool:
            nonlocal height, tip
            height, tip = self._tip()
            return self._has_coins_of(tip)

        if not self._wait(have_come):
            raise RpcError(RpcCode.MISC_ERROR, BEHIND)
        return {"hash": tip.hex(), "height": height}

    def _wait_for_index(self, name: str) -> bool:
        def has_come() -> bool:
            with self._open_index(name) as view:
                reached = view.tip()
            return reached is not None and reached.hash == self._tip()[1]

        return self._wait(has_come)

    def _coins_at_tip(self, outpoints: Sequence[OutPoint]) -> tuple[int, BlockHash, list[Coin | None]]:
        """Return height and hash of the block that the coins stand at, and each coin or None."""
        self._wait_for_coins()
        with self._reader.coins() as coins:
            tip, found = coins.tip(), coins.fetch(outpoints)
        assert tip is not None, "the coins were written"
        with self._reader.snapshot() as snapshot:
            row = snapshot.block(tip)
        assert row is not None, "the coins' tip is in the block index"
        return row.height, tip, [found.get(outpoint) for outpoint in outpoints]

    def _find_coins(self, *outpoints: str) -> list[list[Any] | None]:
        _, _, coins = self._coins_at_tip([OutPoint(bytes.fromhex(each)) for each in outpoints])
        return [None if coin is None else [coin.value, coin.script_pubkey.hex()] for coin in coins]

    def _find_unspent(self, with_mempool: bool, *outpoints: str) -> list[Any]:
        self._refuse_mempool(with_mempool)
        height, tip, coins = self._coins_at_tip([OutPoint(bytes.fromhex(each)) for each in outpoints])
        told = [None if coin is None else [coin.height, coin.value, coin.script_pubkey.hex()] for coin in coins]
        return [height, tip.hex(), told]

    def _gettxout(self, txid: str, n: Any, include_mempool: bool) -> dict[str, Any] | None:
        outpoint = make_outpoint(parse_hash(txid, "txid"), parse_int(n, UINT32))
        self._refuse_mempool(include_mempool)
        height, tip, (coin,) = self._coins_at_tip([outpoint])
        return None if coin is None else unspent_json(coin, tip, height, self._params)

    def _getdeploymentinfo(self, blockhash: str | None) -> dict[str, Any]:
        with self._reader.snapshot() as snapshot:
            row = snapshot.tip() if blockhash is None else snapshot.block(parse_hash(blockhash, "blockhash"))
            if row is None:
                raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block not found")
            return deployment_info(StoredPosition(snapshot, row), self._params)

    @staticmethod
    def _refuse_mempool(asked: bool) -> None:
        if asked:
            raise RpcError(RpcCode.CLIENT_NOT_CONNECTED, f"The mempool {NEEDS_NODE}")

    def _wait_for_events(self, seq: int) -> dict[str, Any]:
        self._wait(lambda: self._reader.events.last_seq() > seq, NEWS_PATIENCE_S)
        return {"seq": self._reader.events.last_seq(), "stopping": self._stopping.is_set()}

    def _stop(self, wait: int | None = None) -> str:
        self._request_stop()
        return STOPPING
