"""The template that `getblocktemplate` gives out until a better one is due.

Owns: when a new one is made (the reference's five seconds). Never: making it, waiting, what clients see.
"""

import threading

from clarion.node.mining.miner import Miner
from clarion.node.mining.template import BlockTemplate

MAX_AGE_S = 5
"""A template with old transactions is given out for this long, by the node's clock."""


class TemplateCache:
    """Gives all clients the same template. Thread-safe; who comes while a new one is made waits for it."""

    def __init__(self, miner: Miner) -> None:
        self._miner = miner
        self._making = threading.Lock()
        self._template: BlockTemplate | None = None
        self._made_at = 0
        self._pool_updates = 0

    @property
    def pool_updates(self) -> int:
        """How often the pool had changed when the last template was made."""
        return self._pool_updates

    def current(self) -> BlockTemplate:
        """Return the template for the present tip. Raises RpcError if none can be made that is valid."""
        with self._making:
            template = self._template
            if template is None or not self._is_fresh(template):
                # A failure must not leave the old one behind.
                self._template = None
                self._made_at = self._miner.clock.now()
                template = self._template = self._miner.create_template()
                self._pool_updates = template.pool_updates
            return template

    def _is_fresh(self, template: BlockTemplate) -> bool:
        miner = self._miner
        if template.prev.hash != miner.chain.manager.tip.hash:
            return False
        return miner.pool_updates == template.pool_updates or miner.clock.now() - self._made_at <= MAX_AGE_S
