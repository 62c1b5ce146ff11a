"""fee_estimates.dat: the estimator's statistics between two runs, in the reference's format.

Owns: the encoding, the checks on what is read, when a file is too old. Never: what the numbers mean.
"""

import logging
import struct
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from clarion.node.errors import DecodeError
from clarion.node.mempool.fees.confirm_stats import ConfirmStats
from clarion.node.mempool.fees.estimator import EstimatorState, FeeEstimator, Horizon
from clarion.node.primitives.codec import compact_size, read_compact_size

FILE_NAME = "fee_estimates.dat"
FILE_VERSION = 309_900
MAX_FILE_AGE_HOURS = 60
_MAX_CONFIRMS = 7 * 24 * 6
_MAX_BUCKETS = 1000
_HIGHEST_FEERATE = 2.0**63
_FILE_ORDER = (Horizon.MEDIUM, Horizon.SHORT, Horizon.LONG)

_RowT = TypeVar("_RowT")

logger = logging.getLogger(__name__)


class IncompatibleVersion(DecodeError):
    """The file was written by an older program, whose statistics can't be used."""


def load_estimator(path: Path, *, accept_stale: bool) -> FeeEstimator:
    """Return an estimator with what the file holds, an empty one where there is none, or an old or damaged one."""
    try:
        age_hours = int(time.time() - path.stat().st_mtime) // 3600
        if age_hours > MAX_FILE_AGE_HOURS and not accept_stale:
            logger.warning(
                "Fee estimation file %s too old (age=%d > %d hours) and will not be used to avoid serving stale "
                "estimates.",
                path,
                age_hours,
                MAX_FILE_AGE_HOURS,
            )
            return FeeEstimator()
        return FeeEstimator(decode_estimates(path.read_bytes()))
    except FileNotFoundError:
        logger.info("%s is not found. Continue anyway.", path)
    except IncompatibleVersion as error:
        logger.warning("Incompatible old fee estimation data (non-fatal). Version: %s", error)
    except (OSError, DecodeError) as error:
        logger.warning("Unable to read policy estimator data (non-fatal): %s", error)
        logger.warning("Failed to read fee estimates from %s. Continue anyway.", path)
    return FeeEstimator()


def save_estimator(estimator: FeeEstimator, path: Path) -> None:
    """Write the file. A disk that refuses is worth a warning only: estimates can be learnt again."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_bytes(estimator.encoded(encode_estimates))
        new.replace(path)
    except OSError as error:
        logger.warning("Failed to write fee estimates to %s: %s. Continue anyway.", path, error.strerror)
        return
    logger.debug("Flushed fee estimates to %s.", path)


def encode_estimates(state: EstimatorState) -> bytes:
    """Return the file's bytes."""
    head = struct.pack("<iIII", FILE_VERSION, state.best_height, state.first_height, state.last_height)
    return head + _doubles(state.buckets) + b"".join([_encode_stats(state.stats[horizon]) for horizon in _FILE_ORDER])


def decode_estimates(data: bytes) -> EstimatorState:
    """Return what the file's bytes say. Raises DecodeError if they make no sense, IncompatibleVersion."""
    reader = _Reader(data)
    version, best = reader.fields("<iI")
    if version > FILE_VERSION:
        raise DecodeError(f"File version ({version}) too high to be read.")
    if version < FILE_VERSION:
        raise IncompatibleVersion(str(version))
    first, last = reader.fields("<II")
    if not first <= last <= best:
        raise DecodeError("Corrupt estimates file. Historical block range for estimates is invalid")
    buckets = reader.doubles()
    if not 1 < len(buckets) <= _MAX_BUCKETS:
        raise DecodeError("Corrupt estimates file. Must have between 2 and 1000 feerate buckets")
    if not all(low < high for low, high in pairwise(buckets)) or buckets[-1] < _HIGHEST_FEERATE:
        raise DecodeError("Corrupt estimates file. Feerate buckets are out of order, or not for every feerate")
    stats = {horizon: _decode_stats(reader, len(buckets)) for horizon in _FILE_ORDER}
    return EstimatorState(best, first, last, buckets, {horizon: stats[horizon] for horizon in Horizon})


def _doubles(values: Sequence[float]) -> bytes:
    return compact_size(len(values)) + struct.pack(f"<{len(values)}d", *values)


def _encode_stats(stats: ConfirmStats) -> bytes:
    parts = [struct.pack("<dI", stats.decay, stats.scale), _doubles(stats.feerate_sum), _doubles(stats.total)]
    for table in (stats.confirmed, stats.failed):
        # The file has a row for each period, the statistics one for each bucket.
        parts.append(compact_size(stats.periods))
        parts += [_doubles(row) for row in zip(*table, strict=True)]
    return b"".join(parts)


def _decode_stats(reader: "_Reader", buckets: int) -> ConfirmStats:
    decay, scale = reader.fields("<dI")
    if not 0 < decay < 1:
        raise DecodeError("Corrupt estimates file. Decay must be between 0 and 1 (non-inclusive)")
    if not scale:
        raise DecodeError("Corrupt estimates file. Scale must be non-zero")
    feerate_sum = _checked(reader.doubles(), buckets, "feerate average bucket count")
    total = _checked(reader.doubles(), buckets, "tx count bucket count")
    confirmed = reader.table()
    if not 0 < scale * len(confirmed) <= _MAX_CONFIRMS:
        raise DecodeError("Corrupt estimates file.  Must maintain estimates for between 1 and 1008 (one week) confirms")
    for row in confirmed:
        _checked(row, buckets, "feerate conf average bucket count")
    failed = _checked(reader.table(), len(confirmed), "confirms tracked for failures")
    for row in failed:
        _checked(row, buckets, "one of failure average bucket counts")
    stats = ConfirmStats(buckets, len(confirmed), decay, scale)
    stats.feerate_sum, stats.total = feerate_sum, total
    stats.confirmed = [list(column) for column in zip(*confirmed, strict=True)]
    stats.failed = [list(column) for column in zip(*failed, strict=True)]
    return stats


def _checked(rows: list[_RowT], count: int, what: str) -> list[_RowT]:
    if len(rows) != count:
        raise DecodeError(f"Corrupt estimates file. Mismatch in {what}")
    return rows


class _Reader:
    """Reads the file's fields in order. Everything raises DecodeError where the data ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def fields(self, layout: str) -> tuple[Any, ...]:
        try:
            values = struct.unpack_from(layout, self._data, self._at)
        except struct.error:
            raise DecodeError("end of file") from None
        self._at += struct.calcsize(layout)
        return values

    def _count(self) -> int:
        count, self._at = read_compact_size(self._data, self._at)
        return count

    def doubles(self) -> list[float]:
        count = self._count()
        if count * 8 > len(self._data) - self._at:
            raise DecodeError("end of file")
        return list(self.fields(f"<{count}d"))

    def table(self) -> list[list[float]]:
        return [self.doubles() for _ in range(self._count())]
