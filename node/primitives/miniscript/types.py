"""The type system of miniscript: what is known of a fragment from its parts.

Owns: the properties and the rules that combine them, as miniscript's specification has them for P2WSH and tapscript.
Never: scripts, limits of resources.

A type is a set of letters. One of `B V K W` says how the fragment leaves the stack (a value, nothing, a key, a value below
the top). `z o n d u` speak of its inputs and its dissatisfaction, `e f s m x` of malleability and signatures. `g h i j`
name the kinds of time locks inside: relative times and heights, absolute times and heights; with `k` no two kinds that
exclude each other are needed at once. The empty set is no valid type.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

Type = frozenset[str]

INVALID: Type = frozenset()
_BASES = frozenset("BVKW")
_TIMELOCK_KINDS = "ghij"
_SEQUENCE_TIME_FLAG = 1 << 22
_LOCKTIME_THRESHOLD = 500_000_000


class Fragment(StrEnum):
    """The kinds of nodes, by their names in text; those of one letter are wrappers."""

    FALSE = "0"
    TRUE = "1"
    PK_K = "pk_k"
    PK_H = "pk_h"
    OLDER = "older"
    AFTER = "after"
    SHA256 = "sha256"
    HASH256 = "hash256"
    RIPEMD160 = "ripemd160"
    HASH160 = "hash160"
    WRAP_A = "a"
    WRAP_S = "s"
    WRAP_C = "c"
    WRAP_D = "d"
    WRAP_V = "v"
    WRAP_J = "j"
    WRAP_N = "n"
    AND_V = "and_v"
    AND_B = "and_b"
    OR_B = "or_b"
    OR_C = "or_c"
    OR_D = "or_d"
    OR_I = "or_i"
    ANDOR = "andor"
    THRESH = "thresh"
    MULTI = "multi"
    MULTI_A = "multi_a"


def _when(condition: bool, letters: str) -> Type:
    return frozenset(letters) if condition else INVALID


def _keep(of: Type, letters: str) -> Type:
    return of & frozenset(letters)


def has(of: Type, letters: str) -> bool:
    """Whether a type has all of the properties."""
    return of.issuperset(letters)


def _locks_agree(x: Type, y: Type) -> bool:
    """Whether no time lock of one excludes one of the other."""
    opposites = (("g", "h"), ("h", "g"), ("i", "j"), ("j", "i"))
    return not any(mine in x and other in y for mine, other in opposites)


def _older(k: int) -> Type:
    return frozenset("Bzfmxk") | frozenset("g" if k & _SEQUENCE_TIME_FLAG else "h")


def _after(k: int) -> Type:
    return frozenset("Bzfmxk") | frozenset("i" if k >= _LOCKTIME_THRESHOLD else "j")


def _wrap_a(x: Type) -> Type:
    return _when("B" in x, "W") | _keep(x, "ghijkudfems") | {"x"}


def _wrap_s(x: Type) -> Type:
    return _when(has(x, "Bo"), "W") | _keep(x, "ghijkudfemsx")


def _wrap_c(x: Type) -> Type:
    return _when("K" in x, "B") | _keep(x, "ghijkondfem") | frozenset("us")


def _wrap_d(x: Type) -> Type:
    return _when(has(x, "Vz"), "B") | _when("z" in x, "o") | _when("f" in x, "e") | _keep(x, "ghijkms") | set("ndx")


def _wrap_v(x: Type) -> Type:
    return _when("B" in x, "V") | _keep(x, "ghijkzonms") | set("fx")


def _wrap_j(x: Type) -> Type:
    return _when(has(x, "Bn"), "B") | _when("f" in x, "e") | _keep(x, "ghijkoums") | set("ndx")


def _wrap_n(x: Type) -> Type:
    return _keep(x, "ghijkBzondfems") | set("ux")


def _one_input(x: Type, y: Type) -> Type:
    """`o` where one of two parts that both run takes one input and the other none."""
    return _when("o" in x | y and "z" in x | y, "o")


def _both_locks(x: Type, y: Type) -> Type:
    """The time locks of two parts that are both needed."""
    return _keep(x | y, _TIMELOCK_KINDS) | _when("k" in x & y and _locks_agree(x, y), "k")


def _either_locks(x: Type, y: Type) -> Type:
    """The time locks of two parts of which one is needed."""
    return _keep(x | y, _TIMELOCK_KINDS) | _keep(x & y, "k")


def _and_v(x: Type, y: Type) -> Type:
    return (
        (_keep(y, "KVB") if "V" in x else INVALID)
        | _when("n" in x or ("z" in x and "n" in y), "n")
        | _one_input(x, y)
        | _keep(x & y, "mz")
        | _keep(x | y, "s")
        | _when("f" in y or "s" in x, "f")
        | _keep(y, "ux")
        | _both_locks(x, y)
    )


def _and_b(x: Type, y: Type) -> Type:
    both = x & y
    return (
        (_keep(x, "B") if "W" in y else INVALID)
        | _one_input(x, y)
        | _when("n" in x or ("z" in x and "n" in y), "n")
        | _when(has(both, "es"), "e")
        | _keep(both, "dzm")
        | _when("f" in both or has(x, "sf") or has(y, "sf"), "f")
        | _keep(x | y, "s")
        | set("ux")
        | _both_locks(x, y)
    )


def _or_b(x: Type, y: Type) -> Type:
    both = x & y
    return (
        _when(has(x, "Bd") and has(y, "Wd"), "B")
        | _one_input(x, y)
        | _when(has(both, "me") and "s" in x | y, "m")
        | _keep(both, "zse")
        | set("dux")
        | _either_locks(x, y)
    )


def _or_c_or_d(x: Type, y: Type) -> Type:
    """What `or_c` and `or_d` share: the second part runs only if the first was dissatisfied."""
    return (
        (_keep(x, "o") if "z" in y else INVALID)
        | _when("m" in x & y and "e" in x and "s" in x | y, "m")
        | _keep(x & y, "zs")
        | {"x"}
        | _either_locks(x, y)
    )


def _or_c(x: Type, y: Type) -> Type:
    return (_keep(y, "V") if has(x, "Bdu") else INVALID) | _or_c_or_d(x, y) | {"f"}


def _or_d(x: Type, y: Type) -> Type:
    return (_keep(y, "B") if has(x, "Bdu") else INVALID) | _or_c_or_d(x, y) | _keep(y, "ufde")


def _or_i(x: Type, y: Type) -> Type:
    return (
        _keep(x & y, "VBKufs")
        | _when("z" in x & y, "o")
        | _when("e" in x | y and "f" in x | y, "e")
        | _when("m" in x & y and "s" in x | y, "m")
        | _keep(x | y, "d")
        | {"x"}
        | _either_locks(x, y)
    )


def _andor(x: Type, y: Type, z: Type) -> Type:
    every, inputs = x & y & z, x | (y & z)
    return (
        (_keep(y & z, "BKV") if has(x, "Bdu") else INVALID)
        | _keep(every, "z")
        | _when("o" in inputs and "z" in inputs, "o")
        | _keep(y & z, "u")
        | (_keep(z, "fe") if "s" in x or "f" in y else INVALID)
        | _keep(z, "d")
        | _when("m" in every and "e" in x and "s" in x | y | z, "m")
        | _keep(z & (x | y), "s")
        | {"x"}
        | _keep(x | y | z, _TIMELOCK_KINDS)
        | _when("k" in every and _locks_agree(x, y), "k")
    )


def _thresh(subs: Sequence[Type], k: int) -> Type:
    if not all(has(sub, "Wdu" if at else "Bdu") for at, sub in enumerate(subs)):
        return INVALID
    inputs = sum(0 if "z" in sub else 1 if "o" in sub else 2 for sub in subs)
    signed = sum("s" in sub for sub in subs)
    others = len(subs) - k
    all_e = all("e" in sub for sub in subs)
    locks: Type = frozenset("k")
    for sub in subs:
        fine = "k" in locks & sub and (k <= 1 or _locks_agree(locks, sub))
        locks = _keep(locks | sub, _TIMELOCK_KINDS) | _when(fine, "k")
    return (
        frozenset("Bdu")
        | _when(inputs == 0, "z")
        | _when(inputs == 1, "o")
        | _when(all_e and signed == len(subs), "e")
        | _when(all_e and all("m" in sub for sub in subs) and signed >= others, "m")
        | _when(signed >= others + 1, "s")
        | locks
    )


_HASH = frozenset("Bonudmk")
_LEAVES: dict[Fragment, Type] = {
    Fragment.FALSE: frozenset("Bzudemsxk"),
    Fragment.TRUE: frozenset("Bzufmxk"),
    Fragment.PK_K: frozenset("Konudemsxk"),
    Fragment.PK_H: frozenset("Knudemsxk"),
    Fragment.SHA256: _HASH,
    Fragment.HASH256: _HASH,
    Fragment.RIPEMD160: _HASH,
    Fragment.HASH160: _HASH,
    Fragment.MULTI: frozenset("Bnudemsk"),
    Fragment.MULTI_A: frozenset("Budemsk"),
}
_LOCKS: dict[Fragment, Callable[[int], Type]] = {Fragment.OLDER: _older, Fragment.AFTER: _after}
_COMBINATIONS: dict[Fragment, Callable[..., Type]] = {
    Fragment.WRAP_A: _wrap_a,
    Fragment.WRAP_S: _wrap_s,
    Fragment.WRAP_C: _wrap_c,
    Fragment.WRAP_D: _wrap_d,
    Fragment.WRAP_V: _wrap_v,
    Fragment.WRAP_J: _wrap_j,
    Fragment.WRAP_N: _wrap_n,
    Fragment.AND_V: _and_v,
    Fragment.AND_B: _and_b,
    Fragment.OR_B: _or_b,
    Fragment.OR_C: _or_c,
    Fragment.OR_D: _or_d,
    Fragment.OR_I: _or_i,
    Fragment.ANDOR: _andor,
}


def type_of(fragment: Fragment, subs: Sequence[Type], k: int, tapscript: bool = False) -> Type:
    """Return the type of a fragment with the types of its parts; `k` is its number where it has one."""
    if fragment in _LEAVES:
        return _LEAVES[fragment]
    if fragment in _LOCKS:
        return _LOCKS[fragment](k)
    found = _thresh(subs, k) if fragment is Fragment.THRESH else _COMBINATIONS[fragment](*subs)
    if fragment is Fragment.WRAP_D and tapscript:
        # That IF takes nothing but 0 and 1 is a rule there, outside it is policy.
        found |= {"u"}
    return found if found & _BASES else INVALID
