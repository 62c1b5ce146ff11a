"""Addresses: the reference's messages and its recorded answers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.params.networks import main_params, regtest_params
from clarion.node.primitives.address import (
    AddressError,
    AddressPrefixes,
    SecretKey,
    decode_address,
    decode_secret,
    encode_address,
    encode_secret,
)
from clarion.node.primitives.bech32 import BECH32, encode_bech32
from helpers.tape import read_tape, rpc_steps

REGTEST = regtest_params()

_TOO_LONG = "bcrt1q" + "049edschfnwystcqnsvyfpj23mpsg3jcedq9xv" * 2 + "049edschfnwystcqnsvyfpj23m"

# Facts of Core's functional test rpc_invalid_address_message.
INVALID = {
    "size": ("bcrt1s0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav25430mtr",
             "Invalid Bech32 address program size (41 bytes)", []),
    "other-network": ("bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7k7grplx",
                      "Invalid or unsupported Segwit (Bech32) or Base58 encoding.", []),
    "v0-with-bech32m": ("bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7k35mrzd",
                        "Version 0 witness address must use Bech32 checksum", []),
    "version": ("bcrt130xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqynjegk",
                "Invalid Bech32 address witness version", []),
    "v0-size": ("bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kqqq5k3my",
                "Invalid Bech32 v0 address program size (21 bytes), per BIP141", []),
    "too-long": (_TOO_LONG, "Bech32 string too long", list(range(90, 108))),
    "one-error": ("bcrt1q049edschfnwystcqnsvyfpj23mpsg3jcedq9xv", "Invalid Bech32 checksum", [9]),
    "one-error-in-capitals": ("BCRT1QPLMTZKC2XHARPPZDLNPAQL78RSHJ68U32RAH7R", "Invalid Bech32 checksum", [38]),
    "two-errors": ("bcrt1qax9suht3qv95sw33xavx8crpxduefdrsvgsklu", "Invalid Bech32 checksum", [22, 43]),
    "two-errors-in-p2wsh": ("bcrt1qdg3myrgvzw7ml8q0ejxhlkyxn7vl9r56yzkfgvzclrf4hkpx9yfqhpsuks",
                            "Invalid Bech32 checksum", [19, 30]),
    "wrong-version": ("bcrt1ptmp74ayg7p24uslctssvjm06q5phz4yrxucgnv", "Invalid Bech32 checksum", [5]),
    "no-separator": ("bcrtq049ldschfnwystcqnsvyfpj23mpsg3jcedq9xv", "Missing separator", []),
    "separator-position": ("bcrt1qqq", "Invalid separator position", [4]),
    "character": ("bcrt1q04oldschfnwystcqnsvyfpj23mpsg3jcedq9xv", "Invalid Base 32 character", [8]),
    "mixed-case": ("bcrt1q049edschfnwysTcqnsvyfpj23mpsg3jcedq9xv", "Invalid character or mixed case", [19]),
    "other-prefix": ("bcrtx1pfees9rn5nz", "Invalid or unsupported prefix for Segwit (Bech32) address", []),
    "base58-prefix": ("17VZNX1SN5NtKa8UQFxwQbFeFc3iqRYhem", "Invalid or unsupported Base58-encoded address.", []),
    "base58-checksum": ("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJJfn",
                        "Invalid checksum or length of Base58 address (P2PKH or P2SH)", []),
    "base58-length": ("2VKf7XKMrp4bVNVmuRbyCewkP8FhGLP2E54LHDPakr9Sq5mtU2",
                      "Invalid checksum or length of Base58 address (P2PKH or P2SH)", []),
    "nonsense": ("asfah14i8fajz0123f", "Invalid or unsupported Segwit (Bech32) or Base58 encoding.", []),
    "base58-like": ("1q049ldschfnwystcqnsvyfpj23mpsg3jcedq9xv",
                    "Invalid or unsupported Segwit (Bech32) or Base58 encoding.", []),
    "empty": ("", "Invalid checksum or length of Base58 address (P2PKH or P2SH)", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message", "locations"), INVALID.values(), ids=INVALID)
def test_message_and_locations(text: str, message: str, locations: list[int]) -> None:
    if text.startswith("bcrtx1"):
        text = encode_bech32("bcrtx", [1, 0, 0, 0], BECH32)
    with pytest.raises(AddressError) as caught:
        decode_address(text, REGTEST)
    assert str(caught.value).startswith(message)
    assert caught.value.locations == locations


def test_capitals_are_an_address() -> None:
    script = b"\0\x14" + bytes(range(20))
    address = encode_address(script, REGTEST)
    assert address is not None
    assert address.startswith("bcrt1q")
    assert decode_address(address.upper(), REGTEST) == script


def test_scripts_without_an_address() -> None:
    for script in (b"", b"\x51", b"\x6a", b"\x21\x02" + bytes(32) + b"\xac", b"\0\x15" + bytes(21)):
        assert encode_address(script, REGTEST) is None


def test_anchor_and_unknown_versions_have_addresses() -> None:
    assert encode_address(b"\x51\x02\x4e\x73", main_params()) == "bc1pfeessrawgf"
    for script in (b"\x51\x02\x4e\x73", b"\x60\x02ab", b"\x52\x28" + bytes(40)):
        assert decode_address(encode_address(script, REGTEST) or "", REGTEST) == script


def test_recorded_validateaddress(shared_path: Callable[..., Path]) -> None:
    steps = read_tape(shared_path("tapes", "regtest-a.jsonl.gz"))
    answers = [(params[0], json.loads(body)["result"]) for params, body in rpc_steps(steps, "validateaddress")]
    assert len(answers) == 163
    for text, answer in answers:
        if answer["isvalid"]:
            assert decode_address(text, REGTEST).hex() == answer["scriptPubKey"]
            assert encode_address(bytes.fromhex(answer["scriptPubKey"]), REGTEST) == answer["address"] == text
        else:
            with pytest.raises(AddressError) as caught:
                decode_address(text, REGTEST)
            assert (str(caught.value), caught.value.locations) == (answer["error"], answer["error_locations"])


def test_secret_out_of_range_is_none() -> None:
    for secret in (bytes(32), b"\xff" * 32):
        assert decode_secret(encode_secret(SecretKey(secret, True), REGTEST), REGTEST) is None


def test_secret_of_another_network_is_none() -> None:
    text = encode_secret(SecretKey(bytes(31) + b"\1", True), REGTEST)
    assert decode_secret(text, REGTEST) == SecretKey(bytes(31) + b"\1", True)
    assert decode_secret(text, main_params()) is None


def test_prefixes_stand_for_their_network() -> None:
    prefixes = AddressPrefixes.of(REGTEST)
    assert AddressPrefixes.of(prefixes) is prefixes
    assert prefixes.base58.script == REGTEST.base58.script
