"""A PSBT as a whole: its global map, its inputs and outputs, and the transaction that they make.

Owns: the value of both versions (BIP174, BIP370), its bytes, lock time and identity. Never: combining, signing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, TypeVar

from clarion.node.primitives.codec import compact_size
from clarion.node.primitives.ids import Txid, outpoint_index, outpoint_txid
from clarion.node.primitives.key_origin import KeyOrigin
from clarion.node.primitives.keys import is_valid_pubkey
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.psbt.fields import PROPRIETARY, read_origin, split_proprietary, write_origin, write_raw
from clarion.node.script.psbt.input_reader import read_input
from clarion.node.script.psbt.psbt_input import PsbtInput
from clarion.node.script.psbt.psbt_output import PsbtOutput, read_output
from clarion.node.script.psbt.reader import PsbtError, Reader, broken, check_key_size, pair

MAGIC = b"psbt\xff"
HIGHEST_VERSION = 2
FINAL_SEQUENCE = 0xFFFFFFFF
_XPUB_SIZE = 78
_Map = TypeVar("_Map", PsbtInput, PsbtOutput)


class GlobalKey(IntEnum):
    """Types of the global map's keys."""

    UNSIGNED_TX = 0x00
    XPUB = 0x01
    TX_VERSION = 0x02
    FALLBACK_LOCKTIME = 0x03
    INPUT_COUNT = 0x04
    OUTPUT_COUNT = 0x05
    TX_MODIFIABLE = 0x06
    VERSION = 0xFB


@dataclass(slots=True)
class Psbt:
    """`xpubs` are the 78 bytes of extended keys by their origins; `modifiable` are the flags of version 2."""

    version: int | None
    tx_version: int
    fallback_lock_time: int | None = None
    modifiable: int | None = None
    xpubs: dict[KeyOrigin, frozenset[bytes]] = field(default_factory=dict)
    inputs: list[PsbtInput] = field(default_factory=list)
    outputs: list[PsbtOutput] = field(default_factory=list)
    proprietary: dict[bytes, bytes] = field(default_factory=dict)
    unknown: dict[bytes, bytes] = field(default_factory=dict)

    @classmethod
    def of_transaction(cls, tx: Transaction, version: int) -> "Psbt":
        """Return the PSBT of a transaction whose scripts and witnesses are left out."""
        psbt = cls(version, tx.version, tx.lock_time)
        psbt.inputs = _inputs_of(tx, version)
        psbt.outputs = _outputs_of(tx, version)
        return psbt

    @property
    def number(self) -> int:
        """The version's number, 0 where it is not given."""
        return self.version or 0

    def copy(self) -> "Psbt":
        """Return a PSBT that can be changed without this one; what never changes is shared."""
        return replace(
            self,
            inputs=[_copied(each) for each in self.inputs],
            outputs=[_copied(each) for each in self.outputs],
            xpubs=dict(self.xpubs),
            proprietary=dict(self.proprietary),
            unknown=dict(self.unknown),
        )

    def lock_time(self) -> int | None:
        """Return the transaction's lock time, None if the inputs' demands can't all be met (BIP370)."""
        if self.number < 2:
            return self.fallback_lock_time or 0
        times: int | None = 0
        heights: int | None = 0
        for each in self.inputs:
            if each.time_lock is not None and each.height_lock is None:
                heights = None
                if times is None:
                    return None
            elif each.time_lock is None and each.height_lock is not None:
                times = None
                if heights is None:
                    return None
            if times is not None:
                times = max(times, each.time_lock or 0)
            if heights is not None:
                heights = max(heights, each.height_lock or 0)
        return heights or times or self.fallback_lock_time or 0

    def unsigned_tx(self) -> Transaction | None:
        """Return the transaction without scripts and witnesses, None if it has no possible lock time."""
        return self._transaction(lambda each: FINAL_SEQUENCE if each.sequence is None else each.sequence)

    def unique_id(self) -> Txid | None:
        """Return what all PSBTs of one transaction share: its txid, in version 2 with all sequence numbers at 0."""
        tx = self.unsigned_tx() if self.number < 2 else self._transaction(lambda each: 0)
        return None if tx is None else tx.txid

    def _transaction(self, sequence: Callable[[PsbtInput], int]) -> Transaction | None:
        lock_time = self.lock_time()
        if lock_time is None:
            return None
        inputs = [TxIn(each.prevout, sequence=sequence(each)) for each in self.inputs]
        outputs = [TxOut(each.amount, each.script) for each in self.outputs]
        return Transaction(self.tx_version, inputs, outputs, lock_time)

    def serialize(self) -> bytes:
        """Return the PSBT's bytes."""
        parts = [MAGIC]
        if self.number < 2:
            tx = self.unsigned_tx()
            parts.append(pair(GlobalKey.UNSIGNED_TX, b"" if tx is None else tx.raw))
        for origin in sorted(self.xpubs, key=origin_order):
            parts += [pair(GlobalKey.XPUB, write_origin(origin), xpub) for xpub in sorted_xpubs(self.xpubs[origin])]
        if self.number >= 2:
            parts.append(pair(GlobalKey.TX_VERSION, self.tx_version.to_bytes(4, "little")))
            if self.fallback_lock_time is not None:
                parts.append(pair(GlobalKey.FALLBACK_LOCKTIME, self.fallback_lock_time.to_bytes(4, "little")))
            parts.append(pair(GlobalKey.INPUT_COUNT, compact_size(len(self.inputs))))
            parts.append(pair(GlobalKey.OUTPUT_COUNT, compact_size(len(self.outputs))))
            if self.modifiable is not None:
                parts.append(pair(GlobalKey.TX_MODIFIABLE, bytes((self.modifiable,))))
        if self.number > 0:
            parts.append(pair(GlobalKey.VERSION, self.number.to_bytes(4, "little")))
        parts += [write_raw(self.proprietary), write_raw(self.unknown), b"\0"]
        parts += [each.serialize() for each in self.inputs]
        parts += [each.serialize() for each in self.outputs]
        return b"".join(parts)


