"""Makes the signatures of one input.

Owns: which hash is signed with which type. Never: which keys must sign (see `producer`).
"""

from typing import Protocol

from clarion.node.primitives.amounts import money_range
from clarion.node.script.checker import SignatureChecker, TransactionChecker
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.machine import SIGVERSION_WITNESS_V0, ExecutionData
from clarion.node.script.sighash import (
    SIGHASH_ALL,
    SIGHASH_DEFAULT,
    PrecomputedTxData,
    legacy_sighash,
    taproot_sighash,
    witness_v0_sighash,
)
from clarion.node.script.signing.private_key import sign_ecdsa, sign_schnorr
from clarion.node.script.signing.provider import SigningProvider, secret_of_xonly


class PartialDataChecker(TransactionChecker):
    """Checks of an input whose sister inputs' outputs may be unknown: taproot signatures are wrong then."""

    __slots__ = ()

    def check_schnorr(self, signature: bytes, pubkey: bytes, execution: ExecutionData) -> None:
        """Raise ScriptFailure unless the signature is right and can be checked."""
        try:
            TransactionChecker.check_schnorr(self, signature, pubkey, execution)
        except ValueError:
            raise ScriptFailure(ScriptError.SCHNORR_SIG_HASHTYPE) from None


class Creator(Protocol):
    """Makes signatures, and checks what they spend."""

    @property
    def checker(self) -> SignatureChecker:
        """Checks the finished script and witness."""

    def ecdsa(self, provider: SigningProvider, key_hash: bytes, script_code: bytes, sigversion: int) -> bytes | None:
        """Return the signature with its hash type by the key of this hash160, None if it can't be made."""

    def schnorr(
        self,
        provider: SigningProvider,
        xonly_pubkey: bytes,
        merkle_root: bytes | None = None,
        leaf_hash: bytes | None = None,
    ) -> bytes | None:
        """Return taproot's signature, with its hash type unless that is DEFAULT, None if it can't be made.

        With `merkle_root` (empty for no scripts) the key is an internal one, with `leaf_hash` one of that leaf, with
        neither the output's own.
        """

    def digest(self, leaf_hash: bytes | None = None) -> bytes | None:
        """Return the hash that a taproot signature signs, None if it can't be told."""

    @property
    def hash_type_suffix(self) -> bytes:
        """What stands behind a taproot signature: its hash type, nothing for DEFAULT."""


class DummyChecker:
    """Finds every signature right that is there, and every lock open: for sizes."""

    def check_ecdsa(self, signature: bytes, pubkey: bytes, script_code: bytes, sigversion: int) -> bool:
        """Return whether there is a signature."""
        return bool(signature)

    def check_schnorr(self, signature: bytes, pubkey: bytes, execution: ExecutionData) -> None:
        """Raise ScriptFailure unless there is a signature."""
        if not signature:
            raise ScriptFailure(ScriptError.SCHNORR_SIG)

    def check_lock_time(self, lock_time: int) -> bool:
        """Return True."""
        return True

    def check_sequence(self, sequence: int) -> bool:
        """Return True."""
        return True


class DummyCreator:
    """Makes signatures of the usual sizes that sign nothing: for sizes."""

    def __init__(self) -> None:
        self.checker: SignatureChecker = DummyChecker()

    def ecdsa(self, provider: SigningProvider, key_hash: bytes, script_code: bytes, sigversion: int) -> bytes | None:
        """Return what looks like a signature in DER with its hash type."""
        number = b"\x02\x20\x01" + bytes(31)
        return b"\x30\x44" + number + number + bytes((SIGHASH_ALL,))

    def schnorr(
        self,
        provider: SigningProvider,
        xonly_pubkey: bytes,
        merkle_root: bytes | None = None,
        leaf_hash: bytes | None = None,
    ) -> bytes | None:
        """Return 64 bytes."""
        return bytes(64)

    def digest(self, leaf_hash: bytes | None = None) -> bytes | None:
        """Return None: nothing is signed."""
        return None

    @property
    def hash_type_suffix(self) -> bytes:
        """Nothing."""
        return b""


class SignatureCreator:
    """Signs input `index` of the transaction behind `txdata`, which spends `amount` satoshis.

    `sighash_type` DEFAULT means ALL outside of taproot. `txdata` needs the spent outputs for taproot alone.
    """

    def __init__(self, txdata: PrecomputedTxData, index: int, amount: int, sighash_type: int = SIGHASH_DEFAULT) -> None:
        self._txdata = txdata
        self._index = index
        self._amount = amount
        self._sighash_type = sighash_type
        self.checker: SignatureChecker = PartialDataChecker(txdata, index, amount)

    def ecdsa(self, provider: SigningProvider, key_hash: bytes, script_code: bytes, sigversion: int) -> bytes | None:
        """Return the signature with its hash type by the key of this hash160, None if it can't be made."""
        key = provider.secret(key_hash)
        if key is None:
            return None
        hash_type = self._sighash_type or SIGHASH_ALL
        if not 0 <= hash_type <= 0xFF:
            return None
        if sigversion == SIGVERSION_WITNESS_V0:
            # Uncompressed keys are not used under segwit, and the amount is part of what is signed.
            if not key.compressed or not money_range(self._amount):
                return None
            digest = witness_v0_sighash(self._txdata, self._index, script_code, self._amount, hash_type)
        else:
            digest = legacy_sighash(self._txdata, self._index, script_code, hash_type)
        return sign_ecdsa(key.secret, digest) + bytes((hash_type,))

    def schnorr(
        self,
        provider: SigningProvider,
        xonly_pubkey: bytes,
        merkle_root: bytes | None = None,
        leaf_hash: bytes | None = None,
    ) -> bytes | None:
        """Return taproot's signature, as `Creator` has it."""
        key = secret_of_xonly(provider, xonly_pubkey)
        digest = None if key is None else self.digest(leaf_hash)
        if key is None or digest is None:
            return None
        return sign_schnorr(key.secret, digest, merkle_root) + self.hash_type_suffix

    def digest(self, leaf_hash: bytes | None = None) -> bytes | None:
        """Return the hash that a taproot signature signs, as `Creator` has it."""
        if self._txdata.spent_outputs is None or not 0 <= self._sighash_type <= 0xFF:
            return None
        return taproot_sighash(self._txdata, self._index, self._sighash_type, tapleaf_hash=leaf_hash)

    @property
    def hash_type_suffix(self) -> bytes:
        """The hash type behind a taproot signature, nothing for DEFAULT."""
        return bytes((self._sighash_type,)) if self._sighash_type else b""
