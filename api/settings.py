"""What the API needs to know of the node's configuration; picklable, because workers are spawned with it.

Owns: the values and their defaults. Never: option parsing, secrets in clear (passwords are salted hashes by then).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import TYPE_CHECKING

from clarion.api.auth import Credential, Whitelist, parse_allowed, parse_rpcauth, parse_whitelist, salted

if TYPE_CHECKING:
    from clarion.node.config import Config
    from clarion.node.params.chain_params import ChainParams

DEFAULT_RPC_THREADS = 16
DEFAULT_RPC_WORK_QUEUE = 64
DEFAULT_RPC_SERVER_TIMEOUT_S = 30
DEFAULT_CACHE_MIB = 64
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
    credentials: tuple[Credential, ...]
    blocks_dir: Path | None = None
    whitelist: Whitelist = field(default_factory=Whitelist)
    allowed: tuple[IPv4Network | IPv6Network, ...] = ()
    rest: bool = False
    rpc_threads: int = DEFAULT_RPC_THREADS
    rpc_work_queue: int = DEFAULT_RPC_WORK_QUEUE
    rpc_server_timeout_s: int = DEFAULT_RPC_SERVER_TIMEOUT_S
    max_body_bytes: int = MAX_BODY_BYTES
    cache_bytes: int = DEFAULT_CACHE_MIB << 20
    """How much of what was made of blocks each process keeps."""
    indexes: frozenset[str] = frozenset()
    """Names of the indexes that the node has, whatever their state."""
    plugin_config: Config | None = None
    """The configuration without secrets, where plugins have methods or routes; None: there are none to load."""

    @classmethod
    def from_config(
        cls, config: Config, params: ChainParams, cookie: tuple[str, str] | None, indexes: frozenset[str] = frozenset()
    ) -> ApiSettings:
        """Return what the API needs of the node's configuration. `cookie` is the user and password of its file.

        `indexes` are the names of the node's indexes.

        Raises ConfigError for values that make no sense.
        """
        credentials = [parse_rpcauth(value) for value in config.rpc_auth]
        if config.rpc_password:
            credentials.insert(0, salted(config.rpc_user, config.rpc_password))
        elif cookie is not None:
            credentials.insert(0, salted(*cookie))
        return cls(
            params=params,
            chain_dir=config.chain_dir,
            blocks_dir=config.blocks_dir,
            database_url=config.database_url,
            log_path=config.debug_log_file or config.chain_dir / "debug.log",
            credentials=tuple(credentials),
            whitelist=parse_whitelist(config.rpc_whitelist, config.rpc_whitelist_default),
            allowed=parse_allowed(config.rpc_allow_ip),
            rest=config.rest,
            rpc_threads=config.rpc_threads,
            rpc_work_queue=config.rpc_work_queue,
            rpc_server_timeout_s=config.rpc_server_timeout,
            cache_bytes=config.api_cache_mib << 20,
            indexes=indexes,
        )
