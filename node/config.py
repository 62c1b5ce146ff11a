"""The node's configuration as typed values.

Owns: what each option's value is, with its default and limits. Never: where values come from (node.options), what is
done with them. Only the entry points, app, control, api, plugins and notifiers may import this module; lower layers
are given plain values.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clarion.node.errors import ConfigError
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mining.options import MiningOptions
from clarion.node.net.options import NetOptions
from clarion.node.net.user_agent import MAX_USER_AGENT, user_agent
from clarion.node.options.chain_choice import CHAINS
from clarion.node.options.index_values import read_filter_types
from clarion.node.options.load import Loaded, load_settings
from clarion.node.options.mempool_values import read_mempool_options
from clarion.node.options.mining_values import read_mining_options
from clarion.node.options.net_values import read_net_options
from clarion.node.options.option import Option
from clarion.node.options.prune_option import read_prune
from clarion.node.options.reader import OptionReader
from clarion.node.options.service_options import ZMQ_TOPICS
from clarion.node.options.settings import Settings, Value
from clarion.node.options.test_switches import read_test_switches
from clarion.node.options.validation_values import read_assume_valid, read_minimum_chainwork
from clarion.node.options.values import check_port, read_text
from clarion.node.options.values import split_host_port as split_host_port
from clarion.node.params.chain_params import (
    ChainParams,
    VersionBitsOptions,
    parse_activation_heights,
    parse_signet_challenge,
    parse_vbparams,
    select_params,
)
from clarion.node.primitives.ids import BlockHash
from clarion.notifiers.zmq_address import DEFAULT_HWM, ZmqAddress, parse_zmq_address

CHECK_QUEUES = ("auto", "inline", "threads", "processes")
MAX_PROCESSES = 256
"""More script workers or API workers than this are a slip of the hand."""


@dataclass(frozen=True)
class Config:
    """What the node was told. Paths are absolute; picklable, so that child processes get it as it is."""

    settings: Settings
    chain: str
    """`main`, `test`, `testnet4`, `signet` or `regtest`."""
    datadir: Path
    chain_dir: Path
    blocks_dir: Path
    conf_path: Path | None
    arguments: tuple[str, ...]
    warnings: tuple[str, ...]
    """Lines for standard error and the log."""
    notes: tuple[str, ...]
    """Lines for the log only."""

    database_url: str | None
    """SQLAlchemy URL; None means SQLite files in the chain's directory."""
    dbcache_mib: int
    db_batch_bytes: int
    blocks_xor: bool | None
    """Whether block files have a random key; None takes what is there."""
    fast_prune: bool
    prune_mib: int
    reindex: bool
    reindex_chainstate: bool

    tx_index: bool
    txo_spender_index: bool
    coin_stats_index: bool
    script_index: bool
    watches: bool
    block_filter_types: tuple[str, ...]
    """Types of compact filters that are indexed: `basic` or nothing."""

    par: int
    """Cores that check scripts, at least 1."""
    par_batch: int
    check_queue: str | None
    """`inline`, `threads`, `processes`, or None where `par` decides."""
    script_cache_bytes: int
    check_blocks: int
    check_level: int
    check_block_index: int | None
    minimum_chainwork: int | None
    assume_valid: BlockHash | None
    """None: the chain's default; 32 zero bytes: check everything."""
    max_tip_age: int
    stop_at_height: int
    stop_after_block_import: bool
    load_block: tuple[Path, ...]
    mock_time: int
    test_activation_heights: Mapping[str, int]
    vbparams: Mapping[str, VersionBitsOptions]
    signet_challenge: bytes | None
    test_switches: tuple[str, ...]
    """Values of -test: `bip94`, `addrman`, …"""

    mempool: MempoolOptions
    mining: MiningOptions
    net: NetOptions

    server: bool
    rest: bool
    rpc_bind: tuple[str, ...]
    rpc_allow_ip: tuple[str, ...]
    rpc_port: int
    rpc_user: str
    rpc_password: str
    rpc_auth: tuple[str, ...]
    rpc_whitelist: tuple[str, ...]
    rpc_whitelist_default: bool
    rpc_cookie_file: Path | None
    """None: no cookie."""
    rpc_cookie_perms: str | None
    rpc_server_timeout: int
    rpc_threads: int
    rpc_work_queue: int
    rpc_doc_check: bool
    deprecated_rpc: tuple[str, ...]
    api_workers: int
    api_cache_mib: int
    events_process: bool
    events_memory_mib: int
    event_retention_days: int
    notify_prune_lag: int
    """Blocks that pruning leaves for a lane that is behind."""
    """How long rows of the mempool stay in the event log; 0: for good."""
    zmq_notifiers: tuple[ZmqAddress, ...]
    """In the order in which the reference creates its notifiers."""
    plugins: tuple[str, ...]
    disabled_plugins: tuple[str, ...]

    debug: tuple[str, ...]
    debug_exclude: tuple[str, ...]
    log_levels: tuple[str, ...]
    log_level_always: bool
    log_timestamps: bool
    log_time_micros: bool
    log_thread_names: bool
    log_source_locations: bool
    print_to_console: bool
    debug_log_file: Path | None
    shrink_debug_file: bool
    pid_file: Path | None
    daemon: bool
    daemon_wait: bool
    alert_notify: str
    """Command with `%s` for a warning's text; "" for none, as with those that follow."""
    block_notify: str
    startup_notify: str
    shutdown_notify: tuple[str, ...]

    @property
    def prune_target_bytes(self) -> int:
        """Size that block and undo files are kept below; 0: they are pruned by hand or not at all."""
        return self.prune_mib << 20 if self.prune_mib > 1 else 0

    @property
    def dbcache(self) -> int:
        """Size of the coins cache in bytes."""
        return self.dbcache_mib << 20

    def get(self, name: str) -> str | None:
        """Return an option's raw text, None if nobody set it; a negation reads as `0`."""
        value = self.settings.get(name)
        return None if value is None else read_text(value)

    def values(self, name: str) -> list[str]:
        """Return all raw texts of an option that may be given often."""
        return [read_text(value) for value in self.settings.get_all(name)]

    def is_negated(self, name: str) -> bool:
        """Whether `-noname` is what counts."""
        return self.settings.get(name) is False


