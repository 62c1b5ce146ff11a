"""What became of one block that was handed to the chain manager.

Owns: the answer that `submitblock` and the download code read. Never: deciding it.
"""

from dataclasses import dataclass

from clarion.node.errors import BlockInvalid
from clarion.node.primitives.ids import BlockHash


@dataclass(slots=True)
class BlockOutcome:
    """`accepted`: it passed what can be checked before connecting. `new`: it was not stored before.

    `checked`: the full check of this block ran now. `invalid`: why it was refused, None if it was not.
    """

    hash: BlockHash
    accepted: bool = False
    new: bool = False
    checked: bool = False
    invalid: BlockInvalid | None = None

    def judge(self, block_hash: BlockHash, invalid: BlockInvalid | None) -> None:
        """Note the result of the full check if it is about this block."""
        if block_hash == self.hash:
            self.checked = True
            self.invalid = invalid
