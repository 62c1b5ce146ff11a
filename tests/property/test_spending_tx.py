"""The pieces of a transaction and their signature hashes are those of the decoded transaction."""

import random

import pytest

from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.coin import encode_outputs
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.sighash import PrecomputedTxData, legacy_sighash, taproot_sighash, witness_v0_sighash
from clarion.node.script.spending_tx import SpendingTx

_SIZES = [0, 1, 22, 34, 252, 253, 300, 65_535, 65_536]


def _bytes(source: random.Random) -> bytes:
    return source.randbytes(source.choice(_SIZES[: 4 if source.randrange(8) else None]))


def _inputs(source: random.Random) -> list[TxIn]:
    has_witness = source.randrange(2)
    inputs = []
    for _ in range(source.choice([1, 1, 2, 3, 253, 300])):
        witness = tuple(_bytes(source) for _ in range(source.choice([0, 1, 2, 4]))) if has_witness else ()
        inputs.append(TxIn(OutPoint(source.randbytes(36)), _bytes(source), source.randrange(1 << 32), witness))
    return inputs


def _outputs(source: random.Random, count: int) -> list[TxOut]:
    return [TxOut(source.randrange(-(1 << 63), 1 << 63), _bytes(source)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(40))
def test_pieces_and_hashes(seed: int) -> None:
    source = random.Random(seed)
    outputs = _outputs(source, source.choice([0, 1, 2, 252, 253]))
    tx = Transaction(source.randrange(1 << 32), _inputs(source), outputs, source.randrange(1 << 32))
    spent = _outputs(source, len(tx.inputs))
    data = PrecomputedTxData(tx, spent)
    read, given = SpendingTx(tx.raw), SpendingTx(tx.raw)
    assert read.read_spent(b"??" + encode_outputs(spent) + b"?", 2) == 2 + sum(len(each.serialize()) for each in spent)
    given.set_spent(spent)
    assert (read.scripts, read.amounts) == (given.scripts, given.amounts)
    assert read.script_sigs == [txin.script_sig for txin in tx.inputs]
    assert [tuple(stack) for stack in read.witnesses] == [txin.witness for txin in tx.inputs]
    for index in {0, len(tx.inputs) // 2, len(tx.inputs) - 1}:
        code = bytes(25)
        assert read.legacy_digest(index, var_bytes(code)) == legacy_sighash(data, index, code, 1)
        value = spent[index].value
        assert read.v0_digest(index, var_bytes(code)) == witness_v0_sighash(data, index, code, value, 1)
        for hash_type in (0, 1):
            assert read.taproot_digest(index, hash_type) == taproot_sighash(data, index, hash_type)
