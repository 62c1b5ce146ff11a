"""Scripts of single transactions: both sets of flags, workers for large ones, what is remembered."""

from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import MANDATORY_SCRIPT_VERIFY_FLAGS, STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.validation import tx_scripts
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.script_cache import ScriptCache
from clarion.node.validation.tx_scripts import TxFailure, TxScripts
from helpers import spends

POLICY, BLOCK = STANDARD_SCRIPT_VERIFY_FLAGS, MANDATORY_SCRIPT_VERIFY_FLAGS
OP_TRUE, OP_NOP1 = b"\x51", b"\xb0"


def make_job(count: int, script: bytes = OP_TRUE) -> ScriptJob:
    inputs = [TxIn(make_outpoint(bytes(32), number)) for number in range(count)]
    return ScriptJob(Transaction(2, inputs, [TxOut(1, script)]), [Coin(1, script, 0)] * count, 0)


class Workers:
    """Stands for a queue with workers."""

    def __init__(self, fails_under: int | None = None) -> None:
        self.asked: list[int] = []
        self._fails_under = fails_under

    def start(self) -> None: ...

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        raise AssertionError("a transaction is waited for")

    def check(self, jobs: Sequence[ScriptJob], flags: int) -> ScriptFailure | None:
        self.asked.append(flags)
        return ScriptFailure(0, 3, ScriptError.EVAL_FALSE) if flags == self._fails_under else None

    def close(self) -> None: ...


@pytest.fixture
def cache() -> ScriptCache:
    return ScriptCache(1 << 16)


def test_what_passes_is_remembered_under_both_sets_of_flags(cache: ScriptCache) -> None:
    job = make_job(2)
    scripts = TxScripts(InlineQueue(), cache)
    assert scripts.check(job, POLICY, BLOCK) is None
    assert scripts.known(job, POLICY, BLOCK)
    scripts.entered(job.tx.wtxid, POLICY)
    assert not cache.contains(job.tx.wtxid, POLICY)
    assert cache.contains(job.tx.wtxid, BLOCK)


def test_what_fails_by_policy_is_not_remembered(cache: ScriptCache) -> None:
    job = make_job(2, OP_NOP1 + OP_TRUE)
    failed = TxScripts(InlineQueue(), cache).check(job, POLICY, BLOCK)
    assert failed == TxFailure(ScriptFailure(0, 0, ScriptError.DISCOURAGE_UPGRADABLE_NOPS))
    assert len(cache) == 0


def test_the_rules_of_blocks_are_checked_too(cache: ScriptCache) -> None:
    """Flags of policy that were laxer than those of blocks must not fill the cache that blocks rely on."""
    job = make_job(2, OP_NOP1 + OP_TRUE)
    failed = TxScripts(InlineQueue(), cache).check(job, BLOCK, POLICY)
    assert failed == TxFailure(ScriptFailure(0, 0, ScriptError.DISCOURAGE_UPGRADABLE_NOPS), consensus=True)
    assert len(cache) == 0


def test_what_a_short_cut_decides_is_not_interpreted(cache: ScriptCache, monkeypatch: pytest.MonkeyPatch) -> None:
    spend = spends.p2wpkh()
    spent = [Coin(txout.value, txout.script_pubkey, 0) for txout in spend.spent]
    interpreted: list[int] = []

    def interpret(left: Sequence[tuple[int, object, int]], flags: int, first_failure: object) -> None:
        interpreted.extend(index for _, _, index in left)

    monkeypatch.setattr(tx_scripts, "interpret", interpret)
    assert TxScripts(InlineQueue(), cache).check(ScriptJob(spend.tx, spent, 0), POLICY, BLOCK) is None
    # The second input spends OP_TRUE, which is no template: it is run under both sets of flags.
    assert interpreted == [1, 1]


def test_large_transactions_go_to_the_workers(cache: ScriptCache) -> None:
    workers = Workers()
    scripts = TxScripts(workers, cache)
    assert scripts.check(make_job(tx_scripts.INLINE_CHECKS - 1), POLICY, BLOCK) is None
    assert workers.asked == []
    assert scripts.check(make_job(tx_scripts.INLINE_CHECKS), POLICY, BLOCK) is None
    assert workers.asked == [POLICY, BLOCK]


@pytest.mark.parametrize("flags", [POLICY, BLOCK])
def test_workers_say_under_which_flags_a_script_fails(cache: ScriptCache, flags: int) -> None:
    failed = TxScripts(Workers(flags), cache).check(make_job(20), POLICY, BLOCK)
    assert failed == TxFailure(ScriptFailure(0, 3, ScriptError.EVAL_FALSE), consensus=flags == BLOCK)
    assert len(cache) == 0


SIGNATURE, KEY = bytes(71), bytes(33)
P2WPKH, P2PKH = b"\x00\x14" + bytes(20), b"\x76\xa9\x14" + bytes(20) + b"\x88\xac"
P2SH, P2TR = b"\xa9\x14" + bytes(20) + b"\x87", b"\x51\x20" + bytes(32)


@pytest.mark.parametrize(
    ("script", "script_sig", "witness", "takes_long"),
    [
        (P2WPKH, b"", (SIGNATURE, KEY), False),
        (P2PKH, SIGNATURE + KEY, (), False),
        (P2SH, b"\x16" + P2WPKH, (SIGNATURE, KEY), False),
        (P2SH, b"\x51" * 30, (), True),
        (P2TR, b"", (SIGNATURE,), False),
        (P2TR, b"", (OP_TRUE, KEY), True),
        (b"\x00\x20" + bytes(32), b"", (OP_TRUE,), True),
        (OP_TRUE, b"", (), True),
    ],
    ids=["p2wpkh", "p2pkh", "p2sh-p2wpkh", "p2sh", "key path", "script path", "p2wsh", "other"],
)
def test_what_takes_long(
    cache: ScriptCache, script: bytes, script_sig: bytes, witness: tuple[bytes, ...], takes_long: bool
) -> None:
    def job(count: int) -> ScriptJob:
        inputs = [TxIn(make_outpoint(bytes(32), number), script_sig, 0, witness) for number in range(count)]
        return ScriptJob(Transaction(2, inputs, [TxOut(1, script)]), [Coin(1, script, 0)] * count, 0)

    scripts = TxScripts(Workers(), cache)
    assert scripts.takes_long(job(tx_scripts.FEW_INPUTS)) is takes_long
    assert scripts.takes_long(job(tx_scripts.FEW_INPUTS + 1))
