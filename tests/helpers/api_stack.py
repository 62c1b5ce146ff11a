"""The API over a real chain in a temporary folder, in one process and without sockets.

Owns: the composition and a client. Never: asserting.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from clarion.api.application import create_app
from clarion.api.auth import parse_allowed, salted
from clarion.api.node_link import DirectLink
from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.node_methods import NodeMethods
from clarion.api.settings import ApiSettings
from clarion.node.app.mempool import make_mempool
from clarion.node.chain.indexes.index import Index
from clarion.node.chain.indexes.indexes import Indexes
from clarion.node.chain.prune import Pruner
from clarion.node.chain.service import ChainService
from clarion.node.chain.snapshot.loading import SnapshotLoader
from clarion.node.config import load_config
from clarion.node.events.row import EventRow
from clarion.node.log import LogFilter
from clarion.node.mempool.fees.estimator import FeeEstimator
from clarion.node.mining.miner import Miner
from clarion.node.mining.template_cache import TemplateCache
from clarion.node.net.clock import NetClock
from clarion.node.net.context import NetContext
from clarion.node.net.service import NetService
from clarion.node.scheduler import Scheduler
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.rows import StoredBlock
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.script_cache import ScriptCache
from clarion.node.validation.tx_scripts import TxScripts
from helpers.chain_node import ChainNode

USER, PASSWORD = "tester", "secret"


class NoEvents:
    """Delivery to nobody."""

    def start(self, from_seq: int) -> None: ...
    def wait_ready(self) -> None: ...
    def wake(self, seq: int) -> None: ...
    def offer(self, rows: Sequence[EventRow]) -> None: ...
    def expect(self, block: StoredBlock) -> None: ...
    def stop(self, timeout_s: float = 10.0) -> None: ...

    def sync(self, seq: int, timeout_s: float | None = None) -> bool:
        return True

    def descriptions(self) -> dict[str, list[dict[str, object]]]:
        return {"zmq": [{"type": "pubhashblock", "address": "tcp://127.0.0.1:28332", "hwm": 1000}]}

    def lane_heights(self) -> dict[str, int]:
        return {}

    def ask_lanes(self, action: str, name: str = "", argument: str = "") -> Any:
        return []


class ApiStack:
    """A regtest chain with its chain thread, and the application that answers about it."""

    def __init__(
        self, folder: Path, *, indexes: Sequence[Index] = (), database: str | None = None, **settings: Any
    ) -> None:
        """`database` is a URL; by default the one that all tests use."""
        self.node = ChainNode(folder, database=database)
        self.indexes = Indexes(indexes, lambda name, kept: self.node.database.open_index(name, self.node.params, kept))
        self.indexes.load(self.node.manager, self.node.stores)
        self.indexes.start()
        self.service = ChainService(self.node.manager, on_fatal=lambda error: None)
        self.service.start()
        self.stopped = False
        self.methods = NodeMethods()
        config = load_config([f"-datadir={folder}", "-regtest", f"-blocksdir={folder}", "-listen=0", "-connect=0"], {})
        config.chain_dir.mkdir(exist_ok=True)
        self.mempool = make_mempool(config, self.service, TxScripts(InlineQueue(), ScriptCache(1 << 20)))
        miner = Miner(self.service, self.mempool.pool, self.node.clock, config.mining)
        self.network = NetService(
            NetContext(
                params=self.node.params,
                options=config.net,
                chain=self.service,
                mempool=self.mempool,
                stores=self.node.stores,
                clock=NetClock(self.node.clock),
                data_dir=folder,
            )
        )
        self.network.start()
        self.context = NodeContext(
            params=self.node.params,
            config=config,
            chain=self.service,
            mempool=self.mempool,
            fee_estimator=FeeEstimator(),
            network=self.network,
            clock=self.node.clock,
            events=NoEvents(),
            started_at=time.monotonic(),
            request_stop=self._stop,
            last_event_seq=lambda: 0,
            blocks_dir=folder / "blocks",
            stores=self.node.stores,
            snapshots=SnapshotLoader(
                self.service,
                self.node.database.snapshot,
                lambda: len(self.mempool.pool),
                lambda: False,
                lambda: None,
            ),
            pruner=Pruner(self.node.manager.state, self.node.manager.journal, self.node.stores, 0),
            miner=miner,
            templates=TemplateCache(miner),
            scheduler=Scheduler(),
            indexes=self.indexes,
            log=LogFilter(),
        )
        database = self.node.url
        self.settings = ApiSettings(
            params=self.node.params,
            chain_dir=folder,
            database_url=database,
            log_path=folder / "debug.log",
            credentials=(salted(USER, PASSWORD),),
            indexes=self.indexes.names,
            **{"allowed": parse_allowed([]), "rest": True, **settings},
        )
        self.link = DirectLink(self.methods)
        self.reader = ReaderContext(self.settings, self.link, lambda: ChainReader(database, folder, self.node.params))
        self.app = create_app(self.reader)

    def ready(self) -> "ApiStack":
        """Let the node answer."""
        self.methods.attach(self.context)
        return self

    def _stop(self) -> None:
        self.stopped = True

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send one request; `auth` is the right one by default."""

        async def send() -> httpx.Response:
            client_address = options.pop("client", ("127.0.0.1", 1))
            transport = httpx.ASGITransport(self.app, client=client_address)
            async with httpx.AsyncClient(transport=transport, base_url="http://node") as client:
                return await client.request(method, path, **{"auth": (USER, PASSWORD), **options})

        return asyncio.run(send())

    def post(self, body: object, path: str = "/", **options: Any) -> httpx.Response:
        """Send a JSON-RPC body: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", path, content=content, **options)

    def get(self, path: str) -> httpx.Response:
        """Return the answer to a GET."""
        return self.request("GET", path)

    def call(self, method: str, *params: Any, **named: Any) -> Any:
        """Call a method and return the whole answer, numbers with a fraction as Decimal."""
        answer = self.post({"id": 1, "method": method, "params": named or list(params)})
        return json.loads(answer.content, parse_float=Decimal)

    def result(self, method: str, *params: Any, **named: Any) -> Any:
        """Call a method and return its result."""
        answer = self.call(method, *params, **named)
        assert answer["error"] is None, answer["error"]
        return answer["result"]

    def error(self, method: str, *params: Any, **named: Any) -> tuple[int, str]:
        """Call a method and return the code and message of its error."""
        error = self.call(method, *params, **named)["error"]
        assert error is not None
        return error["code"], error["message"]

    def close(self) -> None:
        """End the network and the chain thread, and close the databases."""
        self.network.stop()
        self.service.stop()
        self.indexes.stop()
        self.reader.close()
        self.node.close()
