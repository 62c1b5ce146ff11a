"""What was made of blocks is made once, kept up to a size, and made again after an error."""

import threading

import pytest

from clarion.api.render.block_cache import BlockCache


def test_a_value_is_made_once() -> None:
    made: list[str] = []
    cache = BlockCache(100)
    for _ in range(3):
        assert cache.get("a", lambda: made.append("a") or b"12345") == b"12345"  # type: ignore[func-returns-value]
    assert made == ["a"]


def test_the_least_recently_used_goes_first() -> None:
    cache = BlockCache(10)
    made: list[str] = []

    def get(key: str) -> None:
        cache.get(key, lambda: made.append(key) or b"1234")  # type: ignore[func-returns-value]

    for key in ("a", "b", "a", "c", "a", "b"):
        get(key)
    assert made == ["a", "b", "c", "b"]


@pytest.mark.parametrize("size", [0, 3])
def test_what_is_too_large_is_not_kept(size: int) -> None:
    cache = BlockCache(size)
    made = [0]

    def make() -> bytes:
        made[0] += 1
        return b"1234"

    assert (cache.get("a", make), cache.get("a", make), made[0]) == (b"1234", b"1234", 2)


def test_who_asks_meanwhile_waits_for_the_first() -> None:
    cache = BlockCache(100)
    begun, go_on = threading.Event(), threading.Event()
    answers: list[bytes] = []

    def make() -> bytes:
        begun.set()
        assert go_on.wait(30)
        return b"one"

    first = threading.Thread(target=lambda: answers.append(cache.get("a", make)))
    first.start()
    assert begun.wait(30)
    others = [threading.Thread(target=lambda: answers.append(cache.get("a", lambda: b"two"))) for _ in range(3)]
    for other in others:
        other.start()
    go_on.set()
    for thread in (first, *others):
        thread.join()
    assert answers == [b"one"] * 4


def test_an_error_is_not_kept() -> None:
    cache = BlockCache(100)

    def fail() -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("a", fail)
    assert cache.get("a", lambda: b"yes") == b"yes"
