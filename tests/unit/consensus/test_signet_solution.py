"""Block solutions of signets (BIP325), with real blocks of the public signet."""

import pytest

from clarion.node.consensus.block_check import check_block
from clarion.node.consensus.signet import check_signet_block_solution, signet_transactions, take_solution
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction, TxOut
from helpers.chain_builder import assemble, commitment_output, genesis, make_coinbase

HEADER = bytes.fromhex("ecc7daa2")
REAL_BLOCKS = {
    1: "00000020f61eee3b63a380a477a063af32b2bbc97c9ff9f01f2c4225e973988108000000f575c83235984e7dc4afc1f30944c170462e"
    "84437ab6f2d52e16878a79e4678bd1914d5fae77031eccf407000101000000000101000000000000000000000000000000000000000000"
    "0000000000000000000000ffffffff025151feffffff0200f2052a010000001600149243f727dd5343293eb83174324019ec16c2630f00"
    "00000000000000776a24aa21a9ede2f61c3f71d1defd3fa999dfa36953755c690689799962b48bebd836974e8cf94c4fecc7daa2490047"
    "304402205e423a8754336ca99dbe16509b877ef1bf98d008836c725005b3c787c41ebe46022047246e4467ad7cc7f1ad98662afcaf14c1"
    "15e0095a227c7b05c5182591c23e7e01000120000000000000000000000000000000000000000000000000000000000000000000000000",
    2: "00000020533b53ded9bff4adc94101d32400a144c54edc5ed492a3b26c63b2d686000000b38fef50592017cfafbcab88eb3d9cf50b2c"
    "801711cad8299495d26df5e54812e7914d5fae77031ecfdd0b000101000000000101000000000000000000000000000000000000000000"
    "0000000000000000000000ffffffff025251feffffff0200f2052a01000000160014fd09839740f0e0b4fc6d5e2527e4022aa9b89dfa00"
    "00000000000000776a24aa21a9ede2f61c3f71d1defd3fa999dfa36953755c690689799962b48bebd836974e8cf94c4fecc7daa2490047"
    "3044022031d64a1692cdad1fc0ced69838169fe19ae01be524d831b95fcf5ea4e6541c3c02204f9dea0801df8b4d0cd0857c62ab35c6c2"
    "5cc47c930630dc7fe723531daa3e9b01000120000000000000000000000000000000000000000000000000000000000000000000000000",
}
SIGNET = select_params("signet")
TRIVIAL = select_params("signet", signet_challenge=b"\x51")


def real(height: int) -> Block:
    return Block.parse(bytes.fromhex(REAL_BLOCKS[height]))


def own(solution: bytes | None, *, commit: bool = True) -> Block:
    """Return a block with this solution behind its commitment."""
    commitment = commitment_output([]).script_pubkey
    if solution is not None:
        commitment += bytes((len(HEADER + solution),)) + HEADER + solution
    coinbase = make_coinbase(1, more_outputs=[TxOut(0, commitment)] if commit else [])
    built = assemble(genesis(), [coinbase])
    assert built.block is not None
    return built.block


@pytest.mark.parametrize("height", REAL_BLOCKS)
def test_real_block_passes(height: int) -> None:
    check_block(real(height), SIGNET)


def test_real_block_fails_under_another_challenge() -> None:
    other = select_params("signet", signet_challenge=bytes.fromhex("512103" + "ad" * 32 + "51ae"))
    with pytest.raises(BlockInvalid) as caught:
        check_block(real(1), other)
    assert str(caught.value) == "bad-signet-blksig, signet block signature validation failure"
    check_block(real(1), other, check_pow=False)


def test_solution_signs_the_header() -> None:
    block = real(1)
    block.header.time += 1
    assert not check_signet_block_solution(block, SIGNET)


def test_solution_does_not_sign_the_nonce() -> None:
    block = real(1)
    block.header.nonce += 1
    assert check_signet_block_solution(block, SIGNET)


def test_solution_signs_the_transactions() -> None:
    block = real(1)
    coinbase = block.txs[0]
    outputs = [TxOut(coinbase.outputs[0].value - 1, coinbase.outputs[0].script_pubkey), coinbase.outputs[1]]
    block.txs[0] = Transaction(coinbase.version, coinbase.inputs, outputs, coinbase.lock_time)
    assert not check_signet_block_solution(block, SIGNET)


def test_genesis_needs_no_solution() -> None:
    assert check_signet_block_solution(SIGNET.genesis, SIGNET)
    assert hash_to_hex(real(1).header.prev_hash) == hash_to_hex(SIGNET.genesis.hash)


@pytest.mark.parametrize(
    ("solution", "commit", "good"),
    [
        pytest.param(None, True, True, id="none-needed"),
        pytest.param(None, False, False, id="no-commitment"),
        pytest.param(b"\x00\x00", True, True, id="empty-scripts"),
        pytest.param(b"\x00\x00\x00", True, False, id="bytes-left-over"),
        pytest.param(b"\x00", True, False, id="no-witness"),
        pytest.param(b"\x05\x51", True, False, id="cut-off-script"),
        pytest.param(b"\x00\x01", True, False, id="cut-off-witness"),
        pytest.param(b"\xfd\x01\x00\x51\x00", True, False, id="long-form-of-a-size"),
        pytest.param(b"\x01\x51\x00", True, True, id="script-sig"),
        pytest.param(b"\x01\x6a\x00", True, False, id="failing-script-sig"),
    ],
)
def test_trivial_challenge(solution: bytes | None, commit: bool, good: bool) -> None:
    assert check_signet_block_solution(own(solution, commit=commit), TRIVIAL) is good


def test_only_the_first_solution_is_taken_out() -> None:
    first, second = b"\x05" + HEADER + b"\x01", b"\x05" + HEADER + b"\x02"
    assert take_solution(b"\x6a" + first + second) == (b"\x01", b"\x6a\x04" + HEADER + second)
    assert take_solution(b"\x6a\x04" + HEADER) == (None, b"\x6a\x04" + HEADER)


def test_virtual_transactions_are_those_of_bip325() -> None:
    transactions = signet_transactions(own(None), b"\x51")
    assert transactions is not None
    to_spend, to_sign = transactions
    assert (to_spend.version, to_spend.lock_time, to_spend.inputs[0].sequence) == (0, 0, 0)
    # OP_0, then 4 bytes of version, two hashes and 4 bytes of time.
    assert to_spend.inputs[0].script_sig[:2] == bytes((0, 72))
    assert [(out.value, out.script_pubkey) for out in (*to_spend.outputs, *to_sign.outputs)] == [
        (0, b"\x51"),
        (0, b"\x6a"),
    ]
    assert to_sign.inputs[0].prevout == to_spend.txid + bytes(4)
