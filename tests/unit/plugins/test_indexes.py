"""Which indexes a configuration has."""

from pathlib import Path

import pytest

from clarion.node.config import load_config
from clarion.node.errors import ConfigError, PluginError
from clarion.plugins.indexes import build_indexes

_PLUGIN = """
from types import SimpleNamespace
from clarion.plugins import hookimpl
@hookimpl
def register_indexes(config): return [SimpleNamespace(name="mine", store_name={store_name!r}, needs_spent=False)]
"""


def names(tmp_path: Path, *options: str) -> list[str]:
    return [index.name for index in build_indexes(load_config([f"-datadir={tmp_path}", *options]))]


def test_none_without_options(tmp_path: Path) -> None:
    assert names(tmp_path) == []


def test_bundled_indexes(tmp_path: Path) -> None:
    assert names(tmp_path, "-txindex") == ["txindex"]
    assert names(tmp_path, "-txindex", "-disableplugin=txindex") == []


@pytest.mark.parametrize("store_name", ["mine", "txindex", "../x", "Mine", ""])
def test_index_of_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store_name: str) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"indexing_plugin_{store_name.encode().hex()}"
    (tmp_path / f"{name}.py").write_text(_PLUGIN.format(store_name=store_name))
    if store_name == "mine":
        assert names(tmp_path, f"-plugin={name}", "-txindex") == ["txindex", "mine"]
    else:
        with pytest.raises(PluginError, match=r"there is an index txindex already|can't name a database"):
            names(tmp_path, f"-plugin={name}", "-txindex")


@pytest.mark.parametrize("index", ["txindex", "txospenderindex"])
def test_not_beside_pruning(tmp_path: Path, index: str) -> None:
    with pytest.raises(ConfigError, match=f"Prune mode is incompatible with -{index}."):
        names(tmp_path, f"-{index}", "-prune=1")


def test_filter_types(tmp_path: Path) -> None:
    for options in (["-blockfilterindex"], ["-blockfilterindex=1"], ["-blockfilterindex=basic"]):
        assert load_config([f"-datadir={tmp_path}", *options]).block_filter_types == ("basic",)
    for options in ([], ["-blockfilterindex=0"], ["-noblockfilterindex"]):
        assert load_config([f"-datadir={tmp_path}", *options]).block_filter_types == ()
    with pytest.raises(ConfigError, match=r"Unknown -blockfilterindex value advanced\."):
        load_config([f"-datadir={tmp_path}", "-blockfilterindex=advanced"])


def test_filters_for_peers_need_the_index(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot set -peerblockfilters without -blockfilterindex\."):
        load_config([f"-datadir={tmp_path}", "-peerblockfilters"])
    config = load_config([f"-datadir={tmp_path}", "-peerblockfilters", "-blockfilterindex"])
    assert config.net.peer_block_filters


def test_all_bundled_indexes_in_the_reference_s_order(tmp_path: Path) -> None:
    options = ["-scriptindex", "-coinstatsindex", "-blockfilterindex", "-txospenderindex", "-txindex"]
    of_the_reference = ["txindex", "txospenderindex", "basic block filter index", "coinstatsindex"]
    assert names(tmp_path, *options) == [*of_the_reference, "scriptindex"]


def test_beside_pruning(tmp_path: Path) -> None:
    assert names(tmp_path, "-scriptindex", "-coinstatsindex", "-prune=1") == ["coinstatsindex", "scriptindex"]
