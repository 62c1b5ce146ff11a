"""Transactions: their parts, their two encodings and their hashes.

Owns: decoding by the exact rules of the wire (BIP144) and encoding. Never: whether a transaction is valid.
The classes are plain slotted objects because millions are made while blocks load; treat them as immutable.
"""

import struct
from collections.abc import Sequence
from hashlib import sha256 as _sha256

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.primitives.codec import compact_size, read_compact_size, read_var_bytes, var_bytes
from clarion.node.primitives.ids import NULL_OUTPOINT, OutPoint, Txid, Wtxid
from clarion.node.primitives.script import MAX_SCRIPT_SIZE, has_valid_ops
from clarion.node.primitives.tx_notes import TxNotes

WITNESS_SCALE_FACTOR = 4

_U32 = struct.Struct("<I").unpack_from
# The byte behind prevout and value is the length of most scripts: reading both at once saves a slice.
_PREVOUT_AND_LENGTH = struct.Struct("<36sB").unpack_from
_VALUE_AND_LENGTH = struct.Struct("<qB").unpack_from
_NO_WITNESS: tuple[bytes, ...] = ()
_NEW = object.__new__


class TxIn:
    """One input: `prevout` (36 wire bytes), `script_sig`, `sequence` (uint32), `witness` (stack, bottom first)."""

    __slots__ = ("prevout", "script_sig", "sequence", "witness")

    def __init__(
        self, prevout: OutPoint, script_sig: bytes = b"", sequence: int = 0xFFFFFFFF, witness: tuple[bytes, ...] = ()
    ) -> None:
        self.prevout = prevout
        self.script_sig = script_sig
        self.sequence = sequence
        self.witness = witness

    def serialize(self) -> bytes:
        """Return the input's wire bytes, which leave the witness out."""
        return self.prevout + var_bytes(self.script_sig) + self.sequence.to_bytes(4, "little")


class TxOut:
    """One output: `value` in satoshis (int64 as on the wire, may be out of range) and `script_pubkey`."""

    __slots__ = ("script_pubkey", "value")

    def __init__(self, value: int, script_pubkey: bytes) -> None:
        self.value = value
        self.script_pubkey = script_pubkey

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TxOut):
            return NotImplemented
        return self.value == other.value and self.script_pubkey == other.script_pubkey

    def __hash__(self) -> int:
        return hash((self.value, self.script_pubkey))

    def __repr__(self) -> str:
        return f"TxOut({self.value}, {self.script_pubkey.hex()})"

    def serialize(self) -> bytes:
        """Return 8 bytes of little-endian value and the length-prefixed script."""
        return self.value.to_bytes(8, "little", signed=True) + var_bytes(self.script_pubkey)


class Transaction:
    """A transaction with its hashes.

    `version` and `lock_time` are uint32; `raw` is the full encoding, with witness where there is one;
    `base_size` is the length of the encoding without witness, in bytes; `txid` and `wtxid` are in internal order.
    `notes` is what checks found out about it before its block came, None until then.
    """

    __slots__ = (
        "base_size",
        "has_witness",
        "inputs",
        "lock_time",
        "notes",
        "outputs",
        "raw",
        "txid",
        "version",
        "wtxid",
    )

    inputs: Sequence[TxIn]
    outputs: Sequence[TxOut]

    def __init__(self, version: int, inputs: Sequence[TxIn], outputs: Sequence[TxOut], lock_time: int = 0) -> None:
        """Build a transaction from its parts; it is encoded and hashed at once."""
        self.version = version
        self.inputs = inputs
        self.outputs = outputs
        self.lock_time = lock_time
        self.notes: TxNotes | None = None
        base, full = _encode(version, inputs, outputs, lock_time)
        self.raw = full
        self.base_size = len(base)
        self.has_witness = base is not full
        self.txid = Txid(_sha256(_sha256(base).digest()).digest())
        self.wtxid = Wtxid(_sha256(_sha256(full).digest()).digest() if self.has_witness else self.txid)

    @classmethod
    def parse(cls, data: bytes, *, allow_witness: bool = True) -> "Transaction":
        """Return the transaction that `data` holds from its first to its last byte. Raises DecodeError."""
        tx, end = parse_transaction(data, 0, allow_witness=allow_witness)
        if end != len(data):
            raise DecodeError(f"{len(data) - end} bytes behind the transaction's end")
        return tx

    @property
    def is_coinbase(self) -> bool:
        """Whether the only input spends the null outpoint."""
        return len(self.inputs) == 1 and self.inputs[0].prevout == NULL_OUTPOINT

    @property
    def size(self) -> int:
        """Length of the full encoding in bytes."""
        return len(self.raw)

    @property
    def weight(self) -> int:
        """Weight in weight units (BIP141)."""
        return self.base_size * (WITNESS_SCALE_FACTOR - 1) + len(self.raw)

    @property
    def vsize(self) -> int:
        """Weight in virtual bytes, rounded up (BIP141)."""
        return (self.weight + WITNESS_SCALE_FACTOR - 1) // WITNESS_SCALE_FACTOR

    def serialize_without_witness(self) -> bytes:
        """Return the encoding that the txid commits to."""
        if not self.has_witness:
            return self.raw
        return _encode(self.version, self.inputs, self.outputs, self.lock_time)[0]


def _encode(version: int, inputs: Sequence[TxIn], outputs: Sequence[TxOut], lock_time: int) -> tuple[bytes, bytes]:
    """Return (encoding without witness, full encoding); the same object twice where no input has a witness."""
    head = version.to_bytes(4, "little")
    tail = lock_time.to_bytes(4, "little")
    body = b"".join(
        [
            compact_size(len(inputs)),
            *[txin.serialize() for txin in inputs],
            compact_size(len(outputs)),
            *[txout.serialize() for txout in outputs],
        ]
    )
    base = head + body + tail
    if not any(txin.witness for txin in inputs):
        return base, base
    witness = b"".join(
        compact_size(len(txin.witness)) + b"".join(var_bytes(item) for item in txin.witness) for txin in inputs
    )
    return base, head + b"\x00\x01" + body + witness + tail


