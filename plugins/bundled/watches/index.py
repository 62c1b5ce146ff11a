"""The index behind watches: what each block moves for each of them.

Owns: finding watched scripts in blocks, windows that grow, catching up from a height, clearing away. Never: the ledger's
keys (`plugins.ledger`), what clients say (`definition`).
A set of hashes in memory says which scripts may be watched; the database says which are, and by whom. So a block that
touches none of a million scripts costs a look into that set for each of its inputs and outputs, and nothing else.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from clarion.node.chain.indexes.index import IndexBatch, IndexedBlock, IndexPlace
from clarion.node.chain.indexes.jobs import Job
from clarion.node.errors import RpcError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.descriptor_range import DescriptorRange, read_descriptor_range
from clarion.plugins import ledger
from clarion.plugins.bundled.watches import records
from clarion.plugins.bundled.watches.records import NO_RANGE, Owner, StoredRange, WatchRecord

NAME = STORE_NAME = "watches"
_PAGE = 20_000
_CLEARED_AT_ONCE = 2_000

Scripts = Iterable[tuple[bytes, int, int]]
"""(script, number of its descriptor or NO_RANGE, index in that)."""


class WatchIndex:
    """The index. Jobs (`add`, `extend`, `remove`, `rescan`) run on its thread, by `Indexes.call`."""

    name = NAME
    store_name = STORE_NAME
    needs_spent = True
    kept_prefix = records.KEPT_PREFIX
    patience_s = 0.25

    def __init__(self) -> None:
        self._count = 0
        self._known: dict[int, None] | None = None
        """Hashes of all watched scripts, and of some that were; None until they are needed.

        A dictionary of plain numbers is none of the cyclic collector's business; of a set it would look at every member.
        """
        self._described: dict[tuple[str, int], DescriptorRange] = {}
        self._behind: dict[int, int] = {}
        """By number, the next block of each watch that has yet to catch up with the index."""

    # --- an index that works (`WorkingIndex`) -----------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nobody watches anything."""
        return not self._count

    @property
    def lowest_needed(self) -> int | None:
        """The next block of the watch that is furthest behind."""
        return min(self._behind.values(), default=None)

    def begin(self, batch: IndexBatch, params: ChainParams) -> None:
        """Find the watches; their scripts are read when they are needed, which with many takes a moment."""
        found = records.all_records(batch)
        self._count, self._known = len(found), None
        self._behind = {each.number: each.next for each in found if each.next is not None}

    def restart(self, batch: IndexBatch) -> None:
        """Let every watch count from its start again."""
        for record in records.all_records(batch):
            record.account, record.problem = records.new_number(batch), ""
            self._set_next(batch, record, record.start)

    def work(self, batch: IndexBatch, place: IndexPlace) -> bool:
        """Clear something away, or let those that are furthest behind count their next block."""
        if self._clear(batch):
            return True
        if not self._behind:
            return False
        height = min(self._behind.values())
        found = [self._get(batch, number) for number, following in self._behind.items() if following == height]
        if not place.has_block(height):
            for record in found:
                record.problem = f"block {height} is pruned"
                del self._behind[record.number]
                records.put_record(batch, record)
            return bool(self._behind)
        numbers = {record.number for record in found}
        self._count_block(batch, place.load(height), lambda record: record.number in numbers)
        for number in numbers:
            # Counting may have changed the record: its windows grow.
            self._set_next(batch, self._get(batch, number), None if height == place.height else height + 1)
        return bool(self._behind)

    # --- following the chain ----------------------------------------------------------------------------------------

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Count a block for every watch that has counted all before it."""
        for number in [number for number, following in self._behind.items() if following == block.height]:
            self._set_next(batch, self._get(batch, number), None)
        self._count_block(batch, block, lambda record: record.next is None and record.start <= block.height)

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Take back what the block has done; who was about to go on above it goes on with what takes its place."""
        ledger.undo(batch, block.height)
        for number, following in list(self._behind.items()):
            if following > block.height:
                self._set_next(batch, self._get(batch, number), block.height)

    def _count_block(self, batch: IndexBatch, block: IndexedBlock, wanted: Callable[[WatchRecord], bool]) -> None:
        watchers = self._watchers(batch, block, wanted)
        if not watchers:
            return
        for position, tx in enumerate(block.block.txs):
            made = [each for each in tx.outputs if each.script_pubkey in watchers]
            spent = [each for each in block.spent[position - 1] if each.script_pubkey in watchers] if position else []
            if not made and not spent:
                continue
            moved: dict[int, list[int]] = {}
            ways: tuple[Sequence[SpentOutput], ...] = (made, spent)
            for way, outputs in enumerate(ways):
                for output in outputs:
                    for account in watchers[output.script_pubkey]:
                        moved.setdefault(account, [0, 0])[way] += output.value
            for account, (received, sent) in moved.items():
                entry = ledger.Entry(block.height, position, block.block.hash, tx.txid, received, sent)
                ledger.record(batch, account, entry)

    def _watchers(
        self, batch: IndexBatch, block: IndexedBlock, wanted: Callable[[WatchRecord], bool]
    ) -> dict[bytes, set[int]]:
        """Return the accounts of those who watch a script of the block, with windows grown for all that it uses."""
        # No coin comes of the first block's coinbase.
        scripts = self._possible(batch, block) if block.height else set()
        while True:
            found: dict[bytes, set[int]] = {}
            known: dict[int, WatchRecord | None] = {}
            grown = False
            stored = batch.get_many([records.SCRIPTS + script for script in scripts])
            for script in scripts:
                for owner in records.owners(stored.get(records.SCRIPTS + script)):
                    if owner.watch not in known:
                        known[owner.watch] = records.get_record(batch, owner.watch)
                    record = known[owner.watch]
                    if record is None or not wanted(record):
                        continue
                    found.setdefault(script, set()).add(record.account)
                    if owner.descriptor != NO_RANGE:
                        grown |= self._grow(batch, record, owner, block.params)
            if not grown:
                return found
            # What it grew by may be in the same block.
            scripts = self._possible(batch, block)

    def _possible(self, batch: IndexBatch, block: IndexedBlock) -> set[bytes]:
        known = self._scripts(batch)
        made = {
            each.script_pubkey for tx in block.block.txs for each in tx.outputs if hash(each.script_pubkey) in known
        }
        spent = {each.script_pubkey for coins in block.spent for each in coins if hash(each.script_pubkey) in known}
        return made | spent

    def _grow(self, batch: IndexBatch, record: WatchRecord, owner: Owner, params: ChainParams) -> bool:
        stored = record.ranges[owner.descriptor]
        if not stored.gap or owner.at + stored.gap <= stored.last:
            return False
        described = self._describe(stored, params)
        end = described.end_for(owner.at)
        fresh = described.scripts(stored.last + 1, end)
        self._put_scripts(batch, record, ((script, owner.descriptor, index) for script, index in fresh))
        stored.last = end
        records.put_record(batch, record)
        return True

    def _describe(self, stored: StoredRange, params: ChainParams) -> DescriptorRange:
        described = self._described.get((stored.desc, stored.gap))
        if described is None:
            described = read_descriptor_range({"desc": stored.desc, "gap": stored.gap}, params)
            self._described[stored.desc, stored.gap] = described
        return described

    # --- jobs -------------------------------------------------------------------------------------------------------

    def add(self, name: str, start: int | None, scripts: Scripts, ranges: Sequence[StoredRange]) -> Job:
        """Return the job that makes a watch that counts from height `start`, None for the next block."""

        def job(batch: IndexBatch, place: IndexPlace) -> str:
            if batch.get(records.NAMES + name.encode()) is not None:
                raise RpcError(records.INVALID, f"There is a watch '{name}' already")
            first = place.height + 1 if start is None else start
            _check_stored(place, first)
            number, account = records.new_number(batch), records.new_number(batch)
            record = WatchRecord(number, name, account, first, None, int(time.time()), 0, list(ranges))
            batch.put(records.NAMES + name.encode(), number.to_bytes(4, "big"))
            self._put_scripts(batch, record, scripts)
            self._set_next(batch, record, None if first > place.height else first)
            self._count += 1
            return name

        return job

    def extend(self, name: str, scripts: Sequence[tuple[bytes, int, int]], ranges: Sequence[StoredRange]) -> Job:
        """Return the job that adds scripts to a watch, for the blocks that it counts from now on."""

        def job(batch: IndexBatch, place: IndexPlace) -> str:
            record = records.find_record(batch, name)
            before = len(record.ranges)
            record.ranges += ranges
            moved = [
                (script, number if number == NO_RANGE else before + number, index) for script, number, index in scripts
            ]
            self._put_scripts(batch, record, moved)
            records.put_record(batch, record)
            return name

        return job

    def remove(self, name: str) -> Job:
        """Return the job that forgets a watch; what it left is cleared away behind."""

        def job(batch: IndexBatch, place: IndexPlace) -> str:
            record = records.find_record(batch, name)
            number = record.number.to_bytes(4, "big")
            batch.delete(records.NAMES + name.encode())
            batch.delete(records.WATCHES + number)
            batch.put(records.LOST_SCRIPTS + number, records.SCRIPTS)
            self._leave_account(batch, record)
            self._behind.pop(record.number, None)
            self._count -= 1
            return name

        return job

    def rescan(self, name: str, start: int) -> Job:
        """Return the job that lets a watch count anew, from height `start` on."""

        def job(batch: IndexBatch, place: IndexPlace) -> str:
            record = records.find_record(batch, name)
            _check_stored(place, start)
            self._leave_account(batch, record)
            record.account, record.start, record.problem = records.new_number(batch), start, ""
            self._set_next(batch, record, None if start > place.height else start)
            return name

        return job

    # --- what is stored ---------------------------------------------------------------------------------------------

    def _set_next(self, batch: IndexBatch, record: WatchRecord, following: int | None) -> None:
        record.next = following
        records.put_record(batch, record)
        if following is None:
            self._behind.pop(record.number, None)
        else:
            self._behind[record.number] = following

    def _put_scripts(self, batch: IndexBatch, record: WatchRecord, scripts: Scripts) -> None:
        known = self._scripts(batch)
        for script, number, index in scripts:
            key, owners = records.SCRIPTS + script, []
            if hash(script) in known:
                owners = records.owners(batch.get(key))
                if any(owner.watch == record.number for owner in owners):
                    continue
            owners.append(Owner(record.number, number, index))
            batch.put(key, records.encode_owners(owners))
            known[hash(script)] = None
            record.scripts += 1

    def _scripts(self, batch: IndexBatch) -> dict[int, None]:
        if self._known is None:
            known: dict[int, None] = {}
            start = records.SCRIPTS
            while items := batch.range(start, records.SCRIPTS_END, _PAGE):
                known.update((hash(key[len(records.SCRIPTS) :]), None) for key, _ in items)
                start = items[-1][0] + b"\0"
            self._known = known
        return self._known

    @staticmethod
    def _get(batch: IndexBatch, number: int) -> WatchRecord:
        record = records.get_record(batch, number)
        assert record is not None, "only watches that are there are behind"
        return record

    @staticmethod
    def _leave_account(batch: IndexBatch, record: WatchRecord) -> None:
        batch.put(records.UNUSED_ACCOUNTS + record.account.to_bytes(4, "big"), b"")

    def _clear(self, batch: IndexBatch) -> bool:
        """Clear away a little of what is left of watches that are gone; whether there was something."""
        for key, value in batch.range(b"g", b"h", 1):
            number = int.from_bytes(key[2:], "big")
            if key.startswith(records.UNUSED_ACCOUNTS):
                if not ledger.forget(batch, number, _CLEARED_AT_ONCE):
                    batch.delete(key)
            else:
                self._clear_scripts(batch, key, value, number)
            return True
        return False

    @staticmethod
    def _clear_scripts(batch: IndexBatch, key: bytes, start: bytes, number: int) -> None:
        items = batch.range(start, records.SCRIPTS_END, _CLEARED_AT_ONCE)
        for script_key, value in items:
            left = [owner for owner in records.owners(value) if owner.watch != number]
            if not left:
                batch.delete(script_key)
            elif len(left) < len(records.owners(value)):
                batch.put(script_key, records.encode_owners(left))
        if len(items) < _CLEARED_AT_ONCE:
            batch.delete(key)
        else:
            batch.put(key, items[-1][0] + b"\0")


def _check_stored(place: IndexPlace, start: int) -> None:
    if 0 <= start <= place.height and not place.has_block(start):
        raise RpcError(records.INVALID, f"Block {start} is pruned")
