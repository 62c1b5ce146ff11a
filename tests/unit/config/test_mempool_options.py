"""Options of the memory pool: defaults, limits, and what one does to another."""

from pathlib import Path

import pytest

from clarion.node.config import Config, load_config
from clarion.node.errors import ConfigError
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolLimits, MempoolOptions


def load(folder: Path, *argv: str) -> Config:
    return load_config([f"-datadir={folder}", *argv], {})


def test_defaults_are_the_reference_ones(tmp_path: Path) -> None:
    options = load(tmp_path).mempool
    assert options == MempoolOptions()
    assert options.min_relay_feerate == options.incremental_relay_feerate == FeeRate(100)
    assert options.dust_relay_feerate == FeeRate(3000)
    assert (options.max_size_bytes, options.expiry_s) == (300_000_000, 336 * 60 * 60)
    assert (options.max_datacarrier_bytes, options.limits) == (100_000, MempoolLimits(64, 101_000))


def test_numbers_and_switches(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "-regtest",
        "-maxmempool=10",
        "-mempoolexpiry=2",
        "-nopersistmempool",
        "-persistmempoolv1",
        "-limitclustercount=1",
        "-limitclustersize=20",
        "-acceptnonstdtxn",
        "-bytespersigop=7",
        "-permitbaremultisig=0",
        "-checkmempool=2000000",
        "-acceptstalefeeestimates",
    )
    options = config.mempool
    assert (options.max_size_bytes, options.expiry_s) == (10_000_000, 7200)
    assert (options.persist, options.persist_v1) == (False, True)
    assert options.limits == MempoolLimits(1, 20_000)
    assert (options.require_standard, options.permit_bare_multisig) == (False, False)
    assert (options.bytes_per_sigop, options.check_ratio) == (7, 1_000_000)
    assert options.accept_stale_fee_estimates
    assert config.notes == ()


@pytest.mark.parametrize(("chain", "ratio"), [("main", 0), ("signet", 0), ("regtest", 1)])
def test_only_regtest_checks_the_pool(tmp_path: Path, chain: str, ratio: int) -> None:
    assert load(tmp_path, f"-chain={chain}").mempool.check_ratio == ratio
    assert load(tmp_path, f"-chain={chain}", "-checkmempool=-5").mempool.check_ratio == 0


@pytest.mark.parametrize(
    ("argv", "size"),
    [
        (["-datacarriersize=83"], 83),
        (["-datacarriersize=-1"], 0xFFFFFFFF),
        (["-datacarrier=0", "-datacarriersize=83"], None),
        (["-nodatacarrier"], None),
    ],
)
def test_data_carrier(tmp_path: Path, argv: list[str], size: int | None) -> None:
    assert load(tmp_path, *argv).mempool.max_datacarrier_bytes == size


def test_fee_rates(tmp_path: Path) -> None:
    config = load(tmp_path, "-minrelaytxfee=0.00000001", "-incrementalrelayfee= 0.00002 ", "-dustrelayfee=0")
    assert config.mempool.min_relay_feerate == FeeRate(1)
    assert config.mempool.incremental_relay_feerate == FeeRate(2000)
    assert config.mempool.dust_relay_feerate == FeeRate(0)
    assert config.notes == ()


def test_incremental_fee_alone_raises_the_least_fee(tmp_path: Path) -> None:
    config = load(tmp_path, "-incrementalrelayfee=0.00001")
    assert config.mempool.min_relay_feerate == FeeRate(1000)
    assert config.notes == ("Increasing minrelaytxfee to 0.00001000 BTC/kvB to match incrementalrelayfee",)
    assert load(tmp_path, "-incrementalrelayfee=0").mempool.min_relay_feerate == FeeRate(100)


def test_blocksonly_makes_the_pool_small(tmp_path: Path) -> None:
    config = load(tmp_path, "-blocksonly")
    assert config.mempool.max_size_bytes == 5_000_000
    assert config.mempool.blocks_only
    assert config.notes == ("parameter interaction: -blocksonly=1 -> setting -maxmempool=5",)
    assert load(tmp_path, "-blocksonly", "-maxmempool=7").mempool.max_size_bytes == 7_000_000


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-incrementalrelayfee=1e-8"], "Invalid amount for -incrementalrelayfee=<amount>: '1e-8'"),
        (["-dustrelayfee=-1"], "Invalid amount for -dustrelayfee=<amount>: '-1'"),
        (["-minrelaytxfee="], "Invalid amount for -minrelaytxfee=<amount>: ''"),
        (["-acceptnonstdtxn=1"], "acceptnonstdtxn is not currently supported for main chain"),
        (["-limitclustercount=65"], "limitclustercount must be less than or equal to 64"),
        (["-limitclustercount=0"], "limitclustercount must be at least 1"),
        (["-maxmempool=4"], "-maxmempool must be at least 5 MB"),
        (["-maxmempool=-1"], "-maxmempool must be at least 5 MB"),
        (["-blocksonly", "-limitclustersize=126"], "-maxmempool must be at least 6 MB"),
        (["-acceptstalefeeestimates"], "acceptstalefeeestimates is not supported on main chain."),
        (["-signet", "-acceptstalefeeestimates"], "acceptstalefeeestimates is not supported on signet chain."),
    ],
)
def test_wrong_values(tmp_path: Path, argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, *argv)
    assert str(caught.value) == message


def test_a_pool_without_room_is_allowed(tmp_path: Path) -> None:
    assert load(tmp_path, "-maxmempool=0").mempool.max_size_bytes == 0


def test_stale_estimates_do_not_matter_to_blocksonly(tmp_path: Path) -> None:
    assert not load(tmp_path, "-blocksonly", "-acceptstalefeeestimates").mempool.accept_stale_fee_estimates
