"""The log line of a new tip, in the reference's words.

Owns: its text. Never: deciding when there is a new tip.
"""

import logging
import math
import time

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.primitives.ids import hash_to_hex

logger = logging.getLogger(__name__)


def log_tip(tip: BlockIndexEntry, cache_bytes: int) -> None:
    """Log that `tip` is the tip now; `cache_bytes` is the size of the unflushed coins."""
    logger.info(
        "UpdateTip: new best=%s height=%d version=0x%08x log2_work=%f tx=%d date='%s' cache=%.1fMiB",
        hash_to_hex(tip.hash),
        tip.height,
        tip.version & 0xFFFFFFFF,
        math.log2(tip.chainwork),
        tip.chain_tx_count,
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(tip.time)),
        cache_bytes / (1 << 20),
    )
