"""The verification flags: which rules a script check applies.

Owns: the flags, Core's names and bit positions, and the sets that policy uses. Never: which block has which flags.
Every flag only forbids: what is valid under a set of flags is valid under each of its subsets.
"""

from collections.abc import Iterable, Mapping

SCRIPT_VERIFY_NONE = 0
SCRIPT_VERIFY_P2SH = 1 << 0
"""BIP16: evaluate the redeem script."""
SCRIPT_VERIFY_STRICTENC = 1 << 1
"""Policy: strict DER, defined hash types and well-formed public keys only."""
SCRIPT_VERIFY_DERSIG = 1 << 2
"""BIP66: strict DER signatures only."""
SCRIPT_VERIFY_LOW_S = 1 << 3
"""Policy (BIP146): S at most half of the group's order."""
SCRIPT_VERIFY_NULLDUMMY = 1 << 4
"""BIP147: the extra item that CHECKMULTISIG takes must be empty."""
SCRIPT_VERIFY_SIGPUSHONLY = 1 << 5
"""Policy: script_sig may only push."""
SCRIPT_VERIFY_MINIMALDATA = 1 << 6
"""Policy: shortest pushes and shortest numbers only."""
SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_NOPS = 1 << 7
"""Policy: executed NOP1 and NOP4 to NOP10 fail."""
SCRIPT_VERIFY_CLEANSTACK = 1 << 8
"""Policy: exactly one item may remain. Needs P2SH and WITNESS."""
SCRIPT_VERIFY_CHECKLOCKTIMEVERIFY = 1 << 9
"""BIP65."""
SCRIPT_VERIFY_CHECKSEQUENCEVERIFY = 1 << 10
"""BIP112."""
SCRIPT_VERIFY_WITNESS = 1 << 11
"""BIP141. Needs P2SH."""
SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM = 1 << 12
"""Policy: witness versions without rules fail."""
SCRIPT_VERIFY_MINIMALIF = 1 << 13
"""Policy: in witness v0 the argument of IF and NOTIF is empty or 0x01; tapscript always demands it."""
SCRIPT_VERIFY_NULLFAIL = 1 << 14
"""Policy (BIP146): the signatures of a failed check must be empty."""
SCRIPT_VERIFY_WITNESS_PUBKEYTYPE = 1 << 15
"""Policy: witness v0 takes compressed public keys only."""
SCRIPT_VERIFY_CONST_SCRIPTCODE = 1 << 16
"""Policy: CODESEPARATOR and a signature found in the script code fail outside witness scripts."""
SCRIPT_VERIFY_TAPROOT = 1 << 17
"""BIP341 and BIP342."""
SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_TAPROOT_VERSION = 1 << 18
"""Policy: unknown leaf versions fail."""
SCRIPT_VERIFY_DISCOURAGE_OP_SUCCESS = 1 << 19
"""Policy: OP_SUCCESS opcodes fail."""
SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_PUBKEYTYPE = 1 << 20
"""Policy: unknown public key types in tapscript fail."""

FLAGS_BY_NAME: Mapping[str, int] = {
    "P2SH": SCRIPT_VERIFY_P2SH,
    "STRICTENC": SCRIPT_VERIFY_STRICTENC,
    "DERSIG": SCRIPT_VERIFY_DERSIG,
    "LOW_S": SCRIPT_VERIFY_LOW_S,
    "NULLDUMMY": SCRIPT_VERIFY_NULLDUMMY,
    "SIGPUSHONLY": SCRIPT_VERIFY_SIGPUSHONLY,
    "MINIMALDATA": SCRIPT_VERIFY_MINIMALDATA,
    "DISCOURAGE_UPGRADABLE_NOPS": SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_NOPS,
    "CLEANSTACK": SCRIPT_VERIFY_CLEANSTACK,
    "CHECKLOCKTIMEVERIFY": SCRIPT_VERIFY_CHECKLOCKTIMEVERIFY,
    "CHECKSEQUENCEVERIFY": SCRIPT_VERIFY_CHECKSEQUENCEVERIFY,
    "WITNESS": SCRIPT_VERIFY_WITNESS,
    "DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM": SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM,
    "MINIMALIF": SCRIPT_VERIFY_MINIMALIF,
    "NULLFAIL": SCRIPT_VERIFY_NULLFAIL,
    "WITNESS_PUBKEYTYPE": SCRIPT_VERIFY_WITNESS_PUBKEYTYPE,
    "CONST_SCRIPTCODE": SCRIPT_VERIFY_CONST_SCRIPTCODE,
    "TAPROOT": SCRIPT_VERIFY_TAPROOT,
    "DISCOURAGE_UPGRADABLE_TAPROOT_VERSION": SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_TAPROOT_VERSION,
    "DISCOURAGE_OP_SUCCESS": SCRIPT_VERIFY_DISCOURAGE_OP_SUCCESS,
    "DISCOURAGE_UPGRADABLE_PUBKEYTYPE": SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_PUBKEYTYPE,
}
"""Every flag by the name that Core uses in vectors, RPC and logs (without the prefix)."""

ALL_SCRIPT_VERIFY_FLAGS = (1 << len(FLAGS_BY_NAME)) - 1

MANDATORY_SCRIPT_VERIFY_FLAGS = (
    SCRIPT_VERIFY_P2SH
    | SCRIPT_VERIFY_DERSIG
    | SCRIPT_VERIFY_NULLDUMMY
    | SCRIPT_VERIFY_CHECKLOCKTIMEVERIFY
    | SCRIPT_VERIFY_CHECKSEQUENCEVERIFY
    | SCRIPT_VERIFY_WITNESS
    | SCRIPT_VERIFY_TAPROOT
)
"""The consensus rules of the newest blocks; breaking one of them makes a block invalid."""

STANDARD_SCRIPT_VERIFY_FLAGS = ALL_SCRIPT_VERIFY_FLAGS & ~SCRIPT_VERIFY_SIGPUSHONLY
"""What the mempool demands. Push-only script_sigs are demanded by IsStandardTx before."""

STANDARD_NOT_MANDATORY_VERIFY_FLAGS = STANDARD_SCRIPT_VERIFY_FLAGS & ~MANDATORY_SCRIPT_VERIFY_FLAGS


def is_valid_flag_combination(flags: int) -> bool:
    """Return whether the reference allows `flags`: CLEANSTACK needs WITNESS, WITNESS needs P2SH."""
    if flags & SCRIPT_VERIFY_CLEANSTACK and not flags & SCRIPT_VERIFY_WITNESS:
        return False
    return not flags & SCRIPT_VERIFY_WITNESS or bool(flags & SCRIPT_VERIFY_P2SH)


def parse_flags(names: str | Iterable[str]) -> int:
    """Return the flags of comma-separated (or listed) names; the empty string and NONE are no flags.

    Raises KeyError for an unknown name.
    """
    words = names.split(",") if isinstance(names, str) else names
    flags = SCRIPT_VERIFY_NONE
    for word in words:
        if word not in ("", "NONE"):
            flags |= FLAGS_BY_NAME[word]
    return flags


def flag_names(flags: int) -> list[str]:
    """Return the sorted names of the flags that are set, as the reference lists them."""
    return sorted(name for name, flag in FLAGS_BY_NAME.items() if flags & flag)
