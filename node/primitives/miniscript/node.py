"""A miniscript's tree: its types, its needs of operations and stack, whether it is sane, and its text.

Owns: what is computed from the bottom up. Never: reading scripts (see `decoding`), satisfying them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from clarion.node.primitives.miniscript.types import INVALID, Fragment, Type, has, type_of

MAX_OPS = 201
"""Most operations that a script outside tapscript may execute."""

MAX_STACK_ITEMS = 100
"""Most items that policy allows below a witness script."""

_Result = TypeVar("_Result")
_NEVER = float("-inf")
"""Stands for what can't be reached: no sum with it can be reached, and any other way is larger."""


class Need(NamedTuple):
    """What the costliest way to satisfy and to dissatisfy takes, `_NEVER` if there is none."""

    satisfied: float
    dissatisfied: float


_WRAPPERS = (
    Fragment.WRAP_A,
    Fragment.WRAP_S,
    Fragment.WRAP_C,
    Fragment.WRAP_D,
    Fragment.WRAP_V,
    Fragment.WRAP_J,
    Fragment.WRAP_N,
)
_HASHES = (Fragment.SHA256, Fragment.HASH256, Fragment.RIPEMD160, Fragment.HASH160)
_LOCKS = (Fragment.OLDER, Fragment.AFTER)

_OWN_OPERATIONS = {
    Fragment.PK_H: 3,
    Fragment.OLDER: 1,
    Fragment.AFTER: 1,
    **dict.fromkeys(_HASHES, 4),
    Fragment.AND_B: 1,
    Fragment.OR_B: 1,
    Fragment.OR_C: 2,
    Fragment.OR_D: 3,
    Fragment.OR_I: 3,
    Fragment.ANDOR: 3,
    Fragment.MULTI: 1,
    Fragment.WRAP_S: 1,
    Fragment.WRAP_C: 1,
    Fragment.WRAP_N: 1,
    Fragment.WRAP_A: 2,
    Fragment.WRAP_D: 3,
    Fragment.WRAP_J: 4,
}


class Node:
    """A fragment with its parts. `k` is a time lock or a number of signatures or parts, `data` a hash, `keys` public
    keys of 33 bytes."""

    __slots__ = ("data", "extra_operations", "fragment", "k", "keys", "operations", "stack", "subs", "type")

    def __init__(
        self,
        fragment: Fragment,
        subs: Sequence["Node"] = (),
        *,
        k: int = 0,
        data: bytes = b"",
        keys: Sequence[bytes] = (),
    ) -> None:
        self.fragment = fragment
        self.subs = tuple(subs)
        self.k = k
        self.data = data
        self.keys = tuple(keys)
        self.type: Type = type_of(fragment, [sub.type for sub in self.subs], k)
        self.operations: int = self._count_operations()
        """Operations in the script that count, without those of executed CHECKMULTISIGs' keys."""
        self.extra_operations: Need = self._combine([sub.extra_operations for sub in self.subs], _ZERO_COSTS)
        """Keys of the CHECKMULTISIGs that are executed."""
        self.stack: Need = self._combine([sub.stack for sub in self.subs], _STACK_COSTS)
        """By how many items the stack shrinks."""

    @property
    def is_valid(self) -> bool:
        """Whether the parts fit together."""
        return self.type != INVALID

    @property
    def is_sane(self) -> bool:
        """Whether the script is safe to use: valid, within limits, not malleable, and never spent unsigned."""
        keys = [key for node in self.walk() for key in node.keys]
        return has(self.type, "Bmks") and self._is_within_limits() and len(set(keys)) == len(keys)

    def _is_within_limits(self) -> bool:
        return self.operations + self.extra_operations.satisfied <= MAX_OPS and self.max_stack <= MAX_STACK_ITEMS

    @property
    def max_stack(self) -> float:
        """Most stack items that a satisfaction takes, negative infinity if there is none."""
        return self.stack.satisfied + ("V" not in self.type)

    def walk(self) -> Iterator["Node"]:
        """Yield the node and all below it, in no particular order. Deep trees are no problem."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.subs

    def _count_operations(self) -> int:
        own = _OWN_OPERATIONS.get(self.fragment, 0)
        if self.fragment is Fragment.WRAP_V:
            own = "x" in self.subs[0].type
        elif self.fragment is Fragment.THRESH:
            own = len(self.subs)
        return own + sum(sub.operations for sub in self.subs)

    def _combine(self, subs: list[Need], costs: "_Costs") -> Need:
        """Return the need of the fragment from those of its parts; `costs` says what its own opcodes add."""
        fragment, own = self.fragment, costs.own
        if not subs:
            return costs.leaf(self)
        x = subs[0]
        if fragment is Fragment.THRESH:
            return _thresh(subs, self.k, own)
        if fragment in (Fragment.WRAP_A, Fragment.WRAP_S, Fragment.WRAP_N):
            return x
        if fragment is Fragment.WRAP_C:
            return Need(x.satisfied + own, x.dissatisfied + own)
        if fragment in (Fragment.WRAP_D, Fragment.WRAP_J):
            # What they duplicate, their IF takes away.
            return Need(x.satisfied, 0)
        if fragment is Fragment.WRAP_V:
            return Need(x.satisfied + own, _NEVER)
        if fragment is Fragment.ANDOR:
            y, z = subs[1:]
            return Need(
                max(x.satisfied + y.satisfied, x.dissatisfied + z.satisfied) + own,
                x.dissatisfied + z.dissatisfied + own,
            )
        return _pair(fragment, x, subs[1], own)


def _pair(fragment: Fragment, x: Need, y: Need, own: int) -> Need:
    both_ways = x.dissatisfied + y.satisfied, x.satisfied + y.dissatisfied
    neither = x.dissatisfied + y.dissatisfied + own
    if fragment is Fragment.AND_V:
        return Need(x.satisfied + y.satisfied, _NEVER)
    if fragment is Fragment.AND_B:
        return Need(x.satisfied + y.satisfied + own, neither)
    if fragment is Fragment.OR_B:
        return Need(max(both_ways) + own, neither)
    if fragment is Fragment.OR_C:
        return Need(max(x.satisfied, both_ways[0]) + own, _NEVER)
    if fragment is Fragment.OR_D:
        # A satisfied first part stays on the stack.
        return Need(max(x.satisfied, both_ways[0] + own), neither)
    return Need(max(x.satisfied, y.satisfied) + own, max(x.dissatisfied, y.dissatisfied) + own)


def _thresh(subs: list[Need], k: int, own: int) -> Need:
    # The n-th number is what it takes to satisfy n of the parts so far.
    needs: list[float] = [0]
    for at, sub in enumerate(subs):
        add = own if at else 0
        ways = [need + sub.dissatisfied for need in needs] + [_NEVER]
        for count, need in enumerate(needs):
            ways[count + 1] = max(ways[count + 1], need + sub.satisfied)
        needs = [way + add for way in ways]
    return Need(needs[k], needs[0])


class _Costs(NamedTuple):
    """`own` is what one opcode that takes two items and leaves one costs, `leaf` the need of a node without parts."""

    own: int
    leaf: Callable[[Node], Need]


def _keys_of_leaf(node: Node) -> Need:
    cost = len(node.keys) if node.fragment is Fragment.MULTI else 0
    return _possible(node.fragment, cost, cost)


def _stack_of_leaf(node: Node) -> Need:
    if node.fragment is Fragment.MULTI:
        return Need(node.k, node.k)
    cost = 0 if node.fragment in (Fragment.PK_H, *_HASHES) else -1
    return _possible(node.fragment, cost, cost)


def _possible(fragment: Fragment, satisfied: int, dissatisfied: int) -> Need:
    """Leave out what can't be: hashes and locks have no dissatisfaction that miniscript uses."""
    if fragment is Fragment.FALSE:
        return Need(_NEVER, dissatisfied)
    if fragment is Fragment.TRUE or fragment in _HASHES or fragment in _LOCKS:
        return Need(satisfied, _NEVER)
    return Need(satisfied, dissatisfied)


