"""The onion service, asked of a small control port over a socket."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clarion.node.net.address import Network, parse_address
from clarion.node.net.context import NetContext
from clarion.node.net.local_addresses import LocalAddresses
from clarion.node.net.options import TorOptions
from clarion.node.net.tor.onion_service import KEY_FILE, OnionService
from helpers.api_stack import ApiStack
from helpers.wire_peer import endpoint_of

SERVICE = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd"
COOKIE, THEIR_NONCE = bytes(range(32)), bytes(32)
TARGET = endpoint_of("127.0.0.1:18445")


class Control:
    """Tor's side: answers what is known of each command, and keeps the commands."""

    def __init__(self, auth: str = "METHODS=NULL", **answers: str) -> None:
        self.commands: list[str] = []
        self.answers = {
            "PROTOCOLINFO": f'250-AUTH {auth}\r\n250-VERSION Tor="0.4.8"\r\n250 OK\r\n',
            "AUTHENTICATE": "250 OK\r\n",
            "GETINFO": '250-net/listeners/socks="unix:/x" "127.0.0.1:9150"\r\n250 OK\r\n',
            "ADD_ONION": f"250-ServiceID={SERVICE}\r\n250-PrivateKey=ED25519-V3:abc\r\n250 OK\r\n",
            **answers,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            command = line.decode().strip()
            self.commands.append(command)
            if command.startswith("AUTHCHALLENGE"):
                nonce = bytes.fromhex(command.split()[-1])
                key = b"Tor safe cookie authentication server-to-controller hash"
                proof = hmac.digest(key, COOKIE + nonce + THEIR_NONCE, "sha256").hex()
                writer.write(f"250 AUTHCHALLENGE SERVERHASH={proof} SERVERNONCE={THEIR_NONCE.hex()}\r\n".encode())
            else:
                answer = self.answers[command.split()[0]]
                if "PoW" in command and "REFUSED" in self.answers:
                    answer = "512 Unrecognized option\r\n"
                writer.write(answer.encode())
        writer.close()


@pytest.fixture
def context(stack: ApiStack, tmp_path: Path) -> NetContext:
    folder = tmp_path / "tor"
    folder.mkdir()
    return replace_folder(stack.network.context, folder)


def replace_folder(context: NetContext, folder: Path) -> NetContext:
    return NetContext(
        context.params, context.options, context.chain, context.mempool, context.stores, context.clock, folder
    )


def talk(
    context: NetContext, control: Control, done: Callable[[LocalAddresses], bool], **tor: object
) -> LocalAddresses:
    """Run the service until something holds, and return our addresses as they were then."""
    own = LocalAddresses(context.options, 18444)

    async def run() -> None:
        server = await asyncio.start_server(control.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        options = replace(TorOptions(f"127.0.0.1:{port}"), **tor)  # type: ignore[arg-type]
        service = asyncio.ensure_future(OnionService(context, options, own, TARGET).run())
        try:
            await _until(lambda: done(own))
        finally:
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)
            server.close()

    asyncio.run(run())
    return own


def _until(condition: Callable[[], bool]) -> Awaitable[None]:
    async def wait() -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.01)

    return wait()


def has_service(own: LocalAddresses) -> bool:
    return bool(own.entries())


def test_a_service_is_made_and_remembered(context: NetContext) -> None:
    control = Control()
    own = talk(context, control, has_service)
    assert control.commands == [
        "PROTOCOLINFO 1",
        "AUTHENTICATE",
        "GETINFO net/listeners/socks",
        "ADD_ONION NEW:ED25519-V3 PoWDefensesEnabled=1 Port=18444,127.0.0.1:18445",
    ]
    key_path = context.data_dir / KEY_FILE
    assert (key_path.read_text(), key_path.stat().st_mode & 0o777) == ("ED25519-V3:abc", 0o600)
    assert str(context.options.proxies.by_network[Network.ONION]) == "127.0.0.1:9150"
    assert Network.ONION in context.options.reachable
    # With the service goes its address.
    address = parse_address(f"{SERVICE}.onion")
    assert address is not None
    assert address not in own
    again = Control()
    talk(context, again, has_service)
    assert again.commands[3].startswith("ADD_ONION ED25519-V3:abc ")


def test_an_old_tor_knows_no_defence(context: NetContext) -> None:
    control = Control(REFUSED="")
    talk(context, control, has_service, finds_proxy=False, may_reach=False)
    assert control.commands[2:] == [
        "ADD_ONION NEW:ED25519-V3 PoWDefensesEnabled=1 Port=18444,127.0.0.1:18445",
        "ADD_ONION NEW:ED25519-V3 Port=18444,127.0.0.1:18445",
    ]
    assert Network.ONION not in context.options.reachable


def test_by_cookie_and_by_password(context: NetContext, tmp_path: Path) -> None:
    path = tmp_path / 'a "cookie"'
    path.write_bytes(COOKIE)
    quoted = str(path).replace('"', '\\"')
    control = Control(f'METHODS=COOKIE,SAFECOOKIE COOKIEFILE="{quoted}"')
    talk(context, control, has_service)
    assert control.commands[1].startswith("AUTHCHALLENGE SAFECOOKIE ")
    assert len(control.commands[2]) == len("AUTHENTICATE ") + 64
    control = Control("METHODS=COOKIE,SAFECOOKIE,HASHEDPASSWORD")
    talk(context, control, has_service, password='se"cret')
    assert control.commands[1] == 'AUTHENTICATE "se\\"cret"'


@pytest.mark.parametrize(
    ("auth", "answers", "why"),
    [
        ("METHODS=HASHEDPASSWORD", {}, "no password provided with -torpassword"),
        ("METHODS=NEWER", {}, "No supported authentication method"),
        ('METHODS=SAFECOOKIE COOKIEFILE="/not/there"', {}, "could not be opened"),
        ("METHODS=NULL", {"AUTHENTICATE": "515 No\r\n"}, "Authentication failed"),
        ("METHODS=NULL", {"ADD_ONION": "510 What\r\n"}, "unrecognized command"),
        ("METHODS=NULL", {"ADD_ONION": "250-ServiceID=none\r\n250 OK\r\n"}, "Error parsing ADD_ONION parameters"),
        ("METHODS=NULL", {"PROTOCOLINFO": "250-x\r\n" * 1_001}, "exceeded 1000 lines"),
    ],
)
def test_failures_are_told(
    context: NetContext, auth: str, answers: dict[str, str], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "clarion.tor")
    own = talk(context, Control(auth, **answers), lambda own: why in caplog.text)
    assert not own.entries()
