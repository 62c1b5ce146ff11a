"""One input of a PSBT: everything that is known for spending it.

Owns: the values, their bytes and merging two of them. Never: reading (see `input_reader`), signing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from clarion.node.primitives.codec import compact_size, var_bytes
from clarion.node.primitives.ids import OutPoint, Txid, make_outpoint
from clarion.node.primitives.key_origin import KeyOrigin
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.psbt.fields import (
    NO_HASH,
    derivation_pairs,
    participant_pairs,
    tap_derivation_pairs,
    write_raw,
)
from clarion.node.script.psbt.reader import pair
from clarion.node.script.signing.signature_data import KeySignature, Leaf, SignerPlace, TapDerivation


class InputKey(IntEnum):
    """Types of an input's keys."""

    NON_WITNESS_UTXO = 0x00
    WITNESS_UTXO = 0x01
    PARTIAL_SIG = 0x02
    SIGHASH = 0x03
    REDEEM_SCRIPT = 0x04
    WITNESS_SCRIPT = 0x05
    BIP32_DERIVATION = 0x06
    SCRIPT_SIG = 0x07
    SCRIPT_WITNESS = 0x08
    RIPEMD160 = 0x0A
    SHA256 = 0x0B
    HASH160 = 0x0C
    HASH256 = 0x0D
    PREVIOUS_TXID = 0x0E
    OUTPUT_INDEX = 0x0F
    SEQUENCE = 0x10
    REQUIRED_TIME_LOCKTIME = 0x11
    REQUIRED_HEIGHT_LOCKTIME = 0x12
    TAP_KEY_SIG = 0x13
    TAP_SCRIPT_SIG = 0x14
    TAP_LEAF_SCRIPT = 0x15
    TAP_BIP32_DERIVATION = 0x16
    TAP_INTERNAL_KEY = 0x17
    TAP_MERKLE_ROOT = 0x18
    MUSIG2_PARTICIPANTS = 0x1A
    MUSIG2_PUB_NONCE = 0x1B
    MUSIG2_PARTIAL_SIG = 0x1C


PREIMAGE_KEYS = {
    Fragment.RIPEMD160: InputKey.RIPEMD160,
    Fragment.SHA256: InputKey.SHA256,
    Fragment.HASH160: InputKey.HASH160,
    Fragment.HASH256: InputKey.HASH256,
}
"""The types of preimages by their hash functions, in the order in which they are written."""


def _no_preimages() -> dict[Fragment, dict[bytes, bytes]]:
    return {function: {} for function in PREIMAGE_KEYS}


