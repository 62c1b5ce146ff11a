"""How the values of -zmqpub… are read."""

import pytest

from clarion.node.errors import ConfigError
from clarion.notifiers.zmq_address import ZmqAddress, parse_zmq_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tcp://127.0.0.1:28332", "tcp://127.0.0.1:28332"),
        ("tcp://[::1]:28332", "tcp://[::1]:28332"),
        ("tcp://*:28332", "tcp://*:28332"),
        ("tcp://127.0.0.1:*", "tcp://127.0.0.1:*"),
        ("unix:/tmp/some.sock", "ipc:///tmp/some.sock"),
        ("ipc:///tmp/some.sock", "ipc:///tmp/some.sock"),
        ("foo", "foo"),
    ],
)
def test_address_as_libzmq_takes_it(text: str, address: str) -> None:
    assert parse_zmq_address("hashtx", text).address == address


@pytest.mark.parametrize(
    "text", ["tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:-1", "127.0.0.1:x"]
)
def test_bad_port_is_refused_in_cores_words(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_zmq_address("rawtx", text)
    assert str(caught.value) == f"Invalid port specified in -zmqpubrawtx: '{text}'"


@pytest.mark.parametrize(("given", "hwm"), [(0, 0), (5, 5), (-1, 1000)])
def test_negative_high_water_mark_means_the_default(given: int, hwm: int) -> None:
    assert ZmqAddress("hashtx", "tcp://127.0.0.1:1", given).hwm == hwm


def test_unknown_topic_is_refused() -> None:
    with pytest.raises(ConfigError, match="rawtxs"):
        ZmqAddress("rawtxs", "tcp://127.0.0.1:1")
