"""The short cut for usual templates never disagrees with the interpreter, whatever is wrong with a spend."""

import random

import pytest
from coincurve import PrivateKey

from clarion.node.script.checker import TransactionChecker
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import ALL_SCRIPT_VERIFY_FLAGS, SCRIPT_VERIFY_LOW_S, STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.signatures import PreparedCheck, verify_prepared
from clarion.node.script.spending_tx import SpendingTx
from clarion.node.script.standard import prepare_check
from clarion.node.script.verify import verify_script
from helpers.mutations import mutate
from helpers.spends import (
    HYBRID,
    KEY,
    OTHER_KEY,
    TEMPLATES,
    THIRD_KEY,
    UNCOMPRESSED,
    VALUE,
    Spend,
    p2pkh,
    p2sh_p2wpkh,
    p2wpkh,
    p2wsh_multisig,
)

_SHORT = ["p2pkh", "p2wpkh", "p2sh-p2wpkh", "p2wsh-multisig", "p2tr"]


def _prepare(spend: Spend, flags: int) -> PreparedCheck | None:
    tx = SpendingTx(spend.tx.raw)
    tx.set_spent(spend.spent)
    try:
        return prepare_check(tx, 0, flags)
    except Exception:
        # As the queues take it: the interpreter is asked.
        return None


def _passes_short_cut(spend: Spend, flags: int) -> bool:
    check = _prepare(spend, flags)
    return check is not None and verify_prepared(check, bool(flags & SCRIPT_VERIFY_LOW_S))


def _interpret(spend: Spend, flags: int) -> ScriptError | None:
    checker = TransactionChecker(spend.txdata, 0, VALUE)
    return verify_script(spend.script_sig, spend.script_pubkey, spend.witness, flags, checker)


def _agree(spend: Spend, flags: int) -> bool:
    """Whether the short cut says nothing, or what the interpreter says."""
    return not _passes_short_cut(spend, flags) or _interpret(spend, flags) is None


@pytest.mark.parametrize("template", _SHORT)
def test_usual_spends_take_the_short_cut(template: str) -> None:
    spend = TEMPLATES[template]()
    assert _passes_short_cut(spend, STANDARD_SCRIPT_VERIFY_FLAGS)
    assert _interpret(spend, STANDARD_SCRIPT_VERIFY_FLAGS) is None


@pytest.mark.parametrize("template", _SHORT)
def test_other_scripts_take_the_interpreter(template: str) -> None:
    spend = TEMPLATES[template]()
    others = [TEMPLATES[name]().script_pubkey for name in TEMPLATES if name != template]
    strange = [spend.with_changes(script_pubkey=script) for script in others]
    assert not any(_passes_short_cut(other, STANDARD_SCRIPT_VERIFY_FLAGS) for other in strange)


@pytest.mark.parametrize("pubkey", [UNCOMPRESSED, HYBRID], ids=["uncompressed", "hybrid"])
@pytest.mark.parametrize("make", [p2pkh, p2wpkh, p2sh_p2wpkh])
def test_unusual_keys_agree_under_any_flags(make: type[Spend], pubkey: bytes) -> None:
    source = random.Random(1)
    spend = make(1, pubkey)  # type: ignore[call-arg]
    assert all(_agree(spend, source.randrange(ALL_SCRIPT_VERIFY_FLAGS + 1)) for _ in range(100))


@pytest.mark.parametrize("hash_type", range(256))
def test_hash_types_agree(hash_type: int) -> None:
    source = random.Random(hash_type)
    for make in (p2pkh, p2wpkh, p2wsh_multisig):
        spend = make(hash_type)
        flags = source.randrange(ALL_SCRIPT_VERIFY_FLAGS + 1)
        assert _agree(spend, flags)
        assert _agree(spend, STANDARD_SCRIPT_VERIFY_FLAGS)


@pytest.mark.parametrize("template", _SHORT)
def test_mutated_spends_agree(template: str) -> None:
    source = random.Random(template)
    base = TEMPLATES[template]()
    wrong = []
    for _ in range(600):
        spend = mutate(source, base)
        if source.randrange(3) == 0:
            spend = mutate(source, spend)
        flags = source.randrange(ALL_SCRIPT_VERIFY_FLAGS + 1)
        wrong += [(spend, tried) for tried in (flags, STANDARD_SCRIPT_VERIFY_FLAGS, 0) if not _agree(spend, tried)]
    assert not wrong


@pytest.mark.parametrize(
    "signers", [(KEY, OTHER_KEY), (KEY, THIRD_KEY), (OTHER_KEY, THIRD_KEY)], ids=["01", "02", "12"]
)
def test_multisig_takes_any_keys_in_order(signers: tuple[PrivateKey, ...]) -> None:
    keys = (KEY, OTHER_KEY, THIRD_KEY)
    assert _passes_short_cut(p2wsh_multisig(1, keys, signers), STANDARD_SCRIPT_VERIFY_FLAGS)
    backwards = p2wsh_multisig(1, keys, signers[::-1])
    assert not _passes_short_cut(backwards, STANDARD_SCRIPT_VERIFY_FLAGS)
    assert _interpret(backwards, STANDARD_SCRIPT_VERIFY_FLAGS) is not None


def test_one_signature_counts_once() -> None:
    twice = p2wsh_multisig(1, (KEY, OTHER_KEY), (KEY, KEY))
    assert not _passes_short_cut(twice, STANDARD_SCRIPT_VERIFY_FLAGS)
    assert _interpret(twice, STANDARD_SCRIPT_VERIFY_FLAGS) is not None
