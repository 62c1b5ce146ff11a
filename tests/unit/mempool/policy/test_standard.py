"""Standardness of a transaction by itself: every reason, and which one comes first."""

from dataclasses import replace

import pytest

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.policy.standard import is_standard_script, is_standard_tx
from clarion.node.primitives.script import multisig_script, push_data, witness_script
from clarion.node.primitives.transaction import TxOut
from helpers.simple_txs import P2A, P2PKH, coin_of, simple_tx
from helpers.spends import OTHER_KEY, PUBKEY

OPTIONS = MempoolOptions()
KEYS = [PUBKEY, OTHER_KEY.public_key.format()] * 2


def data_output(size: int) -> TxOut:
    """Return an OP_RETURN output whose script has `size` bytes."""
    return TxOut(0, b"\x6a\x4e" + (size - 6).to_bytes(4, "little") + bytes(size - 6))


@pytest.mark.parametrize("version", [0, 4, 0xFFFFFFFF])
def test_unknown_versions(version: int) -> None:
    assert is_standard_tx(simple_tx([coin_of(1)], version=version), OPTIONS) == "version"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_standard_versions(version: int) -> None:
    assert is_standard_tx(simple_tx([coin_of(1)], version=version), OPTIONS) is None


def test_weight_limit() -> None:
    witness = bytes(400_000 - simple_tx([coin_of(1)], witness=(bytes(70_000),)).weight + 70_000)
    fitting = simple_tx([coin_of(1)], witness=(witness,))
    assert fitting.weight == 400_000
    assert is_standard_tx(fitting, OPTIONS) is None
    assert is_standard_tx(simple_tx([coin_of(1)], witness=(witness + b"\0",)), OPTIONS) == "tx-size"


def test_script_sig_size_and_pushes() -> None:
    longest = push_data(bytes(519)) * 3 + push_data(bytes(82))
    assert len(longest) == 1650
    assert is_standard_tx(simple_tx([coin_of(1)], script_sig=longest), OPTIONS) is None
    assert is_standard_tx(simple_tx([coin_of(1)], script_sig=longest + b"\0"), OPTIONS) == "scriptsig-size"
    assert is_standard_tx(simple_tx([coin_of(1)], script_sig=b"\x76"), OPTIONS) == "scriptsig-not-pushonly"


@pytest.mark.parametrize(
    ("script", "standard"),
    [
        (P2PKH, True),
        (P2A, True),
        (witness_script(2, bytes(32)), True),
        (witness_script(0, bytes(21)), False),
        (b"\x51", False),
        (b"", False),
        (b"\x6a", True),
        (b"\x6a\x76", False),
        (multisig_script(1, KEYS[:3]), True),
        (multisig_script(1, KEYS), False),
        (multisig_script(0, KEYS[:1]), False),
        (multisig_script(2, KEYS[:1]), False),
    ],
)
def test_scripts(script: bytes, standard: bool) -> None:
    assert is_standard_script(script) is standard
    reason = is_standard_tx(simple_tx([coin_of(1)], [TxOut(50_000, script)]), OPTIONS)
    assert (reason is None) is standard
    assert reason in (None, "scriptpubkey")


def test_data_is_counted_over_all_outputs() -> None:
    options = replace(OPTIONS, max_datacarrier_bytes=83)
    two = [data_output(43), data_output(40)]
    assert is_standard_tx(simple_tx([coin_of(1)], two), options) is None
    assert is_standard_tx(simple_tx([coin_of(1)], [*two, TxOut(0, b"\x6a")]), options) == "datacarrier"
    assert is_standard_tx(simple_tx([coin_of(1)], two), replace(OPTIONS, max_datacarrier_bytes=None)) == "datacarrier"


def test_bare_multisig_can_be_refused() -> None:
    tx = simple_tx([coin_of(1)], [TxOut(50_000, multisig_script(1, KEYS[:1]))])
    assert is_standard_tx(tx, OPTIONS) is None
    assert is_standard_tx(tx, replace(OPTIONS, permit_bare_multisig=False)) == "bare-multisig"


def test_one_dust_output_may_be_ephemeral() -> None:
    assert is_standard_tx(simple_tx([coin_of(1)], [0, 50_000]), OPTIONS) is None
    assert is_standard_tx(simple_tx([coin_of(1)], [0, 293, 50_000]), OPTIONS) == "dust"
    assert is_standard_tx(simple_tx([coin_of(1)], [0, 0]), replace(OPTIONS, dust_relay_feerate=FeeRate(0))) is None


def test_the_first_reason_counts() -> None:
    outputs = [TxOut(0, multisig_script(1, KEYS[:1])), TxOut(0, b"\x6a"), TxOut(0, b"\x51")]
    strict = replace(OPTIONS, permit_bare_multisig=False, max_datacarrier_bytes=None)
    assert is_standard_tx(simple_tx([coin_of(1)], outputs), strict) == "bare-multisig"
    assert is_standard_tx(simple_tx([coin_of(1)], outputs[1:]), strict) == "datacarrier"
    assert is_standard_tx(simple_tx([coin_of(1)], outputs[2:]), strict) == "scriptpubkey"
