"""The order of scripts in a spend, tapscript's rules on signatures, locks, and what happens to surprises."""

import pytest

from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.script import encode_number, p2sh_script, push_data, push_number, witness_script
from clarion.node.script import verify as verify_module
from clarion.node.script.checker import TransactionChecker
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import (
    MANDATORY_SCRIPT_VERIFY_FLAGS,
    SCRIPT_VERIFY_CLEANSTACK,
    SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_PUBKEYTYPE,
    SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM,
    SCRIPT_VERIFY_NONE,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_WITNESS,
    STANDARD_SCRIPT_VERIFY_FLAGS,
)
from clarion.node.script.verify import verify_input, verify_script
from helpers.spends import PUBKEY, TEMPLATES, Spend, p2tr_checksig, p2tr_key_path, p2tr_script_path, p2wpkh


def _verify(spend: Spend, flags: int = MANDATORY_SCRIPT_VERIFY_FLAGS) -> ScriptError | None:
    return verify_input(spend.tx, 0, spend.spent, flags)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("hash_type", [1, 2, 3, 0x81, 0x82, 0x83])
def test_signed_spends_are_standard(template: str, hash_type: int) -> None:
    assert _verify(TEMPLATES[template](hash_type), STANDARD_SCRIPT_VERIFY_FLAGS) is None


@pytest.mark.parametrize("template", TEMPLATES)
def test_signatures_commit_to_the_transaction(template: str) -> None:
    assert _verify(TEMPLATES[template](1).with_changes(lock_time=1)) is not None


def test_script_sig_cannot_swallow_script_pubkey() -> None:
    """CVE-2010-5141: with the scripts joined, the open push would hide the failing rest."""
    assert _verify(Spend(b"\x6a", b"\x51\x4c")) is ScriptError.BAD_OPCODE
    assert _verify(Spend(b"\x6a", b"\x51")) is ScriptError.OP_RETURN


def test_witness_programs_need_their_flags() -> None:
    spend = p2wpkh().with_changes(witness=())
    assert _verify(spend) is ScriptError.WITNESS_PROGRAM_MISMATCH
    assert _verify(spend, SCRIPT_VERIFY_P2SH) is None
    taproot = p2tr_key_path().with_changes(witness=())
    assert _verify(taproot) is ScriptError.WITNESS_PROGRAM_WITNESS_EMPTY
    assert _verify(taproot, SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS) is None


@pytest.mark.parametrize(
    ("version", "size", "discouraged"), [(1, 31, True), (1, 33, True), (2, 32, True), (16, 2, True), (1, 2, False)]
)
def test_unknown_programs_are_for_anyone(version: int, size: int, discouraged: bool) -> None:
    program = b"\x4e\x73" if size == 2 and version == 1 else b"\x01" * size
    spend = Spend(witness_script(version, program))
    flags = MANDATORY_SCRIPT_VERIFY_FLAGS | SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM
    assert _verify(spend) is None
    assert (_verify(spend, flags) is ScriptError.DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM) is discouraged


def test_taproot_inside_p2sh_has_no_rules() -> None:
    redeem = p2tr_key_path().script_pubkey
    assert _verify(Spend(p2sh_script(hash160(redeem)), push_data(redeem))) is None


def test_annex_is_signed() -> None:
    spend = p2tr_key_path()
    assert _verify(spend.with_changes(witness=(*spend.witness, b"\x50"))) is ScriptError.SCHNORR_SIG
    assert _verify(spend.with_changes(witness=(*spend.witness, b"\x51"))) is ScriptError.TAPROOT_WRONG_CONTROL_SIZE
    assert _verify(p2tr_script_path(b"\x51", annex=b"\x50\x01")) is None


@pytest.mark.parametrize(
    ("size", "error"), [(63, "SCHNORR_SIG_SIZE"), (66, "SCHNORR_SIG_SIZE"), (0, "SCHNORR_SIG_SIZE")]
)
def test_schnorr_signature_sizes(size: int, error: str) -> None:
    spend = p2tr_key_path().with_changes(witness=(bytes(size),))
    assert _verify(spend) is ScriptError[error]


def test_schnorr_default_hash_type_has_one_form() -> None:
    spend = p2tr_key_path()
    longer = spend.with_changes(witness=(spend.witness[0] + b"\0",))
    assert _verify(longer) is ScriptError.SCHNORR_SIG_HASHTYPE


@pytest.mark.parametrize(("annex_size", "error"), [(3, "TAPSCRIPT_VALIDATION_WEIGHT"), (4, "CLEANSTACK")])
def test_tapscript_budget(annex_size: int, error: str) -> None:
    """Two signatures take 100 units; the witness has 45 bytes without the annex, and 50 units are free (BIP342)."""
    check = b"\x76\x51\xad"  # DUP 1 CHECKSIGVERIFY: a key of one byte accepts any signature
    spend = p2tr_script_path(check * 2 + b"\x51", b"\x01", annex=b"\x50" + bytes(annex_size - 1))
    assert _verify(spend) is ScriptError[error]


