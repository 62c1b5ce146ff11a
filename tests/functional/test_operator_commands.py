"""The operator's commands: for warnings, for new tips, at start and before the end."""

import time
from pathlib import Path

from clarion.node.app.commands import CommandLane, alert_command, block_command
from clarion.node.primitives.ids import hash_from_hex
from helpers.chain_builder import Built, make_block, make_coinbase, subsidy
from helpers.node import Node

ALL_IN_ONE = ("-par=1", "-eventsprocess=0", "-apiworkers=0")


def wait_for_lines(path: Path, count: int) -> list[str]:
    """Return the lines of a file once there are `count`."""
    deadline = time.monotonic() + 20
    while len(lines := path.read_text().splitlines() if path.exists() else []) < count:
        assert time.monotonic() < deadline, lines
        time.sleep(0.05)
    return lines


def submit_invalid_chain(node: Node, tip: str) -> None:
    """Submit seven blocks that take too much money: first their headers, then the blocks from the last."""
    header = node.rpc("getblockheader", tip)
    at = Built(hash_from_hex(tip), header["height"], header["time"])
    blocks = []
    for height in range(at.height + 1, at.height + 8):
        at = make_block(at, coinbase=make_coinbase(height, value=subsidy(height) + 1), time=at.time + 1)
        assert at.block is not None
        blocks.append(at.block.raw.hex())
    for block in blocks:
        node.rpc("submitheader", block[:160])
    for block in reversed(blocks):
        node.rpc("submitblock", block)


def test_what_a_shell_would_understand_is_stripped_from_an_alert() -> None:
    assert alert_command("say %s", 'a\'; rm -rf "$HOME" `x` (bit 3)?') == "say 'a; rm -rf HOME x (bit 3)?'"


def test_the_block_s_hash_is_shown_as_clients_see_it() -> None:
    assert block_command("echo %s %s", bytes(31) + b"\x01") == f"echo {'01' + '00' * 31} {'01' + '00' * 31}"


def test_commands_of_a_lane_are_run_in_order_and_never_two_at_once(tmp_path: Path) -> None:
    log, lane = tmp_path / "log.txt", CommandLane()
    for number in range(8):
        # The first take longest: beside each other they would end in the opposite order.
        lane.start(f"echo {number} begins >> {log}; sleep 0.0{8 - number}; echo {number} ends >> {log}")
    expected = [f"{number} {what}" for number in range(8) for what in ("begins", "ends")]
    assert wait_for_lines(log, 16) == expected


def test_commands_of_a_node(tmp_path: Path) -> None:
    log = {name: tmp_path / f"{name}.txt" for name in ("alert", "block", "startup", "shutdown")}
    options = [f"-{name}notify=echo %s >> '{path}'" for name, path in log.items()]
    with Node(tmp_path / "node", *ALL_IN_ONE, *options, f"-shutdownnotify=echo second >> '{log['shutdown']}'") as node:
        wait_for_lines(log["startup"], 1)
        hashes = node.rpc("generatetodescriptor", 2, "raw(51)")
        assert wait_for_lines(log["block"], 2) == hashes
        # Committed in batches, told one by one.
        hashes += node.rpc("generatetodescriptor", 40, "raw(51)")
        assert wait_for_lines(log["block"], len(hashes)) == hashes
        submit_invalid_chain(node, hashes[-1])
        (text,) = wait_for_lines(log["alert"], 1)
        assert text.startswith("Warning: Found invalid chain more than 6 blocks longer than our best chain.")
        assert [node.rpc(name)["warnings"] for name in ("getblockchaininfo", "getnetworkinfo")] == [[text]] * 2
        assert not log["shutdown"].exists()
    assert sorted(wait_for_lines(log["shutdown"], 2)) == ["%s", "second"]


def test_a_command_that_fails_is_logged(tmp_path: Path) -> None:
    with Node(tmp_path, *ALL_IN_ONE, "-startupnotify=exit 3") as node:
        deadline = time.monotonic() + 20
        while "runCommand error: system(exit 3) returned 3" not in node.debug_log():
            assert time.monotonic() < deadline
            time.sleep(0.05)
