"""What values mean, and the one line that is said about a wrong one."""

import pickle
from pathlib import Path

import pytest

from clarion.node import config as config_module
from clarion.node.config import Config, create_directories, load_config
from clarion.node.errors import ConfigError
from clarion.node.params.chain_params import VersionBitsOptions
from clarion.notifiers.zmq_address import ZmqAddress


def load(folder: Path, *argv: str) -> Config:
    return load_config([f"-datadir={folder}", *argv], {})


@pytest.mark.parametrize(
    ("argv", "chain", "folder", "port"),
    [
        ([], "main", "", 8332),
        (["-testnet"], "test", "testnet3", 18332),
        (["-testnet4"], "testnet4", "testnet4", 48332),
        (["-signet"], "signet", "signet", 38332),
        (["-regtest"], "regtest", "regtest", 18443),
        (["-chain=regtest"], "regtest", "regtest", 18443),
        (["-regtest=0"], "main", "", 8332),
    ],
)
def test_chain(tmp_path: Path, argv: list[str], chain: str, folder: str, port: int) -> None:
    config = load(tmp_path, *argv)
    assert (config.chain, config.chain_dir, config.rpc_port) == (chain, tmp_path / folder, port)


@pytest.mark.parametrize(
    ("option", "cores", "expected"),
    [(0, 4, 4), (1, 4, 1), (2, 4, 2), (64, 4, 64), (-1, 4, 3), (-9, 4, 1), (0, 1, 1), (10**20, 4, 256)],
)
def test_par(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: int, cores: int, expected: int) -> None:
    monkeypatch.setattr(config_module, "core_count", lambda: cores)
    assert load(tmp_path, f"-par={option}").par == expected


def test_zmq_notifiers_come_in_the_reference_order(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "-zmqpubsequence=tcp://127.0.0.1:1",
        "-zmqpubrawtx=tcp://127.0.0.1:2",
        "-zmqpubrawtx=unix:/tmp/socket",
        "-zmqpubrawtxhwm=7",
        "-zmqpubhashblock=tcp://[::1]:3",
    )
    assert config.zmq_notifiers == (
        ZmqAddress("hashblock", "tcp://[::1]:3", 1000),
        ZmqAddress("rawtx", "tcp://127.0.0.1:2", 7),
        ZmqAddress("rawtx", "ipc:///tmp/socket", 7),
        ZmqAddress("sequence", "tcp://127.0.0.1:1", 1000),
    )


def test_hex_values(tmp_path: Path) -> None:
    config = load(tmp_path, "-minimumchainwork=0x1f", f"-assumevalid={'00' * 31}01")
    assert config.minimum_chainwork == 31
    assert config.assume_valid == bytes.fromhex("01" + "00" * 31)
    assert load(tmp_path, "-assumevalid=0").assume_valid == bytes(32)
    assert load(tmp_path).assume_valid is None


def test_deployments(tmp_path: Path) -> None:
    config = load(tmp_path, "-regtest", "-testactivationheight=segwit@5", "-vbparams=testdummy:-1:99:3")
    assert config.test_activation_heights == {"segwit": 5}
    assert config.vbparams == {"testdummy": VersionBitsOptions(-1, 99, 3)}


def test_values_and_negation_by_name(tmp_path: Path) -> None:
    config = load(tmp_path, "-nodebuglogfile", "-norpccookiefile", "-debug=net", "-debug=zmq", "-nopid")
    assert (config.debug_log_file, config.rpc_cookie_file, config.pid_file) == (None, None, None)
    assert config.values("debug") == ["net", "zmq"]
    assert config.get("debug") == "zmq"
    assert config.is_negated("pid")


def test_inert_and_later_options_are_one_note_each(tmp_path: Path) -> None:
    config = load(
        tmp_path, "-disablewallet", "-fallbackfee=0.1", "-nosettings", "-upnp=0", "-ipcbind=unix", "-natpmp=0"
    )
    assert config.notes == (
        "These options mean nothing here and are ignored: -disablewallet -fallbackfee -ipcbind -upnp",
        "These options have no effect in this version: -natpmp",
    )


def test_config_is_picklable(tmp_path: Path) -> None:
    config = load(tmp_path, "-regtest", "-zmqpubrawtx=tcp://127.0.0.1:2")
    assert pickle.loads(pickle.dumps(config)) == config


