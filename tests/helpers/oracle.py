"""Bitcoin Core's own library as a second judge of the generated blocks.

Owns: a chain in the library, and reading its verdicts out of its log. Never: being needed; without the package
py-bitcoinkernel there is no oracle, and the tests rely on their own expectations.
"""

import contextlib
import importlib.util
import re
from pathlib import Path

from clarion.node.primitives.block import Block

AVAILABLE = importlib.util.find_spec("pbk") is not None
_ACCEPT_FAILED = re.compile(r"ProcessNewBlock: AcceptBlock FAILED \((.*)\)$")
_CONNECT_FAILED = re.compile(r"ConnectTip: ConnectBlock ([0-9a-f]{64}) failed, (.*)$")


class Oracle:
    """A regtest chain in the library. One at a time: the library's log is global."""

    def __init__(self, folder: Path) -> None:
        import pbk

        self._pbk = pbk
        self._lines: list[str] = []
        self._log = pbk.LoggingConnection(cb=self._lines.append)
        options = pbk.ChainstateManagerOptions(
            pbk.make_context(pbk.ChainType.REGTEST), str(folder), str(folder / "blocks")
        )
        # With workers, failed scripts are reported behind all other reasons; without them in their turn.
        options.set_worker_threads_num(1)
        options.update_block_tree_db_in_memory(True)
        options.update_chainstate_db_in_memory(True)
        self._chain = pbk.ChainstateManager(options)

    @property
    def tip_hash(self) -> bytes:
        """Hash of the tip, internal byte order."""
        chain = self._chain.get_active_chain()
        return bytes(chain.block_tree_entries[chain.height].block_hash)

    def can_decode(self, block: Block) -> bool:
        """Whether the bytes are a block for the library."""
        try:
            self._pbk.Block(block.raw)
        except Exception:
            return False
        return True

    def judge(self, block: Block) -> str | None:
        """Process a block; return why it was refused (`reason, debug`), None where it was not."""
        self._lines.clear()
        with contextlib.suppress(self._pbk.ProcessBlockException):
            self._chain.process_block(self._pbk.Block(block.raw))
        return self._verdict(block)

    def _verdict(self, block: Block) -> str | None:
        for line in self._lines:
            refused = _ACCEPT_FAILED.search(line.rstrip())
            if refused:
                return refused[1]
            failed = _CONNECT_FAILED.search(line.rstrip())
            if failed and bytes.fromhex(failed[1])[::-1] == block.hash:
                return failed[2]
        return None

    def add_header(self, block: Block) -> None:
        """Process a block's header alone."""
        self._chain.process_block_header(self._pbk.BlockHeader(block.header.serialize()))

    def close(self) -> None:
        """Free the chain and stop listening to the log."""
        del self._chain
        del self._log
