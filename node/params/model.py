"""The shape of a network's parameters.

Owns: the frozen values that tell one network from another. Never: the values themselves (`networks`) or options
from the command line (`chain_params`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import BlockHash

NEVER_HEIGHT = 0x7FFFFFFF
"""Activation height of a buried deployment that never activates."""

BURIED_DEPLOYMENTS = ("bip34", "bip66", "bip65", "csv", "segwit")
"""Names of the buried deployments as `getdeploymentinfo` shows them, in its order."""

ALWAYS_ACTIVE = -1
"""Start time of a versionbits deployment that is active from genesis on."""
NEVER_ACTIVE = -2
"""Start time of a versionbits deployment that can't activate."""
NO_TIMEOUT = 0x7FFFFFFFFFFFFFFF
"""Timeout of a versionbits deployment that never expires."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A soft fork that blocks signal for (BIP9 with BIP341's minimum activation height).

    `start_time` and `timeout` are median times past in Unix seconds or one of the special values above.
    """

    bit: int
    start_time: int
    timeout: int
    min_activation_height: int
    period: int
    threshold: int
    gbt_optional_rule: bool = True
    """Whether a miner that does not know the rule may still use our block template (BIP9's `!` prefix absent)."""

    @property
    def mask(self) -> int:
        """The deployment's bit in a block's version."""
        return 1 << self.bit


@dataclass(frozen=True, slots=True)
class AssumeUtxo:
    """A snapshot of the coins that may be loaded: its base block and what it must hash to."""

    height: int
    hash_serialized: bytes
    """`hash_serialized_3` of the coins, internal byte order."""
    chain_tx_count: int
    """Number of transactions from genesis up to and including the base block."""
    block_hash: BlockHash


@dataclass(frozen=True, slots=True)
class ChainTxData:
    """What verification progress is guessed from."""

    time: int
    """Unix time of the last known number of transactions."""
    tx_count: int
    """Number of transactions between genesis and that time."""
    rate: float
    """Estimated number of transactions per second after that time."""


@dataclass(frozen=True, slots=True)
class HeadersSyncParams:
    """Memory bounds of the headers presync: blocks between commitments and headers buffered when redownloading."""

    commitment_period: int
    redownload_buffer_size: int


@dataclass(frozen=True, slots=True)
class Base58Prefixes:
    """Version bytes of base58check strings."""

    pubkey: bytes
    script: bytes
    secret: bytes
    ext_public: bytes
    ext_secret: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainParams:
    """Everything that tells one network from another. Times in seconds, hashes in internal order."""

    name: str
    """As `getblockchaininfo` shows it: main, test, testnet4, signet or regtest."""
    datadir_subfolder: str
    magic: bytes
    """The four bytes in front of each message and each block in a block file."""
    default_port: int
    rpc_port: int
    genesis: Block

    pow_limit: int
    pow_target_timespan: int = 14 * 24 * 60 * 60
    pow_target_spacing: int = 10 * 60
    allow_min_difficulty: bool = False
    """Testnet's rule: a block 20 minutes behind its parent may have the lowest difficulty."""
    no_retargeting: bool = False
    enforce_bip94: bool = False
    """Testnet4's rules against time warps and block storms (BIP94)."""
    halving_interval: int = 210_000

    bip34_height: int = 1
    bip34_hash: BlockHash = field(default=BlockHash(bytes(32)))
    """Hash at `bip34_height`: a chain through it can't hold a duplicate coinbase, so BIP30 need not be checked."""
    bip65_height: int = 1
    bip66_height: int = 1
    csv_height: int = 1
    segwit_height: int = 1
    deployments: Mapping[str, Deployment]
    min_bip9_warning_height: int = 0
    script_flag_exceptions: Mapping[BlockHash, int] = field(default_factory=dict)
    """Script flags of the historical blocks that would fail the rules that are otherwise on from genesis."""

    minimum_chainwork: int = 0
    assume_valid: BlockHash | None = None
    assume_utxo: tuple[AssumeUtxo, ...] = ()
    tx_data: ChainTxData
    headers_sync: HeadersSyncParams
    max_tip_age: int = 24 * 60 * 60
    """A tip older than this means initial block download (default of -maxtipage)."""

    signet_challenge: bytes | None = None
    """The script that each block's solution must satisfy (BIP325), None outside signet."""

    base58: Base58Prefixes
    bech32_hrp: str
    dns_seeds: tuple[str, ...] = ()
    fixed_seeds: bytes = b""
    """Addresses of nodes for the case that nothing else helps, each in BIP155's encoding."""
    prune_after_height: int = 1000
    assumed_blockchain_size_gb: int = 0
    assumed_chain_state_size_gb: int = 0
    is_mockable_chain: bool = False
    """Whether the clock may be set (`setmocktime`) and whether blocks are mined on demand."""
    default_consistency_checks: bool = False

    @property
    def is_test_chain(self) -> bool:
        """Whether coins of this network have no value."""
        return self.name != "main"

    @property
    def onion_port(self) -> int:
        """Local port for incoming Tor connections."""
        return self.default_port + 1

    @property
    def difficulty_interval(self) -> int:
        """Number of blocks between two retargets."""
        return self.pow_target_timespan // self.pow_target_spacing

    def buried_height(self, name: str) -> int:
        """Return the activation height of a buried deployment; `name` is one of BURIED_DEPLOYMENTS."""
        return int(getattr(self, f"{name}_height"))

    def assume_utxo_at(self, height: int) -> AssumeUtxo | None:
        """Return the snapshot whose base block has this height."""
        return next((data for data in self.assume_utxo if data.height == height), None)

    def assume_utxo_of(self, block_hash: BlockHash) -> AssumeUtxo | None:
        """Return the snapshot whose base block has this hash."""
        return next((data for data in self.assume_utxo if data.block_hash == block_hash), None)
