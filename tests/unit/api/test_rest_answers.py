"""REST: formats, statuses and texts."""

import pytest

from helpers.api_stack import ApiStack

ZERO = "0" * 64
FORMATS = "output format not found (available: .bin, .hex, .json)\r\n"


@pytest.fixture
def tip(stack: ApiStack) -> str:
    """Return the hash of the tip."""
    return str(stack.result("getbestblockhash"))


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("block/zz.bin", 400, "Invalid hash: zz\r\n"),
        (f"block/{ZERO}.bin", 404, f"{ZERO} not found\r\n"),
        (f"block/{ZERO}.xml", 400, f"Invalid hash: {ZERO}.xml\r\n"),
        ("block/TIP", 404, FORMATS),
        ("blockpart/TIP.bin", 400, "Block part offset missing or invalid\r\n"),
        ("blockpart/TIP.bin?offset=1", 400, "Block part size missing or invalid\r\n"),
        ("blockpart/TIP.bin?offset=0&size=0", 400, "Bad block part offset/size 0/0 for TIP\r\n"),
        ("blockpart/TIP.bin?offset=9999&size=1", 400, "Bad block part offset/size 9999/1 for TIP\r\n"),
        ("blockpart/TIP.json?offset=0&size=1", 400, "JSON output is not supported for this request type\r\n"),
        (f"spenttxouts/{ZERO}.bin", 404, f"{ZERO} not found\r\n"),
        ("spenttxouts/a/b.bin", 400, "Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>\r\n"),
        ("spenttxouts/TIP", 404, FORMATS),
        (
            "headers/TIP.json?count=0",
            400,
            "Header count is invalid or out of acceptable range (1-2000): 0\r\n",
        ),
        ("headers/x/TIP.json", 400, "Header count is invalid or out of acceptable range (1-2000): x\r\n"),
        ("headers/1/2/3.json", 400, "Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>\r\n"),
        ("headers/zz.json", 400, "Invalid hash: zz\r\n"),
        ("headers/TIP", 404, FORMATS),
        ("blockhashbyheight/99.json", 404, "Block height out of range\r\n"),
        ("blockhashbyheight/-1.json", 400, "Invalid height: -1\r\n"),
        ("blockhashbyheight/a%22b.json", 400, "Invalid height: a%22b\r\n"),
        ("blockhashbyheight/1", 404, FORMATS),
        ("chaininfo.bin", 404, "output format not found (available: json)\r\n"),
        ("mempool/contents.bin", 404, "output format not found (available: json)\r\n"),
        (
            "mempool/contents.json?verbose=x",
            400,
            'The "verbose" query parameter must be either "true" or "false".\r\n',
        ),
        (
            "mempool/contents.json?mempool_sequence=true",
            400,
            'Verbose results cannot contain mempool sequence values. (hint: set "verbose=false")\r\n',
        ),
        ("mempool/nosuch.json", 400, "Invalid URI format. Expected /rest/mempool/<info|contents>.json\r\n"),
    ],
)
def test_refusals(stack: ApiStack, tip: str, path: str, status: int, text: str) -> None:
    answer = stack.get("/rest/" + path.replace("TIP", tip))
    assert (answer.status_code, answer.text) == (status, text.replace("TIP", tip))
    assert answer.headers["content-type"] == "text/plain"


@pytest.mark.parametrize(
    ("format_name", "content_type"),
    [("bin", "application/octet-stream"), ("hex", "text/plain"), ("json", "application/json")],
)
@pytest.mark.parametrize(
    "path", ["block/TIP", "headers/TIP", "headers/5/TIP", "spenttxouts/TIP", "blockhashbyheight/3"]
)
def test_types(stack: ApiStack, tip: str, path: str, format_name: str, content_type: str) -> None:
    answer = stack.get(f"/rest/{path.replace('TIP', tip)}.{format_name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == content_type
    assert answer.content.endswith(b"\n") or format_name == "bin"


def test_block_bytes(stack: ApiStack, tip: str) -> None:
    raw = stack.get(f"/rest/block/{tip}.bin").content
    assert raw.hex() == stack.result("getblock", tip, 0)
    assert stack.get(f"/rest/block/{tip}.hex").text == raw.hex() + "\n"
    assert stack.get(f"/rest/blockpart/{tip}.bin?offset=4&size=32").content == raw[4:36]


def test_block_json_is_that_of_getblock(stack: ApiStack, tip: str) -> None:
    assert stack.get(f"/rest/block/{tip}.json").content == stack.post(
        {"method": "getblock", "params": [tip, 3]}
    ).content.replace(b'{"result":', b"").replace(b',"error":null}', b"")
    details = stack.get(f"/rest/block/notxdetails/{tip}.json").json()
    assert details["tx"] == stack.result("getblock", tip)["tx"]


def test_headers_stop_at_the_tip_and_leave_stale_blocks_out(own_stack: ApiStack) -> None:
    hashes = own_stack.result("generatetodescriptor", 3, "raw(51)")
    answer = own_stack.get(f"/rest/headers/{hashes[0]}.json?count=2000").json()
    assert [header["hash"] for header in answer] == hashes
    assert answer == [own_stack.get(f"/rest/headers/1/{each}.json").json()[0] for each in hashes]
    own_stack.result("invalidateblock", hashes[2])
    assert own_stack.get(f"/rest/headers/{hashes[2]}.json").json() == []
    assert own_stack.get(f"/rest/headers/{hashes[2]}.bin").content == b""


def test_spent_outputs_of_coinbase_only(stack: ApiStack, tip: str) -> None:
    assert stack.get(f"/rest/spenttxouts/{tip}.bin").content == b"\x01\x00"
    assert stack.get(f"/rest/spenttxouts/{tip}.json").content == b"[[]]\n"


def test_missing_files(own_stack: ApiStack) -> None:
    (block_hash,) = own_stack.result("generatetodescriptor", 1, "raw(51)")
    for name in ("blk00000.dat", "rev00000.dat"):
        path = own_stack.context.blocks_dir / name
        path.rename(path.with_suffix(".away"))
    answer = own_stack.get(f"/rest/block/{block_hash}.bin")
    assert (answer.status_code, answer.text) == (500, f"I/O error reading {block_hash}\r\n")
    answer = own_stack.get(f"/rest/spenttxouts/{block_hash}.bin")
    assert (answer.status_code, answer.text) == (404, f"{block_hash} undo not available\r\n")
    assert own_stack.error("getblock", block_hash) == (-1, "Block not found on disk")


def test_info_paths_are_those_of_the_methods(stack: ApiStack) -> None:
    assert stack.get("/rest/chaininfo.json").json().keys() == stack.result("getblockchaininfo").keys()
    assert stack.get("/rest/mempool/info.json").json().keys() == stack.result("getmempoolinfo").keys()
    assert stack.get("/rest/mempool/contents.json").json() == {}
    assert stack.get("/rest/mempool/contents.json?verbose=false").json() == []


def test_deployment_info(stack: ApiStack) -> None:
    first = stack.result("getblockhash", 0)
    assert stack.get("/rest/deploymentinfo.json").json() == stack.result("getdeploymentinfo")
    assert stack.get(f"/rest/deploymentinfo/{first}.json").json()["height"] == 0
    unknown, malformed = (stack.get(f"/rest/deploymentinfo/{text}.json") for text in ("00" * 32, "00"))
    assert (unknown.status_code, unknown.text.strip()) == (400, "Block not found")
    assert (malformed.status_code, malformed.text.strip()) == (400, "Invalid hash: 00")