def _read_witnesses(data: bytes, at: int, inputs: list[TxIn]) -> int:
    superfluous = True
    for txin in inputs:
        count, at = read_compact_size(data, at)
        if not count:
            continue
        superfluous = False
        stack = []
        for _ in range(count):
            length = data[at]
            if length < 253:
                end = at + 1 + length
                stack.append(data[at + 1 : end])
                if end > len(data):
                    raise EndOfData(f"data ends inside a witness item at byte {at}")
                at = end
            else:
                item, at = read_var_bytes(data, at)
                stack.append(item)
        txin.witness = tuple(stack)
    if superfluous:
        raise DecodeError("Superfluous witness record")
    return at


def parse_transaction(data: bytes, offset: int, *, allow_witness: bool = True) -> tuple[Transaction, int]:
    """Return (transaction, offset behind it) of the transaction at `offset`.

    With `allow_witness` the extended encoding of BIP144 is recognised: a zero count of inputs is its marker, a
    witness record without any witness and flags other than 1 are refused. Raises DecodeError.
    """
    try:
        return read_transaction(data, offset, allow_witness)
    except (IndexError, struct.error):
        raise EndOfData(f"data ends inside the transaction at byte {offset}") from None


def read_transaction(data: bytes, offset: int, allow_witness: bool) -> tuple[Transaction, int]:
    """`parse_transaction` for loops: where data ends too early it raises IndexError or struct.error instead.

    Millions of transactions pass here while blocks load. So the loops stand in line, objects are filled without
    calling their constructors and NewTypes are not called: together a third of the time.
    """
    version = _U32(data, offset)[0]
    body = at = offset + 4
    flags = 0
    if allow_witness and not data[at]:
        flags = data[at + 1]
        at += 2
        if flags:
            body = at
    inputs: list[TxIn] = []
    outputs: list[TxOut] = []
    # With marker and flag both zero there is nothing between them and the lock time.
    if at == body:
        count = data[at]
        at += 1
        if count >= 253:
            count, at = read_compact_size(data, at - 1)
        for _ in range(count):
            txin = _NEW(TxIn)
            txin.prevout, length = _PREVOUT_AND_LENGTH(data, at)
            start = at + 37
            if length >= 253:
                length, start = read_compact_size(data, at + 36)
            end = start + length
            txin.script_sig = data[start:end]
            # Fails where the script itself is cut off.
            txin.sequence = _U32(data, end)[0]
            txin.witness = _NO_WITNESS
            inputs.append(txin)
            at = end + 4
        count = data[at]
        at += 1
        if count >= 253:
            count, at = read_compact_size(data, at - 1)
        for _ in range(count):
            txout = _NEW(TxOut)
            txout.value, length = _VALUE_AND_LENGTH(data, at)
            start = at + 9
            if length >= 253:
                length, start = read_compact_size(data, at + 8)
            at = start + length
            txout.script_pubkey = data[start:at]
            outputs.append(txout)
    body_end = at
    if flags & 1:
        flags ^= 1
        at = _read_witnesses(data, at, inputs)
    if flags:
        raise DecodeError("Unknown transaction optional data")

    tx = _NEW(Transaction)
    tx.version = version
    tx.inputs = inputs
    tx.outputs = outputs
    tx.notes = None
    tx.lock_time = _U32(data, at)[0]
    end = at + 4
    tx.raw = raw = data[offset:end]
    tx.wtxid = wtxid = _sha256(_sha256(raw).digest()).digest()  # type: ignore[assignment]
    if at == body_end:
        tx.has_witness = False
        tx.base_size = end - offset
        tx.txid = wtxid  # type: ignore[assignment]
    else:
        tx.has_witness = True
        base = data[offset : offset + 4] + data[body:body_end] + data[at:end]
        tx.base_size = len(base)
        tx.txid = _sha256(_sha256(base).digest()).digest()  # type: ignore[assignment]
    return tx, end


def decode_hex_transaction(data: bytes, *, try_witness: bool = True, try_no_witness: bool = True) -> Transaction:
    """Return the transaction that an RPC client sent, which may be in either encoding (the reference's DecodeHexTx).

    A transaction without inputs looks like the extended encoding's marker. Only readings that consume all bytes
    count; of two, the extended one wins unless its scripts look wrong and those of the legacy one do not.
    Raises DecodeError if there is none.
    """
    extended = _try_parse(data, True) if try_witness else None
    if extended is not None and _looks_sane(extended):
        return extended
    legacy = _try_parse(data, False) if try_no_witness else None
    if legacy is not None and _looks_sane(legacy):
        return legacy
    if extended is not None:
        return extended
    if legacy is not None:
        return legacy
    raise DecodeError("TX decode failed")


def _try_parse(data: bytes, allow_witness: bool) -> Transaction | None:
    try:
        return Transaction.parse(data, allow_witness=allow_witness)
    except DecodeError:
        return None


def _looks_sane(tx: Transaction) -> bool:
    # Scripts must parse to their end: those of a transaction that is read in the wrong encoding rarely do.
    scripts = [txout.script_pubkey for txout in tx.outputs]
    if not tx.is_coinbase:
        scripts += [txin.script_sig for txin in tx.inputs]
    return all(len(script) <= MAX_SCRIPT_SIZE and has_valid_ops(script) for script in scripts)
