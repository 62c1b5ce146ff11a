"""The values of the memory pool's options.

Owns: their limits and how they act on each other. Never: what the pool does with them.
"""

from clarion.node.errors import ConfigError
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import (
    DEFAULT_BLOCKSONLY_MAX_MEMPOOL_MB,
    DEFAULT_EXPIRY_HOURS,
    DEFAULT_MAX_MEMPOOL_MB,
    MAX_CLUSTER_COUNT,
    MempoolLimits,
    MempoolOptions,
)
from clarion.node.mempool.policy.constants import (
    DEFAULT_BYTES_PER_SIGOP,
    DEFAULT_DATACARRIER_BYTES,
    DEFAULT_DUST_RELAY_FEE,
    DEFAULT_INCREMENTAL_RELAY_FEE,
    DEFAULT_MIN_RELAY_FEE,
)
from clarion.node.options.reader import OptionReader
from clarion.node.options.values import read_amount

_BYTES_PER_CLUSTER_VBYTE = 40
"""The pool must have room for one cluster of the largest size, in memory."""
_MAX_CHECK_RATIO = 1_000_000
_UINT32 = 0xFFFFFFFF


def read_mempool_options(chain: str, read: OptionReader, notes: list[str]) -> MempoolOptions:
    """Return the pool's options; what one option does to another is added to `notes`, lines for the log.

    Raises ConfigError with the reference's words.
    """
    incremental, least = _relay_feerates(read, notes)
    dust = _feerate(read, "dustrelayfee", DEFAULT_DUST_RELAY_FEE)
    require_standard = not read.flag("acceptnonstdtxn", False)
    if chain == "main" and not require_standard:
        raise ConfigError(f"acceptnonstdtxn is not currently supported for {chain} chain")
    limits = _limits(read)
    blocks_only = read.flag("blocksonly", False)
    # Without peers' transactions there are no fees to learn from, so old estimates are not read either.
    accept_stale = read.flag("acceptstalefeeestimates", False) and not blocks_only
    if accept_stale and chain != "regtest":
        raise ConfigError(f"acceptstalefeeestimates is not supported on {chain} chain.")
    return MempoolOptions(
        max_size_bytes=_max_size(read, blocks_only, limits, notes),
        expiry_s=read.number("mempoolexpiry", DEFAULT_EXPIRY_HOURS) * 3600,
        check_ratio=min(max(0, read.number("checkmempool", int(chain == "regtest"))), _MAX_CHECK_RATIO),
        min_relay_feerate=least,
        incremental_relay_feerate=incremental,
        dust_relay_feerate=dust,
        max_datacarrier_bytes=_datacarrier_bytes(read),
        permit_bare_multisig=read.flag("permitbaremultisig", True),
        require_standard=require_standard,
        bytes_per_sigop=read.number("bytespersigop", DEFAULT_BYTES_PER_SIGOP) & _UINT32,
        limits=limits,
        persist=read.flag("persistmempool", True),
        persist_v1=read.flag("persistmempoolv1", False),
        blocks_only=blocks_only,
        accept_stale_fee_estimates=accept_stale,
    )


def _feerate(read: OptionReader, name: str, default: int) -> FeeRate:
    value = read.settings.get(name)
    return FeeRate(default if value is None else read_amount(name, value))


def _relay_feerates(read: OptionReader, notes: list[str]) -> tuple[FeeRate, FeeRate]:
    """Return the incremental and the least rate; the latter follows the former where only that one was given."""
    incremental = _feerate(read, "incrementalrelayfee", DEFAULT_INCREMENTAL_RELAY_FEE)
    least = _feerate(read, "minrelaytxfee", DEFAULT_MIN_RELAY_FEE)
    if read.settings.get("minrelaytxfee") is None and incremental > least:
        least = incremental
        notes.append(f"Increasing minrelaytxfee to {least} to match incrementalrelayfee")
    return incremental, least


def _datacarrier_bytes(read: OptionReader) -> int | None:
    # A negative number is no limit at all, as in the reference, which stores it unsigned.
    size = read.number("datacarriersize", DEFAULT_DATACARRIER_BYTES) & _UINT32
    return size if read.flag("datacarrier", True) else None


def _limits(read: OptionReader) -> MempoolLimits:
    default = MempoolLimits()
    count = read.number("limitclustercount", default.cluster_count)
    if count < 1:
        raise ConfigError("limitclustercount must be at least 1")
    if count > MAX_CLUSTER_COUNT:
        raise ConfigError(f"limitclustercount must be less than or equal to {MAX_CLUSTER_COUNT}")
    return MempoolLimits(count, read.number("limitclustersize", default.cluster_size_vbytes // 1000) * 1000)


def _max_size(read: OptionReader, blocks_only: bool, limits: MempoolLimits, notes: list[str]) -> int:
    default = DEFAULT_MAX_MEMPOOL_MB
    if blocks_only and read.settings.get("maxmempool") is None:
        default = DEFAULT_BLOCKSONLY_MAX_MEMPOOL_MB
        notes.append(f"parameter interaction: -blocksonly=1 -> setting -maxmempool={default}")
    size = read.number("maxmempool", default) * 1_000_000
    least = limits.cluster_size_vbytes * _BYTES_PER_CLUSTER_VBYTE
    if size < 0 or 0 < size < least:
        raise ConfigError(f"-maxmempool must be at least {-(-least // 1_000_000)} MB")
    return size
