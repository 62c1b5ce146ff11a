"""A chain of full blocks with 105,137 real signatures: loaded, spoilt, and interrupted."""

import hashlib
from pathlib import Path

import pytest

from clarion.node.primitives.block import Block
from clarion.node.primitives.transaction import Transaction, TxIn
from helpers.blk_files import GENERATED_COINS, GENERATED_TIP, generated_file, join_blocks, split_blocks
from helpers.node import Node, run_program

REGTEST_MAGIC = bytes.fromhex("fabfb5da")
BAD_TXID = "cec3b996"
PARALLEL = ["-par=1", "-par=2"]


@pytest.fixture(scope="module")
def chain_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the blk file."""
    return generated_file(tmp_path_factory)


@pytest.fixture(scope="module")
def badly_signed_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a blk file whose block 130 has a wrong signature."""
    return generated_file(tmp_path_factory, "--bad", "6")


def load(folder: Path, source: Path, *options: str) -> tuple[int, str]:
    """Import the file into a new data directory and return (status, standard error)."""
    folder.mkdir(exist_ok=True)
    done = run_program("import", str(source), "-regtest", f"-datadir={folder}", *options)
    return done.returncode, done.stderr


def assert_facts(folder: Path) -> None:
    """Start a node on what was loaded and compare it with what the chain must lead to."""
    with Node(folder, "-par=1") as node:
        assert node.rpc("getbestblockhash") == GENERATED_TIP
        coins = node.rpc("gettxoutsetinfo", "hash_serialized_3")
        assert {key: coins[key] for key in GENERATED_COINS} == GENERATED_COINS
        muhash = "ee77d79afa2cc4ba42d5f362914383d097731228fda305ed532a8a37cfbd6d99"
        assert node.rpc("gettxoutsetinfo", "muhash")["muhash"] == muhash
        dumped = node.rpc("dumptxoutset", "coins", "latest")
        assert dumped["txoutset_hash"] == GENERATED_COINS["hash_serialized_3"]
        # The reference's file of this chain.
        sha256 = "57d4230606349cf32e8fe90039e70ce4c668ae8ac23c773d7e47e3ff8007a82b"
        assert hashlib.sha256(Path(dumped["path"]).read_bytes()).hexdigest() == sha256


@pytest.mark.slow
@pytest.mark.parametrize("par", PARALLEL)
def test_load(chain_file: Path, tmp_path: Path, par: str) -> None:
    assert load(tmp_path, chain_file, par)[0] == 0
    assert_facts(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("par", PARALLEL)
def test_wrong_signature(badly_signed_file: Path, tmp_path: Path, par: str) -> None:
    status, said = load(tmp_path, badly_signed_file, par)
    assert status == 1
    reason = (
        "block-script-verify-flag-failed (Script evaluated without error but finished with a false/empty top stack "
        f"element), input 0 of {BAD_TXID}"
    )
    assert reason in said + (tmp_path / "regtest" / "debug.log").read_text()
    with Node(tmp_path, "-par=1") as node:
        assert node.rpc("getblockcount") == 129


@pytest.mark.slow
def test_flipped_witness_byte(chain_file: Path, tmp_path: Path) -> None:
    blocks = split_blocks(chain_file)
    blocks[130] = with_flipped_witness(blocks[130])
    spoilt = tmp_path / "spoilt.dat"
    join_blocks(spoilt, REGTEST_MAGIC, blocks)
    status, said = load(tmp_path / "data", spoilt, "-par=2")
    assert status == 1
    assert "bad-witness-merkle-match" in said
    with Node(tmp_path / "data", "-par=1") as node:
        assert node.rpc("getblockcount") == 129


def with_flipped_witness(raw: bytes) -> bytes:
    """Return the block with one bit changed in the first witness behind the coinbase."""
    block = Block.parse(raw)
    index = next(i for i, tx in enumerate(block.txs) if i and tx.has_witness)
    tx = block.txs[index]
    at = next(i for i, txin in enumerate(tx.inputs) if txin.witness)
    first = tx.inputs[at]
    item = bytes((first.witness[0][0] ^ 1,)) + first.witness[0][1:] if first.witness[0] else b"\x01"
    inputs = list(tx.inputs)
    inputs[at] = TxIn(first.prevout, first.script_sig, first.sequence, (item, *first.witness[1:]))
    block.txs[index] = Transaction(tx.version, inputs, tx.outputs, tx.lock_time)
    return Block(block.header, block.txs).raw
