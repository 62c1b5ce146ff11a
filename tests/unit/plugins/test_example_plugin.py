"""The example plugin is found through its entry point, and does what it says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clarion.node.config import load_config
from clarion.notifiers.feed import Feed
from clarion.plugins.delivery import build_notifiers
from clarion.plugins.options import plugin_options
from helpers.event_source import ListSource, make_block
from helpers.shared import PROJECT_ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plugin into a folder of its own, without a network, and return the folder."""
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(PROJECT_ROOT / "examples" / "plugin_print_blocks", source)
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--target", str(target), str(source)], capture_output=True, text=True, check=False, cwd=target
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def _visible(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(installed)


@pytest.mark.usefixtures("_visible")
def test_installed_plugin_is_found_with_its_option() -> None:
    assert [option.name for option in plugin_options([], {})] == ["printblocks"]
    assert plugin_options(["-disableplugin=print-blocks"], {}) == []


@pytest.mark.usefixtures("_visible")
def test_blocks_are_written(tmp_path: Path) -> None:
    arguments = [f"-datadir={tmp_path}", "-printblocks=blocks.txt"]
    (observer,) = build_notifiers(load_config(arguments, {}, plugin_options(arguments, {})))
    source, block = ListSource(), make_block(1, 3)
    source.connect(block)
    source.disconnect(block, bytes(32))
    for event in Feed(source).read(0, 10):
        observer.tell(event)
    shown = block.hash[::-1].hex()
    assert (tmp_path / "blocks.txt").read_text().splitlines() == [
        f"+ 7 {shown} 3 transactions, 0.00000003 BTC",
        f"- 7 {shown}",
    ]
