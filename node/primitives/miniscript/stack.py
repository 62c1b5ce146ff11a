"""How many stack items a miniscript takes and needs while it runs.

Owns: the algebra of runs, and the runs of every fragment. Never: limits.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clarion.node.primitives.miniscript.types import Fragment


class Run(NamedTuple):
    """What the worst of some runs of a piece of script does: `taken` is by how many items the stack is smaller behind it,
    `peak` by how many it was larger meanwhile than at the end."""

    taken: int
    peak: int


Runs = Run | None
"""None stands for no run at all."""


class StackNeed(NamedTuple):
    """The runs that satisfy and those that dissatisfy."""

    satisfied: Runs
    dissatisfied: Runs


_NOTHING = Run(0, 0)
_PUSH = Run(-1, 0)
_DUP = _PUSH
_SIZE = _PUSH
_HASH = _NOTHING
_TAKE_ONE = Run(1, 1)
_EQUAL = _IF = _CHECKSIG = _VERIFY = _BINARY = _TAKE_ONE
_EQUALVERIFY = Run(2, 2)


def _then(*parts: Runs) -> Runs:
    """Return the runs of pieces behind each other."""
    taken, peak = 0, 0
    for part in parts:
        if part is None:
            return None
        taken, peak = taken + part.taken, max(part.peak, part.taken + peak)
    return Run(taken, peak)


def _or(a: Runs, b: Runs) -> Runs:
    """Return the runs of either."""
    if a is None or b is None:
        return b if a is None else a
    return Run(max(a.taken, b.taken), max(a.peak, b.peak))


_KEY_HASH = _then(_DUP, _HASH, _PUSH, _EQUALVERIFY)
_HASH_LOCK = StackNeed(_then(_SIZE, _PUSH, _EQUALVERIFY, _HASH, _PUSH, _EQUAL), None)
_LEAVES = {
    Fragment.FALSE: StackNeed(None, _PUSH),
    Fragment.TRUE: StackNeed(_PUSH, None),
    Fragment.OLDER: StackNeed(_PUSH, None),
    Fragment.AFTER: StackNeed(_PUSH, None),
    Fragment.PK_K: StackNeed(_PUSH, _PUSH),
    Fragment.PK_H: StackNeed(_KEY_HASH, _KEY_HASH),
    Fragment.SHA256: _HASH_LOCK,
    Fragment.HASH256: _HASH_LOCK,
    Fragment.RIPEMD160: _HASH_LOCK,
    Fragment.HASH160: _HASH_LOCK,
}


def stack_need(fragment: Fragment, subs: Sequence[StackNeed], k: int, key_count: int) -> StackNeed:
    """Return the need of a fragment from those of its parts."""
    if fragment in _LEAVES:
        return _LEAVES[fragment]
    if fragment is Fragment.MULTI:
        run = Run(k, k + key_count + 2)
        return StackNeed(run, run)
    if fragment is Fragment.MULTI_A:
        run = Run(key_count - 1, key_count)
        return StackNeed(run, run)
    if fragment is Fragment.THRESH:
        return _thresh(subs, k)
    return _wrapped(fragment, subs[0]) if len(subs) == 1 else _branches(fragment, subs)


def _wrapped(fragment: Fragment, x: StackNeed) -> StackNeed:
    if fragment is Fragment.WRAP_C:
        return StackNeed(_then(x.satisfied, _CHECKSIG), _then(x.dissatisfied, _CHECKSIG))
    if fragment is Fragment.WRAP_D:
        return StackNeed(_then(_DUP, _IF, x.satisfied), _then(_DUP, _IF))
    if fragment is Fragment.WRAP_J:
        return StackNeed(_then(_SIZE, _IF, x.satisfied), _then(_SIZE, _IF))
    if fragment is Fragment.WRAP_V:
        return StackNeed(_then(x.satisfied, _VERIFY), None)
    return x


def _branches(fragment: Fragment, subs: Sequence[StackNeed]) -> StackNeed:
    x, y = subs[0], subs[1]
    if fragment is Fragment.AND_V:
        return StackNeed(_then(x.satisfied, y.satisfied), None)
    if fragment is Fragment.AND_B:
        return StackNeed(_then(x.satisfied, y.satisfied, _BINARY), _then(x.dissatisfied, y.dissatisfied, _BINARY))
    if fragment is Fragment.OR_B:
        one = _or(_then(x.satisfied, y.dissatisfied), _then(x.dissatisfied, y.satisfied))
        return StackNeed(_then(one, _BINARY), _then(x.dissatisfied, y.dissatisfied, _BINARY))
    if fragment is Fragment.OR_C:
        return StackNeed(_or(_then(x.satisfied, _IF), _then(x.dissatisfied, _IF, y.satisfied)), None)
    if fragment is Fragment.OR_D:
        # IFDUP doubles what is not zero.
        return StackNeed(
            _or(_then(x.satisfied, _DUP, _IF), _then(x.dissatisfied, _IF, y.satisfied)),
            _then(x.dissatisfied, _IF, y.dissatisfied),
        )
    if fragment is Fragment.OR_I:
        return StackNeed(_then(_IF, _or(x.satisfied, y.satisfied)), _then(_IF, _or(x.dissatisfied, y.dissatisfied)))
    z = subs[2]
    return StackNeed(
        _or(_then(x.satisfied, _IF, y.satisfied), _then(x.dissatisfied, _IF, z.satisfied)),
        _then(x.dissatisfied, _IF, z.dissatisfied),
    )


def _thresh(subs: Sequence[StackNeed], k: int) -> StackNeed:
    # The n-th is what satisfies n of the parts so far.
    needs: list[Runs] = [_NOTHING]
    for at, sub in enumerate(subs):
        add = _BINARY if at else _NOTHING
        ways: list[Runs] = [_then(need, sub.dissatisfied, add) for need in needs] + [None]
        for count, need in enumerate(needs):
            ways[count + 1] = _or(ways[count + 1], _then(need, sub.satisfied, add))
        needs = ways
    return StackNeed(_then(needs[k], _PUSH, _EQUAL), _then(needs[0], _PUSH, _EQUAL))
