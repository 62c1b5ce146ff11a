"""A short cut for the four templates that most inputs spend: P2PKH, P2WPKH, P2SH-P2WPKH, taproot's key path.

Owns: recognising a spend that the interpreter would certainly accept. Never: refusing one: whatever is unusual in
the least is left to the interpreter, which also names the errors. Tests prove that both agree.
"""

from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.hashes import hash160
from clarion.node.script.flags import (
    SCRIPT_VERIFY_CLEANSTACK,
    SCRIPT_VERIFY_LOW_S,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_TAPROOT,
    SCRIPT_VERIFY_WITNESS,
)
from clarion.node.script.sighash import PrecomputedTxData, legacy_sighash, taproot_sighash, witness_v0_sighash
from clarion.node.script.signatures import verify_ecdsa_strict, verify_schnorr

_SEGWIT = SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS
_SEGWIT_TAPROOT = _SEGWIT | SCRIPT_VERIFY_TAPROOT
_DEPENDENT_FLAGS = _SEGWIT | SCRIPT_VERIFY_CLEANSTACK
_VALID_COMBINATIONS = frozenset({0, SCRIPT_VERIFY_P2SH, _SEGWIT, _DEPENDENT_FLAGS})
_MIN_SIGNATURE = 60
"""Shorter signatures are so rare that they need no short cut; their pushes could stand in the script code."""
_MAX_SIGNATURE = 73
_DEFINED_HASH_TYPES = frozenset({0x01, 0x02, 0x03, 0x81, 0x82, 0x83})


def passes_standard(txdata: PrecomputedTxData, index: int, coin: SpentOutput, flags: int) -> bool:
    """Return whether input `index` spends `coin` by one of the templates and is certainly valid under `flags`.

    False means: ask the interpreter. Every flag is respected.
    """
    script = coin.script_pubkey
    size = len(script)
    if size == 25:
        return script[:3] == b"\x76\xa9\x14" and script[23:] == b"\x88\xac" and _p2pkh(txdata, index, script, flags)
    if size == 22:
        return script[:2] == b"\x00\x14" and _p2wpkh(txdata, index, coin.value, script, b"", flags)
    if size == 34:
        return script[:2] == b"\x51\x20" and _taproot_key_path(txdata, index, script, flags)
    if size == 23:
        script_sig = txdata.tx.inputs[index].script_sig
        return (
            script_sig[:3] == b"\x16\x00\x14"
            and script[:2] == b"\xa9\x14"
            and script[22] == 0x87
            and hash160(script_sig[1:]) == script[2:22]
            and _p2wpkh(txdata, index, coin.value, script_sig[1:], script_sig, flags)
        )
    return False


def _is_usual_key(pubkey: bytes, allow_uncompressed: bool) -> bool:
    size = len(pubkey)
    if size == 33:
        return pubkey[0] in (2, 3)
    return allow_uncompressed and size == 65 and pubkey[0] == 4


def _p2pkh(txdata: PrecomputedTxData, index: int, script: bytes, flags: int) -> bool:
    txin = txdata.tx.inputs[index]
    script_sig = txin.script_sig
    # Witness data where none is expected fails under WITNESS; and the flags must be a set of rules.
    if not script_sig or txin.witness or flags & _DEPENDENT_FLAGS not in _VALID_COMBINATIONS:
        return False
    key_at = script_sig[0] + 2
    if not _MIN_SIGNATURE <= key_at - 2 <= _MAX_SIGNATURE:
        return False
    signature = script_sig[1 : key_at - 1]
    pubkey = script_sig[key_at:]
    # Two direct pushes and nothing else.
    if not _is_usual_key(pubkey, True) or script_sig[key_at - 1] != len(pubkey):
        return False
    hash_type = signature[-1]
    if hash_type not in _DEFINED_HASH_TYPES or hash160(pubkey) != script[3:23]:
        return False
    digest = legacy_sighash(txdata, index, script, hash_type)
    return verify_ecdsa_strict(signature[:-1], pubkey, digest, bool(flags & SCRIPT_VERIFY_LOW_S))


def _p2wpkh(
    txdata: PrecomputedTxData, index: int, amount: int, program_script: bytes, script_sig: bytes, flags: int
) -> bool:
    txin = txdata.tx.inputs[index]
    witness = txin.witness
    if len(witness) != 2 or txin.script_sig != script_sig or flags & _SEGWIT != _SEGWIT:
        return False
    signature, pubkey = witness
    # The interpreter leaves the program on the stack and wants it to be true; its last byte settles that.
    if not program_script[21] & 0x7F or not _MIN_SIGNATURE <= len(signature) <= _MAX_SIGNATURE:
        return False
    hash_type = signature[-1]
    if hash_type not in _DEFINED_HASH_TYPES or not _is_usual_key(pubkey, False):
        return False
    if hash160(pubkey) != program_script[2:]:
        return False
    script_code = b"\x76\xa9\x14" + program_script[2:] + b"\x88\xac"
    digest = witness_v0_sighash(txdata, index, script_code, amount, hash_type)
    return verify_ecdsa_strict(signature[:-1], pubkey, digest, bool(flags & SCRIPT_VERIFY_LOW_S))


def _taproot_key_path(txdata: PrecomputedTxData, index: int, script: bytes, flags: int) -> bool:
    txin = txdata.tx.inputs[index]
    witness = txin.witness
    if len(witness) != 1 or txin.script_sig or flags & _SEGWIT_TAPROOT != _SEGWIT_TAPROOT or not script[33] & 0x7F:
        return False
    signature = witness[0]
    hash_type = 0
    if len(signature) == 65:
        hash_type = signature[64]
        if hash_type == 0:
            return False
        signature = signature[:64]
    digest = taproot_sighash(txdata, index, hash_type)
    return digest is not None and verify_schnorr(signature, script[2:], digest)