def test_directories_have_the_reference_shape(tmp_path: Path) -> None:
    create_directories(load(tmp_path, "-regtest"))
    assert sorted(path.name for path in (tmp_path / "regtest").iterdir()) == [
        "blocks",
        "chainstate",
        "indexes",
        "wallets",
    ]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("-foo", "Error parsing command line arguments: Invalid parameter -foo: unknown option"),
        ("-prot=1", r"unknown option \(did you mean -port\?\)"),
        ("-nolisen", r"unknown option \(did you mean -listen\?\)"),
        ("-includeconf=x", '-includeconf cannot be used from commandline; -includeconf="x"'),
        ("-noincludeconf=0", "-includeconf cannot be used from commandline; -includeconf=true"),
        ("-nodatadir", "Negating of -datadir is meaningless and therefore forbidden"),
        ("-proxy", "Can not set -proxy with no value. Please specify value with -proxy=value."),
        ("-par=many", "Invalid value for -par: 'many' (a whole number expected)"),
        ("-server=maybe", "Invalid value for -server: 'maybe' (1 or 0 expected)"),
        ("-minrelaytxfee=x", "Invalid amount for -minrelaytxfee=<amount>: 'x'"),
        ("-uacomment=" + "a" * 256, "exceeds maximum length (256). Reduce the number or size of uacomments."),
        ("-rpcport=0", "Invalid port specified in -rpcport: '0'"),
        ("-rpcbind=1.2.3.4:99999", "Invalid port specified in -rpcbind: '1.2.3.4:99999'"),
        ("-zmqpubrawtx=tcp://1.2.3.4:foo", "Invalid port specified in -zmqpubrawtx: 'tcp://1.2.3.4:foo'"),
        ("-database=nonsense", "Invalid value for -database: 'nonsense'"),
        ("-checkqueue=fast", "Invalid value for -checkqueue: 'fast'"),
        ("-minimumchainwork=xyz", "Invalid minimum work specified (xyz), must be up to 64 hex digits"),
        ("-assumevalid=xyz", "Invalid assumevalid block hash specified (xyz)"),
        ("-prune=5", "Prune configured below the minimum of 550 MiB"),
        ("-chain=moon", "Unknown chain moon."),
        ("-blocksdir=/absent", 'Specified blocks directory "/absent" does not exist.'),
        ("-vbparams=testdummy:0:1", "The -vbparams option may not be used on mainnet."),
        ("-test=bip94", "-test=<option> can only be used with regtest"),
        ("-uacomment=a/b", "User Agent comment (a/b) contains unsafe characters."),
        ("-apiworkers=-1", "Invalid value for -apiworkers: -1 (at least 0 expected)"),
        ("-blockmaxweight=4000001", "-blockmaxweight (4000001) exceeds consensus maximum block weight (4000000)"),
        ("-blockmaxweight=7999", "-blockreservedweight (8000) exceeds -blockmaxweight (7999)"),
        ("-blockreservedweight=1999", "-blockreservedweight (1999) is lower than minimum safety value of (2000)"),
        ("-blockreservedweight=-1", "-blockreservedweight (0) is lower than minimum safety value of (2000)"),
        ("-blockreservedweight=4000001", "-blockreservedweight (4000001) exceeds consensus maximum block weight"),
        ("-blockmintxfee=", "Invalid amount for -blockmintxfee=<amount>: ''"),
    ],
)
def test_wrong_options(tmp_path: Path, argument: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, argument)
    plain = message.replace("\\", "")
    assert plain in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("-testactivationheight=segwit", "Invalid format (segwit) for -testactivationheight=name@height."),
        ("-testactivationheight=segwit@-1", "Invalid height value (segwit@-1)"),
        ("-testactivationheight=taproot@1", "Invalid name (taproot@1)"),
        ("-vbparams=testdummy:1", "Version bits parameters malformed"),
        ("-vbparams=testdummy:x:1", "Invalid nStartTime (x)"),
        ("-vbparams=nothing:0:1", "Invalid deployment (nothing)"),
    ],
)
def test_wrong_deployments(tmp_path: Path, argument: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "-regtest", argument)
    assert message in str(caught.value)


def test_chains_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Can use at most one"):
        load(tmp_path, "-regtest", "-signet")


def test_a_path_that_can_not_be_looked_at_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config([f"-datadir={tmp_path / ('x' * 300)}"], {})
    assert "x" * 300 in str(raised.value)
    assert "\n" not in str(raised.value)


def test_block_creation(tmp_path: Path) -> None:
    mining = load(tmp_path, "-regtest").mining
    assert (mining.max_weight, mining.reserved_weight, mining.min_feerate.sat_per_kvb) == (4_000_000, 8000, 1)
    assert (mining.version, mining.log_feerates) == (None, False)
    mining = load(
        tmp_path, "-regtest", "-blockmaxweight=5000", "-blockreservedweight=4000", "-printpriority", "-blockversion=-1"
    ).mining
    assert (mining.max_weight, mining.reserved_weight, mining.log_feerates, mining.version) == (5000, 4000, True, -1)


@pytest.mark.parametrize(
    ("argument", "sat_per_kvb"), [("-blockmintxfee=0.0001", 10_000), ("-blockmintxfee=0", 0), ("-noblockmintxfee", 0)]
)
def test_block_min_tx_fee(tmp_path: Path, argument: str, sat_per_kvb: int) -> None:
    assert load(tmp_path, argument).mining.min_feerate.sat_per_kvb == sat_per_kvb


def test_block_version_is_an_int32_of_regtest(tmp_path: Path) -> None:
    assert load(tmp_path, "-regtest", "-blockversion=4294967295").mining.version == -1
    assert load(tmp_path, "-signet", "-blockversion=4").mining.version is None


@pytest.mark.parametrize(
    "second", ["-bind=127.0.0.1:11012", "-bind=127.1:11012=onion", "-whitebind=noban@127.0.0.1:11012"]
)
def test_an_address_is_bound_once(tmp_path: Path, second: str) -> None:
    with pytest.raises(ConfigError, match=r"Duplicate binding configuration for address 127\.0\.0\.1:11012"):
        load(tmp_path, "-regtest", "-bind=127.0.0.1:11012", second)
