"""Where an expression of a descriptor stands.

Owns: the places. Never: what may stand there.
"""

from enum import Enum


class ScriptContext(Enum):
    """The function around an expression."""

    TOP = 0
    P2SH = 1
    P2WPKH = 2
    P2WSH = 3
    P2TR = 4
    MUSIG = 5
