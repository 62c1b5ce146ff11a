"""A regtest node on SQLite in a temporary folder, a block every two seconds, and what a subscriber hears of it.

    python examples/demo.py [--seconds 20]

Starts `clarion`, mines coins for a key of its own, then keeps mining blocks with a few signed payments while
`zmq_subscriber.py` prints the node's messages. Ends after --seconds, or on Ctrl-C; both end everything cleanly.
"""

import argparse
import base64
import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coincurve import PrivateKey

from clarion.node.primitives.bech32 import BECH32, encode_bech32, to_5_bits
from clarion.node.primitives.hashes import hash160, sha256d
from clarion.node.primitives.ids import hash_from_hex, make_outpoint
from clarion.node.primitives.script import p2pkh_script, witness_script
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

BLOCK_PAUSE_S = 2
PAYMENTS_PER_BLOCK = 3
LEAST_BLOCKS = 3  # a busy machine may need most of the time to start
COINBASE_MATURITY = 100
FEE_SAT = 1000
TOPICS = ("hashblock", "rawtx", "sequence")


class Wallet:
    """One key. Spends the coins that it mined; every payment sends half of one away and keeps the rest."""

    def __init__(self, secret: bytes) -> None:
        self._key = PrivateKey(secret)
        self._pubkey = self._key.public_key.format()
        self._pubkey_hash = hash160(self._pubkey)
        self.script = witness_script(0, self._pubkey_hash)
        self.address = encode_bech32("bcrt", [0, *to_5_bits(self._pubkey_hash)], BECH32)

    def pay(self, txid_hex: str, value_sat: int, to_script: bytes) -> Transaction:
        """Return a signed transaction that spends output 0 of `txid_hex`, worth `value_sat`."""
        prevout = make_outpoint(hash_from_hex(txid_hex), 0)
        half = value_sat // 2
        outputs = [TxOut(half, to_script), TxOut(value_sat - half - FEE_SAT, self.script)]
        message = self._message(prevout, value_sat, outputs)
        signature = self._key.sign(message, hasher=None) + b"\x01"  # SIGHASH_ALL
        return Transaction(2, [TxIn(prevout, witness=(signature, self._pubkey))], outputs)

    def _message(self, prevout: bytes, value_sat: int, outputs: list[TxOut]) -> bytes:
        # BIP143 for one input that pays a key's hash.
        sequence = b"\xff\xff\xff\xff"
        script_code = p2pkh_script(self._pubkey_hash)
        return sha256d(
            (2).to_bytes(4, "little")
            + sha256d(prevout)
            + sha256d(sequence)
            + prevout
            + bytes((len(script_code),))
            + script_code
            + value_sat.to_bytes(8, "little")
            + sequence
            + sha256d(b"".join(output.serialize() for output in outputs))
            + bytes(4)
            + (1).to_bytes(4, "little")
        )


class DemoNode:
    """A regtest node in `datadir`."""

    def __init__(self, datadir: Path) -> None:
        self._cookie = datadir / "regtest" / ".cookie"
        self._port = free_port()
        self.zmq_address = f"tcp://127.0.0.1:{free_port()}"
        command = [str(Path(sys.executable).parent / "clarion"), "-regtest", "-listen=0", "-par=1"]
        command += [f"-datadir={datadir}", f"-rpcport={self._port}", "-printtoconsole=0"]
        command += [f"-zmqpub{topic}={self.zmq_address}" for topic in TOPICS]
        # A session of its own: Ctrl-C must reach this script only, which then stops the node.
        self.process = subprocess.Popen(command, start_new_session=True)

    def wait_ready(self) -> None:
        """Wait until the node answers."""
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"the node ended with status {self.process.returncode}")
            with contextlib.suppress(OSError, RuntimeError, http.client.HTTPException):
                self.rpc("getblockcount")
                return
            time.sleep(0.1)
        raise SystemExit("the node did not answer within a minute")

    def rpc(self, method: str, *params: object) -> Any:
        """Call a method and return its result. Raises RuntimeError with the node's message."""
        authorization = "Basic " + base64.b64encode(self._cookie.read_bytes()).decode()
        body = json.dumps({"method": method, "params": params, "id": 1})
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("POST", "/", body, {"Authorization": authorization})
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if answer["error"]:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def close(self) -> None:
        """Ask the node to stop and wait for it."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


def free_port() -> int:
    """Return a TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def subscriber(address: str) -> Iterator[None]:
    """Run the example subscriber beside the node; its output goes to the terminal."""
    script = Path(__file__).parent / "zmq_subscriber.py"
    process = subprocess.Popen([sys.executable, "-u", str(script), address], start_new_session=True)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def mine(node: DemoNode, wallet: Wallet, deadline: float) -> None:
    """Mine a block with a few payments every two seconds until `deadline` (of time.monotonic), at least three."""
    shop = Wallet(bytes(31) + b"\x02")
    height = node.rpc("getblockcount")
    next_coinbase = 1
    mined = 0
    while mined < LEAST_BLOCKS or time.monotonic() + BLOCK_PAUSE_S < deadline:
        time.sleep(BLOCK_PAUSE_S)
        payments: list[str] = []
        while len(payments) < PAYMENTS_PER_BLOCK and next_coinbase <= height + 1 - COINBASE_MATURITY:
            block = node.rpc("getblock", node.rpc("getblockhash", next_coinbase), 2)
            coinbase = block["tx"][0]
            value_sat = round(coinbase["vout"][0]["value"] * 100_000_000)
            payments.append(wallet.pay(coinbase["txid"], value_sat, shop.script).raw.hex())
            next_coinbase += 1
        node.rpc("generateblock", wallet.address, payments)
        height += 1
        mined += 1
    time.sleep(max(0.0, deadline - time.monotonic()))


def run(seconds: float) -> None:
    """Run the demonstration for `seconds` (0: until Ctrl-C)."""
    deadline = time.monotonic() + seconds if seconds else float("inf")
    wallet = Wallet(bytes(31) + b"\x01")
    with tempfile.TemporaryDirectory(prefix="clarion-demo-") as folder:
        node = DemoNode(Path(folder))
        try:
            node.wait_ready()
            print(f"A regtest node runs in {folder}; its events are on {node.zmq_address}.")
            print(f"Mining coins for {wallet.address} ...", flush=True)
            node.rpc("generatetoaddress", COINBASE_MATURITY + 40, wallet.address)
            print("A block every two seconds; Ctrl-C ends the demonstration.", flush=True)
            with subscriber(node.zmq_address):
                mine(node, wallet, deadline)
            print(f"The chain has {node.rpc('getblockcount')} blocks. Stopping the node ...", flush=True)
        finally:
            node.close()


def main() -> int:
    """Run until the time is over or Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0, help="end by itself after this time (0: never)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # A shell starts background jobs deaf to Ctrl-C, and what they start inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        run(parser.parse_args().seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
