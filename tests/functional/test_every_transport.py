"""Every transport at once, with everything killed at random: each subscriber ends with exactly the chain's history.

CLARION_KILLS=100 gives the scenario a hundred kills, CLARION_KILL_SEED repeats a run's choices; without them it is a
quick form with one kill of each kind. What confirmed messages survive a broker's kill by, is set in
`helpers.own_brokers`; MQTT, NOTIFY and the subscriber of Core's topics go on by replay, as docs/transports.md says.
"""

import os
import random
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import pytest

from clarion.notifiers.client import events
from helpers.anyone import Money, made_by, mine, mine_money, send, spend
from helpers.brokers import address_of, broker
from helpers.event_source import free_tcp_address, wait_until
from helpers.node import Node, RpcFailure, events_process_of, free_port
from helpers.own_brokers import OwnBroker, OwnMosquitto, OwnNats, OwnRedis
from helpers.own_postgres import OwnPostgres, own_postgres
from helpers.random_kills import COUNT_VARIABLE, SEED_VARIABLE
from helpers.shared import PROJECT_ROOT

REORGANISATIONS = 5
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
RETRY = "retry=0.1,0.3,1"
END_S = 180.0

pytestmark = pytest.mark.slow


@contextmanager
def _left_out(kind: str) -> Iterator[None]:
    """Leave a server out that this machine does not have, and say so."""
    try:
        yield
    except pytest.skip.Exception as skipped:
        print(f"{kind} is left out: {skipped}")


@dataclass
class Reader:
    """A subscriber's process. It may be killed, and goes on from its book."""

    kind: str
    address: str
    name: str
    book: Path
    replay: str
    kills: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it."""
        command = [sys.executable, "-m", "helpers.transport_reader"]
        arguments = [self.kind, self.address, self.name, str(self.book), self.replay]
        environment = os.environ | {"PYTHONPATH": f"{PROJECT_ROOT / 'src'}:{PROJECT_ROOT / 'tests'}"}
        with Path(f"{self.book}.output").open("ab") as sink:
            self.process = subprocess.Popen(
                [*command, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
            )

    def kill(self) -> None:
        """End it as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def handled(self) -> list[str]:
        """Return the identities that it has handled, in order."""
        if not self.book.exists():
            return []
        return [line.split()[0] for line in self.book.read_text().splitlines() if line]

    def repeats(self) -> int:
        """Return how often it was told what it had handled."""
        with suppress(FileNotFoundError):
            return Path(f"{self.book}.repeats").stat().st_size
        return 0


class File(Reader):
    """What a lane wrote itself: a JSON Lines file, or the list of a program. Nobody to kill."""

    def start(self) -> None:
        """Nothing to start."""

    def handled(self) -> list[str]:
        """Return the identities in the file, each once."""
        lines = self.book.read_text().splitlines() if self.book.exists() else []
        words = [line.split('"id":"')[-1].split('"')[0] for line in lines]
        return list(dict.fromkeys(words))

    def repeats(self) -> int:
        """Return how many lines were there before."""
        lines = self.book.read_text().splitlines() if self.book.exists() else []
        return len(lines) - len(self.handled())


