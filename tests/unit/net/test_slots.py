"""Numbers of connections, and slots."""

import asyncio

import pytest

from clarion.node.net.slots import Limits, Slots, limits_of


@pytest.mark.parametrize(
    ("most", "limits"),
    [
        (125, Limits(125, 8, 2, 11, 114)),
        (11, Limits(11, 8, 2, 11, 0)),
        (9, Limits(9, 8, 1, 10, 0)),
        (3, Limits(3, 3, 0, 4, 0)),
        (0, Limits(0, 0, 0, 1, 0)),
    ],
)
def test_shares(most: int, limits: Limits) -> None:
    assert limits_of(most) == limits


def test_slots_are_given_back_once() -> None:
    async def use() -> None:
        slots = Slots(1)
        slot = await slots.take()
        assert await slots.take_now() is None
        slot.free()
        slot.free()
        assert await slots.take_now() is not None
        assert await slots.take_now() is None

    asyncio.run(use())


def test_who_waits_for_a_slot_gets_it() -> None:
    async def use() -> bool:
        slots = Slots(1)
        slot = await slots.take()
        waiting = asyncio.ensure_future(slots.take())
        await asyncio.sleep(0)
        slot.free()
        (await asyncio.wait_for(waiting, 5)).free()
        return await slots.take_now() is not None

    assert asyncio.run(use())
