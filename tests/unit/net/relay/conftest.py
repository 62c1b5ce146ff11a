"""A node with mature coins, and peers by hand."""

from collections.abc import Callable

import pytest

from clarion.node.net.messages.handshake import Version
from clarion.node.net.messages.message import Message, Verack, WtxidRelay
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.primitives.ids import make_outpoint
from helpers.anyone import DESCRIPTOR, Money
from helpers.api_stack import ApiStack
from helpers.wire_peer import SERVICES, WirePeer

COINBASE_SAT = 50 * 100_000_000
Connect = Callable[..., WirePeer]


@pytest.fixture
def money(stack: ApiStack) -> list[Money]:
    """Return the mature coins of a chain that is long enough for the node to take transactions."""
    hashes = stack.result("generatetodescriptor", 105, DESCRIPTOR)
    coins = [stack.result("getblock", block_hash)["tx"][0] for block_hash in hashes[:5]]
    return [Money(make_outpoint(bytes.fromhex(txid)[::-1], 0), COINBASE_SAT) for txid in coins]


@pytest.fixture
def connect(stack: ApiStack, peers: PeerManager, relay: TransactionRelay) -> Connect:
    """Return a way to connect a peer: by wtxid and with `noban` unless told otherwise."""
    numbers = iter(range(50_000, 60_000))

    def connect(
        kind: ConnectionType = ConnectionType.INBOUND,
        permissions: Permission = Permission.NO_BAN,
        *,
        by_wtxid: bool = True,
        wants_txs: bool = True,
    ) -> WirePeer:
        wire = WirePeer(peers, kind, f"127.0.0.1:{next(numbers)}", permissions)
        greeting: list[Message] = [Version(70016, SERVICES, 0, relay=wants_txs)]
        wire.say(*greeting, *([WtxidRelay()] if by_wtxid else []), Verack())
        wire.sent()
        return wire

    return connect
