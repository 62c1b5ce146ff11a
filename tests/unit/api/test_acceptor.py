"""Connections of all clients are shared out among the workers that listen on one port."""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps

import pytest

from clarion.api import acceptor
from clarion.api.acceptor import Acceptor
from clarion.api.connection_counts import ConnectionCounts, CountedSet


def in_a_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    """Return a test that runs the given one in an event loop."""

    @wraps(test)
    def run(**fixtures: object) -> None:
        asyncio.run(test(**fixtures))

    return run


class Worker:
    """The listening side of one worker: its acceptor and the connections that it holds."""

    def __init__(self, listener: socket.socket, counts: ConnectionCounts, number: int) -> None:
        self.held: CountedSet[asyncio.Protocol] = CountedSet(counts, number)
        # In a process of its own it would have a descriptor of its own.
        self.listener = listener.dup()
        self.taking = Acceptor([self.listener], self._make, self.held)

    def _make(self) -> asyncio.Protocol:
        worker = self

        class Held(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                assert isinstance(transport, asyncio.Transport)
                self.transport = transport
                worker.held.add(self)

            def connection_lost(self, exc: Exception | None) -> None:
                worker.held.discard(self)
                self.transport.close()

        return Held()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield listener


@pytest.fixture
def counts() -> Iterator[ConnectionCounts]:
    counts = ConnectionCounts(2)
    yield counts
    counts.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a connection wait for the other worker however slow the machine is."""
    monkeypatch.setattr(acceptor, "PATIENCE_S", 300.0)


async def connect(listener: socket.socket, number: int, *workers: Worker) -> list[socket.socket]:
    """Return the clients' ends once the workers hold all connections."""
    before = sum(len(worker.held) for worker in workers)
    clients = [socket.create_connection(listener.getsockname()) for _ in range(number)]
    while sum(len(worker.held) for worker in workers) < before + number:
        await asyncio.sleep(0.001)
    return clients


async def end(workers: list[Worker], clients: list[socket.socket]) -> None:
    for worker in workers:
        worker.taking.close()
        worker.listener.close()
    for client in clients:
        client.close()
    while any(worker.held for worker in workers):
        await asyncio.sleep(0.001)


@pytest.mark.usefixtures("patient")
@in_a_loop
async def test_clients_that_come_at_once_are_shared_out(listener: socket.socket, counts: ConnectionCounts) -> None:
    workers = [Worker(listener, counts, number) for number in range(2)]
    for worker in workers:
        worker.taking.start()
    clients = await connect(listener, 16, *workers)
    assert sorted(len(worker.held) for worker in workers) in ([7, 9], [8, 8])
    await end(workers, clients)


@pytest.mark.usefixtures("patient")
@in_a_loop
async def test_the_one_that_has_fewer_gets_the_next(listener: socket.socket, counts: ConnectionCounts) -> None:
    first, second = workers = [Worker(listener, counts, number) for number in range(2)]
    counts.close_worker(1)
    first.taking.start()
    clients = await connect(listener, 5, first)
    counts.set(1, 0)
    second.taking.start()
    clients += await connect(listener, 5, *workers)
    assert (len(first.held), len(second.held)) == (5, 5)
    await end(workers, clients)


@in_a_loop
async def test_what_a_busy_one_leaves_is_taken(listener: socket.socket, counts: ConnectionCounts) -> None:
    first, second = workers = [Worker(listener, counts, number) for number in range(2)]
    first.taking.start()
    clients = await connect(listener, 3, first)
    assert (len(first.held), counts.least_of_others(0), len(second.held)) == (3, 0, 0)
    await end(workers, clients)


@in_a_loop
async def test_counts_are_seen_by_other_processes_and_follow_closed_connections(
    listener: socket.socket, counts: ConnectionCounts
) -> None:
    theirs = ConnectionCounts(2, counts.descriptor)
    worker = Worker(listener, counts, 0)
    worker.taking.start()
    clients = await connect(listener, 2, worker)
    assert (theirs.least_of_others(1), theirs.least_of_others(0)) == (2, None)
    clients[0].close()
    while len(worker.held) > 1:
        await asyncio.sleep(0.001)
    assert theirs.least_of_others(1) == 1
    await end([worker], clients)
    assert theirs.least_of_others(1) is None