@dataclass(slots=True)
class PsbtInput:
    """The input spends output `prev_index` of `prev_txid` (internal order). Empty bytes stand for what is not there.

    `partial_signatures` is by hash160 of the key, derivations and participants by public key, `tap_…` by x-only key
    (with the leaf's hash), `preimages` by function and hash, `proprietary` and `unknown` by whole key.
    """

    version: int
    prev_txid: Txid
    prev_index: int
    sequence: int | None = None
    time_lock: int | None = None
    height_lock: int | None = None
    non_witness_utxo: Transaction | None = None
    witness_utxo: TxOut | None = None
    sighash_type: int | None = None
    redeem_script: bytes = b""
    witness_script: bytes = b""
    final_script_sig: bytes = b""
    final_witness: tuple[bytes, ...] = ()
    partial_signatures: dict[bytes, KeySignature] = field(default_factory=dict)
    derivations: dict[bytes, KeyOrigin] = field(default_factory=dict)
    preimages: dict[Fragment, dict[bytes, bytes]] = field(default_factory=_no_preimages)
    tap_key_signature: bytes = b""
    tap_internal_key: bytes = b""
    tap_merkle_root: bytes = b""
    tap_script_signatures: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    tap_scripts: dict[Leaf, frozenset[bytes]] = field(default_factory=dict)
    tap_derivations: dict[bytes, TapDerivation] = field(default_factory=dict)
    musig_participants: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    musig_nonces: dict[SignerPlace, dict[bytes, bytes]] = field(default_factory=dict)
    musig_partial_signatures: dict[SignerPlace, dict[bytes, bytes]] = field(default_factory=dict)
    proprietary: dict[bytes, bytes] = field(default_factory=dict)
    unknown: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def prevout(self) -> OutPoint:
        """The output that it spends."""
        return make_outpoint(self.prev_txid, self.prev_index)

    @property
    def is_signed(self) -> bool:
        """Whether it has its final script or witness."""
        return bool(self.final_script_sig or self.final_witness)

    def utxo(self) -> TxOut | None:
        """Return the output that it spends, None if it is not known or the given transaction is another one."""
        tx = self.non_witness_utxo
        if tx is None:
            return self.witness_utxo
        if self.prev_index >= len(tx.outputs) or tx.txid != self.prev_txid:
            return None
        return tx.outputs[self.prev_index]

    def merge(self, other: "PsbtInput") -> None:
        """Take over from the same input of another PSBT what is missing here. Signature hash types are not taken."""
        for name in _MERGED_DICTS:
            mine = getattr(self, name)
            for key, value in getattr(other, name).items():
                mine.setdefault(key, value)
        for name in _MERGED_OF_DICTS:
            mine = getattr(self, name)
            for key, values in getattr(other, name).items():
                mine[key] = values | mine.get(key, {})
        for name in _MERGED_VALUES:
            if not getattr(self, name):
                setattr(self, name, getattr(other, name))
        for name in _MERGED_NUMBERS:
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))

    def serialize(self) -> bytes:
        """Return the map's bytes. What led to the final script and witness is left out once they are there."""
        parts = [*self._utxo_pairs()]
        if not self.is_signed:
            parts += [*self._script_pairs(), *self._tap_pairs(), *self._musig_pairs()]
        if self.final_script_sig:
            parts.append(pair(InputKey.SCRIPT_SIG, self.final_script_sig))
        if self.final_witness:
            items = [compact_size(len(self.final_witness)), *map(var_bytes, self.final_witness)]
            parts.append(pair(InputKey.SCRIPT_WITNESS, b"".join(items)))
        if self.version >= 2:
            parts += self._version_2_pairs()
        return b"".join([*parts, write_raw(self.proprietary), write_raw(self.unknown), b"\0"])

    def _utxo_pairs(self) -> Iterator[bytes]:
        if self.non_witness_utxo is not None:
            yield pair(InputKey.NON_WITNESS_UTXO, self.non_witness_utxo.serialize_without_witness())
        if self.witness_utxo is not None:
            yield pair(InputKey.WITNESS_UTXO, self.witness_utxo.serialize())

    def _script_pairs(self) -> Iterator[bytes]:
        for key_hash in sorted(self.partial_signatures):
            pubkey, signature = self.partial_signatures[key_hash]
            yield pair(InputKey.PARTIAL_SIG, signature, pubkey)
        if self.sighash_type is not None:
            yield pair(InputKey.SIGHASH, self.sighash_type.to_bytes(4, "little", signed=True))
        if self.redeem_script:
            yield pair(InputKey.REDEEM_SCRIPT, self.redeem_script)
        if self.witness_script:
            yield pair(InputKey.WITNESS_SCRIPT, self.witness_script)
        yield from derivation_pairs(InputKey.BIP32_DERIVATION, self.derivations)
        for function, kind in PREIMAGE_KEYS.items():
            preimages = self.preimages[function]
            yield from [pair(kind, preimages[digest], digest) for digest in sorted(preimages)]

    def _tap_pairs(self) -> Iterator[bytes]:
        if self.tap_key_signature:
            yield pair(InputKey.TAP_KEY_SIG, self.tap_key_signature)
        for key, leaf_hash in sorted(self.tap_script_signatures):
            yield pair(InputKey.TAP_SCRIPT_SIG, self.tap_script_signatures[key, leaf_hash], key + leaf_hash)
        for script, version in sorted(self.tap_scripts):
            for control in sorted_control_blocks(self.tap_scripts[script, version]):
                yield pair(InputKey.TAP_LEAF_SCRIPT, script + bytes((version,)), control)
        yield from tap_derivation_pairs(InputKey.TAP_BIP32_DERIVATION, self.tap_derivations)
        if self.tap_internal_key:
            yield pair(InputKey.TAP_INTERNAL_KEY, self.tap_internal_key)
        if self.tap_merkle_root:
            yield pair(InputKey.TAP_MERKLE_ROOT, self.tap_merkle_root)

    def _musig_pairs(self) -> Iterator[bytes]:
        yield from participant_pairs(InputKey.MUSIG2_PARTICIPANTS, self.musig_participants)
        for kind, places in (
            (InputKey.MUSIG2_PUB_NONCE, self.musig_nonces),
            (InputKey.MUSIG2_PARTIAL_SIG, self.musig_partial_signatures),
        ):
            for aggregate, leaf_hash in sorted(places):
                values = places[aggregate, leaf_hash]
                behind = aggregate if leaf_hash == NO_HASH else aggregate + leaf_hash
                yield from [pair(kind, values[part], part + behind) for part in sorted(values)]

    def _version_2_pairs(self) -> Iterator[bytes]:
        yield pair(InputKey.PREVIOUS_TXID, self.prev_txid)
        for kind, number in (
            (InputKey.OUTPUT_INDEX, self.prev_index),
            (InputKey.SEQUENCE, self.sequence),
            (InputKey.REQUIRED_TIME_LOCKTIME, self.time_lock),
            (InputKey.REQUIRED_HEIGHT_LOCKTIME, self.height_lock),
        ):
            if number is not None:
                yield pair(kind, number.to_bytes(4, "little"))


def sorted_control_blocks(blocks: frozenset[bytes]) -> list[bytes]:
    """Return a leaf's control blocks, the shortest first."""
    return sorted(blocks, key=lambda block: (len(block), block))


_MERGED_VALUES = (
    "non_witness_utxo",
    "witness_utxo",
    "redeem_script",
    "witness_script",
    "final_script_sig",
    "final_witness",
    "tap_key_signature",
    "tap_internal_key",
    "tap_merkle_root",
)
_MERGED_NUMBERS = ("sequence", "time_lock", "height_lock")
_MERGED_DICTS = (
    "partial_signatures",
    "derivations",
    "tap_script_signatures",
    "tap_scripts",
    "tap_derivations",
    "musig_participants",
    "proprietary",
    "unknown",
)
_MERGED_OF_DICTS = ("preimages", "musig_nonces", "musig_partial_signatures")