@pytest.mark.parametrize(
    ("key", "signature", "error"),
    [
        (b"", b"", "TAPSCRIPT_EMPTY_PUBKEY"),
        (b"", b"\x01", "TAPSCRIPT_EMPTY_PUBKEY"),
        (PUBKEY[1:], b"", "EVAL_FALSE"),
        (PUBKEY[1:], b"\x01", "SCHNORR_SIG_SIZE"),
        (PUBKEY[1:], bytes(64), "SCHNORR_SIG"),
        (PUBKEY, b"\x01", None),
        (PUBKEY, b"", "EVAL_FALSE"),
    ],
)
def test_tapscript_keys(key: bytes, signature: bytes, error: str | None) -> None:
    spend = p2tr_script_path(push_data(key) + b"\xac", signature)
    assert _verify(spend) is (ScriptError[error] if error else None)
    discouraged = _verify(spend, MANDATORY_SCRIPT_VERIFY_FLAGS | SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_PUBKEYTYPE)
    assert (discouraged is ScriptError.DISCOURAGE_UPGRADABLE_PUBKEYTYPE) is (key == PUBKEY)


def test_checksigadd_counts() -> None:
    spend = p2tr_checksig()
    signature = spend.witness[0]
    script = b"\x51" + push_data(PUBKEY[1:]) + b"\xba\x51\x87"
    assert _verify(p2tr_script_path(script, b"")) is None
    assert _verify(p2tr_script_path(script, signature)) is ScriptError.SCHNORR_SIG


def _locked(opcode: int, operand: int, **changes: object) -> Spend:
    return Spend(push_data(encode_number(operand)) + bytes((opcode, 0x75, 0x51))).with_changes(**changes)


@pytest.mark.parametrize(
    ("operand", "lock_time", "sequence", "error"),
    [
        (100, 100, 0, None),
        (101, 100, 0, "UNSATISFIED_LOCKTIME"),
        (100, 100, 0xFFFFFFFF, "UNSATISFIED_LOCKTIME"),
        (100, 500_000_000, 0, "UNSATISFIED_LOCKTIME"),
        (500_000_000, 499_999_999, 0, "UNSATISFIED_LOCKTIME"),
        (0xFFFFFFFF, 0xFFFFFFFF, 0, None),
        (-1, 100, 0, "NEGATIVE_LOCKTIME"),
        (1 << 39, 100, 0, "SCRIPTNUM"),
    ],
)
def test_checklocktimeverify(operand: int, lock_time: int, sequence: int, error: str | None) -> None:
    spend = _locked(0xB1, operand, lock_time=lock_time, sequence=sequence)
    assert _verify(spend) is (ScriptError[error] if error else None)
    assert _verify(spend, SCRIPT_VERIFY_NONE) is None


@pytest.mark.parametrize(
    ("operand", "sequence", "version", "error"),
    [
        (5, 5, 2, None),
        (5, 6, 2, None),
        (6, 5, 2, "UNSATISFIED_LOCKTIME"),
        (5, 5, 1, "UNSATISFIED_LOCKTIME"),
        (5, 5, 0xFFFFFFFF, None),
        (5, 5 | 1 << 31, 2, "UNSATISFIED_LOCKTIME"),
        (1 << 31, 0xFFFFFFFF, 1, None),
        (5, 5 | 1 << 22, 2, "UNSATISFIED_LOCKTIME"),
        (5 | 1 << 22, 5 | 1 << 22, 2, None),
        (5 | 1 << 20, 5, 2, None),
        (-1, 5, 2, "NEGATIVE_LOCKTIME"),
    ],
)
def test_checksequenceverify(operand: int, sequence: int, version: int, error: str | None) -> None:
    spend = _locked(0xB2, operand, sequence=sequence, version=version)
    assert _verify(spend) is (ScriptError[error] if error else None)


def test_flags_that_are_no_rules_make_nothing_valid() -> None:
    spend = Spend(push_number(1))
    assert _verify(spend, SCRIPT_VERIFY_NONE) is None
    assert _verify(spend, SCRIPT_VERIFY_WITNESS) is ScriptError.UNKNOWN_ERROR
    assert _verify(spend, SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_CLEANSTACK) is ScriptError.UNKNOWN_ERROR


@pytest.mark.parametrize("surprise", [ValueError, IndexError, RecursionError, AssertionError, KeyError, OverflowError])
def test_surprises_are_invalid(surprise: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise surprise

    spend = p2wpkh()
    monkeypatch.setattr(verify_module, "eval_script", broken)
    checker = TransactionChecker(spend.txdata, 0, 0)
    assert verify_script(b"", spend.script_pubkey, spend.witness, 0, checker) is ScriptError.UNKNOWN_ERROR
    monkeypatch.setattr(verify_module, "TransactionChecker", broken)
    assert _verify(spend) is ScriptError.UNKNOWN_ERROR


def test_lack_of_memory_is_not_the_scripts_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(verify_module, "eval_script", broken)
    with pytest.raises(MemoryError):
        _verify(Spend(b"\x51"))


def test_missing_spent_outputs_are_invalid() -> None:
    spend = p2tr_key_path()
    assert verify_input(spend.tx, 0, [], MANDATORY_SCRIPT_VERIFY_FLAGS) is ScriptError.UNKNOWN_ERROR
    assert verify_input(spend.tx, 5, spend.spent, MANDATORY_SCRIPT_VERIFY_FLAGS) is ScriptError.UNKNOWN_ERROR