def origin_order(origin: KeyOrigin) -> tuple[bytes, int, tuple[int, ...]]:
    """Return what origins are ordered by."""
    return origin.fingerprint, len(origin.path), origin.path


def sorted_xpubs(xpubs: frozenset[bytes]) -> list[bytes]:
    """Return extended keys in the order of public key and chain code."""
    return sorted(xpubs, key=_xpub_order)


def _xpub_order(xpub: bytes) -> bytes:
    return xpub[45:] + xpub[13:45]


def add_xpub(xpubs: dict[KeyOrigin, frozenset[bytes]], origin: KeyOrigin, xpub: bytes) -> None:
    """Add an extended key; of two with the same public key and chain code the first stays."""
    known = xpubs.get(origin, frozenset())
    if all(_xpub_order(xpub) != _xpub_order(other) for other in known):
        xpubs[origin] = known | {xpub}


def parse_psbt(data: bytes) -> Psbt:
    """Return the PSBT that the bytes are. Raises PsbtError with the reference's message."""
    reader = Reader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise broken("Invalid PSBT magic bytes")
    psbt, tx, input_count, output_count = _GlobalMap(reader).read()
    version = psbt.number
    while not reader.is_at_end and len(psbt.inputs) < input_count:
        each = PsbtInput(version, Txid(b""), 0) if tx is None else _input_of(tx.inputs[len(psbt.inputs)], version)
        read_input(reader, each)
        _check_utxo(each)
        psbt.inputs.append(each)
    if len(psbt.inputs) != input_count:
        raise broken("Inputs provided does not match the number of inputs in transaction.")
    while not reader.is_at_end and len(psbt.outputs) < output_count:
        output = PsbtOutput(version, 0, b"") if tx is None else _output_of(tx.outputs[len(psbt.outputs)], version)
        read_output(reader, output)
        psbt.outputs.append(output)
    if len(psbt.outputs) != output_count:
        raise broken("Outputs provided does not match the number of outputs in transaction.")
    if not reader.is_at_end:
        raise PsbtError("extra data after PSBT")
    return psbt


def _copied(each: _Map) -> _Map:
    """Return an input or output with dictionaries of its own."""
    changes: dict[str, Any] = {}
    for name in (each_field.name for each_field in fields(each)):
        value = getattr(each, name)
        if isinstance(value, dict):
            changes[name] = {key: dict(inner) if isinstance(inner, dict) else inner for key, inner in value.items()}
    return replace(each, **changes)


def _input_of(txin: TxIn, version: int) -> PsbtInput:
    return PsbtInput(version, outpoint_txid(txin.prevout), outpoint_index(txin.prevout), txin.sequence)


def _output_of(txout: TxOut, version: int) -> PsbtOutput:
    return PsbtOutput(version, txout.value, txout.script_pubkey)


def _inputs_of(tx: Transaction, version: int) -> list[PsbtInput]:
    return [_input_of(txin, version) for txin in tx.inputs]


def _outputs_of(tx: Transaction, version: int) -> list[PsbtOutput]:
    return [_output_of(txout, version) for txout in tx.outputs]


def _check_utxo(each: PsbtInput) -> None:
    tx = each.non_witness_utxo
    if tx is None:
        return
    if tx.txid != each.prev_txid:
        raise broken("Non-witness UTXO does not match outpoint hash")
    if each.prev_index >= len(tx.outputs):
        raise broken("Input specifies output index that does not exist")


