"""PSBTs as JSON.

Owns: the members of `decodepsbt`'s answer. Never: reading the bytes.
"""

from collections.abc import Mapping
from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.render.script import script_pubkey_json, script_sig_json
from clarion.api.render.transaction import transaction_json
from clarion.node.primitives.address import AddressFormat
from clarion.node.primitives.amounts import money_range
from clarion.node.primitives.asm import SIGHASH_NAMES
from clarion.node.primitives.base58 import encode_base58check
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.key_origin import KeyOrigin, path_text
from clarion.node.primitives.transaction import TxOut
from clarion.node.script.psbt.fields import NO_HASH, split_proprietary
from clarion.node.script.psbt.psbt import Psbt, origin_order, sorted_xpubs
from clarion.node.script.psbt.psbt_input import PREIMAGE_KEYS, PsbtInput, sorted_control_blocks
from clarion.node.script.psbt.psbt_output import PsbtOutput
from clarion.node.script.signing.signature_data import SignerPlace, TapDerivation

_MODIFIABLE_NAMES = ("inputs_modifiable", "outputs_modifiable", "has_sighash_single")


def psbt_json(psbt: Psbt, network: AddressFormat) -> dict[str, Any]:
    """Return a PSBT as `decodepsbt` shows it; only orjson can encode the result."""
    out: dict[str, Any] = {}
    tx = psbt.unsigned_tx() if psbt.number < 2 else None
    if tx is not None:
        out["tx"] = transaction_json(tx, network, include_hex=False)
    out["global_xpubs"] = [
        {"xpub": encode_base58check(xpub), **_origin(origin)}
        for origin in sorted(psbt.xpubs, key=origin_order)
        for xpub in sorted_xpubs(psbt.xpubs[origin])
    ]
    if psbt.number >= 2:
        out["tx_version"] = psbt.tx_version
        if psbt.fallback_lock_time is not None:
            out["fallback_locktime"] = psbt.fallback_lock_time
        out["input_count"] = len(psbt.inputs)
        out["output_count"] = len(psbt.outputs)
        if psbt.modifiable is not None:
            out |= {name: bool(psbt.modifiable >> bit & 1) for bit, name in enumerate(_MODIFIABLE_NAMES)}
    out["psbt_version"] = psbt.number
    out["proprietary"] = _proprietary(psbt.proprietary)
    out["unknown"] = _by_hex(psbt.unknown)
    out["inputs"] = [_input(each, network) for each in psbt.inputs]
    out["outputs"] = [_output(each, network) for each in psbt.outputs]
    fee = _fee(psbt)
    if fee is not None:
        out["fee"] = amount_json(fee)
    return out


def _fee(psbt: Psbt) -> int | None:
    """Return the fee, None if an input's output is not known or an amount can't be."""
    total = 0
    for sign, values in (
        (1, [_shown_utxo(each) for each in psbt.inputs]),
        (-1, [TxOut(each.amount, b"") for each in psbt.outputs]),
    ):
        part = 0
        for output in values:
            if output is None or not money_range(output.value) or not money_range(part + output.value):
                return None
            part += output.value
        total += sign * part
    return total


def _shown_utxo(each: PsbtInput) -> TxOut | None:
    tx = each.non_witness_utxo
    return each.witness_utxo if tx is None else tx.outputs[each.prev_index]


def _by_hex(values: Mapping[bytes, bytes]) -> dict[str, str]:
    return {key.hex(): values[key].hex() for key in sorted(values)}


def _proprietary(values: Mapping[bytes, bytes]) -> list[dict[str, Any]]:
    out = []
    for key in sorted(values):
        identifier, subtype = split_proprietary(key)
        out.append({"identifier": identifier.hex(), "subtype": subtype, "key": key.hex(), "value": values[key].hex()})
    return out


def _origin(origin: KeyOrigin) -> dict[str, str]:
    return {"master_fingerprint": origin.fingerprint.hex(), "path": "m" + path_text(origin.path)}


def _script(script: bytes, network: AddressFormat) -> dict[str, Any]:
    return script_pubkey_json(script, network, include_address=False)


def _derivations(values: Mapping[bytes, KeyOrigin]) -> list[dict[str, str]]:
    return [{"pubkey": pubkey.hex(), **_origin(values[pubkey])} for pubkey in sorted(values)]


def _tap_derivations(values: Mapping[bytes, TapDerivation]) -> list[dict[str, Any]]:
    out = []
    for pubkey in sorted(values):
        hashes, origin = values[pubkey]
        leaf_hashes = [each.hex() for each in sorted(hashes)]
        out.append({"pubkey": pubkey.hex(), **_origin(origin), "leaf_hashes": leaf_hashes})
    return out


def _participants(values: Mapping[bytes, tuple[bytes, ...]]) -> list[dict[str, Any]]:
    return [
        {"aggregate_pubkey": aggregate.hex(), "participant_pubkeys": [key.hex() for key in values[aggregate]]}
        for aggregate in sorted(values)
    ]


