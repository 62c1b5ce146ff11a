"""Whatever peers do in whatever order: nothing fails, hangs or stays behind."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.peer_world import PeerWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerWorld]:
    world = PeerWorld(tmp_path_factory.mktemp("world") / "node")
    yield world
    world.close()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(script=st.binary(max_size=120))
def test_short_scripts(world: PeerWorld, script: bytes) -> None:
    world.play(script)


@pytest.mark.parametrize("seed", range(12))
def test_long_scripts(world: PeerWorld, seed: int) -> None:
    world.play(random.Random(seed).randbytes(6_000))
