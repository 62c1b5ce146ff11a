"""The list of bans against the simplest thing that could do the same."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from clarion.node.net.address import NetAddress, Network
from clarion.node.net.bans import BanList
from clarion.node.net.subnet import Subnet, subnet_of


class Step(NamedTuple):
    kind: str
    subnet: Subnet
    seconds: int


ADDRESSES = st.builds(lambda last: NetAddress(Network.IPV4, bytes((10, 0, 0, last))), st.integers(0, 255))
SUBNETS = st.builds(subnet_of, ADDRESSES, st.sampled_from((32, 31, 28, 24)))
STEPS = st.lists(st.builds(Step, st.sampled_from(("ban", "unban", "wait")), SUBNETS, st.integers(1, 50)), max_size=20)


@given(STEPS, ADDRESSES)
def test_who_is_banned(steps: list[Step], address: NetAddress) -> None:
    now = 1_000
    model: dict[Subnet, int] = {}
    with TemporaryDirectory() as folder:
        bans = BanList(Path(folder) / "banlist.json", lambda: now, 1)
        for step in steps:
            if step.kind == "ban":
                bans.ban(step.subnet, step.seconds)
                model[step.subnet] = max(model.get(step.subnet, 0), now + step.seconds)
            elif step.kind == "unban":
                bans.unban(step.subnet)
                model.pop(step.subnet, None)
            else:
                now += step.seconds
            assert bans.is_banned(address) == any(now < end and address in range_ for range_, end in model.items())
        stored = BanList(Path(folder) / "banlist.json", lambda: now, 1)
        stored.load()
        assert stored.entries() == bans.entries()
