"""PSBTs by the vectors of BIP174, BIP370, BIP371 and BIP373, as the reference's tests have them."""

import base64
import hashlib
import json
from typing import Any

import orjson
import pytest

from clarion.api.render.psbt import psbt_json
from clarion.node.params.networks import regtest_params
from clarion.node.primitives.base64_text import decode_base64
from clarion.node.script.psbt.combination import combine_psbts
from clarion.node.script.psbt.psbt import Psbt, parse_psbt
from clarion.node.script.psbt.reader import PsbtError
from helpers.shared import have_shared, shared_path

NETWORK = regtest_params()
SECTIONS = ("invalid", "invalid_with_msg", "valid", "creator", "signer", "combiner", "finalizer", "extractor")
# The first digits of the SHA-256 of the reference's answers to decodepsbt, members sorted, numbers as texts.
DECODED = [
    "2e6bcccc2cb7",
    "a34bba6ea452",
    "6ef4c547d849",
    "e519f60d7437",
    "a2a83dad244c",
    "a0610022d547",
    "2e6bcccc2cb7",
    "e34afdc6f6ac",
    "ef54e004f6c6",
    "363371b9b314",
    "b0dd30e07ec3",
    "252709fe3161",
    "46051e2df2bb",
    "1d749b2be82b",
    "cb0658c8b798",
    "a8f151f89264",
    "63cc7830bb06",
    "d20a13e7f3cf",
    "1bc0a4c39827",
    "28ec68196724",
    "fb83a05bc7b5",
    "ae0388809bc2",
    "be789cb58034",
    "d06deff0d0bb",
    "e8dc08683df1",
    "19f0ef6a4441",
    "cdabbd782c93",
    "e5beb060deef",
    "0fcd34b0046d",
    "b8f3f43493b8",
    "23c0e7001118",
    "6cce7c62a49b",
    "388b4dd16f26",
    "1da65d0ac5b7",
    "6fb68845436b",
    "10c6e12ac2f2",
    "8b2fc501497b",
    "bb841b134572",
    "22ce9a26c34f",
    "28b27ef9568e",
    "e0f3492a2858",
    "2f228f368d4c",
    "b9a8f0cdab6c",
    "1b07fcbc9a65",
    "8eea00718e38",
    "38a6f4c676b2",
    "38a6f4c676b2",
    "16cb983a4661",
]


def section(name: str) -> list[Any]:
    if not have_shared("vectors", "core", "rpc_psbt.json"):
        return []
    return json.loads(shared_path("vectors", "core", "rpc_psbt.json").read_text())[name]


def parse(text: str) -> Psbt:
    data = decode_base64(text)
    if data is None:
        raise PsbtError("invalid base64")
    return parse_psbt(data)


def encode(psbt: Psbt) -> str:
    return base64.b64encode(psbt.serialize()).decode()


@pytest.mark.parametrize("text", section("invalid"))
def test_refused(text: str) -> None:
    with pytest.raises(PsbtError):
        parse(text)


@pytest.mark.parametrize(("text", "message"), section("invalid_with_msg"))
def test_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(PsbtError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("text", "digest"), list(zip(section("valid"), DECODED, strict=False)))
def test_decoded(text: str, digest: str) -> None:
    answer = json.loads(orjson.dumps(psbt_json(parse(text), NETWORK)), parse_float=str)
    found = hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()
    assert found[: len(digest)] == digest


@pytest.mark.parametrize("text", section("valid"))
def test_encoded_again(text: str) -> None:
    psbt = parse(text)
    again = parse_psbt(psbt.serialize())
    assert again.serialize() == psbt.serialize()
    assert again.unique_id() == psbt.unique_id()


@pytest.mark.parametrize("case", section("combiner"))
def test_combined(case: dict[str, Any]) -> None:
    combined = combine_psbts([parse(text) for text in case["combine"]])
    assert combined is not None
    assert encode(combined) == case["result"]


def test_every_section_is_known() -> None:
    assert sorted(json.loads(shared_path("vectors", "core", "rpc_psbt.json").read_text())) == sorted(SECTIONS)
    assert len(section("valid")) == len(DECODED)
