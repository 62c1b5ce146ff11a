"""From text to a miniscript's tree.

Owns: the grammar, as the reference reads it. Never: whether the result is valid, let alone sane; what keys are.
"""

import re
from collections.abc import Callable

from clarion.node.primitives.miniscript.node import Node, max_script_size
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.script import MAX_PUBKEYS_PER_MULTI_A, MAX_PUBKEYS_PER_MULTISIG, push_number

_MAX_LOCK = 0x7FFFFFFF
_NUMBER = re.compile(r"-?[0-9]{1,30}")
_MARKS = re.compile("[(){},]")
_WRAPPERS = re.compile("[^:][a-z]*(?=:)")
_HEX = re.compile(r"([0-9a-fA-F]{2})+")
_WRAPPER_SIZES = {"a": 2, "s": 1, "c": 1, "d": 3, "j": 4, "n": 1, "v": 0, "u": 4, "t": 1, "l": 4}
_HASH_SIZES = {Fragment.SHA256: 32, Fragment.RIPEMD160: 20, Fragment.HASH256: 32, Fragment.HASH160: 20}
# Name, fragment, and the least bytes that it adds; a name that begins another one stands behind it.
_COMBINATIONS = (
    ("and_n(", Fragment.ANDOR, 5),
    ("and_b(", Fragment.AND_B, 2),
    ("and_v(", Fragment.AND_V, 1),
    ("or_b(", Fragment.OR_B, 2),
    ("or_c(", Fragment.OR_C, 3),
    ("or_d(", Fragment.OR_D, 4),
    ("or_i(", Fragment.OR_I, 4),
)

ReadKey = Callable[[str], bytes | None]
"""Returns what stands for a key expression in the tree, None if it is none."""


class _NoMiniscript(Exception):
    """The text is none. Never leaves this module."""


def take_expression(text: str) -> tuple[str, str]:
    """Return (text up to the first `,`, `)` or `}` outside of brackets, the rest)."""
    end = expression_end(text, 0)
    return text[:end], text[end:]


def expression_end(text: str, start: int) -> int:
    """Return where the expression that begins at `start` ends: before the first `,`, `)` or `}` outside of brackets."""
    level = 0
    for found in _MARKS.finditer(text, start):
        char = found.group()
        if char in "({":
            level += 1
        elif char != "," and level:
            level -= 1
        elif not level:
            return found.start()
    return len(text)


def parse_miniscript(text: str, read_key: ReadKey, *, tapscript: bool) -> Node | None:
    """Return the tree of a text, None if it is no miniscript. Keys are read in their order."""
    try:
        return _Parser(text, read_key, tapscript).run()
    except _NoMiniscript:
        return None


