"""What the operator chose about the network.

Owns: the values. Never: reading them from a command line.
"""

from dataclasses import dataclass, field

from clarion.node.net.address import Endpoint
from clarion.node.net.permissions import Whitelist


@dataclass(frozen=True, slots=True)
class NetOptions:
    """Settings with Core's names. Texts of addresses are `host`, `host:port` or `[host]:port`."""

    listen: bool = True
    port: int | None = None
    """None: the network's own."""
    binds: tuple[Endpoint, ...] = ()
    """Without these, `onion_binds` and those of the whitelist: every address of the machine. Port 0: the usual one."""
    onion_binds: tuple[Endpoint, ...] = ()
    whitelist: Whitelist = field(default_factory=Whitelist)
    connect: tuple[str, ...] | None = None
    """Only these; an empty tuple: nobody (`-noconnect`)."""
    add_node: tuple[str, ...] = ()
    max_connections: int = 125
    max_upload_bytes: int = 0
    """In a day; 0: no limit."""
    ban_time_s: int = 86_400
    network_active: bool = True
    v2_transport: bool = True
    timeout_ms: int = 5_000
    peer_timeout_s: int = 60
    blocks_only: bool = False
    extra_transactions: int = 100
    """How many transactions beside the pool are kept for compact blocks."""
    max_send_buffer: int = 1_000_000
    max_receive_buffer: int = 5_000_000
    log_ips: bool = False
    peer_block_filters: bool = False
    subversion: str = ""

    @property
    def stream_limit(self) -> int:
        """Half of what is read of a connection in advance."""
        return max(1, self.max_receive_buffer // 2)
