"""The numbers of the standardness rules.

Owns: limits that no option changes, and the options' defaults. Never: the checks.
"""

from clarion.node.consensus.constants import MAX_BLOCK_SIGOPS_COST, WITNESS_SCALE_FACTOR

MIN_STANDARD_TX_VERSION = 1
MAX_STANDARD_TX_VERSION = 3
MAX_STANDARD_TX_WEIGHT = 400_000
MIN_STANDARD_TX_NONWITNESS_SIZE = 65
"""Bytes without witness: 64 could pass for an inner node of a merkle tree (CVE-2017-12842)."""
MAX_STANDARD_TX_SIGOPS_COST = MAX_BLOCK_SIGOPS_COST // 5
MAX_TX_LEGACY_SIGOPS = 2_500
"""Signature operations that a transaction may execute outside witnesses (BIP54)."""
MAX_P2SH_SIGOPS = 15
MAX_STANDARD_SCRIPTSIG_SIZE = 1650

MAX_STANDARD_P2WSH_STACK_ITEMS = 100
MAX_STANDARD_P2WSH_STACK_ITEM_SIZE = 80
MAX_STANDARD_P2WSH_SCRIPT_SIZE = 3600
MAX_STANDARD_TAPSCRIPT_STACK_ITEM_SIZE = 80

MAX_DUST_OUTPUTS_PER_TX = 1
"""Outputs below the dust threshold that a transaction without fee may have (ephemeral dust)."""

DEFAULT_MIN_RELAY_FEE = 100
DEFAULT_INCREMENTAL_RELAY_FEE = 100
DEFAULT_DUST_RELAY_FEE = 3000
"""Satoshis per kvB, as the two above."""
DEFAULT_BYTES_PER_SIGOP = 20
DEFAULT_DATACARRIER_BYTES = MAX_STANDARD_TX_WEIGHT // WITNESS_SCALE_FACTOR
