"""Signed spends of every template: valid by policy's rules, in part and together."""

from itertools import permutations

import pytest

from clarion.node.primitives.address import SecretKey
from clarion.node.primitives.amounts import MAX_MONEY
from clarion.node.primitives.descriptor_findings import TapOutput
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.keys import pubkey_of_secret, taproot_output_key
from clarion.node.primitives.script import (
    ANCHOR_SCRIPT,
    multisig_script,
    p2pk_script,
    p2pkh_script,
    p2sh_script,
    push_data,
    witness_script,
)
from clarion.node.primitives.taproot_tree import TapTree
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.signing.provider import FlatSigningProvider
from clarion.node.script.signing.signed_transaction import (
    INPUT_NOT_FOUND,
    MISSING_AMOUNT,
    combine_transactions,
    sign_transaction,
)
from clarion.node.script.verify import verify_input

SECRETS = [SecretKey(bytes([number]) * 32, True) for number in (1, 2, 3)]
KEYS = [pubkey_of_secret(key.secret) for key in SECRETS]
OLD_SECRET = SecretKey(SECRETS[0].secret, False)
OLD_KEY = pubkey_of_secret(OLD_SECRET.secret, False)
SIGHASH_TYPES = [0, 1, 2, 3, 0x81, 0x82, 0x83]
MULTISIG = multisig_script(2, KEYS)


def p2wsh(script: bytes) -> bytes:
    return witness_script(0, sha256(script))


def p2sh(script: bytes) -> bytes:
    return p2sh_script(hash160(script))


P2WPKH = witness_script(0, hash160(KEYS[0]))
TEMPLATES = {
    "pk": (p2pk_script(KEYS[0]), ()),
    "pk-uncompressed": (p2pk_script(OLD_KEY), ()),
    "pkh": (p2pkh_script(hash160(KEYS[0])), ()),
    "pkh-uncompressed": (p2pkh_script(hash160(OLD_KEY)), ()),
    "wpkh": (P2WPKH, ()),
    "sh-wpkh": (p2sh(P2WPKH), (P2WPKH,)),
    "multi": (MULTISIG, ()),
    "sh-multi": (p2sh(MULTISIG), (MULTISIG,)),
    "wsh-multi": (p2wsh(MULTISIG), (MULTISIG,)),
    "sh-wsh-multi": (p2sh(p2wsh(MULTISIG)), (MULTISIG, p2wsh(MULTISIG))),
    "wsh-pk": (p2wsh(p2pk_script(KEYS[0])), (p2pk_script(KEYS[0]),)),
    "wsh-pkh": (p2wsh(p2pkh_script(hash160(KEYS[0]))), (p2pkh_script(hash160(KEYS[0])),)),
    "tr": (witness_script(1, taproot_output_key(KEYS[0][1:])), ()),
    "rawtr": (witness_script(1, KEYS[1][1:]), ()),
}


def provider_of(secrets: list[SecretKey], scripts: tuple[bytes, ...] = ()) -> FlatSigningProvider:
    provider = FlatSigningProvider()
    for key in secrets:
        provider.add_secret(key)
    for script in scripts:
        provider.add_script(script)
    provider.taproots[taproot_output_key(KEYS[0][1:])] = TapOutput(KEYS[0][1:], TapTree())
    return provider


def spend_of(script: bytes, amount: int = 50_000) -> tuple[Transaction, dict[OutPoint, TxOut]]:
    """Return a transaction with two inputs that spends outputs of `script` and keeps one output for each."""
    inputs = [TxIn(OutPoint(bytes([number]) * 36)) for number in (1, 2)]
    outputs = [TxOut(20_000 + number, b"\x51") for number in (1, 2)]
    return Transaction(2, inputs, outputs), {txin.prevout: TxOut(amount, script) for txin in inputs}


def is_valid(tx: Transaction, coins: dict[OutPoint, TxOut]) -> bool:
    spent = [coins[txin.prevout] for txin in tx.inputs]
    return all(verify_input(tx, index, spent, STANDARD_SCRIPT_VERIFY_FLAGS) is None for index in range(len(tx.inputs)))


@pytest.mark.parametrize("sighash_type", SIGHASH_TYPES)
@pytest.mark.parametrize("name", TEMPLATES)
def test_signed(name: str, sighash_type: int) -> None:
    script, scripts = TEMPLATES[name]
    tx, coins = spend_of(script)
    signed = sign_transaction(tx, provider_of([*SECRETS, OLD_SECRET], scripts), coins, sighash_type)
    assert signed.complete
    assert is_valid(signed.tx, coins)
    again = sign_transaction(signed.tx, provider_of([]), coins, sighash_type)
    assert (again.complete, again.tx.raw) == (True, signed.tx.raw)