def load_config(
    argv: Sequence[str], environ: Mapping[str, str] | None = None, extra_options: Iterable[Option] = ()
) -> Config:
    """Return the configuration of a node that is started with `argv` (without the program's name).

    Raises ConfigError: its text is the line to show. Creates nothing: see `create_directories`.
    """
    try:
        loaded = load_settings(argv, os.environ if environ is None else environ, extra_options)
        return _build(loaded, OptionReader(loaded.settings))
    except OSError as error:
        # A folder on the way that may not be entered.
        raise ConfigError(f"{error.filename}: {error.strerror}") from None


def params_of(config: Config) -> ChainParams:
    """Return the parameters of the configured network, with the options that change them."""
    return select_params(
        config.chain,
        signet_challenge=config.signet_challenge,
        activation_heights=config.test_activation_heights,
        vbparams=config.vbparams,
        fastprune=config.fast_prune,
        enforce_bip94="bip94" in config.test_switches,
    )


def create_directories(config: Config) -> None:
    """Make the data directory in the reference's shape. Raises ConfigError if that fails."""
    try:
        if not config.chain_dir.exists():
            (config.chain_dir / "wallets").mkdir(parents=True, exist_ok=True)
        config.blocks_dir.mkdir(parents=True, exist_ok=True)
        for folder in ("chainstate", "indexes"):
            (config.chain_dir / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Cannot create data directory '{config.chain_dir}': {error.strerror}") from None


def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _build(loaded: Loaded, read: OptionReader) -> Config:
    chain_dir = loaded.datadir / CHAINS[loaded.chain].folder
    daemon = read.flag("daemon", False) or read.flag("daemonwait", False)
    check_block_index = read.settings.get("checkblockindex")
    _check_test_only(loaded, read)
    mempool = read_mempool_options(loaded.chain, read, loaded.notes)
    return Config(
        settings=loaded.settings,
        chain=loaded.chain,
        datadir=loaded.datadir,
        chain_dir=chain_dir,
        blocks_dir=_blocks_dir(loaded, read),
        conf_path=loaded.conf_path,
        arguments=tuple(loaded.arguments),
        warnings=tuple(loaded.warnings),
        notes=tuple(loaded.notes),
        database_url=_database_url(read),
        dbcache_mib=max(4, read.number("dbcache", 450)),
        db_batch_bytes=read.number("dbbatchsize", 32 << 20, 1),
        blocks_xor=None if read.settings.get("blocksxor") is None else read.flag("blocksxor", True),
        fast_prune=read.flag("fastprune", False),
        prune_mib=read_prune(read),
        reindex=read.flag("reindex", False),
        reindex_chainstate=read.flag("reindex-chainstate", False),
        tx_index=read.flag("txindex", False),
        txo_spender_index=read.flag("txospenderindex", False),
        coin_stats_index=read.flag("coinstatsindex", False),
        script_index=read.flag("scriptindex", False),
        watches=read.flag("watches", False),
        block_filter_types=read_filter_types(read),
        par=_cores(read.number("par", 0)),
        par_batch=read.number("parbatch", 128, 1),
        check_queue=_check_queue(read),
        script_cache_bytes=max(0, read.number("maxsigcachesize", 32)) << 20,
        check_blocks=read.number("checkblocks", 6),
        check_level=read.number("checklevel", 3),
        check_block_index=None if check_block_index is None else read.number("checkblockindex", 1),
        minimum_chainwork=read_minimum_chainwork(read),
        assume_valid=read_assume_valid(read),
        max_tip_age=read.number("maxtipage", 24 * 60 * 60),
        stop_at_height=read.number("stopatheight", 0),
        stop_after_block_import=read.flag("stopafterblockimport", False),
        load_block=tuple(Path(os.path.abspath(name)) for name in read.texts("loadblock")),
        mock_time=read.number("mocktime", 0, 0),
        test_activation_heights=parse_activation_heights(read.texts("testactivationheight")),
        vbparams=parse_vbparams(read.texts("vbparams")),
        signet_challenge=parse_signet_challenge(read.texts("signetchallenge")) if loaded.chain == "signet" else None,
        test_switches=read_test_switches(loaded.chain, read.texts("test")),
        mempool=mempool,
        mining=read_mining_options(loaded.chain, read),
        net=read_net_options(_ua_comments(read), read),
        server=read.flag("server", True),
        rest=read.flag("rest", False),
        rpc_bind=_host_ports(read, "rpcbind"),
        rpc_allow_ip=read.texts("rpcallowip"),
        rpc_port=_rpc_port(loaded, read),
        rpc_user=read.text("rpcuser"),
        rpc_password=read.text("rpcpassword"),
        rpc_auth=read.texts("rpcauth"),
        rpc_whitelist=read.texts("rpcwhitelist"),
        rpc_whitelist_default=read.flag("rpcwhitelistdefault", bool(read.texts("rpcwhitelist"))),
        rpc_cookie_file=read.path("rpccookiefile", ".cookie", chain_dir),
        rpc_cookie_perms=read.text("rpccookieperms") or None,
        rpc_server_timeout=read.number("rpcservertimeout", 30),
        rpc_threads=max(1, read.number("rpcthreads", 16)),
        rpc_work_queue=max(1, read.number("rpcworkqueue", 64)),
        rpc_doc_check=read.flag("rpcdoccheck", False),
        deprecated_rpc=read.texts("deprecatedrpc"),
        api_cache_mib=read.number("apicache", 64, 0),
        api_workers=read.number("apiworkers", max(1, core_count() // 2), 0, MAX_PROCESSES),
        events_process=read.flag("eventsprocess", True),
        events_memory_mib=read.number("eventsmemory", 4096, 0),
        event_retention_days=read.number("eventretention", 14, 0),
        notify_prune_lag=read.number("notifyprunelag", 4032, 0),
        zmq_notifiers=_zmq_notifiers(read),
        plugins=read.texts("plugin"),
        disabled_plugins=read.texts("disableplugin"),
        debug=read.texts("debug"),
        debug_exclude=read.texts("debugexclude"),
        log_levels=read.texts("loglevel"),
        log_level_always=read.flag("loglevelalways", False),
        log_timestamps=read.flag("logtimestamps", True),
        log_time_micros=read.flag("logtimemicros", False),
        log_thread_names=read.flag("logthreadnames", False),
        log_source_locations=read.flag("logsourcelocations", False),
        print_to_console=read.flag("printtoconsole", not daemon),
        debug_log_file=read.path("debuglogfile", "debug.log", chain_dir),
        shrink_debug_file=read.flag("shrinkdebugfile", not read.texts("debug")),
        pid_file=read.path("pid", "clarion.pid", chain_dir),
        daemon=daemon,
        daemon_wait=read.flag("daemonwait", False),
        alert_notify=read.text("alertnotify"),
        block_notify=read.text("blocknotify"),
        startup_notify=read.text("startupnotify"),
        shutdown_notify=read.texts("shutdownnotify"),
    )


def _cores(par: int) -> int:
    return min(max(1, par if par > 0 else core_count() + par), MAX_PROCESSES)


def _check_queue(read: OptionReader) -> str | None:
    kind = read.text("checkqueue", "auto")
    if kind not in CHECK_QUEUES:
        raise ConfigError(f"Invalid value for -checkqueue: '{kind}' (one of {', '.join(CHECK_QUEUES)} expected)")
    return None if kind == "auto" else kind


def _blocks_dir(loaded: Loaded, read: OptionReader) -> Path:
    base = loaded.datadir
    if read.settings.get("blocksdir") is not None:
        base = Path(os.path.abspath(read.text("blocksdir")))
        if not base.is_dir():
            raise ConfigError(f'Specified blocks directory "{read.text("blocksdir")}" does not exist.')
    return base / CHAINS[loaded.chain].folder / "blocks"


def _database_url(read: OptionReader) -> str | None:
    url = read.text("database")
    if url and "://" not in url:
        raise ConfigError(f"Invalid value for -database: '{url}' (a URL such as postgresql+psycopg://… expected)")
    return url or None


def _check_test_only(loaded: Loaded, read: OptionReader) -> None:
    for name in ("testactivationheight", "vbparams"):
        if loaded.chain == "main" and read.texts(name):
            raise ConfigError(f"The -{name} option may not be used on mainnet.")


def _rpc_port(loaded: Loaded, read: OptionReader) -> int:
    value: Value | None = read.settings.get("rpcport")
    return CHAINS[loaded.chain].rpc_port if value is None else check_port("rpcport", value)


def _ua_comments(read: OptionReader) -> tuple[str, ...]:
    for comment in read.texts("uacomment"):
        # A slash or bracket would let a comment forge the user agent's other parts (BIP14).
        if not re.fullmatch(r"[A-Za-z0-9 .,;_?@-]*", comment):
            raise ConfigError(f"User Agent comment ({comment}) contains unsafe characters.")
    length = len(user_agent(read.texts("uacomment")))
    if length > MAX_USER_AGENT:
        raise ConfigError(
            f"Total length of network version string ({length}) exceeds maximum length ({MAX_USER_AGENT}). "
            "Reduce the number or size of uacomments."
        )
    return read.texts("uacomment")


def _host_ports(read: OptionReader, name: str) -> tuple[str, ...]:
    for text in read.texts(name):
        try:
            split_host_port(text)
        except ValueError:
            raise ConfigError(f"Invalid port specified in -{name}: '{text}'") from None
    return read.texts(name)


def _zmq_notifiers(read: OptionReader) -> tuple[ZmqAddress, ...]:
    found = []
    for topic in ZMQ_TOPICS:
        hwm = read.number(f"zmqpub{topic}hwm", DEFAULT_HWM)
        for address in read.texts(f"zmqpub{topic}"):
            found.append(parse_zmq_address(topic, address, hwm))
    return tuple(found)
