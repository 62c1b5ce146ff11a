"""A snapshot of unspent outputs in the node's storage: what a start makes of it.

Owns: opening its coins, and what becomes of those that are not used any more. Never: the chain.
"""

import logging

from clarion.node.errors import ConfigError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.database import Database
from clarion.node.storage.rows import ChainCommit
from clarion.node.storage.snapshot_record import RELINK_KEY, SNAPSHOT_KEY, SnapshotState

logger = logging.getLogger(__name__)


def open_snapshot(database: Database, params: ChainParams) -> CoinStore | None:
    """Return the coins of the snapshot that the chain starts from, None if it starts from genesis.

    What a load left behind that was killed, or a rebuild, is removed; a snapshot that turned out wrong is set aside.
    Raises ConfigError, StorageError.
    """
    place, record = database.snapshot, database.snapshot_record()
    if record is None:
        _check_name(place.named_base(), params)
        if place.exists:
            logger.info("[snapshot] removing coins of a snapshot that is not in use: %s", place.name)
            place.remove()
        return None
    if record.state is SnapshotState.INVALID:
        logger.warning("[snapshot] the wrong snapshot %s is set aside", place.name)
        place.set_aside()
        database.chain.commit(ChainCommit(meta={SNAPSHOT_KEY: b"", RELINK_KEY: b"1"}))
        return None
    if params.assume_utxo_of(record.base) is None:
        raise _unknown(record.base)
    if not place.exists:
        raise ConfigError(
            f"The coins of the snapshot that the chain starts from are not there: {place.name}. To build the chain without "
            "it, start with -reindex-chainstate"
        )
    return place.open()


def _check_name(base: bytes | None, params: ChainParams) -> None:
    """Refuse a folder that names a block that this program does not know: it is not for us to remove."""
    if base is not None and params.assume_utxo_of(BlockHash(base)) is None:
        raise _unknown(base)


def _unknown(base: bytes) -> ConfigError:
    return ConfigError(
        "A fatal internal error occurred, see debug.log for details: Assumeutxo data not found for the given blockhash "
        f"'{hash_to_hex(base)}'."
    )