@pytest.mark.parametrize("name", TEMPLATES)
def test_other_keys_leave_the_transaction_unsigned(name: str) -> None:
    script, _ = TEMPLATES[name]
    tx, coins = spend_of(script)
    signed = sign_transaction(tx, provider_of([SecretKey(bytes([9]) * 32, True)]), coins, 1)
    assert not signed.complete
    assert sorted(signed.errors) == [0, 1]
    assert not is_valid(signed.tx, coins)


@pytest.mark.parametrize(("first", "second"), list(permutations(SECRETS, 2)))
@pytest.mark.parametrize("name", ["multi", "sh-multi", "wsh-multi", "sh-wsh-multi"])
def test_signatures_of_two_signers(name: str, first: SecretKey, second: SecretKey) -> None:
    script, scripts = TEMPLATES[name]
    tx, coins = spend_of(script)
    halves = [sign_transaction(tx, provider_of([key], scripts), coins, 1).tx for key in (first, second)]
    assert not any(is_valid(half, coins) for half in halves)
    combined = combine_transactions(halves, coins, 1)
    assert is_valid(combined, coins)
    one_after_the_other = sign_transaction(halves[0], provider_of([second], scripts), coins, 1)
    assert one_after_the_other.tx.raw == combined.raw


def test_missing_signatures_are_half_as_many_empty_items() -> None:
    script = multisig_script(3, KEYS)
    tx, coins = spend_of(p2wsh(script))
    signed = sign_transaction(tx, provider_of(SECRETS[:1], (script,)), coins, 1)
    witness = signed.tx.inputs[0].witness
    assert [bool(item) for item in witness] == [False, True, False, True]
    # One item is missing, so the script takes the first empty one for a signature.
    assert signed.errors[0] == "Unable to sign input, invalid stack size (possibly missing key)"


@pytest.mark.parametrize(
    ("script", "secrets", "message"),
    [
        (MULTISIG, SECRETS[:1], "CHECK(MULTI)SIG failing with non-zero signature (possibly need more signatures)"),
        (p2pkh_script(bytes(20)), SECRETS, "Unable to sign input, invalid stack size (possibly missing key)"),
        (P2WPKH, [], "Witness program hash mismatch"),
        (p2wsh(MULTISIG), SECRETS, "Witness program was passed an empty witness"),
        (witness_script(0, hash160(OLD_KEY)), [OLD_SECRET], "Witness program hash mismatch"),
        (b"\x00", SECRETS, "Script evaluated without error but finished with a false/empty top stack element"),
    ],
)
def test_messages(script: bytes, secrets: list[SecretKey], message: str) -> None:
    tx, coins = spend_of(script)
    assert sign_transaction(tx, provider_of(secrets), coins, 1).errors == {0: message, 1: message}


def test_anchor_needs_nothing() -> None:
    tx, coins = spend_of(ANCHOR_SCRIPT)
    signed = sign_transaction(tx, provider_of([]), coins, 0)
    assert signed.complete
    assert signed.tx.raw == tx.raw


def test_unknown_outputs_and_amounts() -> None:
    tx, coins = spend_of(P2WPKH, MAX_MONEY)
    del coins[tx.inputs[1].prevout]
    errors = sign_transaction(tx, provider_of(SECRETS), coins, 1).errors
    assert errors == {0: MISSING_AMOUNT, 1: INPUT_NOT_FOUND}


def test_taproot_is_signed_only_if_all_spent_outputs_are_known() -> None:
    tx, coins = spend_of(TEMPLATES["rawtr"][0])
    del coins[tx.inputs[1].prevout]
    signed = sign_transaction(tx, provider_of(SECRETS), coins, 0)
    assert signed.errors == {0: "Witness program was passed an empty witness", 1: INPUT_NOT_FOUND}
    assert signed.tx.raw == tx.raw


def test_single_without_an_output_is_not_signed() -> None:
    tx, coins = spend_of(TEMPLATES["pkh"][0])
    short = Transaction(2, tx.inputs, tx.outputs[:1])
    signed = sign_transaction(short, provider_of(SECRETS), coins, 3)
    assert list(signed.errors) == [1]
    assert (signed.tx.inputs[0].script_sig != b"", signed.tx.inputs[1].script_sig) == (True, b"")


def test_script_hash_behind_a_script_hash_is_a_lock_on_a_preimage() -> None:
    # P2SH goes one level deep: the inner script only wants to see what has its hash.
    outer = p2sh(MULTISIG)
    tx, coins = spend_of(p2sh(outer))
    signed = sign_transaction(tx, provider_of([], (outer, MULTISIG)), coins, 1)
    assert signed.tx.inputs[0].script_sig == push_data(MULTISIG) + push_data(outer)
    assert signed.complete
    assert is_valid(signed.tx, coins)
