"""A miniscript's tree: its types, its needs of operations and stack, its size, and whether it is sane.

Owns: what is computed from the bottom up. Never: reading scripts (see `decoding`), satisfying them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from clarion.node.primitives.miniscript.stack import StackNeed, stack_need
from clarion.node.primitives.miniscript.types import INVALID, Fragment, Type, has, type_of
from clarion.node.primitives.script import push_number

MAX_OPS = 201
"""Most operations that a script outside tapscript may execute."""

MAX_STACK_ITEMS = 100
"""Most items that policy allows below a witness script."""

MAX_EXECUTION_STACK = 1000
"""Most items that the stack may have while a script runs."""

MAX_SCRIPT_SIZE = 3600
"""Longest witness script in bytes that policy allows."""

_MAX_TAPSCRIPT_SIZE = 329_482

_Result = TypeVar("_Result")
_NEVER = float("-inf")
"""Stands for what can't be reached: no sum with it can be reached, and any other way is larger."""


class Need(NamedTuple):
    """What the costliest way to satisfy and to dissatisfy takes, `_NEVER` if there is none."""

    satisfied: float
    dissatisfied: float


_HASHES = (Fragment.SHA256, Fragment.HASH256, Fragment.RIPEMD160, Fragment.HASH160)
_LOCKS = (Fragment.OLDER, Fragment.AFTER)
_NEVER_DISSATISFIED = (Fragment.TRUE, *_HASHES, *_LOCKS)
"""Hashes and locks have no dissatisfaction that miniscript uses."""

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


_OWN_SIZES = {
    Fragment.FALSE: 1,
    Fragment.TRUE: 1,
    Fragment.PK_H: 24,
    Fragment.WRAP_S: 1,
    Fragment.WRAP_C: 1,
    Fragment.WRAP_N: 1,
    Fragment.AND_B: 1,
    Fragment.OR_B: 1,
    Fragment.WRAP_A: 2,
    Fragment.OR_C: 2,
    Fragment.WRAP_D: 3,
    Fragment.OR_D: 3,
    Fragment.OR_I: 3,
    Fragment.ANDOR: 3,
    Fragment.WRAP_J: 4,
}


def max_script_size(tapscript: bool) -> int:
    """Return how many bytes a script may have, that of a leaf so that a standard transaction can still spend it."""
    return _MAX_TAPSCRIPT_SIZE if tapscript else MAX_SCRIPT_SIZE


