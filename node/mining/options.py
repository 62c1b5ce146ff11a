"""What the maker of blocks was told.

Owns: its options with the reference's defaults, and which of them fit together. Never: how options are read.
"""

from dataclasses import dataclass, field

from clarion.node.consensus.constants import MAX_BLOCK_WEIGHT
from clarion.node.errors import ConfigError
from clarion.node.mempool.feerate import FeeRate

DEFAULT_RESERVED_WEIGHT = 8000
MINIMUM_RESERVED_WEIGHT = 2000
"""Header, number of transactions and a small coinbase need this much, with something to spare."""
DEFAULT_MIN_FEE = 1
"""Satoshis per kvB."""
COINBASE_SIGOP_COST = 400
"""What is kept free for signature checks in the coinbase's outputs."""


@dataclass(frozen=True)
class MiningOptions:
    """Weights are weight units. `reserved_weight` is kept free for header and coinbase."""

    max_weight: int = MAX_BLOCK_WEIGHT
    reserved_weight: int = DEFAULT_RESERVED_WEIGHT
    min_feerate: FeeRate = field(default_factory=lambda: FeeRate(DEFAULT_MIN_FEE))
    """No chunk of transactions below it is mined."""
    version: int | None = None
    """Version of new blocks, on regtest; None: the one that signals for the network's deployments."""
    log_feerates: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError, in the reference's words, for values that make no block."""
        reserved, most = self.reserved_weight, self.max_weight
        if reserved < MINIMUM_RESERVED_WEIGHT:
            raise ConfigError(
                f"-blockreservedweight ({reserved}) is lower than minimum safety value of ({MINIMUM_RESERVED_WEIGHT})"
            )
        for name, weight in (("blockreservedweight", reserved), ("blockmaxweight", most)):
            if weight > MAX_BLOCK_WEIGHT:
                raise ConfigError(f"-{name} ({weight}) exceeds consensus maximum block weight ({MAX_BLOCK_WEIGHT})")
        if reserved > most:
            raise ConfigError(f"-blockreservedweight ({reserved}) exceeds -blockmaxweight ({most})")
