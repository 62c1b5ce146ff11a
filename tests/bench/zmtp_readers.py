"""Many cheap subscribers in one process: they speak just enough ZMTP to subscribe, and never parse what they get.

Owns: the sockets, and the moment at which each of them has a message. Never: libzmq, the node.
A hundred subscribers that decode each message would take more of two cores than the node does. These read with
`recv_into` and look for the one message that is waited for, both loops in C. Source: ZMTP 3.0 (rfc.zeromq.org/spec/23).

Commands on standard input, an answer for each on standard output: `rawblock` and `rawtx` arm all readers, which is answered
with `armed`, and then with a JSON list of the moments (CLOCK_MONOTONIC, nanoseconds) at which each had its next one, whole.
`cpu` is answered with the seconds of processor time that this process has taken.
"""

import json
import selectors
import socket
import sys
import time

_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
_READY_BODY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
_READY = b"\x04" + bytes([len(_READY_BODY)]) + _READY_BODY
_SUBSCRIBE_TO_ALL = b"\x00\x01\x01"
_LONG_FRAME = b"\x03"
_COUNTER_BYTES = 6
_BUFFER_BYTES = 1 << 20


class Reader:
    """One subscriber to everything at an address."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.sendall(_GREETING)
        self._exactly(len(_GREETING))
        self.socket.sendall(_READY)
        self._exactly(self._exactly(2)[1])
        self.socket.sendall(_SUBSCRIBE_TO_ALL)
        self.socket.setblocking(False)
        self._tail = b""
        self._topic = b""
        self._missing: int | None = None

    def arm(self, topic: str) -> None:
        """Look for the next message of a topic."""
        self._topic = b"\x01" + bytes([len(topic)]) + topic.encode()
        self._tail, self._missing = b"", None

    def read(self, buffer: bytearray) -> bool:
        """Take what is there; whether it ends the message that is looked for."""
        count = self.socket.recv_into(buffer)
        if not count:
            raise EOFError("the node closed the connection")
        if not self._topic:
            return False
        if self._missing is not None:
            self._missing -= count
            return self._is_whole()
        return self._find(self._tail + memoryview(buffer)[:count])

    def _find(self, data: bytes) -> bool:
        at = data.find(self._topic)
        head = at + len(self._topic)
        if at < 0 or len(data) < head + 9:
            self._tail = data[-64:]
            return False
        if data[head : head + 1] == _LONG_FRAME:
            body = 9 + int.from_bytes(data[head + 1 : head + 9], "big")
        else:
            body = 2 + data[head + 1]
        self._missing = head + body + _COUNTER_BYTES - len(data)
        return self._is_whole()

    def _is_whole(self) -> bool:
        if self._missing is None or self._missing > 0:
            return False
        self._topic = b""
        return True

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self.socket.recv(count - len(data))
        return data


class Crowd:
    """All readers, on one thread."""

    def __init__(self, host: str, port: int, count: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._readers = [Reader(host, port) for _ in range(count)]
        for reader in self._readers:
            self._selector.register(reader.socket, selectors.EVENT_READ, reader)
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        self._buffer = bytearray(_BUFFER_BYTES)
        self._moments: list[int] = []

    def run(self) -> None:
        """Serve until the input ends."""
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    if not self._obey(sys.stdin.readline().strip()):
                        return
                elif key.data.read(self._buffer):
                    self._moments.append(time.monotonic_ns())
                    if len(self._moments) == len(self._readers):
                        print(json.dumps(self._moments), flush=True)

    def _obey(self, command: str) -> bool:
        if command == "cpu":
            print(time.process_time(), flush=True)
        elif command:
            self._moments = []
            for reader in self._readers:
                reader.arm(command)
            print("armed", flush=True)
        return bool(command)


if __name__ == "__main__":
    Crowd(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])).run()
