"""Reads one input of a PSBT.

Owns: the checks of every field, in the reference's words. Never: checks across fields or inputs.
"""

from collections.abc import Callable

from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.keys import is_valid_pubkey
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.transaction import TxOut
from clarion.node.script.checker import LOCKTIME_THRESHOLD
from clarion.node.script.encoding import check_signature_encoding
from clarion.node.script.errors import ScriptFailure
from clarion.node.script.flags import SCRIPT_VERIFY_DERSIG, SCRIPT_VERIFY_STRICTENC
from clarion.node.script.psbt.fields import (
    NO_HASH,
    PROPRIETARY,
    read_origin,
    read_participants,
    read_pubkey,
    read_tap_derivation,
    split_proprietary,
)
from clarion.node.script.psbt.psbt_input import InputKey, PsbtInput
from clarion.node.script.psbt.reader import Reader, broken, check_key_size
from clarion.node.script.signing.signature_data import KeySignature, SignerPlace

_NONCE_SIZE = 66
_NULL_VALUE = -1


def read_input(reader: Reader, into: PsbtInput) -> None:
    """Fill an input from its map. Raises PsbtError."""
    seen = set()
    for key in reader.keys("input"):
        kind = Reader(key).compact_size()
        seen.add(kind)
        if kind in _VERSION_2 and into.version < 2:
            check_key_size(_VERSION_2[kind][0], key)
            raise broken(f"{_VERSION_2[kind][1]} is not allowed in PSBTv0")
        if kind == PROPRIETARY:
            split_proprietary(key)
            into.proprietary[key] = reader.var_bytes()
        elif kind in _FIELDS:
            _FIELDS[kind](reader, key, into)
        else:
            into.unknown[key] = reader.var_bytes()
    if into.version >= 2:
        if InputKey.PREVIOUS_TXID not in seen:
            raise broken("Previous TXID is required in PSBTv2")
        if InputKey.OUTPUT_INDEX not in seen:
            raise broken("Previous output's index is required in PSBTv2")


