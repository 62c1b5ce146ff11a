"""One output of a PSBT: what is known of the script that it pays to.

Owns: the values, reading and writing them, merging two of them. Never: signing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.key_origin import KeyOrigin
from clarion.node.primitives.taproot_tree import TAPROOT_MAX_DEPTH, TapLeaf, build_tap_tree
from clarion.node.script.psbt.fields import (
    NO_HASH,
    PROPRIETARY,
    derivation_pairs,
    participant_pairs,
    read_origin,
    read_participants,
    read_pubkey,
    read_tap_derivation,
    split_proprietary,
    tap_derivation_pairs,
    write_raw,
)
from clarion.node.script.psbt.reader import Reader, broken, check_key_size, pair
from clarion.node.script.signing.signature_data import TapDerivation

_LEAF_MASK = 0xFE


class OutputKey(IntEnum):
    """Types of an output's keys."""

    REDEEM_SCRIPT = 0x00
    WITNESS_SCRIPT = 0x01
    BIP32_DERIVATION = 0x02
    AMOUNT = 0x03
    SCRIPT = 0x04
    TAP_INTERNAL_KEY = 0x05
    TAP_TREE = 0x06
    TAP_BIP32_DERIVATION = 0x07
    MUSIG2_PARTICIPANTS = 0x08


@dataclass(slots=True)
class PsbtOutput:
    """The output pays `amount` satoshis (int64, may be out of range) to `script`. Empty bytes: not there.

    The dictionaries are as those of an input; `tap_tree` has the leaves in depth-first order.
    """

    version: int
    amount: int
    script: bytes
    redeem_script: bytes = b""
    witness_script: bytes = b""
    derivations: dict[bytes, KeyOrigin] = field(default_factory=dict)
    tap_internal_key: bytes = b""
    tap_tree: tuple[TapLeaf, ...] = ()
    tap_derivations: dict[bytes, TapDerivation] = field(default_factory=dict)
    musig_participants: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    proprietary: dict[bytes, bytes] = field(default_factory=dict)
    unknown: dict[bytes, bytes] = field(default_factory=dict)

    def merge(self, other: "PsbtOutput") -> None:
        """Take over from the same output of another PSBT what is missing here."""
        for name in ("derivations", "tap_derivations", "musig_participants", "proprietary", "unknown"):
            mine = getattr(self, name)
            for key, value in getattr(other, name).items():
                mine.setdefault(key, value)
        for name in ("redeem_script", "witness_script", "tap_internal_key", "tap_tree"):
            if not getattr(self, name):
                setattr(self, name, getattr(other, name))

    def serialize(self) -> bytes:
        """Return the map's bytes."""
        parts = []
        if self.redeem_script:
            parts.append(pair(OutputKey.REDEEM_SCRIPT, self.redeem_script))
        if self.witness_script:
            parts.append(pair(OutputKey.WITNESS_SCRIPT, self.witness_script))
        parts += derivation_pairs(OutputKey.BIP32_DERIVATION, self.derivations)
        if self.version >= 2:
            parts.append(pair(OutputKey.AMOUNT, self.amount.to_bytes(8, "little", signed=True)))
            parts.append(pair(OutputKey.SCRIPT, self.script))
        parts.append(write_raw(self.proprietary))
        if self.tap_internal_key:
            parts.append(pair(OutputKey.TAP_INTERNAL_KEY, self.tap_internal_key))
        if self.tap_tree:
            leaves = [bytes((leaf.depth, leaf.version)) + var_bytes(leaf.script) for leaf in self.tap_tree]
            parts.append(pair(OutputKey.TAP_TREE, b"".join(leaves)))
        parts += tap_derivation_pairs(OutputKey.TAP_BIP32_DERIVATION, self.tap_derivations)
        parts += participant_pairs(OutputKey.MUSIG2_PARTICIPANTS, self.musig_participants)
        return b"".join([*parts, write_raw(self.unknown), b"\0"])


def read_output(reader: Reader, into: PsbtOutput) -> None:
    """Fill an output from its map. Raises PsbtError."""
    seen = set()
    for key in reader.keys("output"):
        kind = Reader(key).compact_size()
        seen.add(kind)
        if kind == PROPRIETARY:
            split_proprietary(key)
            into.proprietary[key] = reader.var_bytes()
        elif kind in _FIELDS:
            _FIELDS[kind](reader, key, into)
        else:
            into.unknown[key] = reader.var_bytes()
    if into.version >= 2:
        if OutputKey.AMOUNT not in seen:
            raise broken("Output amount is required in PSBTv2")
        if OutputKey.SCRIPT not in seen:
            raise broken("Output script is required in PSBTv2")


def _redeem_script(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output redeemScript", key)
    into.redeem_script = reader.var_bytes()


def _witness_script(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output witnessScript", key)
    into.witness_script = reader.var_bytes()


def _derivation(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    pubkey = read_pubkey(key, "BIP32 keypath")
    into.derivations[pubkey] = read_origin(reader, reader.compact_size())


def _amount(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output Amount", key)
    if into.version < 2:
        raise broken("Output amount is not allowed in PSBTv0")
    into.amount = int.from_bytes(reader.fixed(8), "little", signed=True)


def _script(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output Script", key)
    if into.version < 2:
        raise broken("Output script is not allowed in PSBTv0")
    into.script = reader.var_bytes()


def _tap_internal_key(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output Taproot Internal Key", key)
    value = reader.fixed(32)
    into.tap_internal_key = b"" if value == NO_HASH else value


def _tap_tree(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output Taproot Tree Key", key)
    data = reader.var_bytes()
    if not data:
        raise broken("Output Taproot tree must not be empty")
    value = Reader(data)
    leaves = []
    while not value.is_at_end:
        leaf = TapLeaf(value.number(1), value.number(1), value.var_bytes())
        if leaf.depth > TAPROOT_MAX_DEPTH:
            raise broken("Output Taproot tree has as leaf greater than Taproot maximum depth")
        if leaf.version & ~_LEAF_MASK:
            raise broken("Output Taproot tree has a leaf with an invalid leaf version")
        leaves.append(leaf)
    if build_tap_tree(leaves) is None:
        raise broken("Output Taproot tree is malformed")
    into.tap_tree = tuple(leaves)


def _tap_derivation(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output Taproot BIP32 Keypath", key, 33)
    into.tap_derivations[key[1:]] = read_tap_derivation(reader, "Output")


def _participants(reader: Reader, key: bytes, into: PsbtOutput) -> None:
    check_key_size("Output MuSig2 Participants Pubkeys", key, 34)
    into.musig_participants[key[1:]] = read_participants(reader, key[1:], "Output")


_FIELDS: dict[int, Callable[[Reader, bytes, PsbtOutput], None]] = {
    OutputKey.REDEEM_SCRIPT: _redeem_script,
    OutputKey.WITNESS_SCRIPT: _witness_script,
    OutputKey.BIP32_DERIVATION: _derivation,
    OutputKey.AMOUNT: _amount,
    OutputKey.SCRIPT: _script,
    OutputKey.TAP_INTERNAL_KEY: _tap_internal_key,
    OutputKey.TAP_TREE: _tap_tree,
    OutputKey.TAP_BIP32_DERIVATION: _tap_derivation,
    OutputKey.MUSIG2_PARTICIPANTS: _participants,
}
