"""Properties of the rules: no input raises what it should not, and disconnecting undoes connecting."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clarion.node.consensus.connect import connect_block
from clarion.node.consensus.disconnect import disconnect_block
from clarion.node.consensus.pow import decode_compact, encode_compact
from clarion.node.consensus.signet import SIGNET_HEADER, take_solution
from clarion.node.consensus.sigops import (
    input_sigop_cost,
    legacy_sigops,
    p2sh_sigops,
    redeem_script,
    script_sigops,
    witness_sigops,
)
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.script import is_p2sh, is_push_only, iter_ops, push_data
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import SCRIPT_VERIFY_P2SH, SCRIPT_VERIFY_WITNESS
from helpers.chain_builder import make_coinbase
from helpers.positions import Position, chain

BOTH = SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS
REGTEST = select_params("regtest")
HEIGHT = 120
TIP = chain(HEIGHT)

templates = st.sampled_from(
    [
        b"\xa9\x14" + bytes(20) + b"\x87",
        b"\x00\x14" + bytes(20),
        b"\x00\x20" + bytes(32),
        b"\x51\x20" + bytes(32),
        b"\x76\xa9\x14" + bytes(20) + b"\x88\xac",
        b"\x00\x17" + bytes(23),
    ]
)
scripts = st.one_of(templates, st.binary(max_size=60))


def slow_count(script: bytes, accurate: bool) -> int:
    """Count as BIP16 words it, over parsed operations."""
    count, last = 0, 0
    for opcode, _, _ in iter_ops(script):
        if opcode in (0xAC, 0xAD):
            count += 1
        elif opcode in (0xAE, 0xAF):
            count += last - 0x50 if accurate and 0x51 <= last <= 0x60 else 20
        last = opcode
    return count


@given(scripts, st.booleans())
def test_sigops_equal_a_slow_count(script: bytes, accurate: bool) -> None:
    assert script_sigops(script, accurate) == slow_count(script, accurate)


@given(scripts)
def test_output_shortcuts_change_nothing(script: bytes) -> None:
    tx = Transaction(1, [TxIn(make_outpoint(bytes(32), 0))], [TxOut(1, script)])
    assert legacy_sigops(tx) == slow_count(script, False)


@given(scripts)
def test_redeem_script_exists_exactly_where_all_is_pushed(script: bytes) -> None:
    redeem = redeem_script(script)
    assert (redeem is not None) == is_push_only(script)
    if redeem is not None:
        assert redeem == ([data for _, data, _ in iter_ops(script)] or [b""])[-1]


@given(scripts, st.one_of(scripts, scripts.map(lambda script: bytes((len(script),)) + script)), scripts)
def test_input_shortcuts_change_nothing(script: bytes, script_sig: bytes, witness_item: bytes) -> None:
    tx = Transaction(1, [TxIn(make_outpoint(bytes(32), 0), script_sig, 0, (witness_item,))], [TxOut(1, b"")])
    expected = witness_sigops(script, script_sig, (witness_item,))
    if is_p2sh(script):
        expected += 4 * p2sh_sigops(script_sig)
    assert input_sigop_cost(tx, [Coin(1, script, 0)], BOTH) == expected


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_compact_form_rounds_down_and_is_stable(target: int) -> None:
    bits = encode_compact(target)
    rounded, negative, overflow = decode_compact(bits)
    assert not negative
    assert not overflow
    assert rounded <= target
    assert encode_compact(rounded) == bits


@given(st.binary(max_size=100), st.binary(min_size=1, max_size=100))
def test_solution_is_found_behind_any_script_that_parses(script: bytes, solution: bytes) -> None:
    marked = SIGNET_HEADER + solution
    found, _ = take_solution(b"\x6a" + push_data(marked) + script)
    assert found == solution
    # Behind bytes that end inside a push nothing is found, and nothing is raised.
    take_solution(script + push_data(marked))


@st.composite
def blocks(draw: st.DrawFn) -> tuple[Block, dict[OutPoint, Coin]]:
    """Return a block that spends old coins and its own, with the coins before it."""
    coins = {make_outpoint(bytes((i,)) * 32, i): Coin(1000, b"\x51", 2 * (i % 7)) for i in range(1, 9)}
    spendable = dict(coins)
    txs = [make_coinbase(HEIGHT, value=draw(st.integers(0, 1000)))]
    for number in range(draw(st.integers(0, 5))):
        names = sorted(spendable)
        chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        value = sum(spendable.pop(name).value for name in chosen)
        shares = draw(st.lists(st.integers(0, value // 3), min_size=1, max_size=3))
        outputs = [TxOut(share, draw(st.sampled_from([b"\x51", b"", b"\x6a"]))) for share in shares]
        tx = Transaction(number, [TxIn(name) for name in chosen], outputs)
        txs.append(tx)
        for index, output in enumerate(outputs):
            if output.script_pubkey != b"\x6a":
                spendable[make_outpoint(tx.txid, index)] = Coin(output.value, output.script_pubkey, HEIGHT * 2)
        if not spendable:
            break
    return Block(BlockHeader(4, TIP.hash, bytes(32), 0, 0x207FFFFF, 0), txs), coins


@settings(max_examples=60)
@given(blocks())
def test_disconnecting_undoes_connecting(case: tuple[Block, dict[OutPoint, Coin]]) -> None:
    block, before = case
    delta = connect_block(block, Position(TIP, block_hash=block.hash), REGTEST, before).delta
    after = before | dict(delta.created)
    for tx in block.txs[1:]:
        for txin in tx.inputs:
            del after[txin.prevout]
    back = disconnect_block(block, delta.spent, HEIGHT, current=after)
    assert not back.unclean
    restored = {name: coin for name, coin in after.items() if name not in back.removed} | dict(back.restored)
    assert restored == before