class _Parser:
    """Takes the text from its front. What is still to do stands on a stack of its own, since texts may be nested deeper
    than Python's calls; finished parts are on `_done`.

    `_size` is the least number of bytes of the script so far: it ends texts that can't become a script.
    """

    def __init__(self, text: str, read_key: ReadKey, tapscript: bool) -> None:
        self._text = text
        self._at = 0
        self._read_key = read_key
        self._tapscript = tapscript
        self._size = 1
        self._max_size = max_script_size(tapscript)
        self._done: list[Node] = []
        self._steps: list[Callable[[], None]] = []

    def run(self) -> Node:
        """Return the tree of the whole text. Raises _NoMiniscript."""
        self._steps.append(self._wrapped)
        while self._steps:
            self._check_size()
            self._steps.pop()()
        if self._at < len(self._text) or len(self._done) != 1:
            raise _NoMiniscript
        return self._done[0]

    def _check_size(self) -> None:
        if self._size > self._max_size:
            raise _NoMiniscript

    # --- reading ----------------------------------------------------------------------------------------------------

    def _take(self, start: str) -> bool:
        found = self._text.startswith(start, self._at)
        self._at += len(start) if found else 0
        return found

    def _need(self, char: str) -> Callable[[], None]:
        def step() -> None:
            if not self._take(char):
                raise _NoMiniscript

        return step

    def _find(self, char: str) -> int:
        """Return where a character stands before the next closing bracket, counted from here, -1 if it does not."""
        end = self._text.find(")", self._at)
        at = self._text.find(char, self._at, end + 1 if end >= 0 else len(self._text))
        return at - self._at if at >= 0 else -1

    def _number_before_comma(self) -> int:
        comma = self._find(",")
        if comma < 1:
            raise _NoMiniscript
        value = _integer(self._text[self._at : self._at + comma])
        self._at += comma + 1
        return value

    def _argument(self, name: str) -> str:
        """Return what stands in the brackets of a function of one argument."""
        end = expression_end(self._text, self._at)
        expression, self._at = self._text[self._at : end], end
        if not expression.endswith(")") or len(expression) < len(name) + 2:
            raise _NoMiniscript
        return expression[len(name) + 1 : -1]

    def _key(self, text: str) -> bytes:
        key = self._read_key(text)
        if key is None:
            raise _NoMiniscript
        return key

    # --- building ---------------------------------------------------------------------------------------------------

    def _leaf(
        self, fragment: Fragment, size: int, *, k: int = 0, data: bytes = b"", keys: tuple[bytes, ...] = ()
    ) -> None:
        self._done.append(Node(fragment, k=k, data=data, keys=keys, tapscript=self._tapscript))
        self._size += size

    def _build(self, fragment: Fragment, count: int, k: int = 0) -> None:
        """Make one node of the last `count` parts."""
        subs = self._done[len(self._done) - count :]
        del self._done[len(self._done) - count :]
        self._done.append(Node(fragment, subs, k=k))

    def _then(self, *steps: Callable[[], None]) -> None:
        """Do these steps next, in their order."""
        self._steps += reversed(steps)

    # --- expressions ------------------------------------------------------------------------------------------------

    def _wrapped(self) -> None:
        """Read an expression with the wrappers in front of it."""
        letters = _WRAPPERS.match(self._text, self._at)
        wrappers = "" if letters is None else letters.group()
        if "vv" in wrappers:
            raise _NoMiniscript
        for letter in wrappers:
            self._check_size()
            if letter not in _WRAPPER_SIZES:
                raise _NoMiniscript
            self._size += _WRAPPER_SIZES[letter]
            if letter == "l":
                self._leaf(Fragment.FALSE, 0)
            self._steps.append(self._wrapper(letter))
        if wrappers:
            self._at += len(wrappers) + 1
        self._steps.append(self._expression)

    def _wrapper(self, letter: str) -> Callable[[], None]:
        def step() -> None:
            if letter in "ut":
                self._leaf(Fragment.FALSE if letter == "u" else Fragment.TRUE, 0)
            if letter in "ul":
                self._build(Fragment.OR_I, 2)
            elif letter == "t":
                self._build(Fragment.AND_V, 2)
            else:
                self._size += letter == "v" and "x" in self._done[-1].type
                self._build(Fragment(letter), 1)

        return step

    def _expression(self) -> None:
        if self._take("0"):
            self._leaf(Fragment.FALSE, 0)
        elif self._take("1"):
            self._leaf(Fragment.TRUE, 0)
        elif not (self._one_key() or self._hash() or self._lock() or self._multi() or self._thresh()):
            self._combination()

    def _one_key(self) -> bool:
        name = next(
            (name for name in ("pk", "pkh", "pk_k", "pk_h") if self._text.startswith(name + "(", self._at)), None
        )
        if name is None:
            return False
        key = self._key(self._argument(name))
        if name in ("pkh", "pk_h"):
            self._leaf(Fragment.PK_H, 23, keys=(key,))
        else:
            self._leaf(Fragment.PK_K, 32 if self._tapscript else 33, keys=(key,))
        if name in ("pk", "pkh"):
            self._build(Fragment.WRAP_C, 1)
            self._size += 1
        return True

    def _hash(self) -> bool:
        for fragment, size in _HASH_SIZES.items():
            if self._text.startswith(fragment.value + "(", self._at):
                text = self._argument(fragment.value)
                if not _HEX.fullmatch(text) or len(text) != 2 * size:
                    raise _NoMiniscript
                self._leaf(fragment, size + 6, data=bytes.fromhex(text))
                return True
        return False

    def _lock(self) -> bool:
        for fragment in (Fragment.AFTER, Fragment.OLDER):
            if self._text.startswith(fragment.value + "(", self._at):
                number = _integer(self._argument(fragment.value))
                if not 1 <= number <= _MAX_LOCK:
                    raise _NoMiniscript
                self._leaf(fragment, len(push_number(number)), k=number)
                return True
        return False

    def _multi(self) -> bool:
        if self._take("multi("):
            fragment, limit = Fragment.MULTI, MAX_PUBKEYS_PER_MULTISIG
        elif self._take("multi_a("):
            fragment, limit = Fragment.MULTI_A, MAX_PUBKEYS_PER_MULTI_A
        else:
            return False
        if self._tapscript is not (fragment is Fragment.MULTI_A):
            raise _NoMiniscript
        required = self._number_before_comma()
        keys = []
        comma = 0
        while comma >= 0:
            comma = self._find(",")
            end = self._find(")") if comma < 0 else comma
            if end < 1:
                raise _NoMiniscript
            keys.append(self._key(self._text[self._at : self._at + end]))
            self._at += end + 1
        if len(keys) > limit or not 1 <= required <= len(keys):
            raise _NoMiniscript
        size = len(push_number(required)) + 34 * len(keys)
        if fragment is Fragment.MULTI:
            size += len(push_number(len(keys)))
        self._leaf(fragment, size, k=required, keys=tuple(keys))
        return True

    def _thresh(self) -> bool:
        if not self._take("thresh("):
            return False
        k = self._number_before_comma()
        if k < 1:
            raise _NoMiniscript
        self._then(self._wrapped, lambda: self._next_part(k, 1))
        self._size += 1 + len(push_number(k))
        return True

    def _next_part(self, k: int, count: int) -> None:
        """Go on behind the part number `count` of a `thresh`."""
        if self._take(","):
            self._then(self._wrapped, lambda: self._next_part(k, count + 1))
            self._size += 2
        elif k <= count and self._take(")"):
            self._build(Fragment.THRESH, count, k)
        else:
            raise _NoMiniscript

    def _combination(self) -> None:
        if self._take("andor("):
            parts, build = 3, lambda: self._build(Fragment.ANDOR, 3)
            self._size += 5
        else:
            found = next((each for each in _COMBINATIONS if self._take(each[0])), None)
            if found is None:
                raise _NoMiniscript
            name, fragment, size = found
            parts, build = 2, lambda: self._pair(name, fragment)
            self._size += size
        steps = [self._wrapped] + [self._need(","), self._wrapped] * (parts - 1)
        self._then(*steps, self._need(")"), build)

    def _pair(self, name: str, fragment: Fragment) -> None:
        if name == "and_n(":
            self._leaf(Fragment.FALSE, 0)
        self._build(fragment, 3 if name == "and_n(" else 2)


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text) or not -(1 << 63) <= int(text) < 1 << 63:
        raise _NoMiniscript
    return int(text)
