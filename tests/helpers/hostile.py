"""Requests that nobody should send, as hypothesis strategies, and what any answer to them must be like.

Owns: the strategies and the checks of one answer. Never: sending.
"""

import json
import re
from typing import Any

from hypothesis import strategies as st

from clarion.api.rest.endpoint import ROUTES
from clarion.api.rpc.node_methods import load_methods
from clarion.api.rpc.registry import public_methods

load_methods()
# `stop` and what waits for an event by its nature: every other method must end.
ENDLESS = {"stop", "waitfornewblock", "waitforblock", "waitforblockheight", "getblocktemplate"}
METHODS = sorted(method.name for method in public_methods() if method.name not in ENDLESS)
PREFIXES = [route.prefix for route in ROUTES]

HASH = st.sampled_from(["TIP", "0" * 64, "f" * 64, "zz", "A" * 64])
NUMBER = st.one_of(
    st.integers(-3, 5), st.sampled_from([2**31, -(2**31) - 1, 2**63, -(2**64), 10**30, 1.5, -0.0, 1e300])
)
SCALAR = st.one_of(st.none(), st.booleans(), NUMBER, HASH, st.text(max_size=8), st.sampled_from(["raw(51)", "00", "*"]))
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
CALL = st.fixed_dictionaries(
    {"method": st.one_of(st.sampled_from(METHODS), VALUE)},
    optional={"id": VALUE, "jsonrpc": st.sampled_from(["1.0", "2.0", "3", 2]), "params": VALUE},
)
NAMED = st.builds(
    lambda name, values: {"method": name, "params": values}, st.sampled_from(METHODS), st.lists(VALUE, max_size=5)
)
BODY = st.one_of(
    CALL.map(json.dumps).map(str.encode),
    NAMED.map(json.dumps).map(str.encode),
    st.lists(st.one_of(CALL, NAMED, VALUE), max_size=3).map(json.dumps).map(str.encode),
    st.tuples(NAMED.map(json.dumps).map(str.encode), st.integers(0, 60), st.binary(max_size=3)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
    ),
    st.binary(max_size=60),
)
PART = st.one_of(HASH, st.integers(-2, 9).map(str), st.text(st.characters(max_codepoint=0x17F), max_size=9))
PATH = st.builds(
    lambda prefix, parts, suffix, query: "/rest/" + prefix.removeprefix("/rest/") + "/".join(parts) + suffix + query,
    st.one_of(st.sampled_from(PREFIXES), st.text(max_size=6)),
    st.lists(PART, max_size=4),
    st.sampled_from(["", ".bin", ".hex", ".json", ".xml", "."]),
    st.one_of(st.just(""), st.text(max_size=9).map("?".__add__), PART.map("?count={0}&offset={0}&size={0}".format)),
)


def told_as_json(content: bytes) -> Any:
    """Return a body that must be JSON in UTF-8."""
    return json.loads(content.decode())


def check_reply(reply: Any) -> None:
    """One answer to one call: a result, or an error with code and message that tells of no fault of ours."""
    assert isinstance(reply, dict)
    error = reply.get("error")
    if error is None:
        assert "result" in reply
        return
    assert isinstance(error["code"], int)
    assert error["message"]
    assert not re.match(r"\w+(Error|Exception): ", error["message"]), error["message"]


def check_json_rpc(status: int, body: bytes) -> None:
    """One answer to one body: a status of the protocol, and with it an answer, an error object or a list of them."""
    if status == 204:
        assert body == b""
        return
    assert status in (200, 400, 404, 500), (status, body)
    reply = told_as_json(body)
    for each in reply if isinstance(reply, list) else [reply]:
        check_reply(each)


def check_rest(status: int, content_type: str, body: bytes) -> None:
    """One answer to one path: found, or refused; JSON is JSON."""
    assert status in (200, 400, 404), (status, body)
    if status == 200 and content_type == "application/json":
        told_as_json(body)
