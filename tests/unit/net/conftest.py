"""A node's network without sockets, over a real chain in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.net.handshake import Handshake
from clarion.node.net.peer_manager import PeerManager
from helpers.api_stack import ApiStack


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[ApiStack]:
    """Return a chain at genesis whose network the test may talk to."""
    stack = ApiStack(tmp_path).ready()
    yield stack
    stack.close()


@pytest.fixture
def peers(stack: ApiStack) -> PeerManager:
    """Return peers that are greeted and nothing else."""
    manager = PeerManager()
    Handshake(stack.network.context, manager)
    return manager
