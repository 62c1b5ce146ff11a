"""What a PSBT still lacks, and who has to go on with it.

Owns: the state of each input, and the transaction with signatures of the right sizes. Never: fees a byte, RPC.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from clarion.node.primitives.amounts import money_range
from clarion.node.primitives.script import is_unspendable
from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.psbt.psbt import Psbt
from clarion.node.script.psbt.signing import (
    Outcome,
    extract_transaction,
    is_signed_well,
    sign_input,
    transaction_data,
)
from clarion.node.script.sighash import PrecomputedTxData
from clarion.node.script.signing.provider import FlatSigningProvider
from clarion.node.script.signing.signature_data import Missing


class Role(IntEnum):
    """Who does something with a PSBT, in the order in which they do it."""

    CREATOR = 0
    UPDATER = 1
    SIGNER = 2
    FINALIZER = 3
    EXTRACTOR = 4


@dataclass(slots=True)
class InputState:
    """Where an input stands. `next` goes on with it."""

    has_utxo: bool = False
    is_final: bool = False
    next: Role = Role.CREATOR
    missing: Missing = field(default_factory=Missing)


@dataclass(slots=True)
class PsbtState:
    """Where a PSBT stands. With `error` it is of no use, and nothing else is known.

    `estimate` is the transaction with made-up signatures where they could be made, `spent` the outputs that it spends.
    """

    inputs: list[InputState] = field(default_factory=list)
    next: Role = Role.EXTRACTOR
    fee_sat: int | None = None
    estimate: Transaction | None = None
    spent: list[TxOut] = field(default_factory=list)
    error: str = ""


def analyze_psbt(psbt: Psbt) -> PsbtState:
    """Return where a PSBT stands, which is left as it is."""
    psbt = psbt.copy()
    txdata = transaction_data(psbt)
    if txdata is None:
        return _useless("PSBT cannot be made into a valid transaction")
    state = PsbtState()
    total_in = 0
    for index, each in enumerate(psbt.inputs):
        output = each.utxo()
        if output is not None:
            if not money_range(output.value) or not money_range(total_in + output.value):
                return _useless(f"PSBT is not valid. Input {index} has invalid value")
            total_in += output.value
            state.spent.append(output)
            if is_unspendable(output.script_pubkey):
                return _useless(f"PSBT is not valid. Input {index} spends unspendable output")
        state.inputs.append(_input_state(psbt, index, txdata, output))
    state.next = min([each.next for each in state.inputs], default=Role.EXTRACTOR)
    if len(state.spent) == len(psbt.inputs):
        return _with_fee(psbt, state, txdata, total_in)
    return state


def _useless(error: str) -> PsbtState:
    return PsbtState(next=Role.CREATOR, error=error)


def _input_state(psbt: Psbt, index: int, txdata: PrecomputedTxData, output: TxOut | None) -> InputState:
    state = InputState(has_utxo=output is not None)
    if is_signed_well(psbt, index, txdata):
        state.is_final, state.next = True, Role.EXTRACTOR
        return state
    outcome = sign_input(FlatSigningProvider(), psbt, index, txdata, missing=state.missing)
    lacks = state.missing
    if outcome is Outcome.COMPLETE:
        # The signatures that a multisig can do without are not missing.
        state.next, state.missing = Role.FINALIZER, Missing()
    elif lacks.signatures and not (lacks.pubkeys or lacks.redeem_script or lacks.witness_script):
        state.next = Role.SIGNER
    else:
        state.next = Role.UPDATER
    return state


def _with_fee(psbt: Psbt, state: PsbtState, txdata: PrecomputedTxData, total_in: int) -> PsbtState:
    total_out = 0
    for output in psbt.outputs:
        total_out += output.amount
        if not money_range(output.amount) or not money_range(total_out):
            return _useless("PSBT is not valid. Output amount invalid")
    state.fee_sat = total_in - total_out
    # Whether taproot signatures that are there are right can't be told without the outputs that they commit to.
    blind = PrecomputedTxData(txdata.tx)
    nobody = FlatSigningProvider()
    for index in range(len(psbt.inputs)):
        if sign_input(nobody, psbt, index, blind, made_up=True) is not Outcome.COMPLETE:
            return state
    state.estimate = extract_transaction(psbt)
    return state