def _input(each: PsbtInput, network: AddressFormat) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if each.witness_utxo is not None:
        script = script_pubkey_json(each.witness_utxo.script_pubkey, network)
        out["witness_utxo"] = {"amount": amount_json(each.witness_utxo.value), "scriptPubKey": script}
    if each.non_witness_utxo is not None:
        out["non_witness_utxo"] = transaction_json(each.non_witness_utxo, network, include_hex=False)
    if each.partial_signatures:
        signatures = [each.partial_signatures[key_hash] for key_hash in sorted(each.partial_signatures)]
        out["partial_signatures"] = {made.pubkey.hex(): made.signature.hex() for made in signatures}
    if each.sighash_type is not None:
        out["sighash"] = SIGHASH_NAMES.get(each.sighash_type & 0xFF, "")
    if each.redeem_script:
        out["redeem_script"] = _script(each.redeem_script, network)
    if each.witness_script:
        out["witness_script"] = _script(each.witness_script, network)
    if each.derivations:
        out["bip32_derivs"] = _derivations(each.derivations)
    if each.final_script_sig:
        out["final_scriptSig"] = script_sig_json(each.final_script_sig)
    if each.final_witness:
        out["final_scriptwitness"] = [item.hex() for item in each.final_witness]
    for function in PREIMAGE_KEYS:
        if each.preimages[function]:
            out[f"{function.value}_preimages"] = _by_hex(each.preimages[function])
    if each.version >= 2:
        out |= _version_2_members(each)
    out |= _tap_members(each) | _musig_members(each)
    if each.proprietary:
        out["proprietary"] = _proprietary(each.proprietary)
    if each.unknown:
        out["unknown"] = _by_hex(each.unknown)
    return out


def _version_2_members(each: PsbtInput) -> dict[str, Any]:
    out: dict[str, Any] = {"previous_txid": hash_to_hex(each.prev_txid), "previous_vout": each.prev_index}
    numbers = {"sequence": each.sequence, "time_locktime": each.time_lock, "height_locktime": each.height_lock}
    return out | {name: number for name, number in numbers.items() if number is not None}


def _tap_members(each: PsbtInput) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if each.tap_key_signature:
        out["taproot_key_path_sig"] = each.tap_key_signature.hex()
    if each.tap_script_signatures:
        out["taproot_script_path_sigs"] = [
            {"pubkey": place[0].hex(), "leaf_hash": place[1].hex(), "sig": each.tap_script_signatures[place].hex()}
            for place in sorted(each.tap_script_signatures)
        ]
    if each.tap_scripts:
        out["taproot_scripts"] = [
            {
                "script": script.hex(),
                "leaf_ver": version,
                "control_blocks": [block.hex() for block in sorted_control_blocks(each.tap_scripts[script, version])],
            }
            for script, version in sorted(each.tap_scripts)
        ]
    if each.tap_derivations:
        out["taproot_bip32_derivs"] = _tap_derivations(each.tap_derivations)
    if each.tap_internal_key:
        out["taproot_internal_key"] = each.tap_internal_key.hex()
    if each.tap_merkle_root:
        out["taproot_merkle_root"] = each.tap_merkle_root.hex()
    return out


def _musig_members(each: PsbtInput) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if each.musig_participants:
        out["musig2_participant_pubkeys"] = _participants(each.musig_participants)
    if each.musig_nonces:
        out["musig2_pubnonces"] = _by_signer(each.musig_nonces, "pubnonce")
    if each.musig_partial_signatures:
        out["musig2_partial_sigs"] = _by_signer(
            # The reference keeps them as hashes but shows them as they are.
            each.musig_partial_signatures,
            "partial_sig",
        )
    return out


def _by_signer(places: Mapping[SignerPlace, Mapping[bytes, bytes]], name: str) -> list[dict[str, str]]:
    out = []
    for aggregate, leaf_hash in sorted(places):
        values = places[aggregate, leaf_hash]
        for participant in sorted(values):
            entry = {"participant_pubkey": participant.hex(), "aggregate_pubkey": aggregate.hex()}
            if leaf_hash != NO_HASH:
                entry["leaf_hash"] = leaf_hash.hex()
            out.append({**entry, name: values[participant].hex()})
    return out


def _output(each: PsbtOutput, network: AddressFormat) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if each.redeem_script:
        out["redeem_script"] = _script(each.redeem_script, network)
    if each.witness_script:
        out["witness_script"] = _script(each.witness_script, network)
    if each.derivations:
        out["bip32_derivs"] = _derivations(each.derivations)
    if each.version >= 2:
        out["amount"] = amount_json(each.amount)
        out["script"] = script_pubkey_json(each.script, network)
    if each.tap_internal_key:
        out["taproot_internal_key"] = each.tap_internal_key.hex()
    if each.tap_tree:
        out["taproot_tree"] = [
            {"depth": leaf.depth, "leaf_ver": leaf.version, "script": leaf.script.hex()} for leaf in each.tap_tree
        ]
    if each.tap_derivations:
        out["taproot_bip32_derivs"] = _tap_derivations(each.tap_derivations)
    if each.musig_participants:
        out["musig2_participant_pubkeys"] = _participants(each.musig_participants)
    if each.proprietary:
        out["proprietary"] = _proprietary(each.proprietary)
    if each.unknown:
        out["unknown"] = _by_hex(each.unknown)
    return out
