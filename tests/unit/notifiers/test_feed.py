"""The shared window over the log."""

import pytest

from clarion.node.errors import BlockFileError
from clarion.node.storage.rows import BlockPosition, StoredBlock
from clarion.notifiers import feed as feed_module
from clarion.notifiers.feed import Feed
from helpers.event_source import ListSource, make_block


def _source(blocks: int) -> ListSource:
    source = ListSource()
    for nonce in range(blocks):
        source.connect(make_block(nonce))
    return source


@pytest.mark.parametrize("order", [[0, 0], [0, 4, 2], [10, 0, 12], [19, 20], [0, 0, 30]])
def test_reads_are_the_logs_rows_whoever_read_before(order: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "_ROWS_KEPT", 8)
    source = _source(10)
    feed = Feed(source)
    for after in order:
        seqs = [event.row.seq for event in feed.read(after, 5)]
        # A short answer is fine while there is more to come, an empty one is not.
        assert seqs == list(range(after + 1, min(after + 5, 20) + 1))[: len(seqs)]
        assert bool(seqs) == (after < 20)


def test_a_block_is_read_and_parsed_once_for_all() -> None:
    source = _source(1)
    feed = Feed(source)
    connected, tip = feed.read(0, 2)
    assert connected.block() is tip.block()
    assert source.block_reads == 1


def test_only_the_last_blocks_are_kept() -> None:
    source = _source(4)
    feed = Feed(source)
    for event in feed.read(0, 8):
        event.block()
    assert len(feed._blocks) == 2


@pytest.mark.parametrize("raw", [make_block(1).raw[:-1], make_block(2).raw])
def test_damaged_or_wrong_block_is_an_error(raw: bytes) -> None:
    source = _source(0)
    source.connect(make_block(1))
    source.blocks[make_block(1).hash] = raw
    with pytest.raises(BlockFileError, match="damaged"):
        Feed(source).read(0, 1)[0].block()


def test_a_block_is_at_hand_before_its_row() -> None:
    source = _source(2)
    feed = Feed(source)
    second = make_block(1)
    for _ in range(2):
        feed.prepare(StoredBlock(second.hash, BlockPosition(0, 1, len(second.raw))))
    source.blocks.clear()
    assert feed.read(2, 1)[0].block().raw == second.raw
    assert source.block_reads == 1


@pytest.mark.parametrize("offset", [0, 7], ids=["another block", "nothing"])
def test_what_is_not_where_it_was_announced_is_read_when_it_is_told(offset: int) -> None:
    source = _source(2)
    feed = Feed(source)
    second = make_block(1)
    feed.prepare(StoredBlock(second.hash, BlockPosition(0, offset, len(second.raw))))
    assert feed.read(2, 1)[0].block().raw == second.raw
    assert source.block_reads == 2
