"""A node's network without sockets, over a real chain in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.net.handshake import Handshake
from clarion.node.net.inventory import Inventory
from clarion.node.net.peer_manager import PeerManager
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
def sync(stack: ApiStack, peers: PeerManager) -> BlockSync:
    """Return the synchronisation with these peers, on the test's own thread."""
    sync = BlockSync(stack.network.context, peers)
    Inventory(peers, sync)
    return sync
