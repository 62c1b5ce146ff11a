"""The hash of a set."""

import random

from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.muhash import MuHash3072, muhash_element, product

MODULUS = 2**3072 - 1_103_717


def element(number: int) -> bytes:
    return bytes((number,)) + bytes(31)


def test_value_of_the_reference() -> None:
    muhash = MuHash3072()
    muhash.add([element(0), element(1)])
    muhash.remove([element(2)])
    assert hash_to_hex(muhash.digest()) == "10d312b100cbd32ada024a6646e40d3482fcff103668d2625f10002a607d5863"


def test_order_does_not_matter_and_removal_undoes() -> None:
    one, other = MuHash3072(), MuHash3072()
    one.add([element(1), element(2), element(3)])
    other.remove([element(9)])
    other.add([element(3), element(9), element(1), element(2)])
    assert one.digest() == other.digest()
    one.remove([element(1)])
    assert one.digest() != other.digest()


def test_product_is_that_of_the_group() -> None:
    rng = random.Random(1)
    factors = [rng.getrandbits(3072) for _ in range(50)] + [2**3072 - 1, MODULUS - 1]
    want = 1
    for factor in factors:
        want = want * factor % MODULUS
    found = product(factors)
    assert (found % MODULUS, found < 2**3072) == (want, True)


def test_stored_form_comes_back() -> None:
    muhash = MuHash3072(muhash_element(b"a"), muhash_element(b"b"))
    again = MuHash3072.parse(muhash.serialize())
    assert (again.numerator, again.denominator) == (muhash.numerator, muhash.denominator)
