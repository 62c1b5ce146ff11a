"""BIP324's vectors: keys, secrets and packets."""

import csv
from typing import Any

import pytest

from clarion.node.net.transport.ciphers import PacketCiphers
from clarion.node.net.transport.ellswift import decode, shared_secret
from helpers.shared import have_shared, shared_root

MAINNET_MAGIC = bytes.fromhex("f9beb4d9")


def rows(name: str) -> list[dict[str, str]]:
    if not have_shared("vectors", "bips", name):
        return []
    with shared_root().joinpath("vectors", "bips", name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", rows("bip-0324-ellswift_decode_test_vectors.csv"), ids=lambda row: row["comment"])
def test_keys_decode(row: dict[str, str]) -> None:
    assert decode(bytes.fromhex(row["ellswift"]))[1:].hex() == row["x"]


@pytest.mark.parametrize("row", rows("bip-0324-packet_encoding_test_vectors.csv"), ids=lambda row: row["in_idx"])
def test_packets(row: dict[str, str]) -> None:
    def raw(name: str) -> bytes:
        return bytes.fromhex(row[name])

    initiating = row["in_initiating"] == "1"
    secret = shared_secret(raw("in_priv_ours"), raw("in_ellswift_ours"), raw("in_ellswift_theirs"), initiating)
    assert secret.hex() == row["mid_shared_secret"]
    ciphers = PacketCiphers(secret, MAINNET_MAGIC, initiating)
    assert ciphers.send_terminator.hex() == row["mid_send_garbage_terminator"]
    assert ciphers.receive_terminator.hex() == row["mid_recv_garbage_terminator"]
    assert ciphers.session_id.hex() == row["out_session_id"]
    for _ in range(int(row["in_idx"])):
        ciphers.encrypt(b"")
    contents = raw("in_contents") * int(row["in_multiply"])
    packet: Any = ciphers.encrypt(contents, raw("in_aad"), ignore=row["in_ignore"] == "1").hex()
    assert packet.startswith(row["out_ciphertext"])
    assert packet.endswith(row["out_ciphertext_endswith"])
