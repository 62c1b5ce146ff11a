"""Signed spends of miniscripts in P2WSH."""

import pytest

from clarion.node.primitives.address import SecretKey
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.script import witness_script
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.signing.provider import FlatSigningProvider
from clarion.node.script.signing.signed_transaction import SignedTransaction, sign_transaction
from clarion.node.script.verify import verify_input
from helpers.miniscript_text import key, parse, to_script

LOCK_TIME = 500
SEQUENCE = 10


def signed(text: str, *numbers: int) -> tuple[bool, SignedTransaction]:
    """Sign with the keys of these numbers; return whether the spend is valid, and the transaction."""
    node = parse(text)
    assert node is not None
    script = to_script(node)
    provider = FlatSigningProvider()
    provider.add_script(script)
    for number in numbers:
        provider.add_secret(SecretKey(number.to_bytes(32, "big"), True))
    for number in range(1, 9):
        provider.pubkeys.setdefault(hash160(key(number)), key(number))
    spent = TxOut(100_000, witness_script(0, sha256(script)))
    txin = TxIn(OutPoint(bytes(36)), sequence=SEQUENCE)
    tx = Transaction(2, [txin], [TxOut(90_000, b"\x51")], LOCK_TIME)
    result = sign_transaction(tx, provider, {txin.prevout: spent}, 1)
    valid = verify_input(result.tx, 0, [spent], STANDARD_SCRIPT_VERIFY_FLAGS) is None
    assert valid == result.complete
    return valid, result


# Text, keys, and the witness below the script: S a signature, K a key, 0 and 1 themselves.
SATISFIED = [
    ("and_v(v:pk(1),pk(2))", (1, 2), "SS"),
    ("and_v(v:pk(1),older(10))", (1,), "S"),
    ("and_v(v:pkh(1),after(500))", (1,), "SK"),
    ("and_b(pk(1),s:pk(2))", (1, 2), "SS"),
    ("or_b(pk(1),s:pk(2))", (2,), "S0"),
    ("or_d(pk(1),pkh(2))", (1,), "S"),
    ("or_d(pk(1),pkh(2))", (2,), "SK0"),
    ("or_i(pk(1),pk(2))", (1,), "S1"),
    ("or_i(pk(1),pk(2))", (2,), "S0"),
    ("t:or_c(pk(1),v:pk(2))", (2,), "S0"),
    ("andor(pk(1),older(10),pk(2))", (1,), "S"),
    ("andor(pk(1),older(11),pk(2))", (1, 2), "S0"),
    ("thresh(2,pk(1),s:pk(2),s:pk(3))", (1, 3), "S0S"),
    ("thresh(2,pk(1),s:pk(2),sln:older(10))", (2,), "0S0"),
    ("and_v(v:multi(2,1,2,3),older(10))", (1, 3), "0SS"),
    ("and_v(v:pk(1),j:and_v(v:pkh(2),older(5)))", (1, 2), "SKS"),
    ("and_v(v:pk(1),dv:older(10))", (1,), "1S"),
    ("or_d(multi(1,1,2),and_v(v:pkh(3),older(10)))", (3,), "SK00"),
    ("or_d(pk(1),and_v(v:sha256(5),pk(2)))", (1,), "S"),
]


def shape(witness: tuple[bytes, ...]) -> str:
    letters = {0: "0", 1: "1", 33: "K"}
    return "".join(letters.get(len(item), "S") for item in witness[:-1])


@pytest.mark.parametrize(("text", "numbers", "expected"), SATISFIED)
def test_satisfied(text: str, numbers: tuple[int, ...], expected: str) -> None:
    valid, result = signed(text, *numbers)
    assert valid
    assert shape(result.tx.inputs[0].witness) == expected


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("and_v(v:pk(1),pk(2))", (1,), id="a-key-is-missing"),
        pytest.param("and_v(v:pk(1),older(11))", (1,), id="too-early"),
        pytest.param("and_v(v:pk(1),after(501))", (1,), id="before-its-time"),
        pytest.param("and_v(v:pk(1),sha256(5))", (1,), id="preimage-is-not-known"),
        pytest.param("or_i(older(10),pk(2))", (), id="no-signature-at-all"),
        pytest.param("thresh(2,pk(1),s:pk(2),sln:older(11))", (2,), id="threshold-is-not-reached"),
        pytest.param("andor(pk(1),or_i(older(5),older(6)),pk(2))", (1,), id="malleable"),
    ],
)
def test_not_satisfied(text: str, numbers: tuple[int, ...]) -> None:
    valid, result = signed(text, *numbers)
    assert not valid
    assert len(result.tx.inputs[0].witness) == 1


def test_way_that_needs_no_signature_keeps_others_from_being_used() -> None:
    # Anyone could take the lock's way instead, so the signature would be worth nothing.
    assert not signed("or_i(pk(1),older(10))", 1)[0]
    assert signed("or_i(pk(1),older(11))", 1)[0]


def test_smallest_way() -> None:
    valid, result = signed("or_i(multi(2,1,2),pk(3))", 1, 2, 3)
    assert valid
    assert shape(result.tx.inputs[0].witness) == "S0"
