"""Every message by its name.

Owns: the table. Never: what is done with a message.
"""

from clarion.node.net.messages.addresses import Addr, AddrV2
from clarion.node.net.messages.blocks import BlockMessage, GetBlocks, GetHeaders, Headers, TxMessage
from clarion.node.net.messages.bloom import FilterAdd, FilterClear, FilterLoad, MerkleBlock
from clarion.node.net.messages.compact import BlockTxn, CompactBlock, GetBlockTxn
from clarion.node.net.messages.filters import CFCheckpt, CFHeaders, CFilter, GetCFCheckpt, GetCFHeaders, GetCFilters
from clarion.node.net.messages.handshake import FeeFilter, Ping, Pong, SendCmpct, Version
from clarion.node.net.messages.inventory import GetData, InvMessage, NotFound
from clarion.node.net.messages.message import (
    GetAddr,
    Mempool,
    Message,
    SendAddrV2,
    SendHeaders,
    Verack,
    WtxidRelay,
)

MESSAGES: dict[str, type[Message]] = {
    message.command: message
    for message in (
        Addr, AddrV2, BlockMessage, BlockTxn, CFCheckpt, CFHeaders, CFilter, CompactBlock, FeeFilter, GetAddr, GetBlocks,
        FilterAdd, FilterClear, FilterLoad, GetBlockTxn, GetCFCheckpt, GetCFHeaders, GetCFilters, GetData, GetHeaders, Headers, InvMessage, Mempool, MerkleBlock, NotFound,
        Ping, Pong, SendAddrV2, SendCmpct, SendHeaders, TxMessage, Verack, Version, WtxidRelay,
    )
}  # fmt: skip
