"""Buried deployments and the script flags of a block."""

import pytest

from clarion.node.consensus.deployments import (
    block_script_flags,
    buried_active_after,
    buried_active_at,
    buried_enabled,
    segwit_active_at,
)
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.ids import hash_from_hex
from clarion.node.script.flags import flag_names
from helpers.positions import Position

ALWAYS = ["P2SH", "TAPROOT", "WITNESS"]
MAIN = select_params("main")


def names_at(height: int, block_hash: bytes | None = None, chain: str = "main") -> list[str]:
    return flag_names(block_script_flags(Position(height=height, block_hash=block_hash), select_params(chain)))


@pytest.mark.parametrize(
    ("height", "added"),
    [
        (0, []),
        (363_724, []),
        (363_725, ["DERSIG"]),
        (388_380, ["DERSIG"]),
        (388_381, ["DERSIG", "CHECKLOCKTIMEVERIFY"]),
        (419_328, ["DERSIG", "CHECKLOCKTIMEVERIFY", "CHECKSEQUENCEVERIFY"]),
        (481_823, ["DERSIG", "CHECKLOCKTIMEVERIFY", "CHECKSEQUENCEVERIFY"]),
        (481_824, ["DERSIG", "CHECKLOCKTIMEVERIFY", "CHECKSEQUENCEVERIFY", "NULLDUMMY"]),
    ],
)
def test_mainnet_flags_by_height(height: int, added: list[str]) -> None:
    assert names_at(height) == sorted(ALWAYS + added)


def test_historical_blocks_have_their_own_flags() -> None:
    bip16 = hash_from_hex("00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22")
    taproot = hash_from_hex("0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad")
    assert names_at(170_060, bip16) == []
    assert "TAPROOT" not in names_at(692_261, taproot)
    assert {"P2SH", "WITNESS", "NULLDUMMY"} <= set(names_at(692_261, taproot))


def test_regtest_has_all_rules_from_block_one() -> None:
    every = sorted([*ALWAYS, "DERSIG", "CHECKLOCKTIMEVERIFY", "CHECKSEQUENCEVERIFY", "NULLDUMMY"])
    assert names_at(1, chain="regtest") == every
    assert names_at(0, chain="regtest") == sorted([*ALWAYS, "NULLDUMMY"])


def test_buried_deployment_rules_its_height() -> None:
    assert not buried_active_at(481_823, MAIN, "segwit")
    assert buried_active_at(481_824, MAIN, "segwit")
    assert segwit_active_at(Position(height=481_824), MAIN)
    assert buried_active_after(Position(height=481_823), MAIN, "segwit")
    assert buried_active_after(None, select_params("regtest"), "segwit")
    assert not buried_active_after(None, MAIN, "bip34")


def test_buried_deployment_can_be_switched_off() -> None:
    never = select_params("regtest", activation_heights={"csv": 2**31 - 1})
    assert buried_enabled(MAIN, "csv")
    assert not buried_enabled(never, "csv")
