"""submitblock, submitheader and the generate methods."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from helpers.api_stack import ApiStack
from helpers.chain_builder import Built, genesis, make_block, make_chain

ADDRESS = "mjTkW3DjgyZck4KbiRusZsqTgaYTxdSz6z"
TX = "0200000001" + "11" * 32 + "0000000000ffffffff0100000000000000000151" + "00000000"
"""Spends an output that does not exist."""


@pytest.fixture
def blocks() -> list[Built]:
    """Return three blocks on top of genesis."""
    return make_chain(genesis(), 3)


def raw(built: Built) -> str:
    assert built.block is not None
    return built.block.raw.hex()


def test_submitted_blocks(own_stack: ApiStack, blocks: list[Built]) -> None:
    first, second, third = map(raw, blocks)
    assert own_stack.result("submitblock", third) == "prev-blk-not-found"
    assert own_stack.result("submitblock", first) is None
    assert own_stack.result("submitblock", first, "ignored") == "duplicate"
    assert own_stack.result("submitblock", second) is None
    assert own_stack.result("getblockcount") == 2


def test_wrong_block_is_refused_with_its_reason(own_stack: ApiStack, blocks: list[Built]) -> None:
    data = bytearray.fromhex(raw(blocks[0]))
    data[-1] ^= 1  # The lock time is part of the txid, so the merkle root is wrong.
    assert own_stack.result("submitblock", data.hex()) == "bad-txnmrklroot"
    assert own_stack.result("submitblock", raw(blocks[0])) is None


def test_side_branch_is_inconclusive(own_stack: ApiStack, blocks: list[Built]) -> None:
    for built in blocks[:2]:
        own_stack.result("submitblock", raw(built))
    rival = make_block(genesis(), extra_nonce=1)
    assert own_stack.result("submitblock", raw(rival)) == "inconclusive"


def test_headers(own_stack: ApiStack, blocks: list[Built]) -> None:
    headers = [raw(built)[:160] for built in blocks]
    assert own_stack.error("submitheader", headers[1]) == (
        -25,
        f"Must submit previous header ({blocks[0].hash[::-1].hex()}) first",
    )
    assert own_stack.result("submitheader", headers[0]) is None
    assert own_stack.result("submitheader", headers[0]) is None
    assert own_stack.result("getblockchaininfo")["headers"] == 1
    assert own_stack.result("getchaintips")[0]["status"] == "headers-only"
    wrong = bytearray.fromhex(headers[1])
    wrong[68:72] = bytes(4)
    assert own_stack.error("submitheader", wrong.hex())[0] == -25


@pytest.mark.parametrize("data", ["", "00", "zz", "0"])
def test_undecodable(own_stack: ApiStack, data: str) -> None:
    assert own_stack.error("submitblock", data) == (-22, "Block decode failed")
    assert own_stack.error("submitheader", data) == (-22, "Block header decode failed")


def test_bytes_behind_a_block_are_ignored(own_stack: ApiStack, blocks: list[Built]) -> None:
    assert own_stack.result("submitblock", raw(blocks[0]) + "00ff") is None
    assert own_stack.result("getblock", own_stack.result("getbestblockhash"), 0) == raw(blocks[0])


def test_generate_to_address(own_stack: ApiStack) -> None:
    hashes = own_stack.result("generatetoaddress", nblocks=2, address=ADDRESS)
    assert [own_stack.result("getblockhash", height) for height in (1, 2)] == hashes
    paid = own_stack.result("getblock", hashes[0], 2)["tx"][0]["vout"][0]["scriptPubKey"]
    assert paid["address"] == ADDRESS


def test_generate_block(own_stack: ApiStack) -> None:
    made = own_stack.result("generateblock", ADDRESS, [])
    assert own_stack.result("getbestblockhash") == made["hash"]
    kept_back = own_stack.result("generateblock", "raw(51)", [], False)
    assert own_stack.result("getblockcount") == 1
    assert own_stack.result("submitblock", kept_back["hex"]) is None
    assert own_stack.result("getbestblockhash") == kept_back["hash"]


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("generatetoaddress", [1, "nonsense"], -5, "Error: Invalid address"),
        ("generatetodescriptor", [1, "raw(5)"], -5, "Raw script is not hex"),
        ("generateblock", ["nonsense", []], -5, "Error: Invalid address or descriptor"),
        ("generateblock", ["raw(51)", ["00" * 32]], -5, f"Transaction {'00' * 32} not in mempool."),
        (
            "generateblock",
            ["raw(51)", ["00"]],
            -22,
            "Transaction decode failed for 00. Make sure the tx has at least one input.",
        ),
    ],
)
def test_refused(own_stack: ApiStack, method: str, params: list[object], code: int, message: str) -> None:
    assert own_stack.error(method, *params) == (code, message)


def test_old_generate_is_gone(own_stack: ApiStack) -> None:
    code, message = own_stack.error("generate")
    assert (code, message.split("\n")[0]) == (-32601, "generate")


@pytest.fixture
def frozen(own_stack: ApiStack) -> Iterator[ApiStack]:
    """Return an API whose clock stands still."""
    own_stack.result("setmocktime", 1_700_000_000)
    yield own_stack
    own_stack.result("setmocktime", 0)


def test_mocked_clock_dates_new_blocks(frozen: ApiStack) -> None:
    (block_hash,) = frozen.result("generatetodescriptor", 1, "raw(51)")
    assert frozen.result("getblockheader", block_hash)["time"] == 1_700_000_000
    assert not frozen.node.clock.now() - 1_700_000_000


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("generatetodescriptor", [1, "raw(51)"]),
        ("generateblock", ["raw(51)", []]),
        ("generateblock", ["raw(51)", [TX]]),
    ],
)
def test_a_template_that_is_invalid_by_itself_is_no_fault_of_the_transactions(
    frozen: ApiStack, method: str, params: list[object]
) -> None:
    frozen.result("generatetodescriptor", 1, "raw(51)")
    frozen.result("setmocktime", 1_600_000_000)
    reason = "time-too-new, block timestamp too far in the future"
    assert frozen.error(method, *params) == (-1, f"TestBlockValidity failed: {reason}")


def test_a_transaction_that_makes_the_template_invalid(own_stack: ApiStack) -> None:
    reason = "bad-txns-inputs-missingorspent, CheckTxInputs: inputs missing/spent in transaction"
    code, message = own_stack.error("generateblock", "raw(51)", [TX])
    assert (code, message[: 27 + len(reason)]) == (-25, f"TestBlockValidity failed: {reason} ")


def test_why_a_block_is_not_fetched(own_stack: ApiStack, blocks: list[Built]) -> None:
    wanted = blocks[0].hash[::-1].hex()
    assert own_stack.error("getblockfrompeer", "00", 0)[0] == -8
    assert own_stack.error("getblockfrompeer", wanted, "0")[0] == -3
    assert own_stack.error("getblockfrompeer", wanted, 0) == (-1, "Block header missing")
    own_stack.result("submitheader", raw(blocks[0])[:160])
    assert own_stack.error("getblockfrompeer", wanted, 0) == (-1, "Peer does not exist")
    own_stack.context.config = replace(own_stack.context.config, prune_mib=1)
    assert own_stack.error("getblockfrompeer", wanted, 0) == (
        -1,
        "In prune mode, only blocks that the node has already synced previously can be fetched from a peer",
    )
    own_stack.result("submitblock", raw(blocks[0]))
    assert own_stack.error("getblockfrompeer", wanted, 0) == (-1, "Block already downloaded")
