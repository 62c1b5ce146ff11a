"""Whether the tables of addresses fit together.

Owns: the checks, numbered as the reference numbers them. Never: repair.
Source: Bitcoin Core's AddrManImpl::CheckAddrman.
"""

from collections import Counter

from clarion.node.net.address_manager.entry import AddressEntry
from clarion.node.net.address_manager.tables import BUCKETS_PER_ADDRESS, AddressTables


def fault_of(tables: AddressTables) -> int:
    """Return the number of the first fault, 0 if there is none."""
    if len(tables.order) != tables.new_count + tables.tried_count:
        return -7
    for number, entry in tables.entries.items():
        fault = _entry_fault(tables, number, entry)
        if fault:
            return fault
    tried = {number for number, entry in tables.entries.items() if entry.is_tried}
    if len(tried) != tables.tried_count:
        return -9
    if len(tables.entries) - len(tried) != tables.new_count:
        return -10
    if fault := _tried_fault(tables, tried) or _new_fault(tables):
        return fault
    if not any(tables.placement.key):
        return -16
    return _count_fault(tables)


def _entry_fault(tables: AddressTables, number: int, entry: AddressEntry) -> int:
    if entry.is_tried:
        if not entry.last_success:
            return -1
        if entry.references:
            return -2
    else:
        if not 0 <= entry.references <= BUCKETS_PER_ADDRESS:
            return -3
        if not entry.references:
            return -4
    if tables.number_of(entry.endpoint) != number:
        return -5
    at = entry.random_position
    if not 0 <= at < len(tables.order) or tables.order[at] != number:
        return -14
    if entry.last_try < 0:
        return -6
    return -8 if entry.last_success < 0 else 0


def _tried_fault(tables: AddressTables, tried: set[int]) -> int:
    left = set(tried)
    for bucket, position, number in tables.places(is_tried=True):
        if number not in left:
            return -11
        place = tables.tried_place(tables.entries[number])
        if place[0] != bucket:
            return -17
        if place[1] != position:
            return -18
        left.discard(number)
    return -13 if left else 0


def _new_fault(tables: AddressTables) -> int:
    left = Counter({number: each.references for number, each in tables.entries.items() if not each.is_tried})
    for bucket, position, number in tables.places(is_tried=False):
        if not left[number]:
            return -12
        if tables.placement.position(tables.entries[number].endpoint, bucket, is_new=True) != position:
            return -19
        left[number] -= 1
    return -15 if left.total() else 0


def _count_fault(tables: AddressTables) -> int:
    for counts, is_tried in ((tables.new_counts, False), (tables.tried_counts, True)):
        real = Counter(each.endpoint.address.network for each in tables.entries.values() if each.is_tried is is_tried)
        if any(real[network] != counts[network] for network in set(real) | set(counts)):
            return -21
    return 0
