"""What subscribers ask for."""

import pytest

from clarion.node.errors import StreamError
from clarion.node.events.events import TxAdded
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.address import encode_address
from clarion.node.primitives.ids import make_outpoint
from clarion.notifiers.stream.request import parse_request

PARAMS = select_params("regtest")
TXID = "11" * 31 + "22"


def test_fields_are_read_from_text_and_from_json_alike() -> None:
    text = {"types": "tx_added", "txids": TXID, "outpoints": f"{TXID}:3", "min_value_sat": "5", "details": "fee,raw"}
    sent = {"types": ["tx_added"], "txids": [TXID], "outpoints": [f"{TXID}:3"], "min_value_sat": 5}
    request = parse_request(text, PARAMS)
    assert request == parse_request({**sent, "details": ["fee", "raw"]}, PARAMS)
    assert request.wanted.types == {TxAdded}
    assert set(request.wanted.outpoints) == {make_outpoint(bytes.fromhex(TXID)[::-1], 3)}


def test_addresses_and_scripts_are_one_list() -> None:
    script = b"\x00\x14" + bytes(20)
    address = encode_address(script, PARAMS)
    request = parse_request({"addresses": [address], "scripts": ["51"]}, PARAMS)
    assert set(request.wanted.scripts) == {b"\x51", script}


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "red"},
        {"types": "tx_eaten"},
        {"details": ["everything"]},
        {"txids": "12"},
        {"addresses": ["nobody"]},
        {"scripts": [1]},
        {"outpoints": TXID},
        {"min_conf": 0},
        {"min_value_sat": True},
        {"min_value_sat": "1_000"},
        {"min_conf": "２"},
        {"scripts": ["51 52"]},
        {"op_returns": " "},
        {"scripts": []},
        {"addresses": []},
        {"descriptors": []},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_wrong_field_is_named(fields: dict[str, object]) -> None:
    with pytest.raises(StreamError, match=next(iter(fields))) as refused:
        parse_request(fields, PARAMS)
    assert refused.value.code == "bad-request"


XPUB = "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B"
RANGED = f"wpkh({XPUB}/0/*)"


def test_descriptors_become_scripts_and_those_with_a_gap_windows() -> None:
    fixed = parse_request({"descriptors": [{"desc": RANGED, "range": [3, 5]}, "raw(51)"]}, PARAMS).wanted
    growing = parse_request({"descriptors": [{"desc": RANGED, "gap": 4}]}, PARAMS).wanted
    assert (len(fixed.scripts), fixed.windows) == (4, ())
    assert b"\x51" in fixed.scripts
    assert (len(growing.scripts), growing.windows[0].last) == (0, 3)
    assert growing.needs_spent


def test_descriptors_in_text_keep_the_commas_in_their_brackets() -> None:
    multi = f"wsh(multi(1,{XPUB}/1/*,{XPUB}/2/*))"
    wanted = parse_request({"descriptors": f"raw(51),{multi}"}, PARAMS).wanted
    assert len(wanted.scripts) == 1002


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ("wpkh(nothing)", "descriptors: "),
        ([{"desc": RANGED, "range": [5, 3]}], "does not end before"),
        ([{"desc": "raw(51)", "range": 3}], "with a \\*"),
        ([{"desc": RANGED, "gap": -1}], "gap is"),
        ([{"desc": RANGED, "colour": 1}], "no 'colour'"),
        ([{"desc": RANGED, "range": 1_000_000}], "at most 1000000"),
        ([7], "an object"),
        ({"desc": RANGED}, "a list"),
        ([f"wpkh({XPUB}/0h/*)"], "private keys"),
    ],
)
def test_wrong_descriptor_is_refused_with_its_reason(described: object, words: str) -> None:
    with pytest.raises(StreamError, match=words):
        parse_request({"descriptors": described}, PARAMS)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"min_value_sat": float(2**64)}, "a number from 0 to 9223372036854775807 expected"),
        ({"min_conf": 1001}, "a number from 1 to 1000 expected"),
        ({"scripts": ["xy"]}, "scripts: hex expected, not 'xy'"),
    ],
)
def test_wrong_value_is_told_with_what_is_expected(fields: dict[str, object], words: str) -> None:
    with pytest.raises(StreamError, match=words):
        parse_request(fields, PARAMS)
