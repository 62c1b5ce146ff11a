"""What peers may say to a node with a chain of DEPTH blocks: of every message some that mean something to it.

Owns: blocks, transactions and messages about them. Never: a node, damaging anything.
"""

from collections.abc import Sequence

from clarion.node.net.address import Endpoint, NetAddress, Network, parse_address
from clarion.node.net.messages.addresses import Addr, AddrV2, TimedAddress
from clarion.node.net.messages.blocks import BlockMessage, GetBlocks, GetHeaders, Headers, TxMessage
from clarion.node.net.messages.bloom import FilterAdd, FilterClear, FilterLoad
from clarion.node.net.messages.compact import BlockTxn, CompactBlock, GetBlockTxn
from clarion.node.net.messages.filters import GetCFCheckpt, GetCFHeaders, GetCFilters
from clarion.node.net.messages.handshake import FeeFilter, Ping, Pong, SendCmpct, Version
from clarion.node.net.messages.inventory import GetData, Inv, InvMessage, NotFound
from clarion.node.net.messages.message import (
    GetAddr,
    Mempool,
    Message,
    SendAddrV2,
    SendHeaders,
    Verack,
    WtxidRelay,
)
from clarion.node.net.protocol import InvType
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import NULL_HASH, BlockHash, OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn
from helpers.anyone import Money, made_by, spend
from helpers.chain_builder import Built, make_block, make_chain

DEPTH = 104
"""The coinbases of the first blocks are mature."""
KINDS = (*InvType, 99)
NULL = BlockHash(NULL_HASH)


def phrases_of(chain: Sequence[Built], now: int) -> tuple[list[tuple[str, bytes]], list[Block]]:
    """Return messages as (command, payload), and blocks that may come by another way."""
    coins = [Money(*_coin(built)) for built in chain[:4]]
    txs = _transactions(coins)
    blocks = _blocks(chain[-1], txs)
    messages = [*_about_blocks(chain, blocks), *_about_transactions(txs), *_others(now)]
    return [(each.command, each.serialize()) for each in messages], blocks


def _coin(built: Built) -> tuple[OutPoint, int]:
    outpoint, output = built.coinbase_output()
    return outpoint, output.value


def _transactions(coins: Sequence[Money]) -> list[Transaction]:
    parent = spend([coins[0]], outputs=2)
    child = spend([made_by(parent)])
    grandchild = spend([made_by(child), made_by(parent, 1)])
    poor = spend([coins[1]], fee_sat=0)
    rescue = spend([made_by(poor)], fee_sat=5_000)
    rival = spend([coins[0]], fee_sat=50_000)
    wrong = spend([coins[2]])
    spoiled = Transaction(2, [TxIn(wrong.inputs[0].prevout, b"", 0, (b"\x00",))], wrong.outputs)
    return [parent, child, grandchild, poor, rescue, rival, spoiled, wrong]


def _blocks(tip: Built, txs: Sequence[Transaction]) -> list[Block]:
    """Return three good blocks, a longer branch, one that pays too much, one that was mutated."""
    first = make_block(tip, txs[:2], fees=2_000)
    good = [first, *make_chain(first, 2)]
    branch = make_chain(tip, 4, extra_nonce=7)
    greedy = make_block(tip, fees=1, extra_nonce=8)
    found = [built.block for built in (*good, *branch, greedy) if built.block is not None]
    mutated = Block(found[0].header, [*found[0].txs, found[0].txs[-1]])
    return [*found, mutated]


def _about_blocks(chain: Sequence[Built], blocks: Sequence[Block]) -> list[Message]:
    headers = [block.header for block in blocks]
    tip, early, middle = (BlockHash(chain[at].hash) for at in (-1, 3, 50))
    messages: list[Message] = [BlockMessage(block) for block in blocks]
    messages += [CompactBlock.of_block(block, 5) for block in blocks[:-1]]
    messages += [BlockTxn(block.hash, tuple(block.txs[1:])) for block in blocks]
    messages += [GetBlockTxn(each, places) for each in (tip, early, NULL) for places in ((0,), (0, 3), ())]
    messages += [
        Headers(tuple(headers[:3])), Headers(tuple(headers[3:7])), Headers((headers[2],)), Headers((headers[7],)),
        Headers(()), Headers((headers[1], headers[0])), SendCmpct(True, 2), SendCmpct(False, 2), SendCmpct(True, 1),
        SendHeaders(), GetHeaders((middle,)), GetHeaders((), tip), GetHeaders((NULL,) * 3, early),
        GetBlocks((middle,)), GetBlocks((NULL,), early), GetHeaders((NULL,) * 102),
        GetCFilters(0, 1, tip), GetCFHeaders(0, 1, tip), GetCFCheckpt(0, tip),
    ]  # fmt: skip
    for block_hash in (tip, early, blocks[0].hash, blocks[6].hash, blocks[7].hash, NULL):
        messages.append(InvMessage((Inv(InvType.BLOCK, block_hash),)))
        messages.append(GetData(tuple(Inv(kind, block_hash) for kind in KINDS)))
    return messages


def _about_transactions(txs: Sequence[Transaction]) -> list[Message]:
    messages: list[Message] = []
    for tx in txs:
        by_both = Inv(InvType.WTX, tx.wtxid), Inv(InvType.TX, tx.txid)
        messages += [TxMessage(tx), InvMessage(by_both), GetData(by_both), NotFound(by_both)]
    every = tuple(Inv(InvType.WTX, tx.wtxid) for tx in txs)
    many = tuple(Inv(InvType.WTX, number.to_bytes(32, "big")) for number in range(6_000))
    return [*messages, InvMessage(every), GetData(every), InvMessage(many)]


def _others(now: int) -> list[Message]:
    address = parse_address("42.1.2.3")
    assert address is not None
    onion = NetAddress(Network.ONION, bytes(range(32)))
    old = tuple(TimedAddress(now - age, 9, Endpoint(address, 8333)) for age in (0, 700, 10**9))
    new = (*old, TimedAddress(now, 9, Endpoint(onion, 8333)))
    return [
        Addr(old), AddrV2(new), Addr(old[:1]), AddrV2(new * 251), Addr(()), GetAddr(), Mempool(), Ping(7), Ping(), Pong(7),
        Pong(0), FeeFilter(1_000), FeeFilter(-1), Version(70016, 9, now), Verack(), WtxidRelay(), SendAddrV2(),
        FilterLoad(b"\xff" * 8, 3, 0, 1), FilterLoad(b"", 0, 0, 0), FilterAdd(b"abc"), FilterClear(),
    ]  # fmt: skip
