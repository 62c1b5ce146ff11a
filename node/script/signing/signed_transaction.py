"""Signs every input of a transaction that can be signed, and says what is missing of the others.

Owns: the order of an input's steps and the reference's messages. Never: where outputs and keys come from.
"""

from collections.abc import Mapping
from typing import NamedTuple

from clarion.node.primitives.amounts import MAX_MONEY
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.sighash import SIGHASH_ANYONECANPAY, SIGHASH_SINGLE, PrecomputedTxData
from clarion.node.script.signing.creator import PartialDataChecker, SignatureCreator
from clarion.node.script.signing.extraction import extract_signatures
from clarion.node.script.signing.producer import produce_signature
from clarion.node.script.signing.provider import FlatSigningProvider, SigningProvider
from clarion.node.script.signing.signature_data import SignatureData
from clarion.node.script.verify import verify_script

MISSING_AMOUNT = "Missing amount"
INPUT_NOT_FOUND = "Input not found or already spent"

_MESSAGES = {
    ScriptError.INVALID_STACK_OPERATION: "Unable to sign input, invalid stack size (possibly missing key)",
    ScriptError.NULLFAIL: "CHECK(MULTI)SIG failing with non-zero signature (possibly need more signatures)",
}


class SignedTransaction(NamedTuple):
    """The transaction with the signatures that could be made, and by input what is wrong with it."""

    tx: Transaction
    errors: dict[int, str]

    @property
    def complete(self) -> bool:
        """Whether every input is valid by policy's rules."""
        return not self.errors


def sign_transaction(
    tx: Transaction, provider: SigningProvider, coins: Mapping[OutPoint, SpentOutput], sighash_type: int
) -> SignedTransaction:
    """Sign what `provider` has keys for; `coins` are the outputs that are known. Signatures that are there are kept.

    An amount of MAX_MONEY stands for an unknown one, which no witness can be made for.
    """
    spent = [coins[txin.prevout] for txin in tx.inputs if txin.prevout in coins]
    txdata = PrecomputedTxData(tx, spent if len(spent) == len(tx.inputs) else None)
    inputs = list(tx.inputs)
    errors: dict[int, str] = {}
    for index, txin in enumerate(tx.inputs):
        coin = coins.get(txin.prevout)
        if coin is None:
            errors[index] = INPUT_NOT_FOUND
            continue
        data = extract_signatures(tx, index, coin)
        # Without an output of its number, SINGLE would sign a constant.
        if sighash_type & ~SIGHASH_ANYONECANPAY != SIGHASH_SINGLE or index < len(tx.outputs):
            creator = SignatureCreator(txdata, index, coin.value, sighash_type)
            produce_signature(provider, creator, coin.script_pubkey, data)
        inputs[index] = _with_signatures(txin, data)
        error = _problem(data, coin, PartialDataChecker(txdata, index, coin.value))
        if error is not None:
            errors[index] = error
    return SignedTransaction(Transaction(tx.version, inputs, tx.outputs, tx.lock_time), errors)


def _problem(data: SignatureData, coin: SpentOutput, checker: PartialDataChecker) -> str | None:
    if coin.value == MAX_MONEY and data.witness:
        return MISSING_AMOUNT
    if data.complete:
        return None
    error = verify_script(data.script_sig, coin.script_pubkey, data.witness, STANDARD_SCRIPT_VERIFY_FLAGS, checker)
    return None if error is None else _MESSAGES.get(error, error.message)


def combine_transactions(
    variants: list[Transaction], coins: Mapping[OutPoint, SpentOutput], sighash_type: int
) -> Transaction:
    """Return the first of some variants of one transaction with the signatures of all. `coins` has every prevout."""
    first = variants[0]
    inputs = []
    for index, txin in enumerate(first.inputs):
        coin = coins[txin.prevout]
        data = SignatureData()
        for variant in variants:
            data = data.merge(extract_signatures(variant, index, coin))
        creator = SignatureCreator(PrecomputedTxData(first), index, coin.value, sighash_type)
        produce_signature(FlatSigningProvider(), creator, coin.script_pubkey, data)
        inputs.append(_with_signatures(txin, data))
    return Transaction(first.version, inputs, first.outputs, first.lock_time)


def _with_signatures(txin: TxIn, data: SignatureData) -> TxIn:
    return TxIn(txin.prevout, data.script_sig, txin.sequence, data.witness)
