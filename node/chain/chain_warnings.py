"""What the operator should know about the chain: unknown rules, and an invalid chain with more work than ours.

Owns: when such a warning holds, and its text. Never: who is told, commands.
"""

import logging
import threading
from collections.abc import Callable
from enum import IntEnum

from clarion.node.chain.state import ChainState
from clarion.node.consensus.pow import block_proof
from clarion.node.consensus.unknown_rules import UnknownRules

logger = logging.getLogger(__name__)

INVALID_CHAIN = (
    "Found invalid chain more than 6 blocks longer than our best chain. This could be due to database corruption or "
    "consensus incompatibility with peers."
)


class Warned(IntEnum):
    """What is warned of, in the order in which clients see it."""

    UNKNOWN_NEW_RULES_ACTIVATED = 0
    LARGE_WORK_INVALID_CHAIN = 1


class ChainWarnings:
    """The warnings that hold. The chain thread changes them; any thread may read them."""

    def __init__(self, state: ChainState, on_new: Callable[[str], None]) -> None:
        """`on_new` gets the text of each warning that did not hold before, on the chain thread: it must return at once."""
        self._state = state
        self._on_new = on_new
        self._rules = UnknownRules(state.params)
        self._held: dict[Warned, str] = {}
        self._lock = threading.Lock()

    def messages(self) -> list[str]:
        """Return the texts of the warnings that hold."""
        with self._lock:
            return [self._held[kind] for kind in sorted(self._held)]

    def tip_moved(self) -> None:
        """Look at the new tip. Runs on the chain thread, after the commit."""
        state = self._state
        if not state.initial_download:
            for bit, active in self._rules.activations(state.active.tip):
                if active:
                    # One is enough: the first stays until the node stops, as with the reference.
                    self._set(Warned.UNKNOWN_NEW_RULES_ACTIVATED, f"Unknown new rules activated (versionbit {bit})")
                    break
        self.look_for_invalid_chain()

    def look_for_invalid_chain(self) -> None:
        """Compare the best invalid chain with the tip. Runs on the chain thread."""
        state = self._state
        if state.active.height < 0:
            return
        invalid, tip = state.best_invalid, state.active.tip
        if invalid is not None and invalid.chainwork > tip.chainwork + 6 * block_proof(tip.bits):
            logger.warning(INVALID_CHAIN)
            self._set(Warned.LARGE_WORK_INVALID_CHAIN, f"Warning: {INVALID_CHAIN}")
        else:
            with self._lock:
                self._held.pop(Warned.LARGE_WORK_INVALID_CHAIN, None)

    def _set(self, kind: Warned, text: str) -> None:
        with self._lock:
            if kind in self._held:
                return
            self._held[kind] = text
        self._on_new(text)
