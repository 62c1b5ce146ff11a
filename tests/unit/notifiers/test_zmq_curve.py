"""Encrypted ZMQ sockets: who is let in."""

from pathlib import Path

import msgspec
import orjson
import pytest
import zmq
import zmq.auth

from clarion.node.errors import ConfigError
from clarion.node.params.chain_params import select_params
from clarion.notifiers.client import ClientKeys
from clarion.notifiers.feed import Feed
from clarion.notifiers.zmq_address import EVENT_TOPIC, TOPICS, ZmqAddress
from clarion.notifiers.zmq_core import CoreTopics
from clarion.notifiers.zmq_curve import Curve, read_curve
from clarion.notifiers.zmq_event import EventTopic
from helpers.event_source import ListSource, free_tcp_address, make_block

pytestmark = pytest.mark.skipif(not zmq.has("curve"), reason="this build of libzmq has no CURVE")
REGTEST = select_params("regtest")


class _Client:
    """A SUB socket that says how its handshake went."""

    def __init__(self, address: str, keys: ClientKeys | None) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.SUB)
        self.socket.subscribe(b"")
        if keys is not None:
            keys.apply(self.socket)
        self._monitor = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | _FAILURES)
        self.socket.connect(address)

    def is_let_in(self) -> bool:
        assert self._monitor.poll(20_000), "no handshake"
        event = int.from_bytes(self._monitor.recv_multipart()[0][:2], "little")
        return event == zmq.EVENT_HANDSHAKE_SUCCEEDED

    def close(self) -> None:
        self.socket.disable_monitor()
        self._monitor.close(linger=0)
        self.socket.close(linger=0)
        self._context.term()


_FAILURES = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH


def _keys(folder: Path, name: str) -> tuple[bytes, bytes]:
    folder.mkdir(exist_ok=True)
    _, secret = zmq.auth.create_certificates(folder, name)
    public_key, secret_key = zmq.auth.load_certificate(secret)
    assert secret_key is not None
    return public_key, secret_key


def test_only_those_who_know_the_nodes_key_are_let_in(tmp_path: Path) -> None:
    public, secret = _keys(tmp_path, "node")
    address = free_tcp_address()
    topic = EventTopic([ZmqAddress(EVENT_TOPIC, address)], REGTEST, curve=Curve(secret))
    topic.open()
    clients = [_Client(address, ClientKeys(public)), _Client(address, None), _Client(address, ClientKeys(_other()))]
    assert [client.is_let_in() for client in clients] == [True, False, False]
    for client in clients:
        client.close()
    topic.close()


def _other() -> bytes:
    return zmq.curve_keypair()[0]


def test_clients_are_known_by_the_files_of_a_folder_that_may_change(tmp_path: Path) -> None:
    public, secret = _keys(tmp_path / "node", "node")
    own = _keys(tmp_path / "clients", "shop")
    stranger = zmq.curve_keypair()
    address = free_tcp_address()
    topics = CoreTopics([ZmqAddress(each, address) for each in TOPICS], curve=Curve(secret, tmp_path / "clients"))
    topics.open()
    clients = [_Client(address, ClientKeys(public, *own)), _Client(address, ClientKeys(public, *stranger))]
    assert [client.is_let_in() for client in clients] == [True, False]
    (tmp_path / "clients" / "broken.key").write_text("nonsense")
    (tmp_path / "clients" / "shop.key").unlink()
    clients.append(_Client(address, ClientKeys(public, *own)))
    assert not clients[-1].is_let_in()
    for client in clients:
        client.close()
    topics.close()


@pytest.mark.parametrize(("encoding", "decode"), [("json", orjson.loads), ("msgpack", msgspec.msgpack.decode)])
def test_what_is_published_encrypted_is_what_is_published_plain(tmp_path: Path, encoding: str, decode: object) -> None:
    public, secret = _keys(tmp_path, "node")
    source, address = ListSource(), free_tcp_address()
    source.connect(make_block(1))
    topic = EventTopic([ZmqAddress(EVENT_TOPIC, address)], REGTEST, curve=Curve(secret), encoding=encoding)
    topic.open()
    client = _Client(address, ClientKeys(public))
    assert client.is_let_in()
    rows = Feed(source).read(0, 10)
    while not client.socket.poll(100):  # the subscription follows the handshake
        topic.tell(rows[1])
    told, body, counter = client.socket.recv_multipart()
    assert (told, len(counter)) == (b"event", 8)
    assert callable(decode)
    assert decode(body)["type"] == "tip_changed"
    client.close()
    topic.close()


def test_wrong_keys_stop_the_start(tmp_path: Path) -> None:
    _keys(tmp_path, "node")
    secret = str(tmp_path / "node.key_secret")
    for key, clients, message in (
        (None, "x", "-zmqcurveclients needs -zmqcurvekey"),
        ("/no/such", None, "-zmqcurvekey=/no/such: "),
        (str(tmp_path / "node.key"), None, "it holds no secret key"),
        (secret, "/no/such", "-zmqcurveclients=/no/such: no such folder"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_curve(key, clients)
    assert read_curve(None, None) is None
    assert read_curve(secret, str(tmp_path)) is not None
