"""Storage encodings: what goes in comes out."""

from hypothesis import given
from hypothesis import strategies as st

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import make_outpoint
from clarion.node.storage.coin_store import coin_key, key_outpoint
from clarion.node.storage.undo_files import _decode_spent, encode_spent
from clarion.node.storage.xor_key import apply_xor

TXIDS = st.binary(min_size=32, max_size=32)
INDEXES = st.integers(0, 2**32 - 1)
COINS = st.builds(Coin, st.integers(0, 2**63 - 1), st.binary(max_size=300), st.integers(0, 2**32 - 1))


@given(TXIDS, INDEXES)
def test_coin_keys_turn_back(txid: bytes, index: int) -> None:
    outpoint = make_outpoint(txid, index)
    assert key_outpoint(coin_key(outpoint)) == outpoint


@given(st.lists(st.tuples(TXIDS, INDEXES)))
def test_coin_keys_sort_as_txid_and_index(pairs: list[tuple[bytes, int]]) -> None:
    by_pair = [coin_key(make_outpoint(txid, index)) for txid, index in sorted(pairs)]
    assert by_pair == sorted(by_pair)


@given(st.lists(st.lists(COINS)))
def test_spent_coins_come_back(spent: list[list[Coin]]) -> None:
    codes = [coin.code for coins in spent for coin in coins]
    assert _decode_spent(encode_spent(spent), codes) == spent


@given(st.binary(), st.binary(min_size=8, max_size=8), st.integers(0, 1000))
def test_obfuscation_is_byte_by_byte_and_undoes_itself(data: bytes, key: bytes, offset: int) -> None:
    hidden = apply_xor(data, key, offset)
    assert hidden == bytes(byte ^ key[(offset + at) % 8] for at, byte in enumerate(data))
    assert apply_xor(hidden, key, offset) == data
