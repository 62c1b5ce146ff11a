"""REST's getutxos: asked in the path or in the body, with and without the mempool."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.primitives.codec import compact_size
from clarion.node.primitives.coin import Coin, encode_outputs
from clarion.node.primitives.ids import OutPoint, hash_from_hex, hash_to_hex, make_outpoint
from helpers.anyone import DESCRIPTOR, Money, spend
from helpers.api_stack import ApiStack

MEMPOOL_HEIGHT = 0x7FFFFFFF
UNKNOWN = "ab" * 32


class Scene:
    """An API over a chain whose first coinbase is spent in the mempool."""

    def __init__(self, folder: Path) -> None:
        self.stack = ApiStack(folder).ready()
        hashes = self.stack.result("generatetodescriptor", 101, DESCRIPTOR)
        self.coinbase = self.stack.result("getblock", hashes[0])["tx"][0]
        self.outpoint = make_outpoint(hash_from_hex(self.coinbase), 0)
        self.tx = spend([Money(self.outpoint, 50 * 100_000_000)])
        assert self.stack.mempool.accept(self.tx).error is None
        self.made = make_outpoint(self.tx.txid, 0)

    def text(self, *outpoints: OutPoint) -> str:
        """Return outpoints as a path names them."""
        return "/".join(f"{hash_to_hex(each[:32])}-{int.from_bytes(each[32:], 'little')}" for each in outpoints)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    scene = Scene(tmp_path_factory.mktemp("utxos"))
    yield scene
    scene.stack.close()


def test_the_chain_alone_knows_nothing_of_the_mempool(scene: Scene) -> None:
    answer = scene.stack.get(f"/rest/getutxos/{scene.text(scene.outpoint, scene.made)}.json").json()
    assert (answer["chainHeight"], answer["bitmap"]) == (101, "10")
    assert answer["chaintipHash"] == scene.stack.result("getbestblockhash")
    (utxo,) = answer["utxos"]
    assert (utxo["height"], utxo["value"]) == (1, 50)
    assert utxo["scriptPubKey"]["type"] == "witness_v0_scripthash"


def test_the_mempool_spends_and_makes_outputs(scene: Scene) -> None:
    path = f"/rest/getutxos/checkmempool/{scene.text(scene.outpoint, scene.made)}"
    answer = scene.stack.get(f"{path}.json").json()
    assert (answer["bitmap"], answer["utxos"][0]["height"]) == ("01", MEMPOOL_HEIGHT)
    raw = scene.stack.get(f"{path}.bin").content
    output = scene.tx.outputs[0]
    tip = hash_from_hex(scene.stack.result("getbestblockhash"))
    assert raw == struct.pack("<i", 101) + tip + b"\x01\x02" + b"\x01" + struct.pack(
        "<II", 0, MEMPOOL_HEIGHT
    ) + encode_outputs([Coin(output.value, output.script_pubkey, 0)])
    assert scene.stack.get(f"{path}.hex").text == raw.hex() + "\n"


def test_the_question_may_stand_in_the_body(scene: Scene) -> None:
    body = b"\x01" + compact_size(2) + scene.outpoint + scene.made
    asked = scene.stack.request("POST", "/rest/getutxos.bin", content=body).content
    assert asked == scene.stack.get(f"/rest/getutxos/checkmempool/{scene.text(scene.outpoint, scene.made)}.bin").content
    hexed = scene.stack.request("POST", "/rest/getutxos.hex", content=body.hex().encode()).text
    assert hexed == asked.hex() + "\n"


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        (".json", b"", "Error: empty request"),
        ("/checkmempool.json", b"", "Error: empty request"),
        (".json", b"\x01\x00", "Error: empty request"),
        ("/zz-0.json", b"", "Parse error"),
        (f"/{UNKNOWN}.json", b"", "Parse error"),
        (f"/{UNKNOWN}-x.json", b"", "Parse error"),
        (f"/{UNKNOWN}-4294967296.json", b"", "Parse error"),
        (f"/{UNKNOWN}-1-2.json", b"", "Parse error"),
        (".bin", b"\x00\x02" + bytes(36), "Parse error"),
        (".bin", b"\x00", "Parse error"),
        (f"/{UNKNOWN}-0.bin", b"\x00\x00", "Combination of URI scheme inputs and raw post data is not allowed"),
        ("/" + "/".join([f"{UNKNOWN}-0"] * 16) + ".json", b"", "Error: max outpoints exceeded (max: 15, tried: 16)"),
    ],
)
def test_wrong_questions(scene: Scene, path: str, body: bytes, text: str) -> None:
    answer = scene.stack.request("POST" if body else "GET", f"/rest/getutxos{path}", content=body)
    assert (answer.status_code, answer.text) == (400, text + "\r\n")


def test_a_format_that_does_not_exist(scene: Scene) -> None:
    answer = scene.stack.get(f"/rest/getutxos/{UNKNOWN}-0")
    assert (answer.status_code, answer.text) == (404, "output format not found (available: .bin, .hex, .json)\r\n")
