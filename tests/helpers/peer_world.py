"""A node's whole network under a script of bytes: peers come, say right, wrong and damaged things, time passes, they go.

Owns: the world (a real chain, the network's parts as the node composes them, no sockets), the reading of a script, and
what must hold behind it. Never: choosing scripts.
"""

import asyncio
import itertools
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clarion.node.errors import PeerError
from clarion.node.net.messages.handshake import Version
from clarion.node.net.messages.message import Message, SendAddrV2, Verack, WtxidRelay
from clarion.node.net.messages.registry import MESSAGES
from clarion.node.net.peer import ConnectionType
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import ServiceFlags
from clarion.node.net.transport.transport import Received
from clarion.node.net.transport.v1 import V1Transport
from helpers.anyone import SCRIPT
from helpers.api_stack import ApiStack
from helpers.chain_builder import genesis, make_chain
from helpers.peer_phrases import DEPTH, phrases_of
from helpers.wire_peer import MAGIC, SERVICES, WirePeer

MOST_PEERS = 6
STEP_LIMIT_S = 30.0
"""A step that takes longer hangs."""
PAUSES_S = (1, 3, 31, 125, 1_300, 90_000)
_COMMANDS = [*sorted(MESSAGES), "sendtxrcncl", "feature", "alert", "nonsense"]
_VERSIONS = (70016, 70016, 70015, 70012, 60000, 31800, 0, -1)
_PERMISSIONS = (Permission.NONE, Permission.NONE, Permission.NO_BAN, Permission.FORCE_RELAY, Permission.MEMPOOL)


class Script:
    """Bytes that choices are read from; behind their end every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_over(self) -> bool:
        """Whether all bytes have been read."""
        return self._at >= len(self._data)

    def below(self, count: int) -> int:
        """Return a number below `count`, at most 65,536."""
        return int.from_bytes(self.take(1 if count <= 256 else 2), "big") % count

    def take(self, count: int) -> bytes:
        """Return the next bytes, as many as are left of `count`."""
        part = self._data[self._at : self._at + count]
        self._at += count
        return part


class _Failures(logging.Handler):
    """Keeps what the node itself takes for its own failure."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # A refused block is the sender's failure, though the reference logs it as an error too.
        if record.exc_info or record.name == "clarion.net":
            self.texts.append(self.format(record))


