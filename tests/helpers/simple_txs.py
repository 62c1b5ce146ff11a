"""Unsigned transactions by their looks, for tests that run no script.

Owns: short ways to write them down. Never: whether they are valid.
"""

from collections.abc import Sequence

from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.script import p2pkh_script, witness_script
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

P2PKH = p2pkh_script(bytes(20))
P2WPKH = witness_script(0, bytes(20))
P2A = bytes.fromhex("51024e73")


def coin_of(number: int) -> OutPoint:
    """Return the outpoint of a confirmed coin that no transaction of a test makes."""
    return make_outpoint(number.to_bytes(32, "big"), 0)


def simple_tx(
    prevouts: Sequence[OutPoint],
    outputs: Sequence[TxOut | int] = (50_000,),
    *,
    version: int = 2,
    sequence: int = 0xFFFFFFFE,
    script_sig: bytes = b"",
    witness: tuple[bytes, ...] = (),
) -> Transaction:
    """Return a transaction whose inputs look all alike; numbers among the outputs pay that many satoshis to a key."""
    inputs = [TxIn(prevout, script_sig, sequence, witness) for prevout in prevouts]
    made = [TxOut(output, P2WPKH) if isinstance(output, int) else output for output in outputs]
    return Transaction(version, inputs, made)


def output_of(tx: Transaction, index: int = 0) -> OutPoint:
    """Return the outpoint of one of its outputs."""
    return make_outpoint(tx.txid, index)
