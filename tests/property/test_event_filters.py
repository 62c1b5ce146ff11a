"""Filters against a model that asks every subscriber about every event, field by field, and keeps no index."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarion.node.errors import StreamError
from clarion.node.events.cursor import log_start, parse_cursor
from clarion.node.events.encoding import EVENT_TYPES
from clarion.node.events.events import EventId, TipChanged, TxAdded, TxConfirmed, TxRemoved, TxUnconfirmed
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.descriptor import parse_descriptors
from clarion.node.primitives.ids import NULL_HASH, BlockHash, Txid, hash_to_hex, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.notifiers.stream.filter_index import FilterIndex
from clarion.notifiers.stream.filters import StreamEvent
from clarion.notifiers.stream.request import parse_request

PARAMS = select_params("regtest")
LOG = "00112233445566ff"
XPUB = "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B"
RANGED = f"wpkh({XPUB}/0/*)"
(DESCRIPTOR,) = parse_descriptors(RANGED, PARAMS)
DERIVED = [script for index in range(40) for script in DESCRIPTOR.expand(index) or ()]
PLAIN = [bytes((0x51 + number,)) for number in range(4)]
DATA = [b"\x6a" + bytes((len(data),)) + data for data in (b"ab", b"abcd", b"b")]
OUTPOINTS = [make_outpoint(bytes((number,)) * 32, number) for number in range(4)]
VALUES = (0, 10, 500)


@dataclass
class Model:
    """One subscriber, who looks at everything himself."""

    fields: dict[str, Any]
    last: int = 0
    scripts: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.scripts = {bytes.fromhex(each) for each in self.fields.get("scripts", ())}
        described = self.fields.get("descriptors")
        self.window = described[0] if described else None
        if self.window is not None:
            self.last = self.window["range"]

    def wants(self, told: StreamEvent, name: str) -> bool:
        """Whether the event is for him."""
        if name not in self.fields["types"]:
            return False
        event = told.event
        keys = [key for key in self.fields if key not in ("types", "min_value_sat")]
        if isinstance(event, TxRemoved):
            named = hash_to_hex(event.txid) in self.fields.get("txids", ())
            return not keys or named or (keys != ["txids"] and event.reason != "block")
        if not isinstance(event, TxAdded | TxConfirmed | TxUnconfirmed):
            return True
        moved = [*event.tx.outputs, *(told.spent or ())]
        fits = [self._fits(key, event.tx, moved) for key in keys]
        if keys and not any(fits):
            return False
        own = [each for each in moved if self._is_own(each.script_pubkey)]
        return any(each.value >= self.fields.get("min_value_sat", 0) for each in own or moved)

    def _is_own(self, script: bytes) -> bool:
        in_window = self.window is not None and script in DERIVED[: self.last + 1]
        return script in self.scripts or in_window or self._hash(script) in self.fields.get("script_hashes", ())

    def _fits(self, key: str, tx: Transaction, moved: Sequence[Any]) -> bool:
        wanted, scripts = self.fields[key], [each.script_pubkey for each in moved]
        if key == "txids":
            return hash_to_hex(tx.txid) in wanted
        if key == "outpoints":
            return any(_outpoint_text(each.prevout) in wanted for each in tx.inputs)
        if key == "scripts":
            return any(script in self.scripts for script in scripts)
        if key == "script_hashes":
            return any(self._hash(script) in wanted for script in scripts)
        if key == "op_returns":
            made = [each.script_pubkey for each in tx.outputs]
            return any(
                script[:1] == b"\x6a" and script[2:].hex().startswith(each) for script in made for each in wanted
            )
        return self._fits_window(scripts)

    def _fits_window(self, scripts: Sequence[bytes]) -> bool:
        assert self.window is not None
        found = False
        for _ in scripts:
            for script in scripts:
                if script in DERIVED[: self.last + 1]:
                    found = True
                    self.last = max(self.last, DERIVED.index(script) + self.window["gap"])
        return found

    @staticmethod
    def _hash(script: bytes) -> str:
        return sha256(script).digest()[::-1].hex()


def _outpoint_text(outpoint: bytes) -> str:
    return f"{outpoint[31::-1].hex()}:{int.from_bytes(outpoint[32:], 'little')}"


outputs = st.builds(TxOut, st.sampled_from(VALUES), st.sampled_from([*PLAIN, *DERIVED[:24], *DATA]))
transactions = st.builds(
    lambda spends, makes: Transaction(2, [TxIn(each) for each in spends], makes),
    st.lists(st.sampled_from(OUTPOINTS), min_size=1, max_size=2),
    st.lists(outputs, min_size=1, max_size=3),
)
ABOUT = (EventId(LOG, 1, 0), 0, 5, BlockHash(NULL_HASH))


@st.composite
def told_events(draw: st.DrawFn, pool: list[Transaction]) -> StreamEvent:
    """Any event about one of the transactions, or the tip."""
    tx = draw(st.sampled_from(pool))
    spent = draw(st.lists(outputs, min_size=len(tx.inputs), max_size=len(tx.inputs)))
    reason = draw(st.sampled_from(["block", "replaced", "expiry"]))
    event = draw(
        st.sampled_from(
            [
                TxAdded(*ABOUT, tx, 1, tx.vsize, tuple(spent), 1),
                TxConfirmed(*ABOUT, tx, 1),
                TxUnconfirmed(*ABOUT, tx, 1),
                TxRemoved(*ABOUT, Txid(tx.txid), reason, None, 1),
                TipChanged(*ABOUT, BlockHash(NULL_HASH), False),
            ]
        )
    )
    return StreamEvent(event, log_start(LOG), spent)


def _some(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True)


@st.composite
def requests(draw: st.DrawFn, pool: list[Transaction]) -> dict[str, Any]:
    """Fields as a client sends them."""
    every: dict[str, st.SearchStrategy[Any]] = {
        "txids": _some(sorted({hash_to_hex(tx.txid) for tx in pool})),
        "scripts": _some([script.hex() for script in [*PLAIN, *DERIVED[:6]]]),
        "script_hashes": _some([Model._hash(script) for script in [*PLAIN, *DERIVED[:6]]]),
        "outpoints": _some([_outpoint_text(each) for each in OUTPOINTS]),
        "op_returns": _some([b"a".hex(), b"abc".hex(), b"ab".hex(), b"b".hex()]),
        "descriptors": st.builds(
            lambda end, gap: [{"desc": RANGED, "range": end, "gap": gap}], st.integers(0, 5), st.integers(1, 6)
        ),
        "min_value_sat": st.sampled_from(VALUES),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(every)), max_size=3, unique=True))
    types = draw(st.sampled_from([sorted(EVENT_TYPES), ["tx_added", "tx_removed"], ["tx_confirmed", "tip_changed"]]))
    return {"types": types, **{name: draw(every[name]) for name in chosen}}


NAMES = {type_: name for name, type_ in EVENT_TYPES.items()}


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_index_finds_whom_the_model_would_tell(data: st.DataObject) -> None:
    pool = data.draw(st.lists(transactions, min_size=1, max_size=4))
    index: FilterIndex[int] = FilterIndex()
    models: dict[int, Model] = {}
    alone = {}
    for step in range(data.draw(st.integers(1, 14))):
        action = data.draw(st.sampled_from(["add", "tell", "tell", "tell", "remove"]))
        if action == "add":
            fields = data.draw(requests(pool))
            models[step % 5], alone[step % 5] = Model(fields), parse_request(fields, PARAMS).wanted
            index.add(step % 5, parse_request(fields, PARAMS).wanted)
        elif action == "remove":
            index.remove(step % 5)
            models.pop(step % 5, None)
        else:
            told = data.draw(told_events(pool))
            expected = sorted(who for who, model in models.items() if model.wants(told, NAMES[type(told.event)]))
            assert sorted(index.find(told)) == expected
            assert [who for who in sorted(models) if alone[who].accepts(told)] == expected


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_who_comes_again_with_his_cursor_is_told_what_he_would_have_been_told(data: st.DataObject) -> None:
    pool = data.draw(st.lists(transactions, min_size=1, max_size=6))
    windows = [{"desc": RANGED, "range": data.draw(st.integers(0, 5)), "gap": data.draw(st.integers(1, 6))}]
    fields = {
        "descriptors": windows * data.draw(st.integers(1, 2)),
        "min_value_sat": data.draw(st.sampled_from(VALUES)),
    }
    steady, returning = parse_request(fields, PARAMS).wanted, parse_request(fields, PARAMS).wanted
    for _ in range(data.draw(st.integers(1, 14))):
        told = data.draw(told_events(pool))
        assert returning.accepts(told) == steady.accepts(told)
        if data.draw(st.booleans()):
            cursor = str(returning.mark(told.cursor))
            returning = parse_request(fields, PARAMS).wanted
            returning.resume(parse_cursor(cursor))


def test_a_cursor_can_not_have_a_range_grow_without_bounds() -> None:
    wanted = parse_request({"descriptors": [{"desc": RANGED, "gap": 1}]}, PARAMS).wanted
    with pytest.raises(StreamError, match="range ends more than 1000000 indexes behind"):
        wanted.resume(replace(log_start(LOG), grown=(2_000_000_000,)))
    # One of another request says nothing about this one.
    wanted.resume(replace(log_start(LOG), grown=(7, 7)))
    assert wanted.mark(log_start(LOG)).grown == (0,)
