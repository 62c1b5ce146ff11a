"""How signatures and public keys must look: BIP66's strict DER and the policy rules on top of it.

Owns: the checks that run before a signature is verified. Never: verifying.
"""

from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import (
    SCRIPT_VERIFY_DERSIG,
    SCRIPT_VERIFY_LOW_S,
    SCRIPT_VERIFY_STRICTENC,
    SCRIPT_VERIFY_WITNESS_PUBKEYTYPE,
)
from clarion.node.script.signatures import has_low_s

_ANY_DER_FLAG = SCRIPT_VERIFY_DERSIG | SCRIPT_VERIFY_LOW_S | SCRIPT_VERIFY_STRICTENC


def is_strict_der(signature: bytes) -> bool:
    """Return whether `signature`, with its hash type byte at the end, is encoded as BIP66 demands."""
    size = len(signature)
    # 0x30, length of what follows without the hash type, 0x02, length of R, R, 0x02, length of S, S, hash type
    if not 9 <= size <= 73 or signature[0] != 0x30 or signature[1] != size - 3:
        return False
    r_size = signature[3]
    s_tag = 4 + r_size
    if s_tag + 1 >= size:
        return False
    s_size = signature[s_tag + 1]
    if r_size + s_size + 7 != size or signature[2] != 0x02 or signature[s_tag] != 0x02:
        return False
    if r_size == 0 or s_size == 0:
        return False
    r_first = signature[4]
    s_first = signature[s_tag + 2]
    # Neither number may be negative, nor padded with a zero byte that no sign bit asks for.
    if (r_first | s_first) & 0x80:
        return False
    if r_first == 0 and r_size > 1 and not signature[5] & 0x80:
        return False
    return not (s_first == 0 and s_size > 1 and not signature[s_tag + 3] & 0x80)


def check_signature_encoding(signature: bytes, flags: int) -> None:
    """Raise ScriptFailure if the flags forbid the signature's form. An empty signature always passes."""
    if not signature:
        return
    if flags & _ANY_DER_FLAG and not is_strict_der(signature):
        raise ScriptFailure(ScriptError.SIG_DER)
    if flags & SCRIPT_VERIFY_LOW_S and not has_low_s(signature[:-1]):
        raise ScriptFailure(ScriptError.SIG_HIGH_S)
    if flags & SCRIPT_VERIFY_STRICTENC and not 1 <= signature[-1] & 0x7F <= 3:
        raise ScriptFailure(ScriptError.SIG_HASHTYPE)


def is_compressed_pubkey(pubkey: bytes) -> bool:
    """Return whether the key has 33 bytes and the first is 2 or 3."""
    return len(pubkey) == 33 and pubkey[0] in (2, 3)


def check_pubkey_encoding(pubkey: bytes, flags: int, is_witness_v0: bool) -> None:
    """Raise ScriptFailure if the flags forbid the key's form; hybrid keys pass where STRICTENC is not set."""
    if (
        flags & SCRIPT_VERIFY_STRICTENC
        and not is_compressed_pubkey(pubkey)
        and not (len(pubkey) == 65 and pubkey[0] == 4)
    ):
        raise ScriptFailure(ScriptError.PUBKEYTYPE)
    if is_witness_v0 and flags & SCRIPT_VERIFY_WITNESS_PUBKEYTYPE and not is_compressed_pubkey(pubkey):
        raise ScriptFailure(ScriptError.WITNESS_PUBKEYTYPE)
