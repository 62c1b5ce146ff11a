"""A network of namespaces whose links are slow, lose packets, and can be cut: every packet passes through this process.

Owns: the namespaces, their TUN devices and what happens to packets between them. Never: nodes. Needs root and Linux;
`lossy_network` skips the test that uses it where that is not allowed.
"""

import contextlib
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from helpers.node import Node, program

_TUNSETIFF = 0x400454CA
_TUN_WITHOUT_HEADER = 0x1001
_DESTINATION = slice(16, 20)
_PACKET_SIZE = 1 << 16
_TESTER = 254
"""The last byte of the tests' own address, whose packets are never late or lost: RPC goes this way."""


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _open_tun(name: str) -> int:
    import fcntl

    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TUN_WITHOUT_HEADER))
    return device


class LossyNetwork:
    """`count` namespaces; number n has the address that `address(n)` tells."""

    def __init__(self, count: int, delay_s: float, loss: float, seed: int = 1) -> None:
        """`delay_s` is one way, `loss` the share of packets that do not arrive."""
        self._delay_s = delay_s
        self._loss = loss
        self._random = random.Random(seed)
        self._name = f"clarion{os.getpid() % 100_000}"
        # Of its own, so that other runs on this machine are not in the way.
        self.prefix = f"10.{64 + os.getpid() % 64}.{os.getpid() // 64 % 256}."
        """The first three bytes of all addresses, as text."""
        self._parts: list[set[int]] = []
        self._devices: dict[int, int] = {}
        self._numbers = [*range(1, count + 1), _TESTER]
        self._queue: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self.lost = 0
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._run, name="lossy-network", daemon=True)

    def address(self, number: int) -> str:
        """Return the IPv4 address in namespace `number`, counted from 0."""
        return f"{self.prefix}{number + 1}"

    def node(self, number: int, folder: Path, *options: str) -> Node:
        """Return a node for a namespace, which listens there; it is not started."""
        address = self.address(number)
        node = Node(
            folder,
            "-listen=1",
            f"-bind={address}:18444",
            f"-rpcbind={address}",
            f"-rpcallowip={self.prefix}0/24",
            *options,
        )
        node.host = address
        node.program = ["ip", "netns", "exec", self._namespace(number + 1), *program()]
        return node

    def part(self, *groups: Sequence[int]) -> None:
        """Cut the network into groups of namespaces; no group: mend it."""
        self._parts = [{number + 1 for number in group} for group in groups]

    def open(self) -> None:
        """Make the namespaces. Raises OSError where that is not allowed."""
        for number in self._numbers:
            device = f"{self._name}.{number}"[-15:]
            self._devices[number] = _open_tun(device)
            inside: list[str] = []
            if number != _TESTER:
                _ip("netns", "add", self._namespace(number))
                _ip("link", "set", device, "netns", self._namespace(number))
                inside = ["-n", self._namespace(number)]
                _ip(*inside, "link", "set", "lo", "up")
            _ip(*inside, "address", "add", f"{self.prefix}{number}/24", "dev", device)
            _ip(*inside, "link", "set", device, "up")
        _ip("netns", "exec", self._namespace(1), "true")
        self._thread.start()

    def close(self) -> None:
        """Take everything down."""
        os.close(self._stopped)
        if self._thread.is_alive():
            self._thread.join()
        os.close(self._stop)
        for device in self._devices.values():
            os.close(device)
        for number in self._numbers[:-1]:
            with contextlib.suppress(OSError):
                _ip("netns", "delete", self._namespace(number))

    def _namespace(self, number: int) -> str:
        return f"{self._name}-{number}"

    # --- packets ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        numbers = {device: number for number, device in self._devices.items()}
        waited = [*numbers, self._stop]
        while True:
            wait_s = max(0.0, self._queue[0][0] - time.monotonic()) if self._queue else None
            ready, _, _ = select.select(waited, [], [], wait_s)
            if self._stop in ready:
                return
            for device in ready:
                self._take(numbers[device], device)
            self._deliver()

    def _take(self, source: int, device: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = os.read(device, _PACKET_SIZE)
                target = packet[_DESTINATION][-1]
                if packet[0] >> 4 != 4 or target not in self._devices:
                    continue
                delay_s = 0.0
                if _TESTER not in (source, target):
                    if self._is_cut(source, target) or self._random.random() < self._loss:
                        self.lost += 1
                        continue
                    delay_s = self._delay_s
                self._count += 1
                heapq.heappush(self._queue, (time.monotonic() + delay_s, self._count, target, packet))

    def _is_cut(self, source: int, target: int) -> bool:
        return bool(self._parts) and not any({source, target} <= part for part in self._parts)

    def _deliver(self) -> None:
        while self._queue and self._queue[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(self._queue)
            # A full queue loses packets, as everywhere.
            with contextlib.suppress(OSError):
                os.write(self._devices[target], packet)


@contextlib.contextmanager
def lossy_network(count: int, *, delay_s: float, loss: float) -> Iterator[LossyNetwork]:
    """Provide a network while the block runs; skip the running test where it can't be made."""
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need the program ip")
    network = LossyNetwork(count, delay_s, loss)
    try:
        try:
            network.open()
        except OSError as error:
            pytest.skip(f"network namespaces can't be made here: {error}")
        yield network
    finally:
        network.close()
