"""Signature hashes: the examples of BIP143, the SIGHASH_SINGLE bug, caches and refusals."""

import pytest

from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.sighash import (
    PrecomputedTxData,
    SighashCache,
    legacy_sighash,
    taproot_sighash,
    witness_v0_sighash,
)
from helpers.spends import p2tr_key_path, p2wpkh

# BIP143, "Native P2WPKH".
_BIP143_TX = (
    "0100000002fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f0000000000eeffffffef51e1b804cc89d182d2"
    "79655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df378db99f66f85c9"
    "5a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac11000000"
)
_BIP143_CODE = "76a9141d0f172a0ecb48aee1be1f2687d2963ae33f71a188ac"

_BIP143_HASH = "c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670"

HASH_TYPES = [0, 1, 2, 3, 4, 0x1F, 0x41, 0x80, 0x81, 0x82, 0x83, 0xC2, 0xFF, -1, 0x1_0000]


def test_bip143_example() -> None:
    txdata = PrecomputedTxData(Transaction.parse(bytes.fromhex(_BIP143_TX)))
    digest = witness_v0_sighash(txdata, 1, bytes.fromhex(_BIP143_CODE), 600_000_000, 1)
    assert digest.hex() == _BIP143_HASH


@pytest.mark.parametrize("hash_type", [3, 0x83, 0x43])
def test_single_without_output_signs_the_number_one(hash_type: int) -> None:
    spend = p2wpkh()
    tx = Transaction(2, spend.tx.inputs, spend.tx.outputs[:1])
    txdata = PrecomputedTxData(tx, spend.spent)
    assert legacy_sighash(txdata, 1, b"\xac", hash_type) == b"\x01" + bytes(31)
    assert witness_v0_sighash(txdata, 1, b"\xac", 0, hash_type) != b"\x01" + bytes(31)


@pytest.mark.parametrize("hash_type", HASH_TYPES)
def test_caches_change_nothing(hash_type: int) -> None:
    txdata = p2wpkh().txdata
    cache, v0_cache = SighashCache(), SighashCache()
    for other in (*HASH_TYPES, hash_type, hash_type):
        legacy_sighash(txdata, 0, b"\xab\xac", other, cache)
        witness_v0_sighash(txdata, 0, b"\xab\xac", 7, other, v0_cache)
    fresh = p2wpkh().txdata
    assert legacy_sighash(txdata, 0, b"\xab\xac", hash_type, cache) == legacy_sighash(fresh, 0, b"\xab\xac", hash_type)
    assert legacy_sighash(txdata, 0, b"\xac\xac", hash_type, cache) == legacy_sighash(fresh, 0, b"\xac\xac", hash_type)
    expected = witness_v0_sighash(fresh, 0, b"\xab\xac", 7, hash_type)
    assert witness_v0_sighash(txdata, 0, b"\xab\xac", 7, hash_type, v0_cache) == expected


def test_hash_type_is_hashed_whole() -> None:
    txdata = p2wpkh().txdata
    digests = {legacy_sighash(txdata, 0, b"\xac", hash_type) for hash_type in HASH_TYPES}
    assert len(digests) == len(HASH_TYPES)


@pytest.mark.parametrize("hash_type", [4, 0x7F, 0x80, 0x84, 0xFF])
def test_taproot_knows_seven_hash_types(hash_type: int) -> None:
    assert taproot_sighash(p2tr_key_path().txdata, 0, hash_type) is None


def test_taproot_single_needs_its_output() -> None:
    spend = p2tr_key_path()
    txdata = PrecomputedTxData(Transaction(2, spend.tx.inputs, spend.tx.outputs[:1]), spend.spent)
    assert taproot_sighash(txdata, 0, 3) is not None
    assert taproot_sighash(txdata, 1, 3) is None


def test_taproot_commits_to_all_spent_outputs() -> None:
    spend = p2tr_key_path()
    other = PrecomputedTxData(spend.tx, [spend.spent[0], TxOut(spend.spent[1].value + 1, b"\x51")])
    assert taproot_sighash(spend.txdata, 0, 0) != taproot_sighash(other, 0, 0)
    assert taproot_sighash(spend.txdata, 0, 0x81) == taproot_sighash(other, 0, 0x81)
    with pytest.raises(ValueError, match="spent outputs"):
        taproot_sighash(PrecomputedTxData(spend.tx), 0, 0)
