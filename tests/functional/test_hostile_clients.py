"""Hostile clients of a real node with two API workers: requests by the OpenAPI page, and such that no page allows.

CLARION_FUZZ_CASES=20000 makes a long run of them; CLARION_FUZZ_SEED repeats it. Without, the same few cases each time.
"""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings

from helpers.hostile import BODY, ENDLESS, PATH, check_json_rpc, check_rest, told_as_json
from helpers.node import Node, process_ids_below
from helpers.raw_client import RawClient

CASES = int(os.environ.get("CLARION_FUZZ_CASES", "150"))
SEED = int(os.environ.get("CLARION_FUZZ_SEED", "1"))
JSON_RPC_PATHS = ("/", "/wallet/{name}")
WORKERS = 2
BLOCKS = 3
INDEXES = ("-txindex=1", "-blockfilterindex=1", "-coinstatsindex=1", "-txospenderindex=1")

pytestmark = pytest.mark.slow


def seeded(cases: int) -> Callable[[Any], Any]:
    """Return a decorator: so many cases, the same for the same seed."""
    limits = settings(max_examples=cases, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    return lambda test: limits(hypothesis.seed(SEED)(test))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node with three blocks; in the end none of its processes may have died, nor logged a fault of ours."""
    with Node(tmp_path_factory.mktemp("hostile"), f"-apiworkers={WORKERS}", "-dns=0", *INDEXES) as node:
        node.rpc("generatetodescriptor", BLOCKS, "raw(51)")
        assert node.process is not None
        before = sorted(process_ids_below(node.process.pid))
        yield node
        assert sorted(process_ids_below(node.process.pid)) == before
        node.stop()
        for text in (node.debug_log(), node.read_output()):
            assert not re.findall(r"Traceback|Unexpected error|died with status", text)


@pytest.fixture(scope="module")
def client(node: Node) -> Iterator[RawClient]:
    """Return a client of the node."""
    with RawClient(node.rpc_port) as client:
        yield client


def test_bodies(node: Node, client: RawClient) -> None:
    authorization, tip = node.authorization(), node.rpc("getbestblockhash").encode()

    @seeded(CASES)
    @given(body=BODY)
    def send(body: bytes) -> None:
        answer = client.ask("POST", b"/", body.replace(b"TIP", tip), authorization)
        check_json_rpc(answer.status, answer.body)

    send()


def test_rest_paths(node: Node, client: RawClient) -> None:
    tip = node.rpc("getbestblockhash")

    @seeded(CASES)
    @given(path=PATH)
    def send(path: str) -> None:
        # What would end the request line is what any client escapes.
        target = re.sub(r"[\x00-\x20\x7f]", lambda found: f"%{ord(found[0]):02x}", path.replace("TIP", tip))
        answer = client.ask("GET", target.encode("latin-1", "replace"))
        check_rest(answer.status, answer.content_type, answer.body)

    send()


def page_of(node: Node) -> dict[str, Any]:
    """Return the OpenAPI page, with hashes that exist among the possible ones and without what does not end."""
    page: dict[str, Any] = told_as_json(node.request("GET", "/openapi.json")[1])
    schemas = page["components"]["schemas"]
    for name in ENDLESS:
        del schemas[f"{name}.call"]
    known = [node.rpc("getblockhash", height) for height in range(BLOCKS + 1)]
    known += [node.rpc("getblock", each, 1)["tx"][0] for each in known]
    for path, operations in page["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in ("hash", "txid"):
                    parameter["schema"] = {"anyOf": [{"enum": known}, parameter["schema"]]}
                if parameter["name"] == "wait":
                    parameter["schema"]["maximum"] = 0.01
            if "requestBody" in operation:
                operation["requestBody"] = without(operation["requestBody"], ENDLESS)
        assert path.startswith("/")
    return page


def without(value: Any, names: set[str]) -> Any:
    """Return a part of the page without the calls of some methods."""
    if isinstance(value, dict):
        return {key: without(each, names) for key, each in value.items()}
    if isinstance(value, list):
        gone = [{"$ref": f"#/components/schemas/{name}.call"} for name in names]
        return [without(each, names) for each in value if each not in gone]
    return value


def send_cases(operation: Any, cases: int, auth: tuple[str, str]) -> None:
    """Send what the page allows of one operation, and compare the answers with the page."""
    from schemathesis import checks

    names = ("status_code_conformance", "content_type_conformance", "response_schema_conformance")
    wanted = [checks.CHECKS.get_one(name) for name in names]

    @seeded(cases)
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        answer = case.call(auth=auth)
        case.validate_response(answer, checks=wanted)
        if operation.path in JSON_RPC_PATHS:
            check_json_rpc(answer.status_code, answer.content)
        else:
            assert answer.status_code < 500, answer.content

    send()


def test_by_the_openapi_page(node: Node) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    page = page_of(node)
    schema = schemathesis.openapi.from_dict(page)
    schema.config.update(base_url=f"http://127.0.0.1:{node.rpc_port}")
    user, password = node.cookie().split(":")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == sum(len(each) for each in page["paths"].values())
    for operation in operations:
        send_cases(operation, CASES if operation.path == "/" else max(10, CASES // 10), (user, password))


def test_the_node_still_answers(node: Node) -> None:
    assert node.rpc("uptime") >= 0
    assert node.rest("chaininfo.json")[0] == 200
