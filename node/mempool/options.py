"""What the memory pool was told.

Owns: every option of the pool with the reference's default. Never: how options are read (node.config).
"""

from dataclasses import dataclass, field

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.constants import (
    DEFAULT_BYTES_PER_SIGOP,
    DEFAULT_DATACARRIER_BYTES,
    DEFAULT_DUST_RELAY_FEE,
    DEFAULT_INCREMENTAL_RELAY_FEE,
    DEFAULT_MIN_RELAY_FEE,
)

DEFAULT_MAX_MEMPOOL_MB = 300
DEFAULT_BLOCKSONLY_MAX_MEMPOOL_MB = 5
DEFAULT_EXPIRY_HOURS = 336
MAX_CLUSTER_COUNT = 64
"""The most that -limitclustercount can allow."""


@dataclass(frozen=True)
class MempoolLimits:
    """How many transactions of the pool may hang together, and how large they may be in all."""

    cluster_count: int = 64
    cluster_size_vbytes: int = 101_000


@dataclass(frozen=True)
class MempoolOptions:
    """The pool's settings; without arguments those of a main network node."""

    max_size_bytes: int = DEFAULT_MAX_MEMPOOL_MB * 1_000_000
    expiry_s: int = DEFAULT_EXPIRY_HOURS * 3600
    check_ratio: int = 0
    """The pool's consistency is checked after one in so many changes; 0: never."""
    min_relay_feerate: FeeRate = field(default_factory=lambda: FeeRate(DEFAULT_MIN_RELAY_FEE))
    incremental_relay_feerate: FeeRate = field(default_factory=lambda: FeeRate(DEFAULT_INCREMENTAL_RELAY_FEE))
    dust_relay_feerate: FeeRate = field(default_factory=lambda: FeeRate(DEFAULT_DUST_RELAY_FEE))
    max_datacarrier_bytes: int | None = DEFAULT_DATACARRIER_BYTES
    """Bytes of OP_RETURN scripts that a standard transaction may have in all; None: it may have none."""
    permit_bare_multisig: bool = True
    require_standard: bool = True
    bytes_per_sigop: int = DEFAULT_BYTES_PER_SIGOP
    limits: MempoolLimits = MempoolLimits()
    persist: bool = True
    persist_v1: bool = False
    """Whether mempool.dat is written without obfuscation, for old readers."""
    blocks_only: bool = False
    """Whether peers' transactions are refused; fees are not estimated then."""
    accept_stale_fee_estimates: bool = False
