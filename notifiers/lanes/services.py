"""What all lanes of a process share: the log's reader and the store of what they remember.

Owns: opening and closing both. Never: a lane.
"""

from clarion.node.config import Config, params_of
from clarion.node.params.chain_params import ChainParams
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.lane_store import LaneStore, open_lane_store
from clarion.node.storage.location import locate
from clarion.notifiers.stream.log_reader import LogReader


class LaneServices:
    """Open from its making to `close`."""

    def __init__(self, reader: ChainReader, store: LaneStore, params: ChainParams) -> None:
        self._reader = reader
        self.log = LogReader(reader)
        self.store = store
        self.params = params

    def close(self) -> None:
        """Close the databases."""
        self.store.close()
        self._reader.close()


def open_lane_services(config: Config) -> LaneServices:
    """Open what lanes need in this process. Raises ConfigError, StorageError."""
    params = params_of(config)
    store = open_lane_store(locate(config.database_url, config.chain_dir), params)
    try:
        reader = ChainReader(config.database_url, config.chain_dir, params, blocks_dir=config.blocks_dir)
    except BaseException:
        store.close()
        raise
    return LaneServices(reader, store, params)
