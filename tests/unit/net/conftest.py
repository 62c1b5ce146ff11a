"""A node's network without sockets, over a real chain in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.net.handshake import Handshake
from clarion.node.net.inventory import Inventory
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.net.sync.block_sync import BlockSync
from helpers.api_stack import ApiStack


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[ApiStack]:
    """Return a chain at genesis whose network the test may talk to."""
    stack = ApiStack(tmp_path).ready()
    yield stack
    stack.close()


@pytest.fixture
def peers(stack: ApiStack) -> PeerManager:
    """Return peers that are greeted and nothing else. Nothing is due for them until the test says so."""
    manager = PeerManager(lambda: 0)
    Handshake(stack.network.context, manager)
    return manager


@pytest.fixture
def parts(stack: ApiStack, peers: PeerManager) -> Iterator[tuple[BlockSync, TransactionRelay]]:
    """Return the synchronisation and relay with these peers, on the test's own thread."""
    context = stack.network.context
    sync = BlockSync(context, peers)
    relay = TransactionRelay(context, peers, stack.network.handshake.rejects_transactions)
    Inventory(peers, context.clock, sync, relay)
    yield sync, relay
    relay.reception.close()


@pytest.fixture
def sync(parts: tuple[BlockSync, TransactionRelay]) -> BlockSync:
    """Return the synchronisation."""
    return parts[0]


@pytest.fixture
def relay(parts: tuple[BlockSync, TransactionRelay]) -> TransactionRelay:
    """Return the relay of transactions."""
    return parts[1]
