"""Connections over real sockets, on a loop of the test's own."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from clarion.node.net.added_nodes import AddedNodes
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.bans import BanList, range_of
from clarion.node.net.connections import Connections
from clarion.node.net.connector import Connector
from clarion.node.net.listener import Bind, Listener
from clarion.node.net.local_addresses import LocalAddresses
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.slots import Slots, limits_of
from helpers.api_stack import ApiStack
from helpers.node import free_port
from helpers.wire_peer import endpoint_of


class Host:
    """The parts of a network that make connections, listening on a free port."""

    def __init__(self, stack: ApiStack, folder: Path, inbound: int = 10) -> None:
        context = stack.network.context
        self.peers = PeerManager(lambda: 0)
        self.bans = BanList(folder / "bans.json", context.clock.now, 100)
        self.tasks: list[asyncio.Future[Any]] = []
        self.connections = Connections(context, self.peers, self.bans, limits_of(11 + inbound), self.spawn)
        addresses = AddressManager(context.clock.now)
        own = LocalAddresses(context.options, 18444)
        self.connector = Connector(context, self.connections, self.bans, addresses, own, self.spawn)
        self.added = AddedNodes(context, self.peers, self.connector)
        self.name = f"127.0.0.1:{free_port()}"
        self.listener = Listener([Bind(endpoint_of(self.name))], 1 << 16, self.connections.accept)
        self.listener.bind()

    def spawn(self, work: Awaitable[Any]) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    def kinds(self) -> list[str]:
        return [peer.connection_type.value for peer in self.peers.peers.values()]

    async def dial(self, kind: ConnectionType = ConnectionType.MANUAL) -> bool:
        opened = await self.connector.open_name(self.name, kind, use_v2=False)
        await asyncio.sleep(0.05)
        return opened

    async def close(self) -> None:
        self.listener.close()
        for peer in list(self.peers.peers.values()):
            peer.disconnect()
        await asyncio.sleep(0.05)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.fixture
def host(stack: ApiStack, tmp_path: Path) -> Host:
    return Host(stack, tmp_path)


def run(host: Host, work: Awaitable[None]) -> None:
    async def main() -> None:
        await host.listener.start()
        await work
        await host.close()

    asyncio.run(main())


def test_both_ends_and_leaving(host: Host) -> None:
    async def work() -> None:
        assert await host.dial()
        assert sorted(host.kinds()) == ["inbound", "manual"]
        assert not await host.dial(), "there is one by this name"
        assert host.connections.is_connected_to(endpoint_of(host.name))
        assert host.connections.leave_name(host.name)
        await asyncio.sleep(0.05)
        assert host.kinds() == []
        assert not host.connections.leave_id(0)

    run(host, work())


def test_who_is_banned_does_not_come_in(host: Host) -> None:
    async def work() -> None:
        range_ = range_of("127.0.0.0/8")
        assert range_ is not None
        host.bans.ban(range_)
        assert await host.dial(), "the connection itself is made"
        assert host.kinds() == []
        assert not await host.connector.open_address(endpoint_of(host.name), ConnectionType.FEELER, use_v2=False)

    run(host, work())


def test_no_connections_while_the_network_is_off(host: Host) -> None:
    async def work() -> None:
        await host.dial()
        host.connections.set_active(False)
        await asyncio.sleep(0.05)
        assert host.kinds() == []
        assert not await host.dial()

    run(host, work())


def test_a_full_house(stack: ApiStack, tmp_path: Path) -> None:
    host = Host(stack, tmp_path, inbound=0)

    async def work() -> None:
        await host.dial()
        assert host.kinds() == []

    run(host, work())


def test_a_slot_is_free_when_the_connection_is_over(host: Host) -> None:
    async def work() -> None:
        slots = Slots(1)
        slot = await slots.take()
        assert await host.connector.open_name(host.name, ConnectionType.MANUAL, use_v2=False, slot=slot)
        assert await slots.take_now() is None
        host.connections.leave_name(host.name)
        await asyncio.sleep(0.05)
        again = await slots.take_now()
        assert again is not None
        assert not await host.connector.open_name("127.0.0.1:1", ConnectionType.MANUAL, use_v2=False, slot=again)
        assert await slots.take_now() is not None

    run(host, work())


def test_added_nodes(host: Host) -> None:
    async def work() -> None:
        assert host.added.add(host.name, False)
        assert not host.added.add(host.name, False)
        assert not host.added.add(host.name.replace("127.0.0.1", "127.1"), False)
        assert host.added.contains(endpoint_of(host.name))
        host.spawn(host.added.keep_added())
        await asyncio.sleep(0.1)
        peer = host.added.connection(host.added.nodes[0])
        assert peer is not None
        assert peer.is_manual
        assert host.added.remove(host.name)
        assert not host.added.remove(host.name)

    run(host, work())


def test_a_second_try_with_the_first_transport(host: Host) -> None:
    async def work() -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal callers
            callers += 1
            await asyncio.sleep(0.05)
            writer.close()

        callers = 0
        port = free_port()
        server = await asyncio.start_server(hang_up, "127.0.0.1", port)
        assert await host.connector.open_name(f"127.0.0.1:{port}", ConnectionType.MANUAL, use_v2=True)
        await asyncio.sleep(0.3)
        server.close()
        assert callers == 2

    run(host, work())