_ZERO_COSTS = _Costs(0, _keys_of_leaf)
_STACK_COSTS = _Costs(1, _stack_of_leaf)


def fold(root: Node, combine: Callable[[Node, list[_Result]], _Result]) -> _Result:
    """Return what `combine` makes of the root and the results of its parts. Deep trees are no problem."""
    done: list[_Result] = []
    waiting = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            start = len(done) - len(node.subs)
            done[start:] = [combine(node, done[start:])]
        else:
            waiting += [(node, True), *[(sub, False) for sub in reversed(node.subs)]]
    return done[0]


def to_text(root: Node, key_text: Callable[[bytes], str]) -> str:
    """Return a miniscript's text; `key_text` says how a key is shown."""
    # Whether a node stands behind wrappers, and so needs a colon, is settled by the node above.
    text, _ = fold(root, lambda node, parts: _text(node, parts, key_text))
    return text


def _wrapper_letter(node: Node) -> str:
    """Return the letter in front of the colon that stands for a node, "" if it is shown as a function."""
    kinds = [sub.fragment for sub in node.subs]
    if node.fragment in _WRAPPERS:
        return node.fragment.value
    if node.fragment is Fragment.AND_V and kinds[1] is Fragment.TRUE:
        return "t"
    if node.fragment is Fragment.OR_I and Fragment.FALSE in kinds:
        return "l" if kinds[0] is Fragment.FALSE else "u"
    return ""


def _text(node: Node, parts: list[tuple[str, bool]], key_text: Callable[[bytes], str]) -> tuple[str, bool]:
    """Return (the text, whether it begins with wrappers)."""
    if node.fragment is Fragment.WRAP_C and node.subs[0].fragment in (Fragment.PK_K, Fragment.PK_H):
        name = "pk" if node.subs[0].fragment is Fragment.PK_K else "pkh"
        return f"{name}({key_text(node.subs[0].keys[0])})", False
    letter = _wrapper_letter(node)
    if letter:
        inner, has_wrappers = parts[1 if letter == "l" else 0]
        return letter + ("" if has_wrappers else ":") + inner, True
    name = node.fragment.value
    if node.fragment in (Fragment.FALSE, Fragment.TRUE):
        return name, False
    if node.fragment is Fragment.ANDOR and node.subs[2].fragment is Fragment.FALSE:
        name, parts = "and_n", parts[:2]
    arguments = [str(node.k)] if node.k else []
    arguments += [node.data.hex()] if node.data else []
    arguments += map(key_text, node.keys)
    arguments += [part for part, _ in parts]
    return f"{name}({','.join(arguments)})", False
