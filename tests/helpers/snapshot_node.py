"""`clarion` on a regtest that knows one snapshot of its own, and that loads snapshots in many small parts.

Owns: these two differences. Never: the snapshot (see `snapshot_source`).
"""

import sys
from dataclasses import replace
from typing import Any

from clarion.node.chain.snapshot import loading
from clarion.node.cli import main
from clarion.node.params import chain_params
from clarion.node.params.model import AssumeUtxo, ChainParams
from clarion.node.params.networks import regtest_params
from clarion.node.primitives.ids import BlockHash, hash_from_hex

_OPTION = "--known-snapshot="
ROWS_AT_ONCE = 10


def program(height: int, coins_hash: str, tx_count: int, block_hash: str) -> list[str]:
    """Return the command that starts it; hashes as they are shown."""
    return [sys.executable, __file__, f"{_OPTION}{height},{coins_hash},{tx_count},{block_hash}"]


def _patch(known: str) -> None:
    height, coins_hash, tx_count, block_hash = known.split(",")
    snapshot = AssumeUtxo(
        height=int(height),
        hash_serialized=hash_from_hex(coins_hash),
        chain_tx_count=int(tx_count),
        block_hash=BlockHash(hash_from_hex(block_hash)),
    )

    def patched(**options: Any) -> ChainParams:
        return replace(regtest_params(**options), assume_utxo=(snapshot,))

    vars(chain_params)["regtest_params"] = patched
    loading.ROWS_AT_ONCE = ROWS_AT_ONCE


if __name__ == "__main__":
    _patch(sys.argv.pop(1).removeprefix(_OPTION))
    sys.exit(main())
