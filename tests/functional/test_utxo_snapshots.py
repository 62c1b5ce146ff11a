"""dumptxoutset on a real node: at the tip, at earlier blocks, through reorganisations and kills, on both databases."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.anyone import mine, mine_money, send, spend
from helpers.node import Node, RpcFailure
from helpers.random_kills import KINDS, make_home

OTHERS = "raw(51)"
CORE_REGTEST_100 = "e8c59b1bc1f19061c67eb7a392f4ea17eea83af58646ea2909e270546699c36c"
"""Hash of the file that the reference's own test expects."""


@pytest.fixture(params=KINDS)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """A node on SQLite and on PostgreSQL."""
    with make_home(request.param, tmp_path / "home") as home:
        node = Node(tmp_path / "home", "-par=1", *home.options)
        with node:
            yield node


def _dump(node: Node, name: str, *arguments: object) -> bytes:
    answer = node.rpc("dumptxoutset", name, *arguments)
    path = Path(answer["path"])
    assert path == node.datadir / "regtest" / name
    found = node.rpc("gettxoutsetinfo") if arguments == ("latest",) else None
    if found is not None:
        told = (answer["base_hash"], answer["txoutset_hash"], answer["coins_written"])
        assert told == (found["bestblock"], found["hash_serialized_3"], found["txouts"])
    return path.read_bytes()


def test_the_file_is_the_reference_s(node: Node) -> None:
    node.rpc("setmocktime", node.rpc("getblockheader", node.rpc("getblockhash", 0))["time"] + 1)
    # What its test framework mines to.
    key = "cVpF924EspNh8KjYsfhgY96mmxvT6DgdWiTYMtMjuM74hJaU5psW"
    desc = node.rpc("getdescriptorinfo", f"pkh({key})")["checksum"]
    node.rpc("generatetodescriptor", 100, f"pkh({key})#{desc}")
    assert hashlib.sha256(_dump(node, "at100", "latest")).hexdigest() == CORE_REGTEST_100


def test_earlier_blocks(node: Node) -> None:
    money = mine_money(node, 4)
    files = {node.rpc("getblockcount"): _dump(node, "start", "latest")}
    for number, each in enumerate(money):
        send(node, spend([each], outputs=2 + number))
        (block,) = node.rpc("generatetodescriptor", 1, OTHERS)
        files[node.rpc("getblockcount")] = _dump(node, f"latest{number}", "latest")
    node.rpc("invalidateblock", block)
    mine(node, 2)
    node.rpc("invalidateblock", node.rpc("getbestblockhash"))
    node.rpc("reconsiderblock", block)
    for height, expected in files.items():
        block_hash = node.rpc("getblockhash", height)
        assert _dump(node, f"file{height}", "rollback", {"rollback": height}) == expected
        assert _dump(node, f"memory{height}", "", {"rollback": block_hash, "in_memory": True}) == expected
    assert not list(node.datadir.glob("regtest/*incomplete")) + list(node.datadir.glob("regtest/temp_utxo*"))


def test_what_a_kill_leaves_behind_is_written_over(node: Node) -> None:
    folder = node.datadir / "regtest"
    mine(node, 5)
    os.mkfifo(folder / "pipe")
    # Nobody reads: the dump is in the middle of its work when the node is killed.
    waiting = threading.Thread(target=_dump_into, args=(node, "pipe"), daemon=True)
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive()
    node.kill()
    for name in ("dump.incomplete", "temp_utxo_3"):
        (folder / name).write_bytes(b"half of a file")
    node.start()
    third = _dump(node, "dump", "rollback", {"rollback": 3})
    assert len(third) == 51 + 3 * (32 + 1 + 1 + len(b"\x01\x32") + 1 + 34)
    assert not (folder / "dump.incomplete").exists()
    assert not (folder / "temp_utxo_3").exists()


def _dump_into(node: Node, name: str) -> None:
    with contextlib.suppress(Exception):
        node.rpc("dumptxoutset", name, "latest")


def test_into_a_pipe(node: Node) -> None:
    mine(node, 3)
    os.mkfifo(node.datadir / "regtest" / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((node.datadir / "regtest" / "pipe").read_bytes()))
    reader.start()
    assert node.rpc("dumptxoutset", "pipe", "rollback", {"rollback": 2})["coins_written"] == 2
    reader.join(30)
    assert read == [_dump(node, "file", "rollback", {"rollback": 2})]


def test_what_is_asked_wrongly_is_refused(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-apiworkers=0") as node:
        (block, _) = mine(node, 2)
        (tmp_path / "there").touch()
        for arguments, code, text in (
            ((tmp_path / "there", "latest"), -8, "already exists. If you are sure this is what you want, move it"),
            (("no/folder", "latest"), -8, "Couldn't open file .*/regtest/no/folder.incomplete for writing."),
            (("a", "bogus"), -8, 'Invalid snapshot type "bogus" specified. Please specify "rollback" or "latest"'),
            (("a",), -8, 'Invalid snapshot type "" specified'),
            (("a", "latest", {"rollback": 1}), -8, 'Invalid snapshot type "latest" specified with rollback option'),
            (("a", "rollback"), -8, "Target block height 299 after current tip 2"),
            (("a", "rollback", {"rollback": 3}), -8, "Target block height 3 after current tip 2"),
            (("a", "rollback", {"rollback": -1}), -8, "Target block height -1 is negative"),
            (("a", "rollback", {"rollback": "00" * 32}), -5, "Block not found"),
            (("a", "rollback", {"rollback": 1, "in_memory": "x"}), -3, "not of expected type bool"),
        ):
            with pytest.raises(RpcFailure, match=text) as caught:
                node.rpc("dumptxoutset", *map(_plain, arguments))
            assert caught.value.code == code
        node.rpc("invalidateblock", block)
        with pytest.raises(RpcFailure, match="Block is not in main chain"):
            node.rpc("dumptxoutset", "a", "rollback", {"rollback": block})
        assert not list(tmp_path.glob("regtest/a*"))


def _plain(argument: object) -> object:
    return str(argument) if isinstance(argument, Path) else argument


def test_blocks_that_are_pruned_can_not_be_taken_back(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-prune=1", "-fastprune") as node:
        mine(node, 600)
        node.rpc("pruneblockchain", 300)
        with pytest.raises(RpcFailure, match="Could not roll back to requested height since necessary block data is"):
            node.rpc("dumptxoutset", "early", "rollback", {"rollback": 10})
        late = node.rpc("getblockcount") - 5
        assert node.rpc("dumptxoutset", "late", "rollback", {"rollback": late})["coins_written"] == late
