"""What updaters, signers and finalizers do with a PSBT's inputs and outputs.

Owns: the way of one input from what is known to its final script and witness. Never: keys, or finding outputs.
"""

from enum import Enum

from clarion.node.primitives.descriptor_findings import TapOutput
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.keys import is_valid_xonly
from clarion.node.primitives.script import is_p2tr, witness_program
from clarion.node.primitives.taproot_tree import build_tap_tree
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.psbt.psbt import Psbt
from clarion.node.script.psbt.psbt_input import PsbtInput
from clarion.node.script.psbt.psbt_output import PsbtOutput
from clarion.node.script.sighash import SIGHASH_ALL, SIGHASH_ANYONECANPAY, SIGHASH_DEFAULT, PrecomputedTxData
from clarion.node.script.signing.creator import DummyCreator, PartialDataChecker, SignatureCreator
from clarion.node.script.signing.producer import produce_signature
from clarion.node.script.signing.provider import FlatSigningProvider, SigningProvider
from clarion.node.script.signing.signature_data import Missing, SignatureData
from clarion.node.script.verify import verify_script

_TAP_SIGNATURE_SIZE = 64


class Outcome(Enum):
    """What became of an input."""

    COMPLETE = 0
    INCOMPLETE = 1
    NO_OUTPUT = 2
    SIGHASH_MISMATCH = 3


def transaction_data(psbt: Psbt) -> PrecomputedTxData | None:
    """Return what signatures of all inputs share, None if the PSBT can't be made into a transaction."""
    tx = psbt.unsigned_tx()
    if tx is None:
        return None
    found = [each.utxo() for each in psbt.inputs]
    spent = [output for output in found if output is not None]
    return PrecomputedTxData(tx, spent if len(spent) == len(found) else None)


def is_signed_well(psbt: Psbt, index: int, txdata: PrecomputedTxData) -> bool:
    """Whether the final script and witness of an input are valid by policy's rules."""
    each = psbt.inputs[index]
    output = each.utxo()
    if output is None:
        return False
    checker = PartialDataChecker(txdata, index, output.value)
    flags = STANDARD_SCRIPT_VERIFY_FLAGS
    return verify_script(each.final_script_sig, output.script_pubkey, each.final_witness, flags, checker) is None


def sign_input(
    provider: SigningProvider,
    psbt: Psbt,
    index: int,
    txdata: PrecomputedTxData,
    *,
    sighash_type: int | None = None,
    finalize: bool = True,
    made_up: bool = False,
    missing: Missing | None = None,
) -> Outcome:
    """Add to an input what `provider` knows and can sign; with `finalize` a solved input gets its final script.

    `made_up` signatures are for sizes. `missing` is told what was not found.
    """
    each = psbt.inputs[index]
    if is_signed_well(psbt, index, txdata):
        return Outcome.COMPLETE
    data = _data_of_input(each)
    output = each.utxo()
    if output is None:
        return Outcome.NO_OUTPUT
    sighash = _chosen_sighash(each, output, sighash_type)
    if sighash is None:
        return Outcome.SIGHASH_MISMATCH
    creator = DummyCreator() if made_up else SignatureCreator(txdata, index, output.value, sighash)
    data.has_witness = False
    solved = produce_signature(provider, creator, output.script_pubkey, data)
    # An output alone proves nothing about the transaction that made it; only witnesses commit to what it says.
    if each.non_witness_utxo is None and not data.has_witness:
        return Outcome.INCOMPLETE
    if not finalize:
        data.complete = False
    _update_input(each, data)
    if data.has_witness:
        each.witness_utxo = output
    if missing is not None:
        missing.pubkeys, missing.signatures = data.missing.pubkeys, data.missing.signatures
        missing.redeem_script, missing.witness_script = data.missing.redeem_script, data.missing.witness_script
    return Outcome.COMPLETE if solved else Outcome.INCOMPLETE


def _chosen_sighash(each: PsbtInput, output: TxOut, wanted: int | None) -> int | None:
    """Return the hash type to sign with, None if the input or a signature there asks for another one."""
    taproot = is_p2tr(output.script_pubkey)
    sighash = wanted if wanted is not None else SIGHASH_DEFAULT if taproot else SIGHASH_ALL
    if each.sighash_type is not None and each.sighash_type != sighash:
        return None
    if sighash != SIGHASH_DEFAULT and (taproot or sighash != SIGHASH_ALL):
        each.sighash_type = sighash
    tap_signatures = [*each.tap_script_signatures.values()]
    if each.tap_key_signature:
        tap_signatures.append(each.tap_key_signature)
    if sighash == SIGHASH_DEFAULT:
        fits = all(len(signature) == _TAP_SIGNATURE_SIZE for signature in tap_signatures)
    else:
        fits = all(len(found) == _TAP_SIGNATURE_SIZE + 1 and found[-1] == sighash for found in tap_signatures)
        fits = fits and all(found.signature[-1] == sighash for found in each.partial_signatures.values())
    return sighash if fits else None


