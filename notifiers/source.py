"""The event log and the blocks as delivery reads them, in whichever process it runs.

Owns: opening the reader that the node's configuration names. Never: writing anything.
"""

from clarion.node.config import Config, params_of
from clarion.node.errors import BlockFileError
from clarion.node.events.row import EventRow
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.rows import BlockPosition


class StoredEvents:
    """The log and the block files of a node (an `EventSource`)."""

    def __init__(self, reader: ChainReader) -> None:
        self._reader = reader

    @property
    def log_id(self) -> str:
        """The log's id in hex."""
        return self._reader.events.log_id

    def last_seq(self) -> int:
        """Return the number of the newest durable row, 0 for an empty log."""
        return self._reader.events.last_seq()

    def read(self, after_seq: int, limit: int) -> list[EventRow]:
        """Return up to `limit` durable rows behind `after_seq`, in order."""
        return self._reader.events.read(after_seq, limit)

    def behind(self, seq: int) -> tuple[int, int | None]:
        """Return how many events the rows above a number expand to, and when the oldest was logged."""
        return self._reader.events.behind(seq)

    def block_bytes(self, block_hash: BlockHash) -> bytes:
        """Return the raw block. Raises BlockFileError if it is missing or damaged."""
        with self._reader.snapshot() as view:
            row = view.block(block_hash)
        if row is None:
            raise BlockFileError(f"block {hash_to_hex(block_hash)} is not in the block index")
        return self._reader.read_block(row)

    def stored_bytes(self, position: BlockPosition) -> bytes:
        """Return the raw block at a place of the block files. Raises BlockFileError if there is none."""
        return self._reader.block_files.read(position)

    def close(self) -> None:
        """Close database and files."""
        self._reader.close()


def open_source(config: Config) -> StoredEvents:
    """Return the log and blocks of the configured node. Raises ConfigError if there is no database yet."""
    return StoredEvents(
        ChainReader(config.database_url, config.chain_dir, params_of(config), blocks_dir=config.blocks_dir)
    )
