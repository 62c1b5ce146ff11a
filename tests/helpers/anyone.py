"""Standard outputs that anybody may spend, for tests that fill a node's mempool without keys.

Owns: the script, its descriptor and transactions that spend it. Never: a node.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clarion.node.primitives.hashes import sha256
from clarion.node.primitives.ids import OutPoint, hash_from_hex, make_outpoint
from clarion.node.primitives.script import witness_script
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.node import Node

WITNESS_SCRIPT = b"\x51"
SCRIPT = witness_script(0, sha256(WITNESS_SCRIPT))
DESCRIPTOR = f"raw({SCRIPT.hex()})"
FEE_SAT = 1_000
MATURITY = 100


class Money(NamedTuple):
    """An unspent output that pays SCRIPT."""

    outpoint: OutPoint
    value: int


def mine(node: Node, count: int = 1) -> list[str]:
    """Mine blocks that pay SCRIPT and return their hashes."""
    return list(node.rpc("generatetodescriptor", count, DESCRIPTOR))


def mine_money(node: Node, count: int) -> list[Money]:
    """Mine `count` coinbases and as many blocks that they are mature, and return them, oldest first."""
    hashes = mine(node, count + MATURITY)[:count]
    blocks = [node.rpc("getblock", block_hash, 2) for block_hash in hashes]
    return [
        Money(make_outpoint(hash_from_hex(coinbase["txid"]), 0), int(coinbase["vout"][0]["value"] * 100_000_000))
        for coinbase in (block["tx"][0] for block in blocks)
    ]


def spend(
    money: Sequence[Money], *, fee_sat: int = FEE_SAT, outputs: int = 1, sequence: int = 0xFFFFFFFD
) -> Transaction:
    """Return a transaction that spends all of `money` to `outputs` equal outputs."""
    share = (sum(each.value for each in money) - fee_sat) // outputs
    inputs = [TxIn(each.outpoint, b"", sequence, (WITNESS_SCRIPT,)) for each in money]
    return Transaction(2, inputs, [TxOut(share, SCRIPT)] * outputs)


def made_by(tx: Transaction, index: int = 0) -> Money:
    """Return an output of such a transaction."""
    return Money(make_outpoint(tx.txid, index), tx.outputs[index].value)


def send(node: Node, tx: Transaction) -> str:
    """Offer a transaction to the node's mempool and return its txid. Raises RpcFailure."""
    return str(node.rpc("sendrawtransaction", tx.raw.hex(), 0))
