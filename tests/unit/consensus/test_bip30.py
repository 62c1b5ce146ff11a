"""Where unspent outputs must be protected from being overwritten (BIP30)."""

import pytest

from clarion.node.consensus.bip30 import bip30_outpoints
from clarion.node.consensus.connect import connect_block
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_from_hex, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import assemble, genesis, make_coinbase
from helpers.positions import Position

MAIN = select_params("main")
BIP34_HEIGHT = 227_931
BIP34_HASH = hash_from_hex("000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8")
REPEATS = {
    91_842: "00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec",
    91_880: "00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721",
}
TX = Transaction(2, [TxIn(make_outpoint(b"\x11" * 32, 0))], [TxOut(1, b"\x51"), TxOut(0, b"\x6a"), TxOut(1, b"")])


def block() -> Block:
    built = assemble(genesis(), [make_coinbase(1), TX])
    assert built.block is not None
    return built.block


class Jump(Position):
    """A position whose only ancestors are its parent and the block at BIP34's height."""

    def __init__(self, height: int, bip34_hash: bytes | None, block_hash: bytes | None = None) -> None:
        super().__init__(height=height, block_hash=block_hash)
        self.prev = Position(height=height - 1)
        known = None if bip34_hash is None else Position(height=BIP34_HEIGHT, block_hash=bip34_hash)
        self.prev.ancestor = lambda at: known if at == BIP34_HEIGHT else None  # type: ignore[method-assign]


ALL = [make_outpoint(make_coinbase(1).txid, 0), make_outpoint(TX.txid, 0), make_outpoint(TX.txid, 2)]


@pytest.mark.parametrize(
    ("position", "checked"),
    [
        pytest.param(Jump(100, None), True, id="before-bip34"),
        pytest.param(Jump(300_000, BIP34_HASH), False, id="on-the-known-chain"),
        pytest.param(Jump(300_000, bytes(32)), True, id="on-another-chain"),
        pytest.param(Jump(1_983_701, BIP34_HASH), False, id="below-the-limit"),
        pytest.param(Jump(1_983_702, BIP34_HASH), True, id="from-the-limit-on"),
        pytest.param(Jump(91_842, None), True, id="height-of-an-exception-alone"),
    ],
)
def test_where_outputs_are_looked_up(position: Position, checked: bool) -> None:
    assert bip30_outpoints(block(), position, MAIN) == (ALL if checked else [])


@pytest.mark.parametrize("height", REPEATS)
def test_historical_repeats_may_overwrite_their_coinbase(height: int) -> None:
    position = Jump(height, None, hash_from_hex(REPEATS[height]))
    found = Block(block().header, block().txs[:1])
    overwritten = bip30_outpoints(found, position, MAIN)
    assert overwritten == ALL[:1]
    assert list(connect_block(found, position, MAIN, {}, bip30_existing=overwritten).delta.created) == ALL[:1]


def test_bip34_from_the_start_needs_no_lookup() -> None:
    position = Position(Position())
    regtest = select_params("regtest")
    assert bip30_outpoints(block(), position, regtest) == []
    assert bip30_outpoints(block(), position, regtest, exact=True) == ALL
    assert bip30_outpoints(block(), position, select_params("regtest", activation_heights={"bip34": 2})) == ALL


def test_genesis_overwrites_nothing() -> None:
    assert bip30_outpoints(MAIN.genesis, Position(), MAIN) == []


def test_existing_output_condemns_the_block() -> None:
    with pytest.raises(BlockInvalid) as caught:
        connect_block(block(), Position(Position()), MAIN, {}, bip30_existing={ALL[1]})
    assert str(caught.value) == "bad-txns-BIP30, tried to overwrite transaction"
    assert caught.value.permanent
