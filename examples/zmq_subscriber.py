"""Print what a node publishes over ZMQ, one line a message, and say when messages were lost.

    python examples/zmq_subscriber.py [tcp://127.0.0.1:28332] [--topic hashblock --topic rawtx]

Works against Clarion and Bitcoin Core. Needs pyzmq only. Start the node with, for example,
`-zmqpubhashblock=tcp://127.0.0.1:28332 -zmqpubrawtx=tcp://127.0.0.1:28332`. Ctrl-C ends it.
"""

import argparse
import contextlib
import time

import zmq

TOPICS = ("hashblock", "hashtx", "rawblock", "rawtx", "sequence")
LABELS = {"C": "block connected", "D": "block disconnected", "A": "added to mempool", "R": "removed from mempool"}


class Counters:
    """Finds gaps: every topic counts its own messages, from 0 at the node's start, modulo 2^32."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def lost(self, topic: str, counter: int) -> int:
        """Return how many messages of `topic` are missing before this one; 0 after a restart of the node."""
        expected = self._next.get(topic, counter)
        self._next[topic] = (counter + 1) % 2**32
        return 0 if counter < expected else counter - expected


def describe(topic: str, body: bytes) -> str:
    """Return a message's body in words. Hashes come in the order in which people write them, so `hex` shows them."""
    if topic == "sequence":
        text = f"{LABELS[chr(body[32])]} {body[:32].hex()}"
        # Mempool changes carry their number in the mempool's own sequence, which getrawmempool knows too.
        return f"{text} (mempool sequence {int.from_bytes(body[33:], 'little')})" if len(body) > 33 else text
    return body.hex() if topic.startswith("hash") else f"{len(body)} bytes, {body[:24].hex()}..."


def main() -> None:
    """Subscribe and print until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="*", default=["tcp://127.0.0.1:28332"], help="where the node publishes")
    parser.add_argument("--topic", action="append", choices=TOPICS, help="default: all that the node publishes")
    args = parser.parse_args()

    socket = zmq.Context().socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, 0)  # a whole block's transactions come at once: let them queue here
    socket.setsockopt(zmq.IPV6, 1)
    for address in args.address:
        socket.connect(address)
    for topic in args.topic or TOPICS:
        socket.subscribe(topic)
    counters = Counters()
    while True:
        topic_bytes, body, counter_bytes = socket.recv_multipart()
        topic, counter = topic_bytes.decode(), int.from_bytes(counter_bytes, "little")
        lost = counters.lost(topic, counter)
        if lost:
            print(f"{lost} messages of {topic} were lost: ask the node what happened meanwhile", flush=True)
        print(f"{time.strftime('%H:%M:%S')} {topic:9} #{counter:<6} {describe(topic, body)}", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