def _data_of_input(each: PsbtInput) -> SignatureData:
    if each.is_signed:
        return SignatureData(complete=True, script_sig=each.final_script_sig, witness=each.final_witness)
    return SignatureData(
        redeem_script=each.redeem_script,
        witness_script=each.witness_script,
        key_path_signature=each.tap_key_signature,
        signatures=dict(each.partial_signatures),
        origins={hash160(pubkey): (pubkey, each.derivations[pubkey]) for pubkey in sorted(each.derivations)},
        tap_internal_key=each.tap_internal_key,
        tap_merkle_root=each.tap_merkle_root,
        tap_scripts=dict(each.tap_scripts),
        tap_signatures=dict(each.tap_script_signatures),
        tap_derivations=dict(each.tap_derivations),
        tap_pubkeys={hash160(pubkey): pubkey for pubkey in each.tap_derivations},
        preimages=each.preimages,
        participants=dict(each.musig_participants),
        musig_nonces=each.musig_nonces,
        musig_partial_signatures=each.musig_partial_signatures,
    )


def _update_input(each: PsbtInput, data: SignatureData) -> None:
    if data.complete:
        each.partial_signatures, each.derivations = {}, {}
        each.redeem_script = each.witness_script = b""
        each.final_script_sig = data.script_sig or each.final_script_sig
        each.final_witness = data.witness or each.final_witness
        return
    each.partial_signatures = data.signatures | each.partial_signatures
    each.redeem_script = each.redeem_script or data.redeem_script
    each.witness_script = each.witness_script or data.witness_script
    each.derivations = dict(data.origins.values()) | each.derivations
    each.tap_key_signature = data.key_path_signature or each.tap_key_signature
    each.tap_script_signatures = data.tap_signatures | each.tap_script_signatures
    each.tap_internal_key = data.tap_internal_key or each.tap_internal_key
    each.tap_merkle_root = data.tap_merkle_root or each.tap_merkle_root
    each.tap_scripts = data.tap_scripts | each.tap_scripts
    each.tap_derivations = data.tap_derivations | each.tap_derivations
    each.musig_participants = data.participants | each.musig_participants


def update_output(provider: SigningProvider, output: PsbtOutput, txdata: PrecomputedTxData) -> None:
    """Add to an output what `provider`, which has no private keys, knows of its scripts and keys."""
    data = _data_of_output(output)
    # As if it were spent, which asks for everything that a spender needs to know.
    spender = SignatureCreator(txdata, 0, output.amount, SIGHASH_ALL)
    produce_signature(provider, spender, output.script, data)
    output.redeem_script = output.redeem_script or data.redeem_script
    output.witness_script = output.witness_script or data.witness_script
    output.derivations = dict(data.origins.values()) | output.derivations
    output.tap_internal_key = data.tap_internal_key or output.tap_internal_key
    if data.tap_tree is not None and data.tap_tree.leaves:
        output.tap_tree = tuple([leaf for leaf, _ in data.tap_tree.leaves])
    output.tap_derivations = data.tap_derivations | output.tap_derivations
    output.musig_participants = data.participants | output.musig_participants


def _data_of_output(output: PsbtOutput) -> SignatureData:
    data = SignatureData(
        redeem_script=output.redeem_script,
        witness_script=output.witness_script,
        origins={hash160(pubkey): (pubkey, output.derivations[pubkey]) for pubkey in sorted(output.derivations)},
        tap_derivations=dict(output.tap_derivations),
        tap_pubkeys={hash160(pubkey): pubkey for pubkey in output.tap_derivations},
        participants=dict(output.musig_participants),
    )
    tree = build_tap_tree(output.tap_tree) if output.tap_tree else None
    if tree is not None and is_valid_xonly(output.tap_internal_key):
        data.learn_output(TapOutput(output.tap_internal_key, tree))
    return data


def finalize_psbt(psbt: Psbt) -> bool:
    """Give final scripts to all inputs that are solved; return whether all are."""
    txdata = transaction_data(psbt)
    if txdata is None:
        return False
    nobody = FlatSigningProvider()
    outcomes = [
        sign_input(nobody, psbt, index, txdata, sighash_type=each.sighash_type)
        for index, each in enumerate(psbt.inputs)
    ]
    return all(outcome is Outcome.COMPLETE for outcome in outcomes)


def extract_transaction(psbt: Psbt) -> Transaction:
    """Return the transaction of a PSBT whose inputs are final."""
    tx = psbt.unsigned_tx()
    assert tx is not None, "a final PSBT has a transaction"
    inputs = [
        TxIn(txin.prevout, each.final_script_sig, txin.sequence, each.final_witness)
        for txin, each in zip(tx.inputs, psbt.inputs, strict=True)
    ]
    return Transaction(tx.version, inputs, tx.outputs, tx.lock_time)


def drop_needless_transactions(psbt: Psbt) -> None:
    """Leave the spent transactions out where all inputs are of witness versions whose signatures commit to all outputs
    that are spent."""
    for each in psbt.inputs:
        program = None if each.witness_utxo is None else witness_program(each.witness_utxo.script_pubkey)
        if program is None or program[0] == 0:
            return
        if each.sighash_type is not None and each.sighash_type & SIGHASH_ANYONECANPAY:
            return
    for each in psbt.inputs:
        each.non_witness_utxo = None
