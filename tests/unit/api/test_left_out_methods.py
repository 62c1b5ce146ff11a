"""Methods of what is not there answer as the reference does without it."""

import pytest

from helpers.api_stack import ApiStack

_NO_BROADCAST = "Private broadcast is not enabled. Ensure you're running Bitcoin Core with -privatebroadcast=1."


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("getprivatebroadcastinfo",), (-32601, _NO_BROADCAST)),
        (("abortprivatebroadcast", "00" * 32), (-32601, _NO_BROADCAST)),
    ],
    ids=lambda value: str(value[0]),
)
def test_answers(stack: ApiStack, call: tuple[str, ...], expected: tuple[int, str]) -> None:
    assert stack.error(*call) == expected


def test_arguments_are_looked_at_first(stack: ApiStack) -> None:
    code, message = stack.error("abortprivatebroadcast")
    assert code == -1
    assert message.startswith("abortprivatebroadcast")
