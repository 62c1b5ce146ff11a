"""The witness that satisfies a miniscript, made of the signatures and preimages at hand.

Owns: the choice between the ways to satisfy and dissatisfy, smallest first, none that a stranger could change.
Never: making signatures, finding preimages.
"""

from collections.abc import Callable
from typing import NamedTuple

from clarion.node.primitives.miniscript.node import Node, fold
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.script.checker import SignatureChecker


class _Stack(NamedTuple):
    """Witness items, bottom first. `malleable` says that a stranger could make another one of it."""

    items: tuple[bytes, ...] = ()
    has_signature: bool = False
    malleable: bool = False

    @property
    def size(self) -> int:
        """Bytes in a witness; items here are shorter than 253 bytes."""
        return sum(len(item) + 1 for item in self.items)


_Way = _Stack | None
"""None where there is no such way."""


class _Ways(NamedTuple):
    """How a node is dissatisfied and satisfied."""

    not_: _Way
    yes: _Way


_EMPTY = _Stack()
_ZERO = _Stack((b"",))
_ONE = _Stack((b"\x01",))
_WRONG_PREIMAGE = _Stack((bytes(32),), malleable=True)


class Satisfier(NamedTuple):
    """Where signatures by a key and preimages of a hash by a function come from, None where there is none; `checker` knows
    the time locks."""

    sign: Callable[[bytes], bytes | None]
    preimage: Callable[[Fragment, bytes], bytes | None]
    checker: SignatureChecker


def satisfy(root: Node, satisfier: Satisfier) -> tuple[bytes, ...] | None:
    """Return the witness items that satisfy a miniscript, bottom first, None if that can't be done.

    What needs no signature, or could be changed by others, is left out.
    """
    way = fold(root, lambda node, subs: _ways(node, subs, satisfier)).yes
    return way.items if way is not None and way.has_signature and not way.malleable else None


def _join(below: _Way, above: _Way) -> _Way:
    """Return both ways at once."""
    if below is None or above is None:
        return None
    return _Stack(
        below.items + above.items,
        below.has_signature or above.has_signature,
        below.malleable or above.malleable,
    )


def _better(a: _Way, b: _Way) -> _Way:
    """Return one of two ways: the one that no signature protects, since anyone could take it; then by malleability and
    size."""
    if a is None or b is None:
        return b if a is None else a
    if a.has_signature != b.has_signature:
        return b if a.has_signature else a
    if not a.has_signature:
        # With two ways open to anyone, either can be turned into the other.
        a, b = a._replace(malleable=True), b._replace(malleable=True)
    elif a.malleable != b.malleable:
        return b if a.malleable else a
    return a if a.size <= b.size else b


def _loose(way: _Way) -> _Way:
    """Return a way as one that can be changed."""
    return None if way is None else way._replace(malleable=True)


def _ways(node: Node, subs: list[_Ways], satisfier: Satisfier) -> _Ways:
    kind = node.fragment
    sign, checker = satisfier.sign, satisfier.checker
    if kind is Fragment.FALSE:
        return _Ways(_EMPTY, None)
    if kind is Fragment.TRUE:
        return _Ways(None, _EMPTY)
    if kind in (Fragment.PK_K, Fragment.PK_H):
        key = _Stack(node.keys) if kind is Fragment.PK_H else _EMPTY
        return _Ways(_join(_ZERO, key), _join(_signed(sign(node.keys[0])), key))
    if kind is Fragment.MULTI:
        return _multi(node, sign)
    if kind is Fragment.MULTI_A:
        return _multi_a(node, sign)
    if kind is Fragment.OLDER:
        return _Ways(None, _EMPTY if checker.check_sequence(node.k) else None)
    if kind is Fragment.AFTER:
        return _Ways(None, _EMPTY if checker.check_lock_time(node.k) else None)
    if node.data:
        preimage = satisfier.preimage(kind, node.data)
        return _Ways(_WRONG_PREIMAGE, None if preimage is None else _Stack((preimage,)))
    if kind is Fragment.THRESH:
        return _threshold(subs, node.k)
    return _wrapped(kind, subs[0]) if len(subs) == 1 else _branches(kind, subs)


