"""Binding params to a method's arguments: names, `args`, holes, defaults, types and counts."""

from typing import Any

import pytest

from clarion.api.rpc import registry
from clarion.api.rpc.node_methods import load_methods
from clarion.api.rpc.registry import READER, Method, bind
from clarion.api.rpc.spec import Arg, ArgType
from clarion.node.errors import RpcError

load_methods()


def method(*args: Arg, variadic: bool = False) -> Method:
    return Method("m", "hidden", READER, args, (), "about", (), False, False, variadic, lambda: None)


TEN = method(*[Arg(f"arg{i}", ArgType.STR, unchecked=True) for i in range(10)], variadic=True)
TWO = method(Arg("a|first", ArgType.NUM, required=True), Arg("b", ArgType.BOOL, default=True))
OPTIONS = method(
    Arg("x", ArgType.STR),
    Arg("options", ArgType.OBJ_NAMED_PARAMS, inner=(Arg("fee", ArgType.NUM), Arg("change", ArgType.STR))),
)


@pytest.mark.parametrize(
    ("params", "values"),
    [
        pytest.param({}, [], id="none"),
        pytest.param({"arg0": 0, "arg9": 9}, [0, *[None] * 8, 9], id="hole-in-the-middle"),
        pytest.param({"arg1": 1}, [None, 1], id="hole-in-front"),
        pytest.param({"arg9": None}, [None] * 10, id="null-at-the-end"),
        pytest.param({"args": [0, 1], "arg3": 3, "arg5": 5}, [0, 1, None, 3, None, 5], id="args-and-names"),
    ],
)
def test_names_become_positions(params: dict[str, Any], values: list[Any]) -> None:
    assert bind(TEN, params) == [values]


@pytest.mark.parametrize(
    ("target", "params", "code", "message"),
    [
        pytest.param(TEN, {"random": 1}, -8, "Unknown named parameter random", id="unknown"),
        pytest.param(
            TEN,
            {"args": [0, 1], "arg1": 1},
            -8,
            "Parameter arg1 specified twice both as positional and named argument",
            id="twice",
        ),
        pytest.param(
            OPTIONS, {"fee": 1, "options": {}}, -8, "Parameter options conflicts with parameter fee", id="both"
        ),
    ],
)
def test_wrong_names(target: Method, params: dict[str, Any], code: int, message: str) -> None:
    with pytest.raises(RpcError) as caught:
        bind(target, params)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_aliases_and_defaults() -> None:
    assert bind(TWO, {"first": 5}) == [5, True]
    assert bind(TWO, [5, None]) == [5, True]
    assert bind(TWO, [5, False]) == [5, False]


def test_named_members_of_an_options_object() -> None:
    assert bind(OPTIONS, {"fee": 3, "change": "c"}) == [None, {"fee": 3, "change": "c"}]


@pytest.mark.parametrize("params", [[], [1, True, 3]], ids=["too-few", "too-many"])
def test_wrong_count_answers_with_help(params: list[Any]) -> None:
    with pytest.raises(RpcError) as caught:
        bind(TWO, params)
    assert caught.value.code == -1
    assert caught.value.message.startswith("m a ( b )\n\nabout\n")


def test_wrong_type_names_the_position() -> None:
    with pytest.raises(RpcError) as caught:
        bind(TWO, ["x", 1])
    assert caught.value.code == -3
    assert caught.value.message == (
        "Wrong type passed:\n{\n"
        '    "Position 1 (a|first)": "JSON value of type string is not of expected type number",\n'
        '    "Position 2 (b)": "JSON value of type number is not of expected type bool"\n}'
    )


def test_null_for_a_required_argument_is_a_type_error() -> None:
    with pytest.raises(RpcError, match="JSON value of type null is not of expected type number"):
        bind(TWO, [None])


def test_internal_methods_are_not_found() -> None:
    assert registry.find("_flush") is None
    assert registry.find_internal("_flush") is not None
    assert "_flush" not in [m.name for m in registry.public_methods()]
