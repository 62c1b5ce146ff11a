"""signmessagewithprivkey and verifymessage."""

import base64

import pytest

from helpers.api_stack import ApiStack

MESSAGE = "This is just a test message"
KEY = "cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N"
ADDRESS = "mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB"
SIGNATURE = "INbVnW4e6PeRmsv2Qgu8NuopvrVjkcxob+sX8OcZG0SALhWybUjzMLPdAsXI46YZGb0KQTRii+wWIQzRpG/U+S0="


def test_signature_of_the_reference(stack: ApiStack) -> None:
    assert stack.result("signmessagewithprivkey", KEY, MESSAGE) == SIGNATURE
    assert stack.result("verifymessage", ADDRESS, SIGNATURE, MESSAGE) is True
    assert stack.result("verifymessage", ADDRESS, SIGNATURE, MESSAGE + "!") is False


def test_other_key(stack: ApiStack) -> None:
    assert stack.result("verifymessage", "mjTkW3DjgyZck4KbiRusZsqTgaYTxdSz6z", SIGNATURE, MESSAGE) is False


@pytest.mark.parametrize("signature", ["", base64.b64encode(bytes(65)).decode(), base64.b64encode(b"1").decode()])
def test_nothing_to_recover(stack: ApiStack, signature: str) -> None:
    assert stack.result("verifymessage", ADDRESS, signature, MESSAGE) is False


@pytest.mark.parametrize("text", ["", "ä€", "a" * 300, "\U0001f600"])
def test_any_text(stack: ApiStack, text: str) -> None:
    signature = stack.result("signmessagewithprivkey", KEY, text)
    assert stack.result("verifymessage", ADDRESS, signature, text) is True


@pytest.mark.parametrize("signature", ["invalid_sig", SIGNATURE[:-1], SIGNATURE + "\n", SIGNATURE[:-2] + "1="])
def test_no_base64(stack: ApiStack, signature: str) -> None:
    assert stack.error("verifymessage", ADDRESS, signature, MESSAGE) == (-3, "Malformed base64 encoding")


def test_refused(stack: ApiStack) -> None:
    assert stack.error("signmessagewithprivkey", "invalid_key", MESSAGE) == (-5, "Invalid private key")
    assert stack.error("verifymessage", "invalid_addr", SIGNATURE, MESSAGE) == (-5, "Invalid address")
    witness_address = "bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqdku202"
    no_key = (-3, "Address does not refer to key")
    assert stack.error("verifymessage", witness_address, SIGNATURE, MESSAGE) == no_key
