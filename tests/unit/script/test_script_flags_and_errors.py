"""Names, texts and sets of flags and errors, declared a second time where clients depend on them."""

import pickle

import pytest

from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import (
    ALL_SCRIPT_VERIFY_FLAGS,
    FLAGS_BY_NAME,
    MANDATORY_SCRIPT_VERIFY_FLAGS,
    STANDARD_SCRIPT_VERIFY_FLAGS,
    flag_names,
    is_valid_flag_combination,
    parse_flags,
)


def test_every_flag_has_a_bit_of_its_own() -> None:
    assert sorted(FLAGS_BY_NAME.values()) == [1 << bit for bit in range(21)]
    assert ALL_SCRIPT_VERIFY_FLAGS == 0x1FFFFF


def test_mandatory_flags() -> None:
    names = ["CHECKLOCKTIMEVERIFY", "CHECKSEQUENCEVERIFY", "DERSIG", "NULLDUMMY", "P2SH", "TAPROOT", "WITNESS"]
    assert flag_names(MANDATORY_SCRIPT_VERIFY_FLAGS) == names
    assert MANDATORY_SCRIPT_VERIFY_FLAGS == 0x20E15


def test_standard_flags_are_all_but_pushonly() -> None:
    assert flag_names(ALL_SCRIPT_VERIFY_FLAGS & ~STANDARD_SCRIPT_VERIFY_FLAGS) == ["SIGPUSHONLY"]


def test_names_round_trip() -> None:
    assert parse_flags(",".join(FLAGS_BY_NAME)) == ALL_SCRIPT_VERIFY_FLAGS
    assert parse_flags("NONE") == parse_flags("") == 0
    assert flag_names(parse_flags(["WITNESS", "P2SH"])) == ["P2SH", "WITNESS"]
    with pytest.raises(KeyError):
        parse_flags("P2SH,NO_SUCH_FLAG")


@pytest.mark.parametrize(
    ("names", "valid"),
    [
        ("", True),
        ("P2SH", True),
        ("P2SH,WITNESS", True),
        ("WITNESS", False),
        ("P2SH,CLEANSTACK", False),
        ("P2SH,WITNESS,CLEANSTACK", True),
        ("TAPROOT", True),
    ],
)
def test_combinations(names: str, valid: bool) -> None:
    assert is_valid_flag_combination(parse_flags(names)) is valid


def test_texts_that_clients_see() -> None:
    text = "Script evaluated without error but finished with a false/empty top stack element"
    assert ScriptError.EVAL_FALSE.message == text
    assert ScriptError.NULLFAIL.message == "Signature must be zero for failed CHECK(MULTI)SIG operation"
    assert ScriptError.SCRIPTNUM.message == "Script number overflowed or is non-minimally encoded"
    assert len({error.message for error in ScriptError}) == len(ScriptError) == 54


def test_errors_travel_between_processes() -> None:
    assert all(pickle.loads(pickle.dumps(error)) is error for error in ScriptError)
