"""A block whose transactions bring notes is judged as one whose transactions don't."""

from hypothesis import given
from hypothesis import strategies as st

from clarion.node.consensus.block_check import check_block
from clarion.node.consensus.connect import connect_block
from clarion.node.consensus.tx_check import check_transaction
from clarion.node.consensus.tx_notes import note_checked
from clarion.node.consensus.tx_verify import check_tx_inputs
from clarion.node.errors import BlockInvalid, TxInvalid
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import assemble, genesis, make_coinbase
from helpers.positions import Position, chain

HEIGHT = 150
REGTEST = select_params("regtest")
MULTISIG = b"\x51" + b"\x21" + b"\x02" * 33 + b"\x51\xae"
SCRIPTS = [
    b"\x51",
    b"\x76\xa9\x14" + bytes(20) + b"\x88\xac",
    b"\xa9\x14" + bytes(20) + b"\x87",
    b"\x00\x14" + bytes(20),
    b"\x00\x20" + bytes(32),
    b"\x51\x20" + bytes(32),
    MULTISIG,
    b"\xac" * 40,
]
SCRIPT_SIGS = [b"", bytes([len(MULTISIG)]) + MULTISIG, b"\x16\x00\x14" + bytes(20), b"\xac"]
WITNESSES = [(), (b"",), (MULTISIG,)]
SEQUENCES = [0xFFFFFFFF, 0xFFFFFFFE, 0, 3, HEIGHT, (1 << 22) | 1]

inputs = st.tuples(
    st.sampled_from(SCRIPTS),
    st.sampled_from(SCRIPT_SIGS),
    st.sampled_from(WITNESSES),
    st.sampled_from(SEQUENCES),
    st.integers(1, HEIGHT - 1),
    st.sampled_from(["there"] * 8 + ["coinbase", "missing"]),
)
spends = st.tuples(
    st.lists(inputs, min_size=1, max_size=3),
    st.lists(st.sampled_from(SCRIPTS), min_size=1, max_size=3),
    st.integers(1, 2),
)


def build(spent: list[tuple[object, ...]], noted: bool) -> tuple[Block, dict[OutPoint, Coin]]:
    """Return a block of these transactions and the coins that are there for it."""
    coins: dict[OutPoint, Coin] = {}
    txs = []
    number = 0
    for ins, outs, version in spent:  # type: ignore[misc]
        txins, outputs = [], []
        for script, script_sig, witness, sequence, height, state in ins:  # type: ignore[attr-defined]
            number += 1
            outpoint = make_outpoint(bytes(31) + bytes([number]), 0)
            txins.append(TxIn(outpoint, script_sig, sequence, witness))
            coin = Coin(5000, script, height * 2 + (state == "coinbase"))
            outputs.append(coin)
            if state != "missing":
                coins[outpoint] = coin
        tx = Transaction(version, txins, [TxOut(1000, script) for script in outs])  # type: ignore[has-type]
        if noted:
            note(tx, outputs)
        txs.append(tx)
    built = assemble(genesis(), [make_coinbase(HEIGHT), *txs])
    assert built.block is not None
    return built.block, coins


def note(tx: Transaction, spent: list[Coin]) -> None:
    """Note what a pool would have noted, which has seen all of these coins and only takes what is valid with them."""
    try:
        check_transaction(tx)
        fee_sat = check_tx_inputs(tx, spent, 10_000)
    except TxInvalid:
        return
    note_checked(tx, spent, fee_sat)


def judged(block: Block, coins: dict[OutPoint, Coin]) -> object:
    """Return everything that the rules say of a block."""
    try:
        check_block(block, REGTEST, check_pow=False, check_merkle=False)
        result = connect_block(block, Position(chain(HEIGHT), block_hash=block.hash), REGTEST, coins)
    except BlockInvalid as error:
        return str(error)
    delta = result.delta
    return result.sigop_cost, result.input_count, delta.fees, delta.created, delta.spent, delta.spent_raw


@given(st.lists(spends, max_size=4))
def test_notes_change_nothing(spent: list[tuple[object, ...]]) -> None:
    plain, coins = build(spent, noted=False)
    noted, _ = build(spent, noted=True)
    assert plain.raw == noted.raw
    assert all(tx.notes is None for tx in plain.txs)
    assert judged(noted, coins) == judged(plain, coins)
