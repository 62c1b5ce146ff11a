"""Addresses and private keys of the reference's vectors, both ways."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.errors import DecodeError
from clarion.node.params import networks
from clarion.node.primitives.address import (
    AddressError,
    AddressFormat,
    SecretKey,
    decode_address,
    decode_secret,
    encode_address,
    encode_secret,
)
from clarion.node.primitives.base58 import decode_base58, encode_base58

SharedPath = Callable[..., Path]
RecordCount = Callable[[str, int, int], None]

NETWORKS = {
    "main": networks.main_params(),
    "test": networks.testnet3_params(),
    "testnet4": networks.testnet4_params(),
    "signet": networks.signet_params(),
    "regtest": networks.regtest_params(),
}


def load(shared_path: SharedPath, name: str) -> list[list[object]]:
    return json.loads(shared_path("vectors", "core", name).read_text())


def is_address(text: str, network: AddressFormat) -> bool:
    try:
        decode_address(text, network)
    except AddressError:
        return False
    return True


def test_key_io_valid(shared_path: SharedPath, record_count: RecordCount) -> None:
    cases = load(shared_path, "key_io_valid.json")
    passed = sum(valid_case_passes(*case) for case in cases)
    record_count("key_io_valid", passed, len(cases))
    assert passed == len(cases) == 70


def valid_case_passes(text: str, payload: str, meta: dict[str, object]) -> bool:
    network = NETWORKS[meta["chain"]]
    data = bytes.fromhex(payload)
    if meta["isPrivkey"]:
        key = SecretKey(data, meta["isCompressed"])
        return (
            decode_secret(text, network) == key
            and encode_secret(key, network) == text
            and not is_address(text, network)
        )
    return (
        decode_address(text, network) == data
        and encode_address(data, network).lower() == text.lower()[: len(text)]
        and is_address(text.swapcase(), network) == meta.get("tryCaseFlip", False)
        and decode_secret(text, network) is None
    )


def test_key_io_invalid(shared_path: SharedPath, record_count: RecordCount) -> None:
    cases = load(shared_path, "key_io_invalid.json")
    passed = sum(
        not any(is_address(text, network) or decode_secret(text, network) for network in NETWORKS.values())
        for (text,) in cases
    )
    record_count("key_io_invalid", passed, len(cases))
    assert passed == len(cases) == 70


def test_base58(shared_path: SharedPath, record_count: RecordCount) -> None:
    cases = load(shared_path, "base58_encode_decode.json")
    passed = sum(
        encode_base58(bytes.fromhex(data)) == text and decode_base58(text, 256) == bytes.fromhex(data)
        for data, text in cases
    )
    record_count("base58_encode_decode", passed, len(cases))
    assert passed == len(cases)


@pytest.mark.parametrize(
    "text", ["invalid", "invalid\0", "\0invalid", "bad0IOl", "goodbad0IOl", " \t\n\v\f\r skip \r\f\v\n\t a"]
)
def test_base58_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        decode_base58(text, 100)


def test_base58_skips_blanks_around() -> None:
    assert decode_base58(" \t\n\v\f\r skip \r\f\v\n\t ", 3) == bytes.fromhex("971a55")
