"""JSON Lines files: durable, whole lines, nothing twice after a crash, rotated."""

import os
from pathlib import Path

import orjson
import pytest

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message
from clarion.notifiers.transports.json_lines import KIND, JsonLines
from helpers.lane_bench import messages, url_of


def _lines(path: Path) -> list[str]:
    return [orjson.loads(line)["id"] for line in path.read_bytes().splitlines()]


def _messages(count: int, first: int = 1) -> list[Message]:
    return [
        Message(each.id, each.cursor, each.type, each.time, orjson.dumps({"id": each.id}))
        for each in messages(count, first)
    ]


def _ids(count: int, first: int = 1) -> list[str]:
    return [each.id for each in messages(count, first)]


def _file(path: Path, max_bytes: int = 0, keep: int = 3) -> JsonLines:
    found = JsonLines(path, max_bytes, keep, sync=False)
    found.open()
    return found


def test_messages_are_appended_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for first in (1, 4):
        file = _file(path)
        file.send(_messages(3, first))
        file.close()
    assert _lines(path) == _ids(6)


def test_a_torn_line_is_cut_off_and_what_is_there_is_not_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file = _file(path)
    file.send(_messages(5))
    file.close()
    with path.open("ab") as raw:
        raw.write(b'{"id": "torn')
    file = _file(path)
    file.send(_messages(4, 3))  # the lane had noted two of five when the crash came
    file.send(_messages(1, 3))  # a replay that the operator asked for
    file.close()
    assert _lines(path) == [*_ids(6), *_ids(1, 3)]


def test_a_full_file_makes_way_and_old_ones_go(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file = _file(path, max_bytes=1, keep=2)
    for number in range(1, 6):
        file.send(_messages(1, number))
    file.close()
    assert [_lines(each) for each in (path, Path(f"{path}.1"), Path(f"{path}.2"))] == [
        _ids(1, 5),
        _ids(1, 4),
        _ids(1, 3),
    ]
    assert sorted(os.listdir(tmp_path)) == ["events.jsonl", "events.jsonl.1", "events.jsonl.2"]


def test_a_file_that_was_moved_away_by_rotation_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file = _file(path, max_bytes=1, keep=0)
    file.send(_messages(1))
    file.send(_messages(1, 2))
    file.close()
    assert _lines(path) == _ids(1, 2)


def test_a_disk_that_takes_half_a_line_leaves_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    file = _file(path)
    file.send(_messages(1))
    write = os.write

    def half(fd: int, data: bytes) -> int:
        write(fd, data[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        with pytest.raises(DeliveryError, match="No space left"):
            file.send(_messages(1, 2))
    file.send(_messages(1, 2))
    file.close()
    assert _lines(path) == _ids(2)


@pytest.mark.parametrize("text", ["file://host/x", "file:x.jsonl", "file:/no/such/folder/x.jsonl"])
def test_an_address_that_is_no_file_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="-notify=file:"):
        KIND.make(url_of(text))


def test_a_file_that_may_not_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        JsonLines(tmp_path, 0, 1).open()
