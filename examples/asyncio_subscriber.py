"""Follow the chain with asyncio: keep the list of active blocks right through reorganisations.

    python examples/asyncio_subscriber.py [tcp://127.0.0.1:28332]

Works against Clarion and Bitcoin Core. Needs pyzmq only, and a node with `-zmqpubsequence=<address>`: that topic tells
every connected and disconnected block in order, where `hashblock` tells only the last block of a reorganisation.
"""

import argparse
import asyncio
import contextlib
from collections.abc import AsyncIterator

import zmq
import zmq.asyncio


class ActiveChain:
    """The blocks that were connected since we listen and are still in the active chain, lowest first."""

    def __init__(self) -> None:
        self.blocks: list[str] = []

    def connect(self, block_hash: str) -> None:
        """Put a block on top."""
        self.blocks.append(block_hash)

    def disconnect(self, block_hash: str) -> None:
        """Take the top block off. A block from before our time is not in the list."""
        if self.blocks and self.blocks[-1] == block_hash:
            self.blocks.pop()


async def block_changes(address: str) -> AsyncIterator[tuple[str, str]]:
    """Yield ("C" or "D", block hash) forever. Raises LookupError where messages were lost."""
    socket = zmq.asyncio.Context.instance().socket(zmq.SUB)
    try:
        socket.setsockopt(zmq.IPV6, 1)
        socket.connect(address)
        socket.subscribe("sequence")
        expected = None
        while True:
            _, body, counter_bytes = await socket.recv_multipart()
            counter = int.from_bytes(counter_bytes, "little")
            if expected not in (None, counter):
                raise LookupError(f"message {expected} expected, {counter} came")
            expected = (counter + 1) % 2**32
            if (label := chr(body[32])) in "CD":
                yield label, body[:32].hex()
    finally:
        socket.close(linger=0)


async def follow(address: str) -> None:
    """Print every change of the active chain; start afresh after a gap."""
    while True:
        chain = ActiveChain()
        try:
            async for label, block_hash in block_changes(address):
                if label == "C":
                    chain.connect(block_hash)
                else:
                    chain.disconnect(block_hash)
                print(f"{label} {block_hash} ({len(chain.blocks)} blocks since we listen)", flush=True)
        except LookupError as gap:
            # A real program asks getblockchaininfo here, and walks back to a block that it knows.
            print(f"Messages were lost or the node was restarted ({gap}): starting afresh", flush=True)


def main() -> None:
    """Follow until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="?", default="tcp://127.0.0.1:28332", help="where the node publishes")
    asyncio.run(follow(parser.parse_args().address))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
