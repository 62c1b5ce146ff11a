"""utxoupdatepsbt, descriptorprocesspsbt, analyzepsbt and finalizepsbt over outputs of a chain."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.psbt.psbt import Psbt, parse_psbt
from clarion.node.script.verify import verify_input
from helpers.api_stack import ApiStack

ADDRESS = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"
WIF = "cP53pDbR5WtAD8dYAW9hhTjuvvTVaEiQBdrz9XPrgLBeRFiyCbQr"
OTHER_WIF = "cR6SXDoyfQrcp4piaiHE97Rsgta9mNhGTen9XeonVgwsh4iSgw6d"
PUBKEY = "029583bf39ae0a609747ad199addd634fa6108559d6c5cd39b4c2183f1ab96e07f"
NOBODY = "50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0"
XPRV = "tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK"
# Descriptors without range, and how many witness items spend their outputs.
SPENDABLE = {
    "wpkh": (f"wpkh({WIF})", 2),
    "sh-wpkh": (f"sh(wpkh({XPRV}/1/2))", 2),
    "wsh-multi": (f"wsh(multi(2,{WIF},{OTHER_WIF}))", 4),
    "sh-wsh": (f"sh(wsh(pkh({WIF})))", 3),
    "miniscript": (f"wsh(or_d(pk({WIF}),and_v(v:pk({OTHER_WIF}),older(1))))", 2),
    "key path": (f"tr({WIF})", 1),
    "key path beside leaves": (f"tr({WIF},pk({OTHER_WIF}))", 1),
    "leaf": (f"tr({NOBODY},pk({WIF}))", 3),
    "smallest leaf": (f"tr({NOBODY},{{multi_a(2,{WIF},{OTHER_WIF}),pk({WIF})}})", 3),
    "leaf of many": (f"tr({NOBODY},and_v(v:multi_a(1,{WIF},{OTHER_WIF}),older(2)))", 4),
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """Return an API over a chain of its own."""
    stack = ApiStack(tmp_path_factory.mktemp("psbt")).ready()
    yield stack
    stack.close()


def fund(stack: ApiStack, descriptor: str) -> dict[str, Any]:
    """Mine to a descriptor and return an input that spends its coin."""
    (block,) = stack.result("generatetodescriptor", 1, descriptor)
    return {"txid": stack.result("getblock", block)["tx"][0], "vout": 0, "sequence": 2}


def create(stack: ApiStack, descriptor: str, version: int = 2) -> str:
    return stack.result("createpsbt", [fund(stack, descriptor)], {ADDRESS: 1}, 0, None, 2, version)


def public(stack: ApiStack, descriptor: str) -> str:
    return stack.result("getdescriptorinfo", descriptor)["descriptor"]


def parse(text: str) -> Psbt:
    return parse_psbt(base64.b64decode(text))


def spends(hex_: str, spent: TxOut) -> bool:
    return verify_input(Transaction.parse(bytes.fromhex(hex_)), 0, [spent], STANDARD_SCRIPT_VERIFY_FLAGS) is None


@pytest.mark.parametrize(("descriptor", "items"), SPENDABLE.values(), ids=SPENDABLE)
def test_updated_signed_and_extracted(stack: ApiStack, descriptor: str, items: int) -> None:
    updated = stack.result("utxoupdatepsbt", create(stack, descriptor), [public(stack, descriptor)])
    assert stack.result("analyzepsbt", updated)["inputs"][0]["has_utxo"]
    signed = stack.result("descriptorprocesspsbt", updated, [descriptor])
    assert signed["complete"]
    final = parse(signed["psbt"]).inputs[0]
    assert len(final.final_witness) == items
    assert final.witness_utxo is not None
    assert spends(signed["hex"], final.witness_utxo)
    assert stack.result("finalizepsbt", signed["psbt"]) == {"hex": signed["hex"], "complete": True}


def test_who_goes_on(stack: ApiStack) -> None:
    descriptor = f"wsh(multi(2,{WIF},{OTHER_WIF}))"
    psbt = create(stack, descriptor)
    assert stack.result("analyzepsbt", psbt)["next"] == "updater"
    updated = stack.result("utxoupdatepsbt", psbt, [public(stack, descriptor)])
    state = stack.result("analyzepsbt", updated)
    assert state["next"] == "signer"
    assert len(state["inputs"][0]["missing"]["signatures"]) == 2
    assert state["fee"] == 49
    assert state["estimated_vsize"] > 100
    signed = stack.result("descriptorprocesspsbt", updated, [descriptor], None, True, False)
    assert not signed["complete"]
    assert stack.result("analyzepsbt", signed["psbt"])["next"] == "finalizer"
    final = stack.result("finalizepsbt", signed["psbt"], False)
    assert final["complete"]
    assert stack.result("analyzepsbt", final["psbt"])["next"] == "extractor"


def test_signatures_of_two_signers_are_combined(stack: ApiStack) -> None:
    multisig = f"wsh(multi(2,{WIF},{OTHER_WIF}))"
    updated = stack.result("utxoupdatepsbt", create(stack, multisig, 0), [public(stack, multisig)])
    halves = [stack.result("descriptorprocesspsbt", updated, [f"pk({key})"]) for key in (WIF, OTHER_WIF)]
    assert [half["complete"] for half in halves] == [False, False]
    combined = stack.result("combinepsbt", [half["psbt"] for half in halves])
    assert stack.result("finalizepsbt", combined)["complete"]


def test_outputs_are_described_too(stack: ApiStack) -> None:
    address = stack.result("deriveaddresses", public(stack, f"tr({NOBODY},pk({WIF}))"))[0]
    psbt = stack.result("createpsbt", [fund(stack, "raw(51)")], {address: 1})
    updated = stack.result("utxoupdatepsbt", psbt, [{"desc": f"tr({NOBODY},pk({PUBKEY}))"}])
    output = stack.result("decodepsbt", updated)["outputs"][0]
    assert output["taproot_internal_key"] == NOBODY
    assert output["taproot_tree"] == [{"depth": 0, "leaf_ver": 192, "script": f"20{PUBKEY[2:]}ac"}]
    assert {entry["pubkey"] for entry in output["taproot_bip32_derivs"]} == {NOBODY, PUBKEY[2:]}


def test_derivations_can_be_left_out(stack: ApiStack) -> None:
    descriptor = f"wpkh({XPRV}/7)"
    psbt = create(stack, descriptor)
    with_paths = stack.result("descriptorprocesspsbt", psbt, [descriptor], None, True, False)["psbt"]
    without = stack.result("descriptorprocesspsbt", psbt, [descriptor], None, False, False)["psbt"]
    assert stack.result("decodepsbt", with_paths)["inputs"][0]["bip32_derivs"][0]["path"] == "m/7"
    assert "bip32_derivs" not in stack.result("decodepsbt", without)["inputs"][0]


def test_another_hash_type_than_the_input_asks_for(stack: ApiStack) -> None:
    descriptor = f"wpkh({WIF})"
    psbt = create(stack, descriptor)
    signed = stack.result("descriptorprocesspsbt", psbt, [descriptor], "ALL|ANYONECANPAY", True, False)["psbt"]
    assert stack.result("decodepsbt", signed)["inputs"][0]["sighash"] == "ALL|ANYONECANPAY"
    message = "Specified sighash value does not match value stored in PSBT"
    assert stack.error("descriptorprocesspsbt", signed, [descriptor], "NONE") == (-22, message)
    assert stack.error("descriptorprocesspsbt", signed, [descriptor], "SOME")[0] == -8


@pytest.mark.parametrize(
    ("descriptors", "code", "message"),
    [
        ([5], -8, "Scan object needs to be either a string or an object"),
        ([{}], -8, "Descriptor needs to be provided in scan object"),
        (["pk(zz)"], -5, "pk(): key 'zz' is not valid"),
    ],
)
def test_refused_descriptors(stack: ApiStack, descriptors: list[Any], code: int, message: str) -> None:
    assert stack.error("utxoupdatepsbt", create(stack, "raw(51)"), descriptors) == (code, message)


def test_unspendable_outputs_and_impossible_amounts(stack: ApiStack) -> None:
    psbt = parse(create(stack, "raw(51)"))
    psbt.inputs[0].witness_utxo = TxOut(1000, b"\x6a")
    text = base64.b64encode(psbt.serialize()).decode()
    error = "PSBT is not valid. Input 0 spends unspendable output"
    assert stack.result("analyzepsbt", text) == {"next": "creator", "error": error}
    psbt.inputs[0].witness_utxo = TxOut(2_200_000_000_000_000, b"\x51")
    text = base64.b64encode(psbt.serialize()).decode()
    assert stack.result("analyzepsbt", text)["error"] == "PSBT is not valid. Input 0 has invalid value"
