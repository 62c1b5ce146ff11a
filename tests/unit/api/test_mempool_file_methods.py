"""savemempool and importmempool."""

from pathlib import Path

from clarion.node.primitives.ids import Txid
from helpers.api_stack import ApiStack

TXID = Txid(bytes(31) + b"\x07")


def loaded(stack: ApiStack) -> Path:
    """Let the stored mempool be loaded, though there is none; return where it belongs."""
    stack.mempool.load(lambda: False)
    return stack.mempool.file


def test_the_mempool_is_not_stored_before_it_was_loaded(own_stack: ApiStack) -> None:
    assert own_stack.error("savemempool") == (-1, "The mempool was not loaded yet")
    file = loaded(own_stack)
    assert own_stack.result("savemempool") == {"filename": str(file)}
    assert file.read_bytes()[:8] == (2).to_bytes(8, "little")


def test_a_file_that_cannot_be_written_is_told(own_stack: ApiStack) -> None:
    (loaded(own_stack).parent / "mempool.dat.new").mkdir()
    assert own_stack.error("savemempool") == (-1, "Unable to dump mempool to disk")


def test_deltas_are_imported_on_demand_and_add_up(own_stack: ApiStack) -> None:
    file = str(loaded(own_stack))
    own_stack.mempool.prioritise(TXID, 1000)
    own_stack.result("savemempool")
    assert own_stack.result("importmempool", file) == {}
    assert own_stack.mempool.pool.deltas == {TXID: 1000}
    assert own_stack.result("importmempool", file, {"apply_fee_delta_priority": True}) == {}
    assert own_stack.mempool.pool.deltas == {TXID: 2000}


def test_imports_that_are_refused(own_stack: ApiStack) -> None:
    own_stack.node.manager.state.initial_download = True
    downloading = "Can only import the mempool after the block download and sync is done."
    assert own_stack.error("importmempool", "absent") == (-10, downloading)
    own_stack.node.manager.state.initial_download = False
    message = "Unable to import mempool file, see debug log for details."
    assert own_stack.error("importmempool", "absent") == (-1, message)
    assert own_stack.error("importmempool", "\0") == (-1, message)
    wrong = "JSON value of type number is not of expected type bool"
    assert own_stack.error("importmempool", "absent", {"use_current_time": 1}) == (-3, wrong)
