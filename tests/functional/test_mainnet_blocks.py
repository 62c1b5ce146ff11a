"""Mainnet's first 255 blocks: imported, served, and told."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.primitives.block import Block
from helpers.blk_files import MAINNET_255, MAINNET_COINS, mainnet_file, split_blocks
from helpers.node import TOPICS, Node, Subscriber, free_port, run_program

SYNCED = ("-maxtipage=9999999999", "-minimumchainwork=0")


def block_hash(raw: bytes) -> str:
    return hashlib.sha256(hashlib.sha256(raw[:80]).digest()).digest()[::-1].hex()


@pytest.fixture(scope="module")
def blk_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the blk file."""
    return mainnet_file(tmp_path_factory.mktemp("mainnet"))


@pytest.fixture(scope="module")
def imported(blk_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a running node on a data directory that `clarion import` has filled."""
    folder = tmp_path_factory.mktemp("imported")
    done = run_program("import", str(blk_file), f"-datadir={folder}", "-par=1")
    assert done.returncode == 0, done.stderr
    with Node(folder, "-par=1", chain="main") as node:
        yield node


def test_import_ends_at_the_known_tip(imported: Node) -> None:
    assert imported.rpc("getbestblockhash") == MAINNET_255
    coins = imported.rpc("gettxoutsetinfo", "hash_serialized_3")
    assert {key: coins[key] for key in MAINNET_COINS} == MAINNET_COINS
    assert coins["total_amount"] == 12750
    assert imported.rpc("getblockchaininfo")["chainwork"].lstrip("0") == "10001000100"


def test_muhash_of_the_known_coins(imported: Node) -> None:
    muhash = "60e29020ee287387a5b311fa9d665e232d41fb14f6243342cf1bdd967cc82117"
    assert imported.rpc("gettxoutsetinfo", "muhash")["muhash"] == muhash


# The files that the reference writes of these blocks.
@pytest.mark.parametrize(
    ("height", "sha256"),
    [
        (255, "a785f8a9f467a1042fb597373e32df09f59c2942b83d01b963012ec84edf550a"),
        (100, "0bb890ca492889584245930a3b6af417745ec2ee8eb9240d9b3df29047dab101"),
    ],
)
def test_dumped_coins_are_the_reference_s(imported: Node, height: int, sha256: str) -> None:
    answer = imported.rpc("dumptxoutset", f"at{height}", "rollback", {"rollback": height})
    assert hashlib.sha256(Path(answer["path"]).read_bytes()).hexdigest() == sha256
    assert answer["nchaintx"] == sum(
        imported.rpc("getblock", imported.rpc("getblockhash", each))["nTx"] for each in range(height + 1)
    )


def test_rest_serves_the_bytes_of_the_file(imported: Node, blk_file: Path) -> None:
    for raw in split_blocks(blk_file):
        assert imported.rest(f"block/{block_hash(raw)}.bin") == (200, raw)


def test_import_tells_transactions_but_no_blocks(blk_file: Path, tmp_path: Path) -> None:
    """In initial sync the block topics are silent, as in Bitcoin Core."""
    address = f"tcp://127.0.0.1:{free_port()}"
    subscriber = Subscriber(address, TOPICS)
    options = [f"-zmqpub{topic}={address}" for topic in TOPICS]
    options += [f"-zmqpub{topic}hwm=0" for topic in TOPICS]
    run_program("import", str(blk_file), f"-datadir={tmp_path}", "-par=1", *options)
    messages = subscriber.drain(1)
    subscriber.close()
    blocks = split_blocks(blk_file)
    count = sum(len(Block.parse(raw).txs) for raw in blocks)
    connected = [body[:32].hex() for topic, body, _ in messages if topic == "sequence" and body[32:33] == b"C"]
    assert Counter(topic for topic, _, _ in messages) == {"rawtx": count, "hashtx": count, "sequence": 255}
    assert connected == [block_hash(raw) for raw in blocks]


def test_submitted_blocks_are_told_one_by_one(blk_file: Path, tmp_path: Path) -> None:
    blocks = split_blocks(blk_file)
    topics = ("hashblock", "rawblock")
    with Node(tmp_path, *SYNCED, "-par=1", chain="main", topics=topics) as node, node.subscriber() as subscriber:
        for raw in blocks:
            assert node.rpc("submitblock", raw.hex()) is None
        messages = subscriber.drain(1)
    told = {topic: [(body, counter) for t, body, counter in messages if t == topic] for topic in TOPICS}
    assert told["rawblock"] == [(raw, i) for i, raw in enumerate(blocks)]
    assert told["hashblock"] == [(bytes.fromhex(block_hash(raw)), i) for i, raw in enumerate(blocks)]
