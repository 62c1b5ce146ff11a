"""What a signature signs: the three algorithms, with everything that a transaction's inputs share hashed once.

Owns: the legacy, witness v0 (BIP143) and taproot (BIP341, BIP342) signature hashes. Never: the signatures.
Scripts are hashed as the raw bytes they are, never encoded again.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from clarion.node.primitives.codec import compact_size, var_bytes
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.opcodes import OP_CODESEPARATOR
from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.walk import remove_code_separators

if TYPE_CHECKING:
    from hashlib import _Hash

SIGHASH_DEFAULT = 0
"""Taproot only: no hash type byte, means ALL."""
SIGHASH_ALL = 1
SIGHASH_NONE = 2
SIGHASH_SINGLE = 3
SIGHASH_ANYONECANPAY = 0x80

NO_CODE_SEPARATOR = 0xFFFFFFFF
"""Position that tapscript signatures commit to where no OP_CODESEPARATOR has run."""

_BLANK_INPUT_SIZE = 41
_BLANK_OUTPUT = b"\xff" * 8 + b"\0"
_ZERO_HASH = bytes(32)
_ONE = b"\x01" + bytes(31)
_CODE_SEPARATOR_BYTE = bytes((OP_CODESEPARATOR,))
_TAP_SIGHASH = sha256(sha256(b"TapSighash").digest() * 2)


class PrecomputedTxData:
    """The hashes that all inputs of one transaction share, computed when first needed.

    `spent_outputs` are in the order of the inputs; without them taproot inputs can't be checked. Two threads may
    share an instance: at worst both compute the same value.
    """

    __slots__ = ("_blanks", "_blanks_zero", "_outputs", "_prevouts", "_taproot", "_v0", "spent_outputs", "tx")

    def __init__(self, tx: Transaction, spent_outputs: Sequence[SpentOutput] | None = None) -> None:
        self.tx = tx
        self.spent_outputs = spent_outputs
        self._blanks: bytes | None = None
        self._blanks_zero: bytes | None = None
        self._outputs: bytes | None = None
        self._prevouts: bytes | None = None
        self._v0: tuple[bytes, bytes, bytes, bytes] | None = None
        self._taproot: tuple[bytes, bytes] | None = None

    @property
    def outputs(self) -> bytes:
        """All outputs as on the wire, without their count."""
        if self._outputs is None:
            self._outputs = b"".join([output.serialize() for output in self.tx.outputs])
        return self._outputs

    @property
    def blank_inputs(self) -> bytes:
        """All inputs with empty scripts, 41 bytes each."""
        if self._blanks is None:
            self._blanks = b"".join(
                [txin.prevout + b"\0" + txin.sequence.to_bytes(4, "little") for txin in self.tx.inputs]
            )
        return self._blanks

    @property
    def blank_inputs_without_sequence(self) -> bytes:
        """All inputs with empty scripts and sequence numbers of zero, 41 bytes each."""
        if self._blanks_zero is None:
            self._blanks_zero = b"".join([txin.prevout + bytes(5) for txin in self.tx.inputs])
        return self._blanks_zero

    @property
    def v0_parts(self) -> tuple[bytes, bytes, bytes, bytes]:
        """(version and hashPrevouts, hashSequence, hashOutputs, lock time) of BIP143."""
        parts = self._v0
        if parts is None:
            tx = self.tx
            prevouts, sequences, outputs = self._single_hashes()
            parts = self._v0 = (
                tx.version.to_bytes(4, "little") + sha256(prevouts).digest(),
                sha256(sequences).digest(),
                sha256(outputs).digest(),
                tx.lock_time.to_bytes(4, "little"),
            )
        return parts

    @property
    def taproot_parts(self) -> tuple[bytes, bytes]:
        """(sha_prevouts to sha_sequences in BIP341's order, sha_outputs). Needs the spent outputs."""
        parts = self._taproot
        if parts is None:
            spent = self.spent_outputs
            if spent is None:
                raise ValueError("taproot signature hashes need all spent outputs")
            amounts = b"".join([coin.value.to_bytes(8, "little", signed=True) for coin in spent])
            scripts = b"".join([var_bytes(coin.script_pubkey) for coin in spent])
            prevouts, sequences, outputs = self._single_hashes()
            shared = prevouts + sha256(amounts).digest() + sha256(scripts).digest() + sequences
            parts = self._taproot = (shared, outputs)
        return parts

    def _single_hashes(self) -> tuple[bytes, bytes, bytes]:
        inputs = self.tx.inputs
        prevouts = b"".join([txin.prevout for txin in inputs])
        sequences = b"".join([txin.sequence.to_bytes(4, "little") for txin in inputs])
        return sha256(prevouts).digest(), sha256(sequences).digest(), sha256(self.outputs).digest()


class SighashCache:
    """Hash states of one input, so that many signatures over one script hash the transaction once.

    Keyed by what of the hash type matters; the byte itself is hashed last. As in the reference this bounds the work
    of a script with many signature checks.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[bytes, _Hash]] = {}

    def load(self, kind: int, script_code: bytes) -> "_Hash | None":
        """Return a copy of the state before the hash type, if the last one of this kind had this script code."""
        entry = self._entries.get(kind)
        return entry[1].copy() if entry is not None and entry[0] == script_code else None

    def store(self, kind: int, script_code: bytes, state: "_Hash") -> None:
        """Keep a copy of the state before the hash type."""
        self._entries[kind] = (script_code, state.copy())


def _kind(hash_type: int) -> int:
    base = hash_type & 0x1F
    return hash_type & SIGHASH_ANYONECANPAY | (base if base in (SIGHASH_NONE, SIGHASH_SINGLE) else SIGHASH_ALL)


def legacy_sighash(
    txdata: PrecomputedTxData, index: int, script_code: bytes, hash_type: int, cache: SighashCache | None = None
) -> bytes:
    """Return the 32 bytes that a signature outside witness scripts signs.

    `script_code` is the executed script behind the last OP_CODESEPARATOR, signatures already deleted. `hash_type`
    is any 32-bit number. The number 1 (SIGHASH_SINGLE's bug) stands for a missing output.
    """
    kind = _kind(hash_type)
    if kind & 0x1F == SIGHASH_SINGLE and index >= len(txdata.tx.outputs):
        return _ONE
    state = cache.load(kind, script_code) if cache is not None else None
    if state is None:
        state = sha256(_legacy_preimage(txdata, index, script_code, kind))
        if cache is not None:
            cache.store(kind, script_code, state)
    state.update((hash_type & 0xFFFFFFFF).to_bytes(4, "little"))
    return sha256(state.digest()).digest()


def _legacy_preimage(txdata: PrecomputedTxData, index: int, script_code: bytes, kind: int) -> bytes:
    tx = txdata.tx
    base = kind & 0x1F
    txin = tx.inputs[index]
    if _CODE_SEPARATOR_BYTE in script_code:
        size, script_code = remove_code_separators(script_code)
        script = compact_size(size) + script_code
    else:
        script = var_bytes(script_code)
    own = txin.prevout + script + txin.sequence.to_bytes(4, "little")

    if kind & SIGHASH_ANYONECANPAY:
        inputs = [b"\x01", own]
    else:
        blanks = txdata.blank_inputs if base == SIGHASH_ALL else txdata.blank_inputs_without_sequence
        at = index * _BLANK_INPUT_SIZE
        inputs = [compact_size(len(tx.inputs)), blanks[:at], own, blanks[at + _BLANK_INPUT_SIZE :]]

    if base == SIGHASH_NONE:
        outputs = b"\0"
    elif base == SIGHASH_SINGLE:
        outputs = compact_size(index + 1) + _BLANK_OUTPUT * index + tx.outputs[index].serialize()
    else:
        outputs = compact_size(len(tx.outputs)) + txdata.outputs
    return b"".join([tx.version.to_bytes(4, "little"), *inputs, outputs, tx.lock_time.to_bytes(4, "little")])


def witness_v0_sighash(
    txdata: PrecomputedTxData,
    index: int,
    script_code: bytes,
    amount: int,
    hash_type: int,
    cache: SighashCache | None = None,
) -> bytes:
    """Return the 32 bytes that a witness v0 signature signs (BIP143). `amount` in satoshis, as the coin has it."""
    kind = _kind(hash_type)
    state = cache.load(kind, script_code) if cache is not None else None
    if state is None:
        state = sha256(_v0_preimage(txdata, index, script_code, amount, kind))
        if cache is not None:
            cache.store(kind, script_code, state)
    state.update((hash_type & 0xFFFFFFFF).to_bytes(4, "little"))
    return sha256(state.digest()).digest()


def _v0_preimage(txdata: PrecomputedTxData, index: int, script_code: bytes, amount: int, kind: int) -> bytes:
    tx = txdata.tx
    txin = tx.inputs[index]
    head, sequences, outputs, lock_time = txdata.v0_parts
    if kind != SIGHASH_ALL:
        base = kind & 0x1F
        if kind & SIGHASH_ANYONECANPAY:
            head = head[:4] + _ZERO_HASH
        if kind & SIGHASH_ANYONECANPAY or base != SIGHASH_ALL:
            sequences = _ZERO_HASH
        if base == SIGHASH_SINGLE and index < len(tx.outputs):
            outputs = sha256(sha256(tx.outputs[index].serialize()).digest()).digest()
        elif base != SIGHASH_ALL:
            outputs = _ZERO_HASH
    return b"".join(
        [
            head,
            sequences,
            txin.prevout,
            var_bytes(script_code),
            amount.to_bytes(8, "little", signed=True),
            txin.sequence.to_bytes(4, "little"),
            outputs,
            lock_time,
        ]
    )


def taproot_sighash(
    txdata: PrecomputedTxData,
    index: int,
    hash_type: int,
    annex_hash: bytes | None = None,
    tapleaf_hash: bytes | None = None,
    code_separator_position: int = NO_CODE_SEPARATOR,
) -> bytes | None:
    """Return the 32 bytes that a taproot signature signs, None where the hash type is not defined.

    `annex_hash` is the SHA-256 of the length-prefixed annex where there is one; `tapleaf_hash` is given for
    signatures in tapscript (BIP342). Also None: SIGHASH_SINGLE without an output of that index. Raises ValueError
    without spent outputs.
    """
    if not (hash_type <= 3 or 0x81 <= hash_type <= 0x83):
        return None
    tx = txdata.tx
    shared, outputs = txdata.taproot_parts
    output_type = hash_type & 3 or SIGHASH_ALL
    anyone_can_pay = hash_type & SIGHASH_ANYONECANPAY
    spend_type = (2 if tapleaf_hash is not None else 0) + (annex_hash is not None)

    parts = [bytes((0, hash_type)), tx.version.to_bytes(4, "little"), tx.lock_time.to_bytes(4, "little")]
    if not anyone_can_pay:
        parts.append(shared)
    if output_type == SIGHASH_ALL:
        parts.append(outputs)
    parts.append(bytes((spend_type,)))
    parts.append(_own_input(txdata, index) if anyone_can_pay else index.to_bytes(4, "little"))
    if annex_hash is not None:
        parts.append(annex_hash)
    if output_type == SIGHASH_SINGLE:
        if index >= len(tx.outputs):
            return None
        parts.append(sha256(tx.outputs[index].serialize()).digest())
    if tapleaf_hash is not None:
        parts.append(tapleaf_hash + b"\0" + code_separator_position.to_bytes(4, "little"))
    state = _TAP_SIGHASH.copy()
    state.update(b"".join(parts))
    return state.digest()


def _own_input(txdata: PrecomputedTxData, index: int) -> bytes:
    txin = txdata.tx.inputs[index]
    assert txdata.spent_outputs is not None
    coin = txdata.spent_outputs[index]
    spent = TxOut(coin.value, coin.script_pubkey).serialize()
    return txin.prevout + spent + txin.sequence.to_bytes(4, "little")
