"""signrawtransactionwithkey, combinerawtransaction and createmultisig."""

from collections.abc import Iterator
from typing import Any

import pytest

from clarion.node.params.networks import regtest_params
from clarion.node.primitives.address import SecretKey, decode_address, encode_secret
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.keys import pubkey_of_secret
from clarion.node.primitives.script import multisig_script, p2pkh_script, p2sh_script, witness_script
from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.verify import verify_input
from helpers.api_stack import ApiStack

NETWORK = regtest_params()
SECRETS = [SecretKey(bytes([number]) * 32, True) for number in (1, 2, 3)]
WIFS = [encode_secret(key, NETWORK) for key in SECRETS]
KEYS = [pubkey_of_secret(key.secret) for key in SECRETS]
OLD_KEY = pubkey_of_secret(SECRETS[2].secret, compressed=False)
MULTISIG = multisig_script(2, KEYS)
PROGRAM = witness_script(0, sha256(MULTISIG))
NESTED = p2sh_script(hash160(PROGRAM))
KEY_HASH = p2pkh_script(hash160(KEYS[0]))
ADDRESS = "mjTkW3DjgyZck4KbiRusZsqTgaYTxdSz6z"
TXID = "11" * 32
NO_KEY = "02" + "ff" * 32


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """Return an API over a chain of its own."""
    stack = ApiStack(tmp_path_factory.mktemp("signing")).ready()
    yield stack
    stack.close()


@pytest.fixture(scope="module")
def coins(stack: ApiStack) -> dict[bytes, dict[str, Any]]:
    """Return inputs that spend outputs of the chain, by script."""
    found = {}
    for script in (KEY_HASH, NESTED):
        (block,) = stack.result("generatetodescriptor", 1, f"raw({script.hex()})")
        found[script] = {"txid": stack.result("getblock", block)["tx"][0], "vout": 0}
    return found


def is_valid(raw: str, script: bytes, amount: int) -> bool:
    tx = Transaction.parse(bytes.fromhex(raw))
    return verify_input(tx, 0, [TxOut(amount, script)], STANDARD_SCRIPT_VERIFY_FLAGS) is None


def test_output_of_the_chain(stack: ApiStack, coins: dict[bytes, dict[str, Any]]) -> None:
    raw = stack.result("createrawtransaction", [coins[KEY_HASH]], {ADDRESS: 1})
    signed = stack.result("signrawtransactionwithkey", raw, WIFS[:1])
    assert sorted(signed) == ["complete", "hex"]
    assert signed["complete"]
    assert is_valid(signed["hex"], KEY_HASH, 50_00000000)
    single = stack.result("signrawtransactionwithkey", raw, WIFS[:1], None, "SINGLE|ANYONECANPAY")
    assert Transaction.parse(bytes.fromhex(single["hex"])).inputs[0].script_sig[71] == 0x83


def test_two_signers(stack: ApiStack, coins: dict[bytes, dict[str, Any]]) -> None:
    raw = stack.result("createrawtransaction", [coins[NESTED]], {ADDRESS: 1})
    described = [{**coins[NESTED], "scriptPubKey": NESTED.hex(), "witnessScript": MULTISIG.hex(), "amount": "50"}]
    halves = [stack.result("signrawtransactionwithkey", raw, [wif], described) for wif in WIFS[1:]]
    assert [half["complete"] for half in halves] == [False, False]
    assert halves[0]["errors"] == [
        {
            **coins[NESTED],
            "witness": halves[0]["errors"][0]["witness"],
            "scriptSig": f"22{PROGRAM.hex()}",
            "sequence": 0xFFFFFFFD,
            "error": "CHECK(MULTI)SIG failing with non-zero signature (possibly need more signatures)",
        }
    ]
    whole = stack.result("combinerawtransaction", [half["hex"] for half in halves])
    assert is_valid(whole, NESTED, 50_00000000)
    half = halves[0]["hex"]
    assert stack.result("combinerawtransaction", [half, half]) == half


def test_described_output_that_nobody_knows(stack: ApiStack) -> None:
    raw = stack.result("createrawtransaction", [{"txid": TXID, "vout": 3}], {ADDRESS: 1})
    unknown = stack.result("signrawtransactionwithkey", raw, WIFS)
    assert unknown["hex"] == raw
    assert unknown["errors"][0]["error"] == "Input not found or already spent"
    described = [{"txid": TXID, "vout": 3, "scriptPubKey": KEY_HASH.hex()}]
    assert is_valid(stack.result("signrawtransactionwithkey", raw, WIFS, described)["hex"], KEY_HASH, 0)


