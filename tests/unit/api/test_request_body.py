"""The JSON of a request's body: what the reference reads in it that a usual decoder does not."""

import json
from typing import Any

import orjson
import pytest

from clarion.api.request_body import MAX_DEPTH, decode
from clarion.node.errors import RpcError


def written(value: Any) -> bytes:
    return orjson.dumps(value)


@pytest.mark.parametrize(
    "number", ["1e5", "1.10", "-0", "1E400", "0.0", "123456789012345678901234567890", "-9223372036854775809", "7"]
)
@pytest.mark.parametrize("body", ['{"id":%s}', '[{"id":3},5,{"id":%s}]', '{"id":[{"a":%s}]}'])
def test_an_id_stays_as_it_was_written(body: str, number: str) -> None:
    text = (body % number).encode()
    assert written(decode(text)) == text


@pytest.mark.parametrize("name", ["method", "params", "id", "jsonrpc", "m\\u0065thod"])
@pytest.mark.parametrize("batch", [False, True])
def test_the_first_of_two_equal_names_counts(name: str, batch: bool) -> None:
    call = f'{{"{name}":"first","{name}":"second"}}'
    value = decode(f'[{{"id":1}},{call}]'.encode())[1] if batch else decode(call.encode())
    assert list(value.values()) == ["first"]


@pytest.mark.parametrize("size", [100, 100_000])
def test_names_ids_and_depth_are_seen_beside_long_strings(size: int) -> None:
    text = b'"%s"' % (b"ab" * size)
    assert written(decode(b'{"params":[%s],"id":1.10}' % text)) == b'{"params":[%s],"id":1.10}' % text
    doubled = decode(b'{"params":[%s],"method":"first","method":"second"}' % text)
    assert doubled["method"] == "first"
    assert decode(b'{"method":"first","m\\u0065thod":"second","params":[%s]}' % text)["method"] == "first"
    with pytest.raises(RpcError, match="Parse error"):
        decode(b'{"params":[%s,%s]}' % (text, b"[" * MAX_DEPTH + b"]" * MAX_DEPTH))


def test_a_method_that_is_named_in_an_argument_changes_nothing() -> None:
    call = {"method": "help", "params": ["method", {"method": 1}], "id": 1.5}
    assert json.loads(written(decode(json.dumps(call).encode()))) == call


@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, True),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), False),
        (b'{"id":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}", False),
        (b"[" * 5000 + b"]" * 5000, False),
        (b"[" + b"[]," * 2 * MAX_DEPTH + b"[]]", True),
    ],
    ids=["deepest", "deeper", "in-an-object", "much-deeper", "only-long"],
)
def test_depth(body: bytes, is_read: bool) -> None:
    if is_read:
        assert json.dumps(decode(body), separators=(",", ":")).encode() == body
        return
    with pytest.raises(RpcError, match="Parse error") as caught:
        decode(body)
    assert caught.value.code == -32700