class Scene:
    """The node, brokers and subscribers of the test."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.replay = free_tcp_address()
        self.core = free_tcp_address()
        self.brokers: list[OwnBroker] = []
        self.readers: list[Reader] = []
        self._lanes: list[str] = []
        self._postgres: OwnPostgres | None = None
        self._add_own_brokers(stack)
        self._add_servers(stack)
        self._add_local()
        options = ["-par=1", "-apiworkers=1", f"-zmqreplay={self.replay}", f"-zmqpubsequence={self.core}"]
        self.node = Node(folder / "node", *options, *(f"-notify={lane}" for lane in self._lanes), topics=["hashblock"])
        self._reader("replay", "", "")
        self._reader("core", self.core, "")
        self._reader("http", f"127.0.0.1:{self.node.rpc_port}", str(self.node.chain_dir / ".cookie"))
        stack.callback(self._end)

    def _add_own_brokers(self, stack: ExitStack) -> None:
        name = f"t{secrets.token_hex(4)}"
        redis, nats, mqtt = OwnRedis(self.folder), OwnNats(self.folder), OwnMosquitto(self.folder)
        self.brokers += [redis, nats, mqtt]
        for each in self.brokers:
            stack.callback(each.kill)
            each.start()
        self._lane("redis", f"{redis.url}/0?stream={name}&", f"{redis.url}/0", name)
        self._lane("nats", f"{nats.url}/{name}?stream={name}&", nats.url, name)
        self._lane("mqtt", f"{mqtt.url}/{name}?", mqtt.url, name)

    def _add_servers(self, stack: ExitStack) -> None:
        """Add a PostgreSQL of our own, where it is installed, and this machine's RabbitMQ, which is not ours to kill."""
        name = f"t{secrets.token_hex(4)}"
        with _left_out("postgresql"):
            self._postgres = stack.enter_context(own_postgres())
            address = self._postgres.url.replace("postgresql+psycopg", "postgresql")
            self._lane("postgresql", f"{address}?channel={name}&", address, name)
        with _left_out("amqp"):
            place = stack.enter_context(broker("amqp", name=name))
            self._lane("amqp", f"{place.url}&", address_of("amqp"), name)

    def _add_local(self) -> None:
        address = f"127.0.0.1:{free_port()}"
        self._lane("webhook", f"webhook+http://{address}/?private=1&secret={SECRET}&attempts=0&", address, SECRET)
        path = self.folder / "events.jsonl"
        self._lanes.append(f"file:{path}?from=start&{RETRY}&max_bytes=0")
        self.readers.append(File("file", "", "", path, ""))
        program, told = self.folder / "program", self.folder / "told"
        program.write_text(f'#!/bin/sh\necho "$CLARION_EVENT_ID" >> {told}\n')
        program.chmod(0o755)
        self._lanes.append(f"exec:{program}?from=start&{RETRY}")
        self.readers.append(File("program", "", "", told, ""))

    def _lane(self, kind: str, url: str, address: str, name: str) -> None:
        self._lanes.append(f"{url}from=start&{RETRY}&name={kind}")
        self._reader(kind, address, name)

    def _reader(self, kind: str, address: str, name: str) -> None:
        self.readers.append(Reader(kind, address, name, self.folder / f"{kind}.book", self.replay))

    def start(self) -> None:
        """Start the node and every subscriber."""
        self.node.start()
        for each in self.readers:
            each.start()

    def _end(self) -> None:
        for each in self.readers:
            each.kill()
        if self.node.process is not None and self.node.process.poll() is None:
            self.node.kill()

    # --- kills ------------------------------------------------------------------------------------------------------

    def kill_node(self) -> None:
        """Kill the node and start it again."""
        self.node.kill()
        self.node.start()

    def kill_delivery(self) -> None:
        """Kill the events process, which the node starts again."""
        wait_until(lambda: events_process_of(self.node) is not None, timeout_s=60)
        found = events_process_of(self.node)
        assert found is not None
        os.kill(found, 9)

    def kill_broker(self, each: OwnBroker) -> None:
        """Kill a broker and start it again."""
        each.kill()
        each.start()

    def kill_postgres(self) -> None:
        """Crash the server and start it again."""
        assert self._postgres is not None
        self._postgres.stop("immediate")
        self._postgres.start()

    def kill_reader(self, each: Reader) -> None:
        """Kill a subscriber and start it again."""
        each.kill()
        each.kills += 1
        each.start()

    def kills(self) -> list[tuple[str, Callable[[], None]]]:
        """Return everything that can be killed."""
        found: list[tuple[str, Callable[[], None]]] = [("node", self.kill_node), ("events process", self.kill_delivery)]
        found += [(each.program, lambda each=each: self.kill_broker(each)) for each in self.brokers]  # type: ignore[misc]
        if self._postgres is not None:
            found.append(("postgres", self.kill_postgres))
        found += [
            (f"{each.kind} subscriber", lambda each=each: self.kill_reader(each))  # type: ignore[misc]
            for each in self.readers
            if not isinstance(each, File)
        ]
        return found