def test_missing_amount(stack: ApiStack) -> None:
    script = witness_script(0, hash160(KEYS[0]))
    raw = stack.result("createrawtransaction", [{"txid": TXID, "vout": 3}], {ADDRESS: 1})
    described = [{"txid": TXID, "vout": 3, "scriptPubKey": script.hex()}]
    assert stack.error("signrawtransactionwithkey", raw, WIFS, described) == (
        -3,
        f"Missing amount for CTxOut(nValue=21000000.00000000, scriptPubKey={script.hex()[:30]})",
    )


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"txid": None}, -3, "Missing txid"),
        ({"txid": 5}, -3, "JSON value of type number for field txid is not of expected type string"),
        ({"vout": "0"}, -3, "JSON value of type string for field vout is not of expected type number"),
        ({"vout": -1}, -22, "vout cannot be negative"),
        ({"scriptPubKey": "5"}, -8, "scriptPubKey must be hexadecimal string (not '5')"),
        ({"amount": True}, -3, "Amount is not a number or string"),
        ({"redeemScript": 5}, -3, "JSON value of type number for field redeemScript is not of expected type string"),
        ({"witnessScript": None}, -8, "Missing redeemScript/witnessScript"),
        ({"redeemScript": "6a"}, -8, "redeemScript does not correspond to witnessScript"),
        ({"witnessScript": "6a"}, -8, "redeemScript/witnessScript does not match scriptPubKey"),
        ({"scriptPubKey": PROGRAM.hex(), "witnessScript": "6a"}, -8,
         "redeemScript/witnessScript does not match scriptPubKey"),
    ],
)  # fmt: skip
def test_refused_descriptions(stack: ApiStack, changes: dict[str, Any], code: int, message: str) -> None:
    raw = stack.result("createrawtransaction", [{"txid": TXID, "vout": 3}], {ADDRESS: 1})
    described = {"txid": TXID, "vout": 3, "scriptPubKey": NESTED.hex(), "witnessScript": MULTISIG.hex()} | changes
    assert stack.error("signrawtransactionwithkey", raw, WIFS, [described]) == (code, message)


def test_description_that_contradicts_the_chain(stack: ApiStack, coins: dict[bytes, dict[str, Any]]) -> None:
    raw = stack.result("createrawtransaction", [coins[KEY_HASH]], {ADDRESS: 1})
    described = [{**coins[KEY_HASH], "scriptPubKey": "51"}]
    code, message = stack.error("signrawtransactionwithkey", raw, WIFS, described)
    assert code == -22
    assert message.startswith("Previous output scriptPubKey mismatch:\nOP_DUP OP_HASH160 ")
    assert message.endswith("\nvs:\n1")


@pytest.mark.parametrize("form", ["redeemScript", "witnessScript", "both"])
@pytest.mark.parametrize("script", [NESTED, PROGRAM, p2sh_script(hash160(MULTISIG))], ids=["nested", "p2wsh", "p2sh"])
def test_script_may_stand_in_either_member(stack: ApiStack, script: bytes, form: str) -> None:
    raw = stack.result("createrawtransaction", [{"txid": TXID, "vout": 3}], {ADDRESS: 1})
    names = ["redeemScript", "witnessScript"] if form == "both" else [form]
    described = {"txid": TXID, "vout": 3, "scriptPubKey": script.hex(), "amount": 1} | dict.fromkeys(
        names, MULTISIG.hex()
    )
    signed = stack.result("signrawtransactionwithkey", raw, WIFS, [described])
    assert signed["complete"]
    assert is_valid(signed["hex"], script, 1_00000000)


def test_refused_calls(stack: ApiStack, coins: dict[bytes, dict[str, Any]]) -> None:
    raw = stack.result("createrawtransaction", [coins[KEY_HASH]], {ADDRESS: 1})
    undecodable = (-22, "TX decode failed. Make sure the tx has at least one input.")
    assert stack.error("signrawtransactionwithkey", raw + "00", []) == undecodable
    assert stack.error("signrawtransactionwithkey", raw, ["123"]) == (-5, "Invalid private key")
    no_type = (-8, "'all' is not a valid sighash parameter.")
    assert stack.error("signrawtransactionwithkey", raw, [], None, "all") == no_type
    no_object = 'expected object with {"txid\'","vout","scriptPubKey"}'
    assert stack.error("signrawtransactionwithkey", raw, [], [1]) == (-22, no_object)