class Node:
    """A fragment with its parts. `k` is a time lock or a number of signatures or parts, `data` a hash, `keys` are bytes
    that stand for public keys: the keys themselves, or whatever else tells them apart.

    Leaves say whether they stand in a tapscript (BIP342) or in a P2WSH script; all others follow their parts.
    """

    __slots__ = (
        "data",
        "extra_operations",
        "fragment",
        "k",
        "keys",
        "operations",
        "script_size",
        "stack",
        "subs",
        "tapscript",
        "type",
    )

    def __init__(
        self,
        fragment: Fragment,
        subs: Sequence["Node"] = (),
        *,
        k: int = 0,
        data: bytes = b"",
        keys: Sequence[bytes] = (),
        tapscript: bool = False,
    ) -> None:
        self.fragment = fragment
        self.subs = tuple(subs)
        self.k = k
        self.data = data
        self.keys = tuple(keys)
        self.tapscript: bool = self.subs[0].tapscript if self.subs else tapscript
        self.type: Type = type_of(fragment, [sub.type for sub in self.subs], k, self.tapscript)
        self.operations: int = self._count_operations()
        """Operations in the script that count, without those of executed CHECKMULTISIGs' keys."""
        self.extra_operations: Need = self._count_keys()
        """Keys of the CHECKMULTISIGs that are executed."""
        self.stack: StackNeed = stack_need(fragment, [sub.stack for sub in self.subs], k, len(self.keys))
        self.script_size: int = self._own_size() + sum(sub.script_size for sub in self.subs)
        """Bytes of the script."""

    @property
    def is_valid(self) -> bool:
        """Whether the parts fit together and the script is not too long."""
        return self.type != INVALID and self.script_size <= max_script_size(self.tapscript)

    @property
    def is_sane(self) -> bool:
        """Whether the script is safe to use: valid, within limits, not malleable, and never spent unsigned."""
        return has(self.type, "Bs") and self.is_sane_part and not self.has_duplicate_keys

    @property
    def is_sane_part(self) -> bool:
        """Whether it is what it looks like: within limits, not malleable, no time locks that exclude each other."""
        return has(self.type, "mk") and self.has_valid_satisfactions

    @property
    def has_valid_satisfactions(self) -> bool:
        """Whether it is valid and satisfactions keep the limits of operations and stack."""
        return self.is_valid and self._is_within_limits()

    @property
    def has_duplicate_keys(self) -> bool:
        """Whether a key stands in it twice."""
        keys = [key for node in self.walk() for key in node.keys]
        return len(set(keys)) != len(keys)

    @property
    def is_satisfiable(self) -> bool:
        """Whether there is any way to satisfy it."""
        return self.stack.satisfied is not None

    def _is_within_limits(self) -> bool:
        run = self.stack.satisfied
        if self.tapscript:
            return run is None or run.peak + ("V" not in self.type) <= MAX_EXECUTION_STACK
        return self.operations + self.extra_operations.satisfied <= MAX_OPS and self.max_stack <= MAX_STACK_ITEMS

    @property
    def max_stack(self) -> float:
        """Most stack items that a satisfaction takes, negative infinity if there is none."""
        run = self.stack.satisfied
        return _NEVER if run is None else run.taken + ("V" not in self.type)

    def _own_size(self) -> int:
        """Return the bytes of the script less those of the parts."""
        fragment, number = self.fragment, len(push_number(self.k))
        if fragment is Fragment.PK_K:
            return 33 if self.tapscript else 34
        if fragment in _LOCKS:
            return 1 + number
        if self.data:
            return len(self.data) + 7
        if fragment is Fragment.MULTI:
            return 1 + len(push_number(len(self.keys))) + number + 34 * len(self.keys)
        if fragment is Fragment.MULTI_A:
            return 1 + number + 34 * len(self.keys)
        if fragment is Fragment.WRAP_V:
            return int("x" in self.subs[0].type)
        if fragment is Fragment.THRESH:
            return len(self.subs) + number
        return _OWN_SIZES.get(fragment, 0)

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
        elif self.fragment is Fragment.MULTI_A:
            own = len(self.keys) + 1
        return own + sum(sub.operations for sub in self.subs)

    def _count_keys(self) -> Need:
        """Return how many keys of CHECKMULTISIGs are executed."""
        subs = [sub.extra_operations for sub in self.subs]
        if not subs:
            cost = len(self.keys) if self.fragment is Fragment.MULTI else 0
            satisfied = _NEVER if self.fragment is Fragment.FALSE else cost
            return Need(satisfied, _NEVER if self.fragment in _NEVER_DISSATISFIED else cost)
        x = subs[0]
        if self.fragment is Fragment.THRESH:
            return _thresh(subs, self.k)
        if self.fragment in (Fragment.WRAP_D, Fragment.WRAP_J):
            return Need(x.satisfied, 0)
        if self.fragment is Fragment.WRAP_V:
            return Need(x.satisfied, _NEVER)
        if len(subs) == 1:
            return x
        if self.fragment is Fragment.ANDOR:
            y, z = subs[1:]
            either = max(x.satisfied + y.satisfied, x.dissatisfied + z.satisfied)
            return Need(either, x.dissatisfied + z.dissatisfied)
        return _pair(self.fragment, x, subs[1])


def _pair(fragment: Fragment, x: Need, y: Need) -> Need:
    neither = x.dissatisfied + y.dissatisfied
    if fragment is Fragment.AND_V:
        return Need(x.satisfied + y.satisfied, _NEVER)
    if fragment is Fragment.AND_B:
        return Need(x.satisfied + y.satisfied, neither)
    if fragment is Fragment.OR_B:
        return Need(max(x.dissatisfied + y.satisfied, x.satisfied + y.dissatisfied), neither)
    if fragment in (Fragment.OR_C, Fragment.OR_D):
        either = max(x.satisfied, x.dissatisfied + y.satisfied)
        return Need(either, _NEVER if fragment is Fragment.OR_C else neither)
    return Need(max(x.satisfied, y.satisfied), max(x.dissatisfied, y.dissatisfied))


def _thresh(subs: list[Need], k: int) -> Need:
    # The n-th number is what it takes to satisfy n of the parts so far.
    needs: list[float] = [0]
    for sub in subs:
        ways = [need + sub.dissatisfied for need in needs] + [_NEVER]
        for count, need in enumerate(needs):
            ways[count + 1] = max(ways[count + 1], need + sub.satisfied)
        needs = ways
    return Need(needs[k], needs[0])


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