class PeerWorld:
    """One node. A script may leave its chain or its pool changed: `is_as_new` says whether it has."""

    def __init__(self, folder: Path, template: Path | None = None) -> None:
        """`template` is the folder of an earlier, closed world that was given none."""
        chain = make_chain(genesis(), DEPTH, script=SCRIPT)
        if template is not None:
            shutil.copytree(template, folder)
        self._stack = ApiStack(folder).ready()
        self._network = self._stack.network
        self._peers = self._network.peers
        clock = self._stack.node.clock
        clock.set_mock(chain[-1].time + 60)
        if template is None:
            for built in chain:
                assert built.block is not None
                self._stack.service.submit(self._stack.node.manager.process_new_block, built.block).result()
        self._clock = clock
        self._start = self._stack.node.manager.tip.hash
        self._phrases, self._mined = phrases_of(chain, clock.now())
        self._numbers = itertools.count(1)

    @property
    def is_as_new(self) -> bool:
        """Whether chain and pool are as they were at the beginning."""
        return self._stack.node.manager.tip.hash == self._start and not len(self._stack.mempool.pool)

    def close(self) -> None:
        """End the node."""
        self._stack.close()

    def play(self, data: bytes) -> None:
        """Play a script to its end. Raises AssertionError if something hangs, fails or stays behind."""
        with self._no_failures():
            self._network.run(self._play(Script(data)))
        network = self._network
        assert not self._peers.peers, "peers stay behind"
        assert not len(network.sync.requests), "requested blocks stay behind"
        assert not network.sync.requests.downloading_from, "peers that blocks come from stay behind"
        assert not len(network.relay.download.requests), "announced transactions stay behind"
        assert not network.relay.orphans(), "orphans stay behind"

    @contextmanager
    def _no_failures(self) -> Iterator[None]:
        failures = _Failures()
        logger = logging.getLogger("clarion")
        logger.addHandler(failures)
        try:
            yield
        finally:
            logger.removeHandler(failures)
        assert not failures.texts, failures.texts[0]

    async def _play(self, script: Script) -> None:
        wires: list[WirePeer] = []
        try:
            while not script.is_over:
                async with asyncio.timeout(STEP_LIMIT_S):
                    await self._step(script, wires)
                self._forget_those_that_left(wires)
        finally:
            for wire in wires:
                wire.peer.disconnect()
            self._forget_those_that_left(wires)

    def _forget_those_that_left(self, wires: list[WirePeer]) -> None:
        for wire in [each for each in wires if each.peer.leaving]:
            wires.remove(wire)
            self._peers.remove(wire.peer)

    async def _step(self, script: Script, wires: list[WirePeer]) -> None:
        action = script.below(12)
        if not wires or (action == 0 and len(wires) < MOST_PEERS):
            wires.append(self._connect(script))
            if script.below(4):
                await self._greet(script, wires[-1])
        wire = wires[script.below(len(wires))]
        if action <= 1:
            await self._greet(script, wire)
        elif action <= 6:
            await self._say(wire, self._phrase(script))
        elif action == 7:
            command, payload = self._phrase(script)
            await self._say(wire, (command, _damaged(script, payload)))
        elif action == 8:
            command = _COMMANDS[script.below(len(_COMMANDS))]
            await self._say(wire, (command, script.take(script.below(100))))
        elif action == 9:
            stream = V1Transport(MAGIC).encode(*self._phrase(script))
            await self._receive(wire, _damaged(script, stream))
        elif action == 10:
            self._clock.set_mock(self._clock.now() + PAUSES_S[script.below(len(PAUSES_S))])
            self._network.tick()
        elif script.below(2):
            wire.peer.disconnect()
        else:
            block = self._mined[script.below(len(self._mined))]
            submitted = self._stack.service.submit(self._stack.node.manager.process_new_block, block)
            await asyncio.wrap_future(submitted)

    def _connect(self, script: Script) -> WirePeer:
        kind = list(ConnectionType)[script.below(len(ConnectionType))]
        permissions = _PERMISSIONS[script.below(len(_PERMISSIONS))]
        number = next(self._numbers)
        address = f"{11 + number % 80}.{number // 80 % 250}.1.1:8333"
        wire = WirePeer(self._peers, kind, address, permissions)
        wire.peer.connected_us = self._network.context.clock.now_us()
        if script.below(2):
            wire.peer.our_services |= ServiceFlags.BLOOM
        return wire

    async def _greet(self, script: Script, wire: WirePeer) -> None:
        version = _VERSIONS[script.below(len(_VERSIONS))]
        greeting: list[Message] = [Version(version, SERVICES, self._clock.now(), relay=script.below(4) != 3)]
        features: tuple[Message, ...] = (WtxidRelay(), SendAddrV2())
        greeting += features[: script.below(3)]
        for message in [*greeting, Verack()]:
            await self._say(wire, (message.command, message.serialize()))

    def _phrase(self, script: Script) -> tuple[str, bytes]:
        return self._phrases[script.below(len(self._phrases))]

    async def _say(self, wire: WirePeer, said: tuple[str, bytes]) -> None:
        command, payload = said
        if not wire.peer.leaving:
            await self._peers.process(wire.peer, Received(command, payload, len(payload)))

    async def _receive(self, wire: WirePeer, stream: bytes) -> None:
        """Take bytes as a connection does."""
        transport = wire.peer.transport
        try:
            transport.receive(stream)
            for received in transport.messages():
                if received.command:
                    await self._peers.process(wire.peer, received)
                if wire.peer.leaving:
                    return
        except PeerError:
            wire.peer.disconnect()


def _damaged(script: Script, data: bytes) -> bytes:
    """Return bytes with some changed, and perhaps without their end."""
    changed = bytearray(data)
    for _ in range(1 + script.below(4)):
        if changed:
            place = script.below(min(len(changed), 1 << 16))
            changed[place] = script.below(256)
    return bytes(changed[: len(changed) - script.below(3) * script.below(64)])