def _signed(signature: bytes | None) -> _Way:
    return None if signature is None else _Stack((signature,), has_signature=True)


def _multi(node: Node, sign: Callable[[bytes], bytes | None]) -> _Ways:
    # The n-th way has n signatures, by the keys so far.
    ways: list[_Way] = [_ZERO]
    for key in node.keys:
        signature = _signed(sign(key))
        ways = [
            ways[0],
            *[_better(ways[count], _join(ways[count - 1], signature)) for count in range(1, len(ways))],
            _join(ways[-1], signature),
        ]
    return _Ways(_Stack((b"",) * (node.k + 1)), ways[node.k])


def _multi_a(node: Node, sign: Callable[[bytes], bytes | None]) -> _Ways:
    # As above, but every key takes an item, and the first key's lies on top.
    ways: list[_Way] = [_EMPTY]
    for key in reversed(node.keys):
        signature = _signed(sign(key))
        ways = [
            _join(ways[0], _ZERO),
            *[_better(_join(ways[n], _ZERO), _join(ways[n - 1], signature)) for n in range(1, len(ways))],
            _join(ways[-1], signature),
        ]
    return _Ways(ways[0], ways[node.k])


def _threshold(subs: list[_Ways], k: int) -> _Ways:
    # The n-th way satisfies n of the parts so far; the last part's items are lowest on the stack.
    ways: list[_Way] = [_EMPTY]
    for sub in reversed(subs):
        ways = [
            _join(ways[0], sub.not_),
            *[_better(_join(ways[n], sub.not_), _join(ways[n - 1], sub.yes)) for n in range(1, len(ways))],
            _join(ways[-1], sub.yes),
        ]
    dissatisfied: _Way = None
    for count, way in enumerate(ways):
        if count != k:
            # Only the way without any part satisfied is proper: the others have more than they need.
            dissatisfied = _better(dissatisfied, _loose(way) if count else way)
    return _Ways(dissatisfied, ways[k])


def _wrapped(kind: Fragment, x: _Ways) -> _Ways:
    if kind is Fragment.WRAP_D:
        return _Ways(_ZERO, _join(x.yes, _ONE))
    if kind is Fragment.WRAP_V:
        return _Ways(None, x.yes)
    if kind is Fragment.WRAP_J:
        # Whether another dissatisfaction exists is not known; if one may, this one counts as loose.
        loose = x.not_ is not None and not x.not_.has_signature
        return _Ways(_loose(_ZERO) if loose else _ZERO, x.yes)
    return x


def _branches(kind: Fragment, subs: list[_Ways]) -> _Ways:
    # The first part runs first, so its items lie on top.
    x, y = subs[:2]
    neither = _join(y.not_, x.not_)
    both = _join(y.yes, x.yes)
    if kind is Fragment.AND_V:
        return _Ways(_join(y.not_, x.yes), both)
    if kind is Fragment.AND_B:
        others = _better(_better(neither, _loose(_join(y.yes, x.not_))), _loose(_join(y.not_, x.yes)))
        return _Ways(others, both)
    if kind is Fragment.OR_B:
        one = _better(_join(y.not_, x.yes), _join(y.yes, x.not_))
        return _Ways(neither, _better(one, _loose(both)))
    if kind is Fragment.OR_C:
        return _Ways(None, _better(x.yes, _join(y.yes, x.not_)))
    if kind is Fragment.OR_D:
        return _Ways(neither, _better(x.yes, _join(y.yes, x.not_)))
    if kind is Fragment.OR_I:
        return _Ways(
            _better(_join(x.not_, _ONE), _join(y.not_, _ZERO)),
            _better(_join(x.yes, _ONE), _join(y.yes, _ZERO)),
        )
    z = subs[2]
    return _Ways(
        _better(_join(y.not_, x.yes), _join(z.not_, x.not_)),
        _better(both, _join(z.yes, x.not_)),
    )
