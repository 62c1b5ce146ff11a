"""The reference's memory estimate, from numbers that its own node gave."""

from clarion.node.mempool.memory_usage import GrowingArray, malloc_usage, transaction_usage
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut


def test_allocations_are_rounded_as_in_the_reference() -> None:
    assert [malloc_usage(size) for size in (0, 1, 16, 17, 32, 33)] == [0, 32, 32, 48, 48, 64]


def test_short_scripts_lie_inside() -> None:
    def usage(script: bytes) -> int:
        return transaction_usage(Transaction(2, [TxIn(make_outpoint(bytes(32), 0))], [TxOut(1, script)]))

    assert usage(bytes(36)) == usage(b"")
    assert usage(bytes(37)) - usage(b"") == malloc_usage(37)


def test_witness_items_are_counted_one_by_one() -> None:
    outpoint = make_outpoint(bytes(32), 0)
    bare = Transaction(2, [TxIn(outpoint)], [TxOut(1, b"")])
    signed = Transaction(2, [TxIn(outpoint, witness=(bytes(72), b"", bytes(33)))], [TxOut(1, b"")])
    assert transaction_usage(signed) - transaction_usage(bare) == malloc_usage(72) + 96 + malloc_usage(33)


def test_array_doubles_and_shrinks_when_half_is_empty() -> None:
    array = GrowingArray(40)
    for _ in range(5):
        array.grow()
    assert array.usage_bytes == malloc_usage(8 * 40)
    array.shrink()
    assert array.usage_bytes == malloc_usage(8 * 40)
    array.shrink()
    assert array.usage_bytes == malloc_usage(3 * 40)
