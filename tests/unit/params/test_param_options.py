"""The options that change a network's parameters."""

import pytest

from clarion.node.errors import ConfigError
from clarion.node.params.chain_params import (
    parse_activation_heights,
    parse_signet_challenge,
    parse_vbparams,
    select_params,
)


def test_activation_heights_are_set() -> None:
    heights = parse_activation_heights(["bip34@2", "dersig@102", "cltv@0", "csv@432", "segwit@5"])
    params = select_params("regtest", activation_heights=heights)
    found = [params.buried_height(name) for name in ("bip34", "bip66", "bip65", "csv", "segwit")]
    assert found == [2, 102, 0, 432, 5]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("csv", "Invalid format (csv) for -testactivationheight=name@height."),
        ("csv@", "Invalid height value (csv@) for -testactivationheight=name@height."),
        ("csv@-1", "Invalid height value (csv@-1) for -testactivationheight=name@height."),
        ("csv@2147483647", "Invalid height value (csv@2147483647) for -testactivationheight=name@height."),
        ("csv@+1", "Invalid height value (csv@+1) for -testactivationheight=name@height."),
        ("taproot@1", "Invalid name (taproot@1) for -testactivationheight=name@height."),
    ],
)
def test_bad_activation_height_is_named(value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_activation_heights([value])
    assert str(caught.value) == message


def test_vbparams_change_the_deployment() -> None:
    params = select_params("regtest", vbparams=parse_vbparams(["testdummy:-1:9223372036854775807:432"]))
    deployment = params.deployments["testdummy"]
    assert (deployment.start_time, deployment.timeout, deployment.min_activation_height) == (-1, 2**63 - 1, 432)
    assert (deployment.bit, deployment.period) == (28, 144)


def test_vbparams_without_height_reset_it() -> None:
    assert parse_vbparams(["testdummy:1:2"])["testdummy"].min_activation_height == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("testdummy:1", "Version bits parameters malformed, expecting deployment:start:end[:min_activation_height]"),
        ("testdummy:x:2", "Invalid nStartTime (x)"),
        ("testdummy:1:9223372036854775808", "Invalid nTimeout (9223372036854775808)"),
        ("testdummy:1:2:", "Invalid min_activation_height ()"),
        ("taproot:1:2", "Invalid deployment (taproot)"),
    ],
)
def test_bad_vbparams_are_named(value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_vbparams([value])
    assert str(caught.value) == message


def test_custom_signet_has_its_own_message_start() -> None:
    params = select_params("signet", signet_challenge=bytes.fromhex("51"))
    # The first bytes of the double SHA-256 of 0151, the length-prefixed challenge.
    assert params.magic.hex() == "54d26fbd"
    assert params.signet_challenge == b"\x51"
    assert (params.minimum_chainwork, params.assume_valid, params.dns_seeds) == (0, None, ())
    assert params.genesis.hash == select_params("signet").genesis.hash


def test_signet_seeds_replace_the_default() -> None:
    assert select_params("signet", signet_seeds=["a.example:1"]).dns_seeds == ("a.example:1",)
    assert len(select_params("signet").dns_seeds) == 2


def test_signet_challenge_is_one_hex_value() -> None:
    assert parse_signet_challenge([]) is None
    assert parse_signet_challenge(["51aE"]) == b"\x51\xae"
    with pytest.raises(ConfigError, match="cannot be multiple values"):
        parse_signet_challenge(["51", "52"])
    with pytest.raises(ConfigError, match="must be hex, not '5g'"):
        parse_signet_challenge(["5g"])


def test_regtest_switches() -> None:
    params = select_params("regtest", fastprune=True, enforce_bip94=True)
    assert (params.prune_after_height, params.enforce_bip94) == (100, True)
    assert (select_params("regtest").prune_after_height, select_params("regtest").enforce_bip94) == (1000, False)


def test_unknown_network_is_refused() -> None:
    with pytest.raises(ConfigError, match="Unknown chain moon"):
        select_params("moon")