class _GlobalMap:
    """Reads the global map: a PSBT without inputs and outputs, and what says how many of them follow."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._psbt = Psbt(None, 0)
        self._tx: Transaction | None = None
        self._counts = {GlobalKey.INPUT_COUNT: 0, GlobalKey.OUTPUT_COUNT: 0}
        self._seen: set[int] = set()

    def read(self) -> tuple[Psbt, Transaction | None, int, int]:
        """Return (the PSBT, its transaction in version 0, number of inputs, number of outputs). Raises PsbtError."""
        for key in self._reader.keys("global"):
            kind = Reader(key).compact_size()
            self._seen.add(kind)
            self._field(kind, key)
        self._check_version()
        inputs, outputs = self._counts.values()
        return self._psbt, self._tx, inputs, outputs

    def _field(self, kind: int, key: bytes) -> None:
        reader, psbt = self._reader, self._psbt
        if kind == GlobalKey.UNSIGNED_TX:
            check_key_size("Global Unsigned TX", key)
            self._read_tx()
        elif kind == GlobalKey.TX_VERSION:
            check_key_size("Global Transaction Version", key)
            psbt.tx_version = reader.uint32()
        elif kind == GlobalKey.FALLBACK_LOCKTIME:
            check_key_size("Global Fallback Locktime", key)
            psbt.fallback_lock_time = reader.uint32()
        elif kind == GlobalKey.INPUT_COUNT:
            check_key_size("Global Input Count", key)
            self._counts[GlobalKey.INPUT_COUNT] = self._count()
        elif kind == GlobalKey.OUTPUT_COUNT:
            check_key_size("Global Output Count", key)
            self._counts[GlobalKey.OUTPUT_COUNT] = self._count()
        elif kind == GlobalKey.TX_MODIFIABLE:
            check_key_size("Global TX Modifiable Flags", key)
            psbt.modifiable = reader.fixed(1)[0]
        elif kind == GlobalKey.XPUB:
            check_key_size("Global XPUB", key, _XPUB_SIZE + 1)
            xpub = _checked_xpub(key[1:])
            add_xpub(psbt.xpubs, read_origin(reader, reader.compact_size()), xpub)
        elif kind == GlobalKey.VERSION:
            check_key_size("Global PSBT Version", key)
            psbt.version = reader.uint32()
            if psbt.version > HIGHEST_VERSION:
                raise broken("Unsupported version number")
        elif kind == PROPRIETARY:
            split_proprietary(key)
            psbt.proprietary[key] = reader.var_bytes()
        else:
            psbt.unknown[key] = reader.var_bytes()

    def _read_tx(self) -> None:
        end = self._reader.begin_value()
        self._tx = tx = self._reader.transaction(allow_witness=False)
        self._reader.end_value(end)
        if any(txin.script_sig for txin in tx.inputs):
            raise broken("Unsigned tx does not have empty scriptSigs and scriptWitnesses.")
        self._psbt.tx_version, self._psbt.fallback_lock_time = tx.version, tx.lock_time
        self._counts = {GlobalKey.INPUT_COUNT: len(tx.inputs), GlobalKey.OUTPUT_COUNT: len(tx.outputs)}

    def _count(self) -> int:
        end = self._reader.begin_value()
        count = self._reader.compact_size()
        self._reader.end_value(end)
        return count

    def _check_version(self) -> None:
        version = self._psbt.number
        if version == 1:
            raise broken("There is no PSBT version 1")
        if version == 0:
            if self._tx is None:
                raise broken("No unsigned transaction was provided")
            for kind in _VERSION_2_ONLY:
                if kind in self._seen:
                    raise broken(f"PSBT_GLOBAL_{kind.name} is not allowed in PSBTv0")
            return
        for kind in (GlobalKey.TX_VERSION, GlobalKey.INPUT_COUNT, GlobalKey.OUTPUT_COUNT):
            if kind not in self._seen:
                raise broken(f"PSBT_GLOBAL_{kind.name} is required in PSBTv2")
        if self._tx is not None:
            raise broken("PSBT_GLOBAL_UNSIGNED_TX is not allowed in PSBTv2")


_VERSION_2_ONLY = (
    GlobalKey.TX_VERSION,
    GlobalKey.FALLBACK_LOCKTIME,
    GlobalKey.INPUT_COUNT,
    GlobalKey.OUTPUT_COUNT,
    GlobalKey.TX_MODIFIABLE,
)


def _checked_xpub(xpub: bytes) -> bytes:
    """Return an extended key. Raises PsbtError if its public key is none, or a master key claims to be a child."""
    depth, parent, child = xpub[4], xpub[5:9], xpub[9:13]
    if (depth == 0 and (any(parent) or any(child))) or not is_valid_pubkey(xpub[45:]):
        raise broken("Invalid pubkey")
    return xpub
