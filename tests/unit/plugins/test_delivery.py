"""What a configuration has delivered, and where that runs."""

from pathlib import Path

import pytest

from clarion.node.config import load_config
from clarion.node.errors import ConfigError, PluginError
from clarion.notifiers.process import EventsProcess
from clarion.notifiers.runner import InProcessEvents
from clarion.notifiers.zmq_core import CoreTopics
from clarion.plugins.delivery import build_notifiers, make_events_runner
from clarion.plugins.observers import PluginObserver

ZMQ = "-zmqpubrawtx=tcp://127.0.0.1:1"
_PLUGIN = """
from clarion.plugins import hookimpl
@hookimpl
def register_notifiers(config): return []
@hookimpl
def tip_changed(event): pass
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of an importable plugin that observes."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "observing_plugin_of_test.py").write_text(_PLUGIN)
    return "observing_plugin_of_test"


def test_nothing_is_built_without_options(tmp_path: Path) -> None:
    assert build_notifiers(load_config([f"-datadir={tmp_path}"])) == []


def test_topics_and_observers_each_have_a_notifier(tmp_path: Path, plugin: str) -> None:
    notifiers = build_notifiers(load_config([f"-datadir={tmp_path}", ZMQ, f"-plugin={plugin}"]))
    assert [type(notifier) for notifier in notifiers] == [CoreTopics, PluginObserver]
    assert [notifier.name for notifier in notifiers] == ["zmq", f"plugin {plugin}"]


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ([ZMQ], EventsProcess),
        ([ZMQ, "-eventsprocess=0"], InProcessEvents),
        ([ZMQ, "-database=sqlite://"], InProcessEvents),
        ([], InProcessEvents),
    ],
)
def test_process_runs_only_where_something_listens_to_a_log_that_it_can_read(
    options: list[str], kind: type, tmp_path: Path
) -> None:
    assert type(make_events_runner(load_config([f"-datadir={tmp_path}", *options]))) is kind


def test_wrong_plugin_is_named_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="plugin json has no hooks"):
        make_events_runner(load_config([f"-datadir={tmp_path}", "-plugin=json"]))


def test_a_lane_is_built_for_each_url_by_the_plugin_of_its_scheme(tmp_path: Path) -> None:
    options = [f"-datadir={tmp_path}", "-notify=exec:/bin/true", f"-notify=file:{tmp_path}/x.jsonl?name=x"]
    deliveries = build_notifiers(load_config(options))
    assert [each.name for each in deliveries] == ["exec:/bin/true", "x"]
    assert type(make_events_runner(load_config(options))) is EventsProcess
    with pytest.raises(ConfigError, match="no transport for 'exec'"):
        build_notifiers(load_config([*options, "-disableplugin=command"]))


def test_plugins_add_transports_but_take_none_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, scheme in (("own_transport", "pigeon"), ("taken_transport", "exec")):
        (tmp_path / f"{name}.py").write_text(_TRANSPORT.format(scheme=scheme))
    options = [f"-datadir={tmp_path}", "-notify=pigeon://loft?types=tip_changed"]
    (delivery,) = build_notifiers(load_config([*options, "-plugin=own_transport"]))
    assert delivery.name == "pigeon://loft"
    with pytest.raises(PluginError, match="plugin taken_transport: there is a transport for exec: already"):
        build_notifiers(load_config([*options, "-plugin=taken_transport"]))


_TRANSPORT = """
from clarion.notifiers.lanes.transport import TransportKind
from clarion.plugins import hookimpl
@hookimpl
def register_transports(): return [TransportKind(("{scheme}",), lambda url: object())]
"""
