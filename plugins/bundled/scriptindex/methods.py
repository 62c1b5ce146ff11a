"""The question that API processes ask the node about a script: what the mempool does with it.

Owns: both sides of that question. Never: blocks.
"""

from typing import Any, NamedTuple

from clarion.node.primitives.ids import hash_to_hex, outpoint_index, outpoint_txid
from clarion.plugins.contexts import NodeAccess, ReaderAccess
from clarion.plugins.rpc import RpcMethod


class PoolOutput(NamedTuple):
    """An output of the mempool that nobody spends."""

    txid_hex: str
    vout: int
    value: int


class PoolPart(NamedTuple):
    """What the mempool on top of block `tip` (internal order) does with a script. Hashes and outpoints are as shown."""

    tip: bytes
    transfers: list[dict[str, Any]]
    """In the order of Electrum's protocol: all inputs confirmed, then the others, each by txid."""
    outputs: list[PoolOutput]
    spent: dict[tuple[str, int], str]
    """The transaction that spends each output, of a block or of the mempool, by txid and number."""

    @property
    def balance(self) -> int:
        """What the mempool adds to the balance, below 0 for what it takes."""
        return sum(each["received_sat"] - each["sent_sat"] for each in self.transfers)


def find_in_pool(context: ReaderAccess, script_hash: bytes) -> PoolPart | None:
    """Return the mempool's part; None where no node is at hand (`clarion api`). Raises RpcError."""
    answer = context.node.call_blocking("_script_in_pool", [script_hash.hex()])
    if answer is None:
        return None
    tip, found = answer
    found.sort(key=lambda each: (each[1] < 0, each[0]))
    spent = {(prevout, number): each[0] for each in found for prevout, number in each[6]}
    transfers = [
        {"txid": txid, "height": height, "fee_sat": fee, "received_sat": received, "sent_sat": sent}
        for txid, height, fee, received, sent, _, _ in found
    ]
    outputs = [
        PoolOutput(each[0], number, value)
        for each in found
        for number, value in each[5]
        if (each[0], number) not in spent
    ]
    return PoolPart(bytes.fromhex(tip), transfers, outputs, spent)


def script_in_pool(node: NodeAccess, script_hash: str) -> list[Any]:
    """Return the tip and what the mempool on top of it does with a script.

    Of each transaction: txid, height (0, or -1 with an unconfirmed input, as in Electrum's protocol), fee, received and
    sent, number and value of its outputs, outpoints that it spends.
    """
    pool, scripts = node.mempool.pool, node.mempool.scripts
    assert scripts is not None, "-scriptindex"
    with pool.lock:
        tip = node.chain.manager.tip.hash
        found = scripts.transfers(bytes.fromhex(script_hash))
    told = [
        [
            hash_to_hex(each.txid),
            -1 if each.has_pool_parents else 0,
            each.fee_sat,
            each.received,
            each.sent,
            each.made,
            [(hash_to_hex(outpoint_txid(outpoint)), outpoint_index(outpoint)) for outpoint in each.spent],
        ]
        for each in found
    ]
    return [tip.hex(), told]


METHODS = [
    RpcMethod("_script_in_pool", script_in_pool, "Looks up a script in the mempool.", in_node=True, internal=True)
]
