"""The vectors of BIP340 (Schnorr signatures) and BIP341 (outputs, signature hashes and key path spends)."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clarion.node.primitives.address import SecretKey
from clarion.node.primitives.descriptor_findings import TapOutput
from clarion.node.primitives.taproot_tree import TapTree, tapbranch_hash, tapleaf_hash
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.sighash import SIGHASH_DEFAULT, PrecomputedTxData, taproot_sighash
from clarion.node.script.signatures import taproot_output_key, taproot_tweak, verify_schnorr
from clarion.node.script.signing.creator import SignatureCreator
from clarion.node.script.signing.producer import produce_signature
from clarion.node.script.signing.provider import FlatSigningProvider
from clarion.node.script.signing.signature_data import SignatureData
from clarion.node.script.verify import verify_input
from clarion.node.script.witness import taproot_merkle_root
from helpers.counts import RecordCount


def test_bip340_csv(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    with shared_path("vectors", "bips", "bip-0340-test-vectors.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    wrong = []
    for row in rows:
        signature, key, message = (bytes.fromhex(row[name]) for name in ("signature", "public key", "message"))
        if verify_schnorr(signature, key, message) != (row["verification result"] == "TRUE"):
            wrong.append(f"{row['index']}: {row['comment']}")
    record_count("bip-0340-test-vectors.csv", len(rows) - len(wrong), len(rows))
    assert not wrong
    assert len(rows) == 19


def _load(shared_path: Callable[..., Path]) -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads(
        shared_path("vectors", "bips", "bip-0341-wallet-test-vectors.json").read_text()
    )
    return vectors


def _leaves(tree: Any) -> list[tuple[int, bytes]]:
    if tree is None:
        return []
    if isinstance(tree, list):
        return [leaf for branch in tree for leaf in _leaves(branch)]
    return [(tree["leafVersion"], bytes.fromhex(tree["script"]))]


def _root(tree: Any) -> bytes:
    if isinstance(tree, list):
        return tapbranch_hash(_root(tree[0]), _root(tree[1]))
    return tapleaf_hash(tree["leafVersion"], bytes.fromhex(tree["script"])) if tree else b""


def _output_is_right(vector: dict[str, Any]) -> bool:
    given, between, expected = vector["given"], vector["intermediary"], vector["expected"]
    internal_key = bytes.fromhex(given["internalPubkey"])
    root = _root(given["scriptTree"])
    output = taproot_output_key(internal_key, root)
    assert output is not None
    controls = [bytes.fromhex(control) for control in expected.get("scriptPathControlBlocks", [])]
    hashes = [tapleaf_hash(*leaf) for leaf in _leaves(given["scriptTree"])]
    return (
        root.hex() == (between["merkleRoot"] or "")
        and taproot_tweak(internal_key, root).hex() == between["tweak"]
        and "5120" + output[0].hex() == expected["scriptPubKey"]
        and [value.hex() for value in hashes] == between.get("leafHashes", [])
        and all(
            taproot_merkle_root(control, leaf) == root and control[0] & 1 == output[1]
            for control, leaf in zip(controls, hashes, strict=True)
        )
    )


def test_bip341_outputs(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    vectors = _load(shared_path)["scriptPubKey"]
    wrong = [at for at, vector in enumerate(vectors) if not _output_is_right(vector)]
    record_count("bip-0341 scriptPubKey", len(vectors) - len(wrong), len(vectors))
    assert not wrong


def _key_path_inputs(vector: dict[str, Any]) -> list[tuple[dict[str, Any], Transaction, list[TxOut]]]:
    unsigned = Transaction.parse(bytes.fromhex(vector["given"]["rawUnsignedTx"]))
    spent = [TxOut(o["amountSats"], bytes.fromhex(o["scriptPubKey"])) for o in vector["given"]["utxosSpent"]]
    spends = []
    for spending in vector["inputSpending"]:
        inputs = list(unsigned.inputs)
        own = inputs[spending["given"]["txinIndex"]]
        witness = tuple(bytes.fromhex(item) for item in spending["expected"]["witness"])
        inputs[spending["given"]["txinIndex"]] = TxIn(own.prevout, b"", own.sequence, witness)
        spends.append((spending, Transaction(unsigned.version, inputs, unsigned.outputs, unsigned.lock_time), spent))
    return spends


def test_bip341_key_path(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    spends = [spend for vector in _load(shared_path)["keyPathSpending"] for spend in _key_path_inputs(vector)]
    wrong = []
    for spending, tx, spent in spends:
        index, hash_type = spending["given"]["txinIndex"], spending["given"]["hashType"]
        digest = taproot_sighash(PrecomputedTxData(tx, spent), index, hash_type)
        assert digest is not None
        passes = verify_input(tx, index, spent, STANDARD_SCRIPT_VERIFY_FLAGS) is None
        if digest.hex() != spending["intermediary"]["sigHash"] or not passes:
            wrong.append(index)
    record_count("bip-0341 keyPathSpending", len(spends) - len(wrong), len(spends))
    assert not wrong
    assert any(spending["given"]["hashType"] == SIGHASH_DEFAULT for spending, _, _ in spends)


def test_bip341_key_path_signed_again(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    spends = [spend for vector in _load(shared_path)["keyPathSpending"] for spend in _key_path_inputs(vector)]
    passed = 0
    for spending, tx, spent in spends:
        given = spending["given"]
        provider = FlatSigningProvider()
        provider.add_secret(SecretKey(bytes.fromhex(given["internalPrivkey"]), True))
        output = spent[given["txinIndex"]].script_pubkey
        internal_key = bytes.fromhex(spending["intermediary"]["internalPubkey"])
        provider.taproots[output[2:]] = TapOutput(internal_key, TapTree(bytes.fromhex(given["merkleRoot"] or "")))
        creator = SignatureCreator(PrecomputedTxData(tx, spent), given["txinIndex"], 0, given["hashType"])
        data = SignatureData()
        assert produce_signature(provider, creator, output, data)
        passed += [item.hex() for item in data.witness] == spending["expected"]["witness"]
    record_count("bip-0341 keyPathSpending, signed", passed, len(spends))
    assert passed == len(spends)
