"""Every index of a random chain with reorganisations equals what its active chain, read from the start, says."""

import random
from pathlib import Path

import pytest

from clarion.node.chain.indexes.filter_records import decode_header, filter_key, header_key
from clarion.node.chain.indexes.tx_position import read_transaction_at
from clarion.node.primitives.block_filter import basic_filter, filter_header
from clarion.node.primitives.coin_hash import coin_bytes
from clarion.node.primitives.hashes import sha256, sha256d
from clarion.node.primitives.muhash import MuHash3072
from clarion.plugins.bundled.blockfilterindex import BasicFilterIndex
from clarion.plugins.bundled.coinstatsindex import CoinStats, CoinStatsIndex, stats_key
from clarion.plugins.bundled.scriptindex import records
from clarion.plugins.bundled.scriptindex.index import ScriptIndex
from clarion.plugins.bundled.txindex import TxIndex
from clarion.plugins.bundled.txospenderindex import TxoSpenderIndex
from helpers.chain_node import ChainNode
from helpers.coin_model import BASE, CoinModel, extend
from helpers.index_runs import contents, index_view, running, wait_for_tip

STEPS = 6


@pytest.mark.parametrize("seed", range(3))
def test_indexes_are_those_of_the_active_chain(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    node = ChainNode(tmp_path)
    tip = BASE[-1]
    node.submit(*BASE)
    indexes = (TxIndex(), TxoSpenderIndex(), BasicFilterIndex(), CoinStatsIndex(), ScriptIndex())
    with running(node, *indexes) as runners:
        for _ in range(STEPS):
            depth = rng.choice([0, 0, 1, 3])
            for _ in range(depth):
                assert tip.prev is not None
                tip = tip.prev
            for _ in range(depth + 1 + rng.randrange(2)):
                tip = extend(rng, tip)
                node.submit(tip)
            if rng.random() < 0.5:
                wait_for_tip(node, runners)
        assert node.tip == tip.hash
        wait_for_tip(node, runners)
        model = CoinModel(tip)
        _check_transactions(node, model)
        _check_filters(node, model)
        _check_coins(node, model)
        _check_scripts(node, model)
    node.close()


def _check_transactions(node: ChainNode, model: CoinModel) -> None:
    found = contents(node, "txindex")
    for built in model.chain:
        for tx in built.txs:
            read, block_hash = read_transaction_at(node.block_files, found[tx.txid])
            assert (read.raw, block_hash) == (tx.raw, built.hash)
    spenders = contents(node, "txospenderindex")
    assert spenders.keys() == model.spenders.keys()
    for outpoint, tx in model.spenders.items():
        assert read_transaction_at(node.block_files, spenders[outpoint])[0].txid == tx.txid


def _check_filters(node: ChainNode, model: CoinModel) -> None:
    found = contents(node, "blockfilterbasic")
    start = node.params.genesis
    header = filter_header(sha256d(basic_filter(start, [])), bytes(32))
    for built, spent in zip(model.chain, model.spent, strict=True):
        assert built.block is not None
        encoded = basic_filter(built.block, spent)
        header = filter_header(sha256d(encoded), header)
        assert found[filter_key(built.height, built.hash)] == encoded
        assert decode_header(found[header_key(built.height, built.hash)]) == (sha256d(encoded), header)


def _check_coins(node: ChainNode, model: CoinModel) -> None:
    tip = model.chain[-1]
    stats = CoinStats.parse(contents(node, "coinstatsindex")[stats_key(tip.height, tip.hash)])
    muhash = MuHash3072()
    muhash.add(coin_bytes(outpoint, coin) for outpoint, coin in model.coins.items())
    assert stats.muhash == muhash.digest()
    assert (stats.outputs, stats.total) == (len(model.coins), sum(coin.value for coin in model.coins.values()))
    assert stats.unspendable_scripts == model.burnt
    assert stats.subsidy == stats.total + stats.unspendable


def _check_scripts(node: ChainNode, model: CoinModel) -> None:
    transfers = model.transfers()
    with index_view(node, records.STORE_NAME) as view:
        for script, expected in transfers.items():
            account = records.find_account(view, sha256(script))
            assert account is not None
            assert list(records.all_transfers(view, account.number)) == expected
            coins = {
                (each.outpoint, each.value, 2 * each.height + each.is_coinbase)
                for each in records.coins(view, account.number, b"", len(model.coins) + 1)
            }
            assert coins == {
                (outpoint, coin.value, coin.code)
                for outpoint, coin in model.coins.items()
                if coin.script_pubkey == script
            }
            assert (account.transactions, account.unspent) == (len(expected), len(coins))
            assert account.balance == sum(value for _, value, _ in coins)
        rows = sum(len(expected) for expected in transfers.values()) + len(model.coins) + len(transfers)
        # Nothing is left of blocks that are not in the chain any more.
        assert len(list(view.items())) == rows + 1
