"""The last touch to an order: moves groups of transactions up or down past those that they don't depend on.

Owns: the two passes of the reference, from back to front and from front to back. Never: the search for the best chunks.
"""

from collections.abc import Mapping, Sequence


def post_linearize(
    order: Sequence[int],
    ancestors: Sequence[int],
    descendants: Sequence[int],
    fees: Mapping[int, int],
    sizes: Mapping[int, int],
) -> list[int]:
    """Return an order that is at least as good and whose chunks hold together; parents stay first.

    Where every transaction has one parent at most, or every one has one child at most, it is the best order.
    """
    backwards = _sink(order[::-1], descendants, {at: -fee for at, fee in fees.items()}, sizes)
    return _sink(backwards[::-1], ancestors, fees, sizes)


def _sink(order: Sequence[int], ties: Sequence[int], fees: Mapping[int, int], sizes: Mapping[int, int]) -> list[int]:
    """Take transactions in order and move each towards the front as far as its rate carries it.

    It passes a group of lower rate that it has no tie to (a mask for each transaction), and takes up one that it has.
    """
    groups: list[tuple[int, int, int, list[int]]] = []
    for at in order:
        mask, tied, fee, size, members = 1 << at, ties[at], fees[at], sizes[at], [at]
        place = len(groups)
        while place:
            other_mask, other_fee, other_size, other_members = groups[place - 1]
            if fee * other_size <= other_fee * size:
                break
            place -= 1
            if tied & other_mask:
                for each in other_members:
                    tied |= ties[each]
                mask |= other_mask
                fee += other_fee
                size += other_size
                members = other_members + members
                del groups[place]
        groups.insert(place, (mask, fee, size, members))
    return [at for group in groups for at in group[3]]
