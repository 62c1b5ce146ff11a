"""Programs that are run for each message."""

from pathlib import Path

import pytest

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Transport
from clarion.notifiers.transports.command import KIND, Command
from helpers.lane_bench import messages, url_of


def _program(folder: Path, script: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def _command(path: Path) -> Transport:
    return KIND.make(url_of(f"exec:{path}"))


def test_a_program_reads_each_message_and_is_told_its_identity(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = _program(tmp_path, f'echo "$CLARION_EVENT_ID $CLARION_EVENT_TYPE $(cat)" >> {out}')
    _command(path).send(messages(2, body=b"hello"))
    assert out.read_text().splitlines() == [f"{each.id} tip_changed hello" for each in messages(2)]


def test_a_status_other_than_0_means_not_delivered_and_says_why(tmp_path: Path) -> None:
    path = _program(tmp_path, 'case "$CLARION_EVENT_ID" in *.2.0) echo full >&2; exit 3;; esac')
    with pytest.raises(DeliveryError, match="ended with status 3: full") as caught:
        _command(path).send(messages(3))
    assert caught.value.sent == 1


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    path = _program(tmp_path, "sleep 1000")
    with pytest.raises(DeliveryError, match=r"did not end within 0\.2 s"):
        Command([str(path)], 0.2).send(messages(1))


def test_a_program_that_has_gone_is_tried_again(tmp_path: Path) -> None:
    path = _program(tmp_path, "exit 0")
    command = _command(path)
    path.unlink()
    with pytest.raises(DeliveryError, match="No such file"):
        command.send(messages(1))


@pytest.mark.parametrize("text", ["exec:relative", "exec://host/bin/true", "exec:/no/such/program", "exec:/"])
def test_an_address_that_is_no_program_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="-notify=exec:"):
        KIND.make(url_of(text))
