"""fee_estimates.dat: round trips, age, and files that make no sense."""

import logging
import os
import struct
import time
from pathlib import Path

import pytest

from clarion.node.errors import DecodeError
from clarion.node.mempool.fees.estimates_file import (
    decode_estimates,
    encode_estimates,
    load_estimator,
    save_estimator,
)
from clarion.node.mempool.fees.estimator import FeeEstimator, Horizon
from helpers.fee_history import usual_history


@pytest.fixture(scope="module")
def data() -> bytes:
    return usual_history().estimator.encoded(encode_estimates)


def test_what_is_read_equals_what_was_written(data: bytes) -> None:
    state = decode_estimates(data)
    assert (state.best_height, state.first_height, state.last_height) == (200, 1, 200)
    assert encode_estimates(state) == data
    assert list(state.stats) == list(Horizon)


def test_the_layout_is_the_reference_one(data: bytes) -> None:
    assert data[:16] == struct.pack("<iIII", 309900, 200, 1, 200)
    buckets = 237
    assert data[16:25] == bytes((buckets,)) + struct.pack("<d", 100.0)
    head = 16 + 1 + 8 * buckets
    # The medium horizon comes first: decay, scale, two rows, then a row for each period, twice.
    assert data[head : head + 13] == struct.pack("<dIB", 0.9952, 2, buckets)
    row = 1 + 8 * buckets
    assert len(data) == head + sum(12 + 2 * row + 2 * (1 + periods * row) for periods in (24, 12, 42))


def test_estimates_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "fee_estimates.dat"
    before = usual_history().estimator
    save_estimator(before, path)
    after = load_estimator(path, accept_stale=False)
    for target in range(1, 100, 7):
        assert after.estimate_smart_fee(target, conservative=True) == before.estimate_smart_fee(
            target, conservative=True
        )
    assert [entry.name for entry in tmp_path.iterdir()] == ["fee_estimates.dat"]


def test_history_of_a_short_run_does_not_replace_a_long_one(data: bytes) -> None:
    estimator = FeeEstimator(decode_estimates(data))
    for height in range(201, 220):
        estimator.process_block(height, [])
    state = decode_estimates(estimator.encoded(encode_estimates))
    assert (state.best_height, state.first_height, state.last_height) == (219, 1, 200)


def test_old_history_is_no_reason_for_an_estimate(data: bytes) -> None:
    estimator = FeeEstimator(decode_estimates(data))
    estimator.process_block(200 + 6048, [])
    assert estimator.estimate_smart_fee(6, conservative=False).blocks == 6
    estimator.process_block(200 + 6049, [])
    assert estimator.estimate_smart_fee(6, conservative=False).blocks == 0


@pytest.mark.parametrize(
    ("hours", "accept_stale", "used"), [(60.9, False, True), (61.1, False, False), (99, True, True)]
)
def test_old_files_are_not_used(tmp_path: Path, data: bytes, hours: float, accept_stale: bool, used: bool) -> None:
    path = tmp_path / "fee_estimates.dat"
    path.write_bytes(data)
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    estimator = load_estimator(path, accept_stale=accept_stale)
    assert (estimator.estimate_smart_fee(6, conservative=False).blocks == 6) is used


def test_missing_and_damaged_files_are_told_and_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    path = tmp_path / "fee_estimates.dat"
    load_estimator(path, accept_stale=False)
    assert f"{path} is not found. Continue anyway." in caplog.text
    path.write_bytes(struct.pack("<iI", 149900, 5))
    load_estimator(path, accept_stale=False)
    assert "Incompatible old fee estimation data (non-fatal). Version: 149900" in caplog.text
    path.write_bytes(b"nonsense")
    load_estimator(path, accept_stale=False)
    assert "Unable to read policy estimator data (non-fatal): File version (1936617326) too high" in caplog.text
    assert f"Failed to read fee estimates from {path}. Continue anyway." in caplog.text


def test_a_disk_that_refuses_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "absent" / "fee_estimates.dat"
    save_estimator(FeeEstimator(), path)
    assert f"Failed to write fee estimates to {path}" in caplog.text


def changed(data: bytes, offset: int, layout: str, value: float) -> bytes:
    """Return the file with one field replaced."""
    field = struct.pack(layout, value)
    return data[:offset] + field + data[offset + len(field) :]


MEDIUM = 16 + 1 + 8 * 237


@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        (8, "<I", 201, "Historical block range"),
        (4, "<I", 199, "Historical block range"),
        (16, "<B", 1, "between 2 and 1000 feerate buckets"),
        (17, "<d", 106.0, "out of order"),
        (17, "<d", float("nan"), "out of order"),
        (17 + 8 * 236, "<d", 1e9, "out of order"),
        (MEDIUM, "<d", 1.0, "Decay must be between 0 and 1"),
        (MEDIUM + 8, "<I", 0, "Scale must be non-zero"),
        (MEDIUM + 8, "<I", 43, "between 1 and 1008"),
        (MEDIUM + 12, "<B", 236, "Mismatch in feerate average bucket count"),
        (MEDIUM + 12 + 1897, "<B", 236, "Mismatch in tx count bucket count"),
        (MEDIUM + 12 + 2 * 1897, "<B", 0, "between 1 and 1008"),
        (MEDIUM + 12 + 2 * 1897 + 1, "<B", 236, "feerate conf average bucket count"),
        (MEDIUM + 12 + 26 * 1897 + 1, "<B", 23, "confirms tracked for failures"),
        (MEDIUM + 12 + 26 * 1897 + 2, "<B", 236, "failure average bucket counts"),
    ],
)
def test_files_that_make_no_sense(data: bytes, offset: int, layout: str, value: float, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode_estimates(changed(data, offset, layout, value))


@pytest.mark.parametrize("length", [0, 7, 15, 16, 20, 2000, -1])
def test_files_that_end_too_early(data: bytes, length: int) -> None:
    with pytest.raises(DecodeError, match="end"):
        decode_estimates(data[:length])
