"""Makes the signatures of one input.

Owns: which hash is signed with which type. Never: which keys must sign (see `producer`).
"""

from clarion.node.primitives.amounts import money_range
from clarion.node.script.checker import TransactionChecker
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


class SignatureCreator:
    """Signs input `index` of the transaction behind `txdata`, which spends `amount` satoshis.

    `sighash_type` DEFAULT means ALL outside of taproot. `txdata` needs the spent outputs for taproot alone.
    """

    def __init__(self, txdata: PrecomputedTxData, index: int, amount: int, sighash_type: int = SIGHASH_DEFAULT) -> None:
        self._txdata = txdata
        self._index = index
        self._amount = amount
        self._sighash_type = sighash_type
        self.checker = PartialDataChecker(txdata, index, amount)

    def ecdsa(self, provider: SigningProvider, key_hash: bytes, script_code: bytes, sigversion: int) -> bytes | None:
        """Return the signature with its hash type by the key of this hash160, None if it can't be made."""
        key = provider.secret(key_hash)
        if key is None:
            return None
        hash_type = self._sighash_type or SIGHASH_ALL
        if sigversion == SIGVERSION_WITNESS_V0:
            # Uncompressed keys are not used under segwit, and the amount is part of what is signed.
            if not key.compressed or not money_range(self._amount):
                return None
            digest = witness_v0_sighash(self._txdata, self._index, script_code, self._amount, hash_type)
        else:
            digest = legacy_sighash(self._txdata, self._index, script_code, hash_type)
        return sign_ecdsa(key.secret, digest) + bytes((hash_type,))

    def key_path(
        self, provider: SigningProvider, xonly_pubkey: bytes, merkle_root: bytes | None = None
    ) -> bytes | None:
        """Return taproot's signature, with its hash type unless that is DEFAULT, None if it can't be made.

        With `merkle_root` (empty for no scripts) the key is an internal one, without it the output's own.
        """
        key = secret_of_xonly(provider, xonly_pubkey)
        if key is None or self._txdata.spent_outputs is None:
            return None
        digest = taproot_sighash(self._txdata, self._index, self._sighash_type)
        if digest is None:
            return None
        signature = sign_schnorr(key.secret, digest, merkle_root)
        return signature + bytes((self._sighash_type,)) if self._sighash_type else signature
