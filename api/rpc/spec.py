"""How an RPC method declares its arguments and results.

Owns: the values that named arguments, type checks, help and the command line all read. Never: text layout, calls.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any


class ArgType(Enum):
    """Type of an argument; the value is how help names it."""

    STR = "string"
    STR_HEX = "string (hex)"
    NUM = "numeric"
    BOOL = "boolean"
    AMOUNT = "numeric or string"
    RANGE = "numeric or array"
    ARR = "json array"
    OBJ = "json object"
    OBJ_NAMED_PARAMS = "json object (named)"
    OBJ_USER_KEYS = "json object (user keys)"

    @property
    def label(self) -> str:
        """The type in the words of a help text."""
        return self.value.split(" (")[0]

    @property
    def is_text(self) -> bool:
        """Whether a command line hands the argument over as it stands instead of parsing it as JSON."""
        return self in (ArgType.STR, ArgType.STR_HEX)


_EXPECTED = {
    ArgType.STR: "string",
    ArgType.STR_HEX: "string",
    ArgType.NUM: "number",
    ArgType.BOOL: "bool",
    ArgType.ARR: "array",
    ArgType.OBJ: "object",
    ArgType.OBJ_NAMED_PARAMS: "object",
    ArgType.OBJ_USER_KEYS: "object",
}


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument. `names` may hold aliases separated by `|`.

    `default` is what the method gets for null; `hint` describes a default that is no plain value. `unchecked` leaves
    the type to the method (an argument that is a bool or an int). `inner` describes members of arrays and objects;
    those of an OBJ_NAMED_PARAMS may be given as named arguments too.
    """

    names: str
    type: ArgType
    description: str = ""
    required: bool = False
    default: Any = None
    hint: str = ""
    unchecked: bool = False
    inner: tuple["Arg", ...] = ()
    oneline: str = ""
    type_label: str = ""
    hidden: bool = False

    @property
    def name(self) -> str:
        """The first name."""
        return self.names.split("|", 1)[0]

    @property
    def has_user_keys(self) -> bool:
        """Whether it is, or holds, an object whose keys the client chooses."""
        return self.type is ArgType.OBJ_USER_KEYS or any(inner.has_user_keys for inner in self.inner)

    @property
    def expected(self) -> str | None:
        """JSON type that the value must have, None where several are allowed."""
        return None if self.unchecked else _EXPECTED.get(self.type)


class ResultType(Enum):
    """Type of a result or of a member of it; the value is how help names it."""

    STR = "string"
    STR_HEX = "string (hex)"
    STR_AMOUNT = "numeric (amount)"
    NUM = "numeric"
    NUM_TIME = "numeric (time)"
    BOOL = "boolean"
    NONE = "json null"
    ANY = "any"
    ARR = "json array"
    OBJ = "json object"
    OBJ_DYN = "json object (dynamic keys)"

    @property
    def label(self) -> str:
        """The type in the words of a help text."""
        return self.value.split(" (")[0]


@dataclass(frozen=True, slots=True)
class Result:
    """What a method returns, or a member of it. `condition` says when this one of several results applies."""

    type: ResultType
    key: str = ""
    description: str = ""
    inner: tuple["Result", ...] = ()
    optional: bool = False
    condition: str = ""


def json_type(value: Any) -> str:
    """Return the name that the reference gives to the JSON type of a decoded value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"
