"""Finding, loading and calling plugins."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from clarion.node.errors import ConfigError, DecodeError, PluginError
from clarion.node.options.option import Category, Kind, Option
from clarion.plugins import hookimpl
from clarion.plugins.manager import BUNDLED, Plugins, load_plugins
from clarion.plugins.options import plugin_options

_FEE_OPTION = Option("feealarm", Kind.NUMBER, Category.CLARION, "Tell when fees rise above this")


class WithOption:
    """Adds an option."""

    @hookimpl
    def register_options(self) -> list[Option]:
        """Return one."""
        return [_FEE_OPTION]


class Misspelt:
    """Implements a hook that does not exist."""

    @hookimpl
    def block_conected(self, event: object) -> None:
        """Never called."""


class WrongArgument:
    """Asks for an argument that the hook does not have."""

    @hookimpl
    def block_connected(self, blk: object) -> None:
        """Never called."""


class Wrapper:
    """Tries to wrap the hooks of others."""

    @hookimpl(wrapper=True)
    def block_connected(self, event: object) -> object:
        """Never called."""
        return (yield)


class Raising:
    """Fails to register."""

    @hookimpl
    def register_options(self) -> list[Option]:
        """Raise."""
        raise ZeroDivisionError("no options today")


class Misreading:
    """Passes on what one of the node's own functions raises, which names no option."""

    @hookimpl
    def register_options(self) -> list[Option]:
        raise DecodeError("no address")


class Refusing:
    """Does not like its configuration."""

    @hookimpl
    def register_options(self) -> list[Option]:
        """Raise."""
        raise ConfigError("-feealarm needs a number")


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        (Misspelt, "plugin p: there is no hook 'block_conected' (did you mean 'block_connected'?)"),
        (WrongArgument, "blk"),
        (Wrapper, "block_connected is a wrapper"),
        (SimpleNamespace, "has no hooks"),
    ],
)
def test_unfit_plugin_is_refused_with_its_reason(plugin: type, words: str) -> None:
    with pytest.raises(PluginError) as caught:
        Plugins().add("p", plugin)
    assert words in str(caught.value)


@pytest.mark.parametrize("version", ["1", "1.0", None])
def test_plugin_for_these_hooks_is_loaded(version: str | None) -> None:
    plugin = WithOption()
    plugin.clarion_hook_api = version  # type: ignore[attr-defined]
    Plugins().add("p", plugin)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2.0", "is for version 2.0 of the hooks; this program has version 1.0"),
        ("1.1", "is for version 1.1"),
        ("0.9", "is for version 0.9"),
        ("new", "a version such as"),
    ],
)
def test_plugin_for_other_hooks_is_refused(version: str, words: str) -> None:
    plugin = WithOption()
    plugin.clarion_hook_api = version  # type: ignore[attr-defined]
    with pytest.raises(PluginError, match=words):
        Plugins().add("p", plugin)


def test_registration_collects_from_all_plugins() -> None:
    plugins = Plugins()
    plugins.add("one", WithOption)
    plugins.add("two", WithOption())
    assert list(plugins.collect("register_options")) == [("one", _FEE_OPTION), ("two", _FEE_OPTION)]


@pytest.mark.parametrize(
    ("plugin", "error", "words"),
    [
        (Raising, PluginError, "plugin p: register_options failed: ZeroDivisionError: no options today"),
        (Refusing, ConfigError, "-feealarm needs a number"),
        (Misreading, PluginError, "plugin p: register_options failed: DecodeError: no address"),
    ],
)
def test_failing_registration_stops_the_start(plugin: type, error: type[Exception], words: str) -> None:
    plugins = Plugins()
    plugins.add("p", plugin)
    with pytest.raises(error) as caught:
        plugins.options()
    assert str(caught.value) == words


class Configured:
    """Keeps what it is given."""

    given: object = None

    @hookimpl
    def configure(self, config: object) -> None:
        """Keep it."""
        self.given = config


def test_every_plugin_gets_the_configuration() -> None:
    plugins, one = Plugins(), Configured()
    plugins.add("one", one)
    plugins.configure("the configuration")  # type: ignore[arg-type]
    assert one.given == "the configuration"


def test_each_call_makes_its_own_manager() -> None:
    load_plugins().add("p", WithOption)
    assert "p" not in load_plugins().names


def test_bundled_plugins_can_be_left_out() -> None:
    assert "zmq" in load_plugins().names
    assert "zmq" not in load_plugins(disabled=["zmq"]).names


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return a function that makes an importable module of a text and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text: str) -> str:
        name = f"plugin_of_test_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return make


_HOOK = "from clarion.plugins import hookimpl\n{0}@hookimpl\n{0}def tip_changed({1}event): pass\n"


@pytest.mark.parametrize("path", ["{}", "{}:Inner"])
def test_plugin_by_path(module: Callable[[str], str], path: str) -> None:
    text = _HOOK.format("", "") + "class Inner:\n    @hookimpl\n    def tip_changed(self, event): pass\n"
    name = path.format(module(text))
    plugins = load_plugins([name, name])
    assert plugins.names == [*BUNDLED, name]
    assert plugins.implements(name, "tip_changed")


@pytest.mark.parametrize("path", ["no_such_module", "{}:Missing", "{}"])
def test_plugin_that_does_not_load_is_named(module: Callable[[str], str], path: str) -> None:
    name = path.format(module("raise RuntimeError('broken')" if path == "{}" else ""))
    with pytest.raises(PluginError, match=f"plugin {name} can't be loaded: "):
        load_plugins([name])


def test_options_of_plugins_on_the_command_line(module: Callable[[str], str]) -> None:
    name = module(
        "from clarion.node.options.option import Category, Kind, Option\n"
        "from clarion.plugins import hookimpl\n"
        "@hookimpl\n"
        "def register_options():\n"
        "    return [Option('feealarm', Kind.NUMBER, Category.CLARION, 'Help')]\n"
    )
    assert [option.name for option in plugin_options(["-server", f"--plugin={name}"], {})] == ["feealarm"]
    assert [option.name for option in plugin_options([], {"CLARION_PLUGIN": name})] == ["feealarm"]
    assert plugin_options([f"-plugin={name}", f"-disableplugin={name}"], {}) == []
