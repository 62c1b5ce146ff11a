"""The sorted index of all chunks."""

from random import Random

from clarion.node.mempool.graph.chunk import ChunkIndex, make_chunks, single_chunk
from helpers.graphs import NamedNode


def test_it_stays_sorted_over_many_buckets() -> None:
    random = Random(1)
    chunks = [single_chunk((NamedNode(at, random.randrange(300), random.randrange(1, 9)),)) for at in range(4000)]
    index: ChunkIndex[NamedNode] = ChunkIndex()
    for chunk in chunks:
        index.add(chunk)
    assert list(index) == sorted(chunks)
    random.shuffle(chunks)
    for chunk in chunks[:3900]:
        index.remove(chunk)
    assert list(index) == sorted(chunks[3900:])
    assert index.last() == max(chunks[3900:])
    assert len(index) == 100
    for chunk in chunks[3900:]:
        index.remove(chunk)
    assert index.last() is None


def test_order_of_equal_rates() -> None:
    small, large = single_chunk((NamedNode(3, 5, 10),)), single_chunk((NamedNode(1, 10, 20),))
    other = single_chunk((NamedNode(2, 10, 20),))
    assert sorted([other, large, small]) == [small, large, other]
    first, second = make_chunks([(NamedNode(0, 5, 10),), (NamedNode(9, 10, 20),)])
    assert sorted([other, second, first]) == [first, other, second]
    assert second.equal_rate_weight == 30
