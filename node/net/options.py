"""What the operator chose about the network.

Owns: the values. Never: reading them from a command line.
"""

from dataclasses import dataclass, field

from clarion.node.net.address import Endpoint, NetAddress, Network, as_cjdns
from clarion.node.net.permissions import Whitelist
from clarion.node.net.proxy import Proxies


@dataclass(frozen=True, slots=True)
class SeedOptions:
    """Where to learn of other nodes: nodes that are named, names in DNS, addresses that are built in."""

    nodes: tuple[str, ...] = ()
    dns: bool = True
    force_dns: bool = False
    """Ask DNS even if enough nodes are known."""
    fixed: bool = True


TOR_CONTROL = "127.0.0.1:9051"
"""Where Tor's control port usually is."""


@dataclass(frozen=True, slots=True)
class TorOptions:
    """How Tor is asked for an onion service."""

    control: str = TOR_CONTROL
    password: str = ""
    finds_proxy: bool = True
    """Onion addresses are reached by the proxy that Tor itself offers: -onion says nothing else."""
    may_reach: bool = True
    """Whether -onlynet leaves onion addresses in."""


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
    seeds: SeedOptions = field(default_factory=SeedOptions)
    reachable: frozenset[Network] = frozenset((Network.IPV4, Network.IPV6))
    """Networks that we connect to by our own choice."""
    proxies: Proxies = field(default_factory=Proxies)
    tor: TorOptions | None = None
    """None: no onion service is wanted."""
    asmap: str | None = None
    """The file of a map of autonomous systems, from the network's folder on."""
    dns: bool = True
    """Whether names are looked up at all."""
    discover: bool = True
    """Whether we find out our own addresses."""
    external: tuple[Endpoint, ...] = ()
    """Our own addresses as the operator knows them. Port 0: the one that we listen on."""
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
    capture_messages: bool = False
    check_addresses: int = 0
    """About one in so many operations on remembered addresses checks them all; 0: none."""
    fixed_address_key: bool = False
    """Addresses have the same place in every run, for tests."""
    peer_block_filters: bool = False
    peer_bloom_filters: bool = False
    subversion: str = ""

    @property
    def stream_limit(self) -> int:
        """Half of what is read of a connection in advance."""
        return max(1, self.max_receive_buffer // 2)

    def local_view(self, address: NetAddress) -> NetAddress:
        """Return an address as this machine sees it: one of CJDNS's range is of CJDNS if we are on that network."""
        return as_cjdns(address) if Network.CJDNS in self.reachable else address