class Traffic:
    """Transactions, blocks and reorganisations."""

    def __init__(self, node: Node, money: Sequence[Money]) -> None:
        self._node = node
        self._money = list(money)

    def some(self) -> None:
        """Two transactions, one of them replaced, then a block."""
        first = self._money.pop(0)
        send(self._node, spend([first]))
        second = spend([first], fee_sat=5_000)
        send(self._node, second)
        self._money.append(made_by(second))
        mine(self._node, 1)

    def reorganise(self, depth: int) -> None:
        """Leave the last blocks for longer ones of another kind, and let their transactions come back."""
        tip = self._node.rpc("getblockcount")
        self._node.rpc("invalidateblock", self._node.rpc("getblockhash", tip - depth + 1))
        self._node.rpc("generatetodescriptor", depth + 1, f"raw(52{secrets.token_hex(2)}75)")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Everything, started."""
    with ExitStack() as stack:
        made = Scene(tmp_path, stack)
        made.start()
        yield made


def test_each_subscriber_has_the_chains_history_whatever_is_killed(scene: Scene) -> None:
    seed = os.environ.get(SEED_VARIABLE) or secrets.token_hex(4)
    chance = random.Random(f"{seed} transports")
    plan = _plan(scene, chance)
    print(f"{len(plan)} kills, {REORGANISATIONS} reorganisations, {SEED_VARIABLE}={seed}")
    traffic = Traffic(scene.node, mine_money(scene.node, 3))
    rounds = max(REORGANISATIONS, len(plan))
    reorganisations = set(chance.sample(range(rounds), REORGANISATIONS))
    for number in range(rounds):
        traffic.some()
        if number in reorganisations:
            traffic.reorganise(chance.randint(1, 3))
        if number < len(plan):
            print(f"kill of {plan[number][0]}")
            plan[number][1]()
    mine(scene.node, 1)
    _assert_all_have(scene, _history(scene))


def _plan(scene: Scene, chance: random.Random) -> list[tuple[str, Callable[[], None]]]:
    """Return what is killed, in order: each once in the quick form."""
    everything = scene.kills()
    chance.shuffle(everything)
    count = int(os.environ.get(COUNT_VARIABLE, len(everything)))
    more = [chance.choice(everything) for _ in range(count - len(everything))]
    return (everything + more)[:count]


def _history(scene: Scene) -> list[str]:
    """Return the identities of everything that the log tells, once it grows no more."""
    found: list[str] = []

    def is_still() -> bool:
        before, found[:] = list(found), [e["id"] for e in events(scene.replay, start="start", follow=False)]
        return before == found

    wait_until(is_still, timeout_s=60)
    return found


def _assert_all_have(scene: Scene, history: list[str]) -> None:
    types = [e["type"] for e in events(scene.replay, start="start", follow=False)]
    print(f"{len(history)} events, {types.count('block_disconnected')} blocks disconnected")
    with suppress(AssertionError):
        wait_until(lambda: all(len(each.handled()) >= len(history) for each in scene.readers), timeout_s=END_S)
    with suppress(OSError, RpcFailure, HTTPException):
        for lane in scene.node.rpc("listlanes"):
            print({name: lane[name] for name in ("name", "state", "sent", "failed", "retried", "dead_letters")})
    for each in scene.readers:
        print(f"{each.kind}: {len(each.handled())} handled, {each.repeats()} repeats, killed {each.kills} times")
    assert types.count("block_disconnected") >= REORGANISATIONS
    for each in scene.readers:
        assert each.handled() == history, each.kind
