"""The address manager under any sequence of what can happen to it."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from clarion.node.net.address import Endpoint, NetAddress, Network
from clarion.node.net.address_manager.consistency import fault_of
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.address_manager.peers_file import load_peers, save_peers
from clarion.node.net.address_manager.tables import AddressTables
from clarion.node.net.messages.addresses import TimedAddress
from helpers.addresses import NOW, Time

# Few addresses, so that things happen to the same ones.
IPV4 = st.builds(lambda a, b: NetAddress(Network.IPV4, bytes((20 + a, b, 1, 1))), st.integers(0, 3), st.integers(0, 3))
OTHERS = st.sampled_from(
    (
        NetAddress(Network.ONION, bytes(32)),
        NetAddress(Network.CJDNS, b"\xfc" + bytes(15)),
        NetAddress(Network.I2P, bytes(32)),
    )
)
ADDRESSES = st.one_of(IPV4, OTHERS)
ENDPOINTS = st.builds(Endpoint, ADDRESSES, st.sampled_from((8333, 8334)))
TIMED = st.builds(TimedAddress, st.integers(NOW - 40 * 86_400, NOW + 1000), st.just(9), ENDPOINTS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(TIMED, max_size=5), ADDRESSES),
        st.tuples(st.sampled_from(("good", "try", "connected", "resolve")), ENDPOINTS, st.none()),
        st.tuples(st.just("wait"), st.integers(1, 100_000), st.none()),
    ),
    max_size=40,
)


def run(addresses: AddressManager, time: Time, steps: list[tuple[str, object, object]]) -> None:
    for kind, what, source in steps:
        if kind == "add":
            assert isinstance(what, list)
            assert isinstance(source, NetAddress)
            addresses.add(what, source, 100)
        elif kind == "wait":
            assert isinstance(what, int)
            time.now += what
        else:
            assert isinstance(what, Endpoint)
            if kind == "good":
                addresses.good(what)
            elif kind == "try":
                addresses.attempt(what, counts=True)
            elif kind == "connected":
                addresses.connected(what)
            else:
                addresses.resolve_collisions()


@settings(deadline=None, max_examples=25)
@given(STEPS, st.binary(min_size=32, max_size=32).filter(any))
def test_everything_fits_together(steps: list[tuple[str, object, object]], key: bytes) -> None:
    time = Time()
    addresses = AddressManager(time, AddressTables(key))
    run(addresses, time, steps)
    assert fault_of(addresses.tables) == 0
    for network in Network:
        chosen = addresses.select({network})
        assert (chosen is not None) == bool(addresses.size(network))
        assert chosen is None or chosen.endpoint.address.network is network
    with TemporaryDirectory() as folder:
        path = Path(folder) / "peers.dat"
        save_peers(addresses.tables, path, b"abcd")
        stored = load_peers(path, b"abcd", AddressTables)
    assert sorted(map(str, (e.shown() for e in stored.entries.values()))) == sorted(
        map(str, (e.shown() for e in addresses.tables.entries.values()))
    )
