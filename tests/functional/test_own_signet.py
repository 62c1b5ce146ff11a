"""A signet of one's own: its magic in the log, its rule in block templates."""

from pathlib import Path

import pytest

from helpers.node import Node, RpcFailure


def test_own_signet(tmp_path: Path) -> None:
    options = ("-signetchallenge=51", "-apiworkers=0", "-par=1", "-eventsprocess=0")
    with Node(tmp_path, *options, chain="signet") as node:
        # The first four bytes of SHA256d of the challenge with its length (BIP325).
        assert "Signet derived magic (message start): 54d26fbd" in node.debug_log()
        with pytest.raises(RpcFailure, match="must be called with the signet rule set"):
            node.rpc("getblocktemplate", {"rules": ["segwit"]})
        template = node.rpc("getblocktemplate", {"rules": ["segwit", "signet"]})
        assert (template["height"], template["signet_challenge"], template["rules"][-1]) == (1, "51", "!signet")
        assert node.rpc("getmininginfo")["signet_challenge"] == "51"
