"""Which rules a block falls under.

Owns: buried deployments and the script flags of a block. Never: signalling (`versionbits`).
"""

from clarion.node.consensus.position import ChainPosition
from clarion.node.params.chain_params import ChainParams
from clarion.node.params.model import NEVER_HEIGHT
from clarion.node.primitives.ids import BlockHash
from clarion.node.script.flags import (
    SCRIPT_VERIFY_CHECKLOCKTIMEVERIFY,
    SCRIPT_VERIFY_CHECKSEQUENCEVERIFY,
    SCRIPT_VERIFY_DERSIG,
    SCRIPT_VERIFY_NULLDUMMY,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_TAPROOT,
    SCRIPT_VERIFY_WITNESS,
)


def buried_active_at(height: int, params: ChainParams, name: str) -> bool:
    """Return whether buried deployment `name` (`bip34`, `bip65`, `bip66`, `csv`, `segwit`) rules the block at `height`."""
    return height >= params.buried_height(name)


def buried_active_after(prev: ChainPosition | None, params: ChainParams, name: str) -> bool:
    """Return whether buried deployment `name` rules the block on top of `prev` (None: genesis)."""
    return buried_active_at(0 if prev is None else prev.height + 1, params, name)


def buried_enabled(params: ChainParams, name: str) -> bool:
    """Return whether buried deployment `name` can ever be active."""
    return params.buried_height(name) != NEVER_HEIGHT


def segwit_active_at(position: ChainPosition, params: ChainParams) -> bool:
    """Return whether the block at `position` must commit to its witnesses (BIP141)."""
    return position.height >= params.segwit_height


def block_script_flags(position: ChainPosition, params: ChainParams) -> int:
    """Return the flags under which the scripts of the block at `position` must pass."""
    return script_flags_at(position.height, position.hash, params)


def script_flags_at(height: int, block_hash: BlockHash, params: ChainParams) -> int:
    """Return the script flags of a block by its height and hash.

    P2SH, segwit and taproot are on from genesis: only the blocks named in the parameters ever broke them.
    """
    flags = params.script_flag_exceptions.get(
        block_hash, SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS | SCRIPT_VERIFY_TAPROOT
    )
    if height >= params.bip66_height:
        flags |= SCRIPT_VERIFY_DERSIG
    if height >= params.bip65_height:
        flags |= SCRIPT_VERIFY_CHECKLOCKTIMEVERIFY
    if height >= params.csv_height:
        flags |= SCRIPT_VERIFY_CHECKSEQUENCEVERIFY
    # BIP147 was activated together with segwit.
    if height >= params.segwit_height:
        flags |= SCRIPT_VERIFY_NULLDUMMY
    return flags
