"""What one option is.

Owns: the record of the options table. Never: values that a user gave.
"""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """How a value is read."""

    FLAG = "flag"
    NUMBER = "number"
    AMOUNT = "amount"
    HEX = "hex"
    TEXT = "text"
    PATH = "path"


class Effect(Enum):
    """What setting an option does in this version."""

    ACTIVE = "active"
    LATER = "later"
    """Belongs to a capability that this version does not have yet: stored, without effect."""
    INERT = "inert"
    """Means nothing to a node without wallet, window and IPC: accepted so that the reference's files work."""


class Category(Enum):
    """Sections of the help text, in its order."""

    OPTIONS = "Options"
    CONNECTION = "Connection options"
    ZMQ = "ZeroMQ notification options"
    DEBUG_TEST = "Debugging/Testing options"
    NODE_RELAY = "Node relay options"
    BLOCK_CREATION = "Block creation options"
    RPC = "RPC server options"
    CHAINPARAMS = "Chain selection options"
    CLARION = "Clarion options"
    HIDDEN = "Hidden options"


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `default` is what the help text shows; the value itself is decided where it is used."""

    name: str
    kind: Kind
    category: Category
    help: str
    default: str = ""
    argument: str = ""
    """Placeholder behind the name in the help text, `=<n>`."""
    multiple: bool = False
    debug_only: bool = False
    """Shown by -help-debug only."""
    network_only: bool = False
    """In the default section of a file it counts for mainnet only."""
    sensitive: bool = False
    """Never written to the log."""
    negatable: bool = True
    needs_value: bool = False
    effect: Effect = Effect.ACTIVE
