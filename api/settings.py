"""What the API needs to know of the node's configuration; picklable, because workers are spawned with it.

Owns: the values and their defaults. Never: option parsing, secrets in clear (passwords are salted hashes by then).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import TYPE_CHECKING

from clarion.api.auth import Whitelist

if TYPE_CHECKING:
    from clarion.node.params.chain_params import ChainParams

DEFAULT_RPC_THREADS = 16
DEFAULT_RPC_WORK_QUEUE = 64
DEFAULT_RPC_SERVER_TIMEOUT_S = 30
MAX_BODY_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class ApiSettings:
    """Configuration of the API in one process.

    `credentials` are (user, salt, HMAC-SHA256 hex) triples as in -rpcauth; `log_path` is told by `getrpcinfo`.
    """

    params: ChainParams
    chain_dir: Path
    database_url: str | None
    log_path: Path
    credentials: tuple[tuple[str, str, str], ...]
    whitelist: Whitelist = field(default_factory=Whitelist)
    allowed: tuple[IPv4Network | IPv6Network, ...] = ()
    rest: bool = False
    rpc_threads: int = DEFAULT_RPC_THREADS
    rpc_work_queue: int = DEFAULT_RPC_WORK_QUEUE
    rpc_server_timeout_s: int = DEFAULT_RPC_SERVER_TIMEOUT_S
    max_body_bytes: int = MAX_BODY_BYTES
