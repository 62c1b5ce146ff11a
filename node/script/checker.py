"""What a script may ask about the transaction that runs it.

Owns: signature, lock time and sequence checks of one input. Never: the stack.
"""

from typing import Protocol

from clarion.node.primitives.script import is_valid_pubkey_size
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.machine import SIGVERSION_WITNESS_V0, ExecutionData
from clarion.node.script.sighash import (
    PrecomputedTxData,
    SighashCache,
    legacy_sighash,
    taproot_sighash,
    witness_v0_sighash,
)
from clarion.node.script.signatures import verify_ecdsa, verify_schnorr

LOCKTIME_THRESHOLD = 500_000_000
"""Lock times below it are heights, others seconds since 1970."""

SEQUENCE_FINAL = 0xFFFFFFFF
SEQUENCE_LOCKTIME_DISABLE_FLAG = 1 << 31
SEQUENCE_LOCKTIME_TYPE_FLAG = 1 << 22
SEQUENCE_LOCKTIME_MASK = 0xFFFF


class SignatureChecker(Protocol):
    """The consumer's view of a transaction's input."""

    def check_ecdsa(self, signature: bytes, pubkey: bytes, script_code: bytes, sigversion: int) -> bool:
        """Return whether the signature, hash type last, is right."""

    def check_schnorr(self, signature: bytes, pubkey: bytes, execution: ExecutionData) -> None:
        """Raise ScriptFailure unless the taproot or tapscript signature by the 32-byte key is right."""

    def check_lock_time(self, lock_time: int) -> bool:
        """Return whether the transaction can't be mined before `lock_time` (BIP65)."""

    def check_sequence(self, sequence: int) -> bool:
        """Return whether the input can't be mined before the relative lock of `sequence` is over (BIP112)."""


class TransactionChecker:
    """Checks of input `index` of the transaction behind `txdata`, which spends `amount` satoshis."""

    __slots__ = ("_amount", "_cache", "_index", "_txdata")

    def __init__(self, txdata: PrecomputedTxData, index: int, amount: int) -> None:
        self._txdata = txdata
        self._index = index
        self._amount = amount
        self._cache = SighashCache()

    def check_ecdsa(self, signature: bytes, pubkey: bytes, script_code: bytes, sigversion: int) -> bool:
        """Return whether the signature, hash type last, is right."""
        if not signature or not is_valid_pubkey_size(pubkey):
            return False
        hash_type = signature[-1]
        if sigversion == SIGVERSION_WITNESS_V0:
            digest = witness_v0_sighash(self._txdata, self._index, script_code, self._amount, hash_type, self._cache)
        else:
            digest = legacy_sighash(self._txdata, self._index, script_code, hash_type, self._cache)
        return verify_ecdsa(signature[:-1], pubkey, digest)

    def check_schnorr(self, signature: bytes, pubkey: bytes, execution: ExecutionData) -> None:
        """Raise ScriptFailure unless the taproot or tapscript signature by the 32-byte key is right (BIP341)."""
        size = len(signature)
        hash_type = 0
        if size == 65:
            hash_type = signature[64]
            # A zero byte would be a second way to write the default.
            if hash_type == 0:
                raise ScriptFailure(ScriptError.SCHNORR_SIG_HASHTYPE)
            signature = signature[:64]
        elif size != 64:
            raise ScriptFailure(ScriptError.SCHNORR_SIG_SIZE)
        digest = taproot_sighash(
            self._txdata,
            self._index,
            hash_type,
            execution.annex_hash,
            execution.tapleaf_hash,
            execution.code_separator_position,
        )
        if digest is None:
            raise ScriptFailure(ScriptError.SCHNORR_SIG_HASHTYPE)
        if not verify_schnorr(signature, pubkey, digest):
            raise ScriptFailure(ScriptError.SCHNORR_SIG)

    def check_lock_time(self, lock_time: int) -> bool:
        """Return whether the transaction can't be mined before `lock_time` (BIP65)."""
        tx = self._txdata.tx
        # Heights compare with heights and times with times.
        if (tx.lock_time < LOCKTIME_THRESHOLD) != (lock_time < LOCKTIME_THRESHOLD):
            return False
        if lock_time > tx.lock_time:
            return False
        # A final input switches the transaction's lock time off.
        return tx.inputs[self._index].sequence != SEQUENCE_FINAL

    def check_sequence(self, sequence: int) -> bool:
        """Return whether the input can't be mined before the relative lock of `sequence` is over (BIP112)."""
        tx = self._txdata.tx
        own = tx.inputs[self._index].sequence
        if tx.version < 2 or own & SEQUENCE_LOCKTIME_DISABLE_FLAG:
            return False
        mask = SEQUENCE_LOCKTIME_TYPE_FLAG | SEQUENCE_LOCKTIME_MASK
        own &= mask
        sequence &= mask
        if (own < SEQUENCE_LOCKTIME_TYPE_FLAG) != (sequence < SEQUENCE_LOCKTIME_TYPE_FLAG):
            return False
        return sequence <= own
