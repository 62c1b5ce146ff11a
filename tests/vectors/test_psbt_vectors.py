"""PSBTs by the vectors of BIP174, BIP370, BIP371 and BIP373, as the reference's tests have them."""

import base64
import hashlib
import json
from typing import Any

import orjson
import pytest

from clarion.api.render.psbt import psbt_json
from clarion.api.rpc.psbt_finishing import analyzepsbt, finalizepsbt
from clarion.node.params.networks import regtest_params
from clarion.node.primitives.address import decode_secret
from clarion.node.primitives.base64_text import decode_base64
from clarion.node.script.psbt.combination import combine_psbts
from clarion.node.script.psbt.psbt import Psbt, parse_psbt
from clarion.node.script.psbt.reader import PsbtError
from clarion.node.script.psbt.signing import sign_input, transaction_data
from clarion.node.script.sighash import SIGHASH_ALL
from clarion.node.script.signing.provider import FlatSigningProvider
from helpers.shared import have_shared, shared_path

NETWORK = regtest_params()
NO_CONTEXT: Any = None
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

# The same of analyzepsbt, of finalizepsbt without extracting and with it.
ANALYZED = [
    "6647a133666b",
    "ae72fef85973",
    "6647a133666b",
    "0a48bcdc6158",
    "8607c25be7a1",
    "8c07d3b4d0dd",
    "6647a133666b",
    "6647a133666b",
    "10c0cdafc522",
    "6480b9cd0c5f",
    "6647a133666b",
    "6647a133666b",
    "6647a133666b",
    "6647a133666b",
    "6d3a869a6e07",
    "9ad6cdf81d49",
    "89b4f1a73069",
    "89b4f1a73069",
    "89b4f1a73069",
    "9ad6cdf81d49",
    "a3e1b90e6a0f",
    "a3e1b90e6a0f",
    "fdd712da5594",
    "a3e1b90e6a0f",
    "a3e1b90e6a0f",
    "fdd712da5594",
    "a3e1b90e6a0f",
    "a3e1b90e6a0f",
    "fdd712da5594",
    "a3e1b90e6a0f",
    "a3e1b90e6a0f",
    "fdd712da5594",
    "1e7c41d22967",
    "b78c09285b92",
    "93ba683fcaea",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
    "f31d28118cf4",
]
FINAL = [
    "48f27e072d91",
    "739294870f71",
    "88b7ba3b21c8",
    "0820cd508065",
    "3321a2583a5a",
    "6ca1f400b87a",
    "48f27e072d91",
    "b41a66cee5ae",
    "499cca8c8845",
    "0989dab1549e",
    "a9c7cb7019d4",
    "7a26df82d4d1",
    "72ee1334a03b",
    "9d81c59e4e13",
    "e101e9d4322c",
    "48981ce86a4b",
    "a96e4b9639e0",
    "6837449a1ec3",
    "6b5907e914d8",
    "66c1b121ad2b",
    "0ad5229b0674",
    "f8c99b368a95",
    "09f341f896f8",
    "4d7a17c908ad",
    "5d7a9194e2cc",
    "8fc7ddb33191",
    "c23d1981f15b",
    "20d07e7d58f6",
    "8f0471333f00",
    "6589b9f18dfd",
    "812186c2cb06",
    "f24a7db90f48",
    "57cedaf39b6f",
    "5631c808e6a5",
    "5aa6dbd937b9",
    "618f4eecbaf2",
    "0b3bd0ea65bf",
    "0e6951f53464",
    "d87099fd321d",
    "717da1df5b23",
    "96bf9b43c771",
    "31f1d9383a33",
    "d90c5c36541a",
    "3ebc02d44d3c",
    "f454d7a2af8d",
    "2f7f3c8a9e53",
    "17646512019d",
    "1354faf7cd32",
]
EXTRACTED = [
    "48f27e072d91",
    "739294870f71",
    "88b7ba3b21c8",
    "0820cd508065",
    "3321a2583a5a",
    "189b5f730bd9",
    "48f27e072d91",
    "b41a66cee5ae",
    "499cca8c8845",
    "0989dab1549e",
    "a9c7cb7019d4",
    "7a26df82d4d1",
    "72ee1334a03b",
    "9d81c59e4e13",
    "e101e9d4322c",
    "05b74adc61e1",
    "a96e4b9639e0",
    "6837449a1ec3",
    "6b5907e914d8",
    "40be79216ef0",
    "0ad5229b0674",
    "f8c99b368a95",
    "5d58e09d84b0",
    "4d7a17c908ad",
    "5d7a9194e2cc",
    "024d2db70b3c",
    "c23d1981f15b",
    "20d07e7d58f6",
    "a4d77cb27afc",
    "6589b9f18dfd",
    "812186c2cb06",
    "df869a36ce2e",
    "57cedaf39b6f",
    "5631c808e6a5",
    "5aa6dbd937b9",
    "618f4eecbaf2",
    "0b3bd0ea65bf",
    "0e6951f53464",
    "d87099fd321d",
    "717da1df5b23",
    "96bf9b43c771",
    "31f1d9383a33",
    "d90c5c36541a",
    "3ebc02d44d3c",
    "f454d7a2af8d",
    "2f7f3c8a9e53",
    "17646512019d",
    "1354faf7cd32",
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


def with_digests(digests: list[str]) -> list[tuple[str, str]]:
    return list(zip(section("valid"), digests, strict=False))


def digest_of(answer: Any) -> str:
    plain = json.loads(orjson.dumps(answer), parse_float=str)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:12]


@pytest.mark.parametrize(("text", "digest"), with_digests(DECODED))
def test_decoded(text: str, digest: str) -> None:
    assert digest_of(psbt_json(parse(text), NETWORK)) == digest


@pytest.mark.parametrize(("text", "digest"), with_digests(ANALYZED))
def test_analyzed(text: str, digest: str) -> None:
    assert digest_of(analyzepsbt(NO_CONTEXT, text)) == digest


@pytest.mark.parametrize(("text", "digest"), with_digests(FINAL))
def test_final(text: str, digest: str) -> None:
    assert digest_of(finalizepsbt(NO_CONTEXT, text, False)) == digest


@pytest.mark.parametrize(("text", "digest"), with_digests(EXTRACTED))
def test_extracted(text: str, digest: str) -> None:
    assert digest_of(finalizepsbt(NO_CONTEXT, text, True)) == digest


@pytest.mark.parametrize("case", section("finalizer"))
def test_finalizer(case: dict[str, Any]) -> None:
    assert finalizepsbt(NO_CONTEXT, case["finalize"], False)["psbt"] == case["result"]


@pytest.mark.parametrize("case", section("extractor"))
def test_extractor(case: dict[str, Any]) -> None:
    assert finalizepsbt(NO_CONTEXT, case["extract"], True)["hex"] == case["result"]


@pytest.mark.parametrize("case", section("signer"))
def test_signer(case: dict[str, Any]) -> None:
    psbt = parse(case["psbt"])
    provider = FlatSigningProvider()
    for text in case["privkeys"]:
        key = decode_secret(text, NETWORK)
        assert key is not None
        provider.add_secret(key)
    txdata = transaction_data(psbt)
    assert txdata is not None
    for index in range(len(psbt.inputs)):
        sign_input(provider, psbt, index, txdata, sighash_type=SIGHASH_ALL)
    assert encode(psbt) == case["result"]


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
