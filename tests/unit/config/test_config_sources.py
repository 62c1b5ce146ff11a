"""Where values come from: command line over environment over file, sections, negation."""

from pathlib import Path

import pytest

from clarion.node.config import Config, load_config
from clarion.node.errors import ConfigError


def load(folder: Path, *argv: str, conf: str = "", environ: dict[str, str] | None = None) -> Config:
    (folder / "bitcoin.conf").write_text(conf)
    return load_config([f"-datadir={folder}", *argv], environ or {})


@pytest.mark.parametrize("argument", ["-rpcuser=me", "--rpcuser=me"], ids=["one-dash", "two-dashes"])
def test_both_dashes(tmp_path: Path, argument: str) -> None:
    assert load(tmp_path, argument).rpc_user == "me"


@pytest.mark.parametrize(
    ("argv", "environ", "conf", "expected"),
    [
        (["-rpcuser=line"], {"CLARION_RPCUSER": "env"}, "rpcuser=file\n", "line"),
        ([], {"CLARION_RPCUSER": "env"}, "rpcuser=file\n", "env"),
        ([], {}, "rpcuser=file\n", "file"),
        ([], {}, "", ""),
        (["-rpcuser=a", "-rpcuser=b"], {}, "", "b"),
        ([], {}, "rpcuser=a\nrpcuser=b\n", "a"),
        ([], {}, "rpcuser=default\n[regtest]\nrpcuser=section\n", "section"),
        ([], {}, "rpcuser=default\nregtest.rpcuser=dotted\n", "dotted"),
        ([], {}, "[test]\nrpcuser=other\n", ""),
    ],
    ids=["line", "env", "file", "unset", "last-of-line", "first-of-file", "section", "dotted", "other-section"],
)
def test_precedence(tmp_path: Path, argv: list[str], environ: dict[str, str], conf: str, expected: str) -> None:
    assert load(tmp_path, "-regtest", *argv, environ=environ, conf=conf).rpc_user == expected


@pytest.mark.parametrize(
    ("argv", "conf", "expected"),
    [
        (["-noserver"], "", False),
        (["-server=0"], "", False),
        (["-server"], "", True),
        (["-server=1", "-noserver"], "", False),
        (["-noserver", "-server"], "", True),
        (["-noserver=0"], "", True),
        ([], "noserver=1\n", False),
        (["-server"], "server=0\n", True),
    ],
)
def test_flags_and_negation(tmp_path: Path, argv: list[str], conf: str, expected: bool) -> None:
    assert load(tmp_path, *argv, conf=conf).server is expected


@pytest.mark.parametrize(
    ("argv", "conf", "expected"),
    [
        (["-rpcauth=a", "-rpcauth=b"], "rpcauth=c\n", ("a", "b", "c")),
        (["-norpcauth"], "rpcauth=c\n", ()),
        (["-rpcauth=a", "-norpcauth", "-rpcauth=b"], "rpcauth=c\n", ("b", "c")),
        ([], "rpcauth=c\n[regtest]\nrpcauth=d\n", ("d", "c")),
    ],
    ids=["joined", "negated", "negated-then-set", "sections"],
)
def test_lists(tmp_path: Path, argv: list[str], conf: str, expected: tuple[str, ...]) -> None:
    assert load(tmp_path, "-regtest", *argv, conf=conf).rpc_auth == expected


def test_environment_lists_split_at_blanks(tmp_path: Path) -> None:
    config = load(tmp_path, environ={"CLARION_RPCALLOWIP": "10.0.0.0/8  ::1", "CLARION_NOREST": "1"})
    assert config.rpc_allow_ip == ("10.0.0.0/8", "::1")
    assert config.rest is False


def test_unknown_environment_variable_is_noted(tmp_path: Path) -> None:
    config = load(tmp_path, environ={"CLARION_NONSENSE": "1"})
    assert config.notes == ("Ignoring environment variable CLARION_NONSENSE: no such option",)


def test_includeconf_in_the_section_of_a_network_that_the_file_chooses(tmp_path: Path) -> None:
    (tmp_path / "more.conf").write_text("rpcuser=included\n")
    conf = "regtest=1\n[regtest]\nincludeconf=more.conf\n"
    assert load(tmp_path, conf=conf).rpc_user == "included"
    assert load(tmp_path, conf=conf.replace("more", "absent").replace("[regtest]", "[signet]")).rpc_user == ""


def test_includeconf(tmp_path: Path) -> None:
    (tmp_path / "more.conf").write_text("rpcuser=included\nincludeconf=ignored.conf\n")
    config = load(tmp_path, "-regtest", conf="includeconf=more.conf\n")
    assert config.rpc_user == "included"
    assert any("ignoring -includeconf=ignored.conf" in note for note in config.notes)
    assert load(tmp_path, "-noincludeconf", conf="includeconf=more.conf\n").rpc_user == ""


def test_network_only_option_in_default_section(tmp_path: Path) -> None:
    conf = "regtest=1\nrpcport=1234\n"
    with pytest.raises(ConfigError, match=r"-rpcport only applied on regtest network when in \[regtest\] section"):
        load(tmp_path, conf=conf)
    assert load(tmp_path, "-rpcport=4321", conf=conf).rpc_port == 4321
    assert load(tmp_path, conf="rpcport=1234\n").rpc_port == 1234


def test_unrecognised_section_is_a_warning(tmp_path: Path) -> None:
    config = load(tmp_path, conf="[main]\n[testnet]\n")
    assert config.warnings == (f"{tmp_path}/bitcoin.conf:2 Section [testnet] is not recognized.",)


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ("-server=1\n", "parse error on line 1: -server=1, options in configuration file must be specified without"),
        ("\nnono\n", "parse error on line 2: nono, if you intended to specify a negated option, use nono=1 instead"),
        ("rpcpassword=a#b\n", "using # in rpcpassword can be ambiguous"),
        ("conf=x\n", "conf cannot be set in the configuration file"),
        ("includeconf=absent.conf\n", "Failed to include configuration file absent.conf"),
        ("srever=1\n", r"Invalid configuration value srever: unknown option \(did you mean -server\?\)"),
    ],
    ids=["dash", "no-equals", "hash", "conf", "include", "unknown"],
)
def test_errors_in_files(tmp_path: Path, conf: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"Error reading configuration file: .*{message}"):
        load(tmp_path, conf=conf)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'Specified data directory ".*absent" does not exist'):
        load_config([f"-datadir={tmp_path}/absent"], {})
    with pytest.raises(ConfigError, match=r'specified config file ".*absent\.conf" could not be opened'):
        load_config([f"-datadir={tmp_path}", "-conf=absent.conf"], {})
    assert load_config([f"-datadir={tmp_path}", "-noconf"], {}).conf_path is None


def test_conf_in_datadir_that_nobody_reads(tmp_path: Path) -> None:
    (tmp_path / "other.conf").write_text("rpcuser=other\n")
    with pytest.raises(ConfigError, match="which is ignored, because a different configuration file"):
        load(tmp_path, "-conf=other.conf", conf="rpcuser=mine\n")
    config = load(tmp_path, "-conf=other.conf", "-allowignoredconf", conf="rpcuser=mine\n")
    assert config.rpc_user == "other"
    assert len(config.notes) == 1
