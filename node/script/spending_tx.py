"""A transaction and the outputs that it spends, cut into the pieces that signature hashes are made of.

Owns: cutting the wire's bytes without decoding more than that, and the signature hashes of the default type, with
what all inputs share hashed once. Never: other hash types, scripts that are run (see `sighash`, `interpreter`).
Nothing here checks the encoding: the bytes are of a `Transaction` that was decoded before.
"""

import struct
from collections.abc import Sequence
from hashlib import sha256

from clarion.node.primitives.codec import compact_size, read_compact_size, var_bytes
from clarion.node.primitives.coin import SpentOutput

_PREVOUT_AND_LENGTH = struct.Struct("<36sB").unpack_from
_AMOUNT_AND_LENGTH = struct.Struct("<8sB").unpack_from
_INDEX = struct.Struct("<I").pack
_HASH_ALL = b"\x01\0\0\0"
_BLANK_INPUT_SIZE = 41
_TAP_SIGHASH = sha256(sha256(b"TapSighash").digest() * 2)


class SpendingTx:
    """The pieces by input: `prevouts` (36 bytes), `script_sigs`, `sequences` (4 bytes), `witnesses` (bottom first),
    and of the spent outputs `amounts` (8 bytes) and `scripts`. `raw` is the transaction's full encoding.
    """

    __slots__ = (
        "_legacy",
        "_outputs_size",
        "_single_hashes",
        "_taproot",
        "_v0",
        "amounts",
        "lock_time",
        "outputs",
        "prevouts",
        "raw",
        "script_sigs",
        "scripts",
        "sequences",
        "version",
        "witnesses",
    )

    def __init__(self, raw: bytes) -> None:
        """Cut an encoded transaction. The spent outputs are still to be given: `set_spent` or `read_spent`."""
        self.raw = raw
        self.version = raw[:4]
        self.lock_time = raw[-4:]
        self._v0: tuple[bytes, bytes] | None = None
        self._taproot: tuple[bytes, bytes] | None = None
        self._legacy: tuple[bytes, bytes, bytes] | None = None
        self._single_hashes: tuple[bytes, bytes, bytes] | None = None
        has_witness = not raw[4]
        start = at = self._cut_inputs(6 if has_witness else 4)
        count = raw[at]
        at += 1
        if count >= 253:
            count, at = read_compact_size(raw, start)
        self._outputs_size = at - start
        for _ in range(count):
            length = raw[at + 8]
            at += 9
            if length >= 253:
                length, at = read_compact_size(raw, at - 1)
            at += length
        self.outputs = raw[start:at]
        """All outputs as on the wire, with their count in front."""
        if has_witness:
            self._cut_witnesses(at)
        else:
            self.witnesses: list[Sequence[bytes]] = [()] * len(self.prevouts)

    def _cut_inputs(self, at: int) -> int:
        raw = self.raw
        prevouts: list[bytes] = []
        script_sigs: list[bytes] = []
        sequences: list[bytes] = []
        count = raw[at]
        at += 1
        if count >= 253:
            count, at = read_compact_size(raw, at - 1)
        for _ in range(count):
            prevout, length = _PREVOUT_AND_LENGTH(raw, at)
            at += 37
            if length >= 253:
                length, at = read_compact_size(raw, at - 1)
            end = at + length
            prevouts.append(prevout)
            script_sigs.append(raw[at:end])
            at = end + 4
            sequences.append(raw[end:at])
        self.prevouts = prevouts
        self.script_sigs = script_sigs
        self.sequences = sequences
        return at

    def _cut_witnesses(self, at: int) -> None:
        raw = self.raw
        self.witnesses = witnesses = []
        for _ in self.prevouts:
            count = raw[at]
            at += 1
            if count >= 253:
                count, at = read_compact_size(raw, at - 1)
            stack = []
            for _ in range(count):
                length = raw[at]
                at += 1
                if length >= 253:
                    length, at = read_compact_size(raw, at - 1)
                end = at + length
                stack.append(raw[at:end])
                at = end
            witnesses.append(stack)

    def set_spent(self, spent: Sequence[SpentOutput]) -> None:
        """Give the spent outputs, in the order of the inputs."""
        self.amounts: list[bytes] = [output.value.to_bytes(8, "little", signed=True) for output in spent]
        self.scripts: list[bytes] = [output.script_pubkey for output in spent]

    def read_spent(self, data: bytes, at: int) -> int:
        """Cut the spent outputs, which stand as on the wire from byte `at` of `data` on; return the offset behind."""
        self.amounts = amounts = []
        self.scripts = scripts = []
        for _ in self.prevouts:
            amount, length = _AMOUNT_AND_LENGTH(data, at)
            at += 9
            if length >= 253:
                length, at = read_compact_size(data, at - 1)
            amounts.append(amount)
            scripts.append(data[at : at + length])
            at += length
        return at

    def legacy_digest(self, index: int, script_code: bytes) -> bytes:
        """Return what a legacy signature of hash type ALL signs; `script_code` has its length in front."""
        head, blanks, tail = self._legacy or self._make_legacy()
        at = index * _BLANK_INPUT_SIZE
        end = at + _BLANK_INPUT_SIZE
        preimage = b"".join(
            (head, blanks[:at], self.prevouts[index], script_code, self.sequences[index], blanks[end:], tail)
        )
        return sha256(sha256(preimage).digest()).digest()

    def _make_legacy(self) -> tuple[bytes, bytes, bytes]:
        head = self.version + compact_size(len(self.prevouts))
        pairs = zip(self.prevouts, self.sequences, strict=True)
        blanks = b"".join([prevout + b"\0" + sequence for prevout, sequence in pairs])
        self._legacy = (head, blanks, self.outputs + self.lock_time + _HASH_ALL)
        return self._legacy

    def v0_digest(self, index: int, script_code: bytes) -> bytes:
        """Return what a witness v0 signature of hash type ALL signs (BIP143); the script code has its length."""
        head, tail = self._v0 or self._make_v0()
        preimage = b"".join((head, self.prevouts[index], script_code, self.amounts[index], self.sequences[index], tail))
        return sha256(sha256(preimage).digest()).digest()

    def _make_v0(self) -> tuple[bytes, bytes]:
        prevouts, sequences, outputs = self._single_hashes or self._make_single_hashes()
        head = self.version + sha256(prevouts).digest() + sha256(sequences).digest()
        self._v0 = (head, sha256(outputs).digest() + self.lock_time + _HASH_ALL)
        return self._v0

    def taproot_digest(self, index: int, hash_type: int) -> bytes:
        """Return what a signature of taproot's key path signs without annex (BIP341); hash type 0 or 1."""
        shared = (self._taproot or self._make_taproot())[hash_type]
        state = _TAP_SIGHASH.copy()
        state.update(shared + _INDEX(index))
        return state.digest()

    def _make_taproot(self) -> tuple[bytes, bytes]:
        prevouts, sequences, outputs = self._single_hashes or self._make_single_hashes()
        amounts = sha256(b"".join(self.amounts)).digest()
        scripts = sha256(b"".join([var_bytes(script) for script in self.scripts])).digest()
        # Behind the hashes stands the spend type: key path, no annex.
        shared = b"".join((self.version, self.lock_time, prevouts, amounts, scripts, sequences, outputs, b"\0"))
        self._taproot = (b"\0\0" + shared, b"\0\x01" + shared)
        return self._taproot

    def _make_single_hashes(self) -> tuple[bytes, bytes, bytes]:
        self._single_hashes = (
            sha256(b"".join(self.prevouts)).digest(),
            sha256(b"".join(self.sequences)).digest(),
            sha256(self.outputs[self._outputs_size :]).digest(),
        )
        return self._single_hashes
