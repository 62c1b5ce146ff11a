"""SipHash-2-4, by the test values of its authors (key 00…0f, data 00, 00 01, …)."""

import pytest

from clarion.node.primitives.siphash import siphash, siphash_many

K0, K1 = 0x0706050403020100, 0x0F0E0D0C0B0A0908


@pytest.mark.parametrize(
    ("length", "want"),
    [(0, 0x726FDB47DD0E0E31), (1, 0x74F839C593DC67FD), (7, 0xAB0200F58B01D137), (8, 0x93F5F5799A932462), (15, 0xA129CA6149BE45E5)],
)  # fmt: skip
def test_values_of_the_authors(length: int, want: int) -> None:
    assert siphash(K0, K1, bytes(range(length))) == want


def test_many_at_a_time_are_the_same() -> None:
    items = [bytes(range(length)) for length in (0, 1, 7, 8, 9, 15, 16, 22, 22, 23, 34, 100, 255)] + [b"\xff" * 22]
    assert siphash_many(K0, K1, items) == [siphash(K0, K1, item) for item in items]
    assert siphash_many(K0, K1, []) == []