def _non_witness_utxo(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Non-witness UTXO", key)
    end = reader.begin_value()
    into.non_witness_utxo = reader.transaction(allow_witness=True)
    reader.end_value(end)


def _witness_utxo(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Witness UTXO", key)
    end = reader.begin_value()
    output = TxOut(reader.number(8, signed=True), reader.var_bytes())
    reader.end_value(end)
    into.witness_utxo = None if output.value == _NULL_VALUE else output


def _partial_signature(reader: Reader, key: bytes, into: PsbtInput) -> None:
    pubkey = read_pubkey(key, "partial signature pubkey")
    signature = reader.var_bytes()
    try:
        check_signature_encoding(signature, SCRIPT_VERIFY_DERSIG | SCRIPT_VERIFY_STRICTENC)
    except ScriptFailure:
        signature = b""
    if not signature:
        raise broken("Signature is not a valid encoding")
    into.partial_signatures.setdefault(hash160(pubkey), KeySignature(pubkey, signature))


def _sighash(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Sighash Type", key)
    into.sighash_type = int.from_bytes(reader.fixed(4), "little", signed=True)


def _derivation(reader: Reader, key: bytes, into: PsbtInput) -> None:
    pubkey = read_pubkey(key, "BIP32 keypath")
    into.derivations[pubkey] = read_origin(reader, reader.compact_size())


def _bytes_field(name: str, attribute: str) -> Callable[[Reader, bytes, PsbtInput], None]:
    def read(reader: Reader, key: bytes, into: PsbtInput) -> None:
        check_key_size(name, key)
        setattr(into, attribute, reader.var_bytes())

    return read


def _witness(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Final scriptWitness", key)
    end = reader.begin_value()
    into.final_witness = tuple([reader.var_bytes() for _ in range(reader.compact_size())])
    reader.end_value(end)


def _preimage(name: str, function: Fragment, size: int) -> Callable[[Reader, bytes, PsbtInput], None]:
    def read(reader: Reader, key: bytes, into: PsbtInput) -> None:
        check_key_size(f"Input {name} Preimage", key, size + 1)
        into.preimages[function][key[1:]] = reader.var_bytes()

    return read


def _previous_txid(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Previous TXID", key)
    into.prev_txid = Txid(reader.fixed(32))


def _output_index(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Previous Output's Index", key)
    into.prev_index = reader.uint32()


def _sequence(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Sequence", key)
    into.sequence = reader.uint32()


def _time_lock(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Required Time Based Locktime", key)
    into.time_lock = reader.uint32()
    if into.time_lock < LOCKTIME_THRESHOLD:
        raise broken(f"Required time based locktime is invalid (less than {LOCKTIME_THRESHOLD})")


def _height_lock(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Required Height Based Locktime", key)
    into.height_lock = reader.uint32()
    if into.height_lock >= LOCKTIME_THRESHOLD:
        raise broken(f"Required height based locktime is invalid (greater than or equal to {LOCKTIME_THRESHOLD})")
    if into.height_lock == 0:
        raise broken("Required height based locktime is invalid (0)")


def _checked_signature(signature: bytes, path: str) -> bytes:
    if len(signature) < 64:
        raise broken(f"Input Taproot {path} path signature is shorter than 64 bytes")
    if len(signature) > 65:
        raise broken(f"Input Taproot {path} path signature is longer than 65 bytes")
    return signature


def _tap_key_signature(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Taproot Key Path Signature", key)
    into.tap_key_signature = _checked_signature(reader.var_bytes(), "key")


def _tap_script_signature(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Taproot Script Path Signature", key, 65)
    into.tap_script_signatures[key[1:33], key[33:]] = _checked_signature(reader.var_bytes(), "script")


def _tap_leaf(reader: Reader, key: bytes, into: PsbtInput) -> None:
    if len(key) < 34:
        raise broken("Input Taproot leaf script key is not at least 34 bytes")
    if (len(key) - 2) % 32:
        raise broken("Input Taproot leaf script key's control block size is not valid")
    value = reader.var_bytes()
    if not value:
        raise broken("Input Taproot leaf script must be at least 1 byte")
    leaf = (value[:-1], value[-1])
    into.tap_scripts[leaf] = into.tap_scripts.get(leaf, frozenset()) | {key[1:]}


def _tap_derivation(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Taproot BIP32 Keypath", key, 33)
    into.tap_derivations[key[1:]] = read_tap_derivation(reader, "Input")


def _not_null(value: bytes) -> bytes:
    return b"" if value == NO_HASH else value


def _tap_internal_key(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Taproot Internal Key", key)
    into.tap_internal_key = _not_null(reader.fixed(32))


def _tap_merkle_root(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input Taproot Merkle Root", key)
    into.tap_merkle_root = _not_null(reader.fixed(32))


def _participants(reader: Reader, key: bytes, into: PsbtInput) -> None:
    check_key_size("Input MuSig2 Participants Pubkeys", key, 34)
    into.musig_participants[key[1:]] = read_participants(reader, key[1:], "Input")


def _signer_place(key: bytes, what: str) -> tuple[bytes, SignerPlace]:
    """Return (participant, place) of a MuSig2 key."""
    if len(key) not in (67, 99):
        raise broken(f"Input musig2 {what} key is not expected size of 67 or 99 bytes")
    participant, aggregate = key[1:34], key[34:67]
    if not is_valid_pubkey(aggregate):
        raise broken("musig2 aggregate pubkey is invalid")
    if not is_valid_pubkey(participant):
        raise broken("musig2 participant pubkey is invalid")
    return participant, (aggregate, key[67:] or NO_HASH)


def _nonce(reader: Reader, key: bytes, into: PsbtInput) -> None:
    participant, place = _signer_place(key, "pubnonce")
    nonce = reader.var_bytes()
    if len(nonce) != _NONCE_SIZE:
        raise broken(f"Input musig2 pubnonce value is not {_NONCE_SIZE} bytes")
    into.musig_nonces.setdefault(place, {}).setdefault(participant, nonce)


def _partial_musig_signature(reader: Reader, key: bytes, into: PsbtInput) -> None:
    participant, place = _signer_place(key, "partial sig")
    signature = reader.fixed(32)
    into.musig_partial_signatures.setdefault(place, {}).setdefault(participant, signature)


_VERSION_2: dict[int, tuple[str, str]] = {
    InputKey.PREVIOUS_TXID: ("Input Previous TXID", "Previous txid"),
    InputKey.OUTPUT_INDEX: ("Input Previous Output's Index", "Previous output's index"),
    InputKey.SEQUENCE: ("Input Sequence", "Sequence"),
    InputKey.REQUIRED_TIME_LOCKTIME: ("Input Required Time Based Locktime", "Required time based locktime"),
    InputKey.REQUIRED_HEIGHT_LOCKTIME: ("Input Required Height Based Locktime", "Required height based locktime"),
}
_FIELDS: dict[int, Callable[[Reader, bytes, PsbtInput], None]] = {
    InputKey.NON_WITNESS_UTXO: _non_witness_utxo,
    InputKey.WITNESS_UTXO: _witness_utxo,
    InputKey.PARTIAL_SIG: _partial_signature,
    InputKey.SIGHASH: _sighash,
    InputKey.REDEEM_SCRIPT: _bytes_field("Input redeemScript", "redeem_script"),
    InputKey.WITNESS_SCRIPT: _bytes_field("Input witnessScript", "witness_script"),
    InputKey.BIP32_DERIVATION: _derivation,
    InputKey.SCRIPT_SIG: _bytes_field("Input Final scriptSig", "final_script_sig"),
    InputKey.SCRIPT_WITNESS: _witness,
    InputKey.RIPEMD160: _preimage("RIPEMD160", Fragment.RIPEMD160, 20),
    InputKey.SHA256: _preimage("SHA256", Fragment.SHA256, 32),
    InputKey.HASH160: _preimage("Hash160", Fragment.HASH160, 20),
    InputKey.HASH256: _preimage("Hash256", Fragment.HASH256, 32),
    InputKey.PREVIOUS_TXID: _previous_txid,
    InputKey.OUTPUT_INDEX: _output_index,
    InputKey.SEQUENCE: _sequence,
    InputKey.REQUIRED_TIME_LOCKTIME: _time_lock,
    InputKey.REQUIRED_HEIGHT_LOCKTIME: _height_lock,
    InputKey.TAP_KEY_SIG: _tap_key_signature,
    InputKey.TAP_SCRIPT_SIG: _tap_script_signature,
    InputKey.TAP_LEAF_SCRIPT: _tap_leaf,
    InputKey.TAP_BIP32_DERIVATION: _tap_derivation,
    InputKey.TAP_INTERNAL_KEY: _tap_internal_key,
    InputKey.TAP_MERKLE_ROOT: _tap_merkle_root,
    InputKey.MUSIG2_PARTICIPANTS: _participants,
    InputKey.MUSIG2_PUB_NONCE: _nonce,
    InputKey.MUSIG2_PARTIAL_SIG: _partial_musig_signature,
}