def test_what_can_not_be_combined(stack: ApiStack, coins: dict[bytes, dict[str, Any]]) -> None:
    raw = stack.result("createrawtransaction", [coins[KEY_HASH]], {ADDRESS: 1})
    other = stack.result("createrawtransaction", [coins[KEY_HASH]], {ADDRESS: 2})
    unknown = stack.result("createrawtransaction", [{"txid": TXID, "vout": 3}], {ADDRESS: 1})
    few = (-22, "Missing transactions. At least two transactions required.")
    assert stack.error("combinerawtransaction", []) == few
    assert stack.error("combinerawtransaction", [raw]) == few
    undecodable = (-22, "TX decode failed for tx 1. Make sure the tx has at least one input.")
    assert stack.error("combinerawtransaction", [raw, raw + "00"]) == undecodable
    incompatible = (-8, "Transaction number 3 not compatible with first transaction")
    assert stack.error("combinerawtransaction", [raw, raw, other]) == incompatible
    assert stack.error("combinerawtransaction", [unknown, unknown]) == (-25, "Input not found or already spent")


@pytest.mark.parametrize(
    ("address_type", "script", "descriptor"),
    [
        (None, p2sh_script(hash160(MULTISIG)), "sh(multi({}))"),
        ("legacy", p2sh_script(hash160(MULTISIG)), "sh(multi({}))"),
        ("p2sh-segwit", NESTED, "sh(wsh(multi({})))"),
        ("bech32", PROGRAM, "wsh(multi({}))"),
    ],
)
def test_createmultisig(stack: ApiStack, address_type: str | None, script: bytes, descriptor: str) -> None:
    keys = [key.hex() for key in KEYS]
    answer = stack.result("createmultisig", 2, keys, address_type)
    assert decode_address(answer["address"], NETWORK) == script
    assert answer["descriptor"].split("#")[0] == descriptor.format(",".join(["2", *keys]))
    assert answer["redeemScript"] == MULTISIG.hex()
    assert "warnings" not in answer


def test_createmultisig_with_an_uncompressed_key(stack: ApiStack) -> None:
    keys = [KEYS[0].hex(), OLD_KEY.hex()]
    legacy = stack.result("createmultisig", 1, keys)
    answer = stack.result("createmultisig", 1, keys, "bech32")
    assert answer.pop("warnings") == [
        "Unable to make chosen address type, please ensure no uncompressed public keys are present."
    ]
    assert answer == legacy


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ([1, ["zz"]], -5, 'Pubkey "zz" must be a hex string'),
        ([1, ["00"]], -5, 'Pubkey "00" must have a length of either 33 or 65 bytes'),
        ([1, [NO_KEY]], -5, f'Pubkey "{NO_KEY}" must be cryptographically valid.'),
        ([1, [KEYS[0].hex()], "bech32m"], -5, "createmultisig cannot create bech32m multisig addresses"),
        ([1, [KEYS[0].hex()], "p2pkh"], -5, "Unknown address type 'p2pkh'"),
        ([0, [KEYS[0].hex()]], -8, "a multisignature address must require at least one key to redeem"),
        ([2, [KEYS[0].hex()]], -8, "not enough keys supplied (got 1 keys, but need at least 2 to redeem)"),
        ([2, [KEYS[0].hex()] * 16], -8, "redeemScript exceeds size limit: 547 > 520"),
        ([2, [KEYS[0].hex()] * 21], -8,
         "Number of keys involved in the multisignature address creation > 20\nReduce the number"),
    ],
)  # fmt: skip
def test_createmultisig_refused(stack: ApiStack, params: list[Any], code: int, message: str) -> None:
    assert stack.error("createmultisig", *params) == (code, message)


def test_createmultisig_of_twenty_keys(stack: ApiStack) -> None:
    answer = stack.result("createmultisig", 16, [KEYS[0].hex()] * 20, "bech32")
    assert answer["redeemScript"].startswith("60")
    assert answer["redeemScript"].endswith("0114ae")
