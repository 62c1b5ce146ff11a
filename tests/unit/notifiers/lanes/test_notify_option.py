"""How -notify is read."""

from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.events.events import TxConfirmed
from clarion.node.params.chain_params import select_params
from clarion.notifiers.lanes.notify_option import Delivery, parse_notify
from clarion.notifiers.lanes.transport import NotifyUrl, TransportKind
from helpers.lane_bench import ScriptedTransport

REGTEST = select_params("regtest")


def _parse(text: str) -> tuple[Delivery, NotifyUrl]:
    urls: list[NotifyUrl] = []

    def make(url: NotifyUrl) -> ScriptedTransport:
        urls.append(url)
        url.number("depth", 1, 1)
        url.flag("sure")
        return ScriptedTransport()

    kind = TransportKind(("test", "tests"), make, frozenset(("depth", "sure")), batch=7, retry_s=(1.0, 2.0), attempts=3)
    return parse_notify(text, dict.fromkeys(kind.schemes, kind), REGTEST), urls[-1]


def test_defaults_are_the_transports(tmp_path: Path) -> None:
    delivery, url = _parse("test://user:secret@host:99/a%20b")
    assert (delivery.name, delivery.target) == ("test://host:99/a%20b", "test://host:99/a%20b")
    assert (delivery.batch, delivery.retry_s, delivery.attempts, delivery.encoding) == (7, (1.0, 2.0), 3, "json")
    assert (url.host(), url.port(5), url.path, url.timeout_s) == ("host", 99, "/a b", 10.0)
    assert delivery.request.start == "now"


def test_settings_of_lane_stream_and_transport_stand_side_by_side() -> None:
    text = "tests://h?name=x&batch=2&retry=0.5,3&attempts=0&timeout=2&encoding=msgpack&after_sync=1&depth=4&sure=1"
    delivery, url = _parse(f"{text}&from=height:5&types=tx_confirmed&details=fee&min_conf=2")
    assert (delivery.name, delivery.batch, delivery.retry_s, delivery.attempts) == ("x", 2, (0.5, 3.0), 0)
    assert (delivery.encoding, delivery.after_sync, url.timeout_s) == ("msgpack", True, 2.0)
    assert (url.number("depth", 1), url.flag("sure")) == (4, True)
    assert (delivery.request.start, delivery.request.wanted.min_conf) == ("height:5", 2)
    assert delivery.request.wanted.types == {TxConfirmed}


def test_a_file_holds_long_filters_and_the_url_counts_more(tmp_path: Path) -> None:
    path = tmp_path / "filter.json"
    path.write_text('{"scripts": ["51", "52"], "min_conf": 3}')
    delivery, _ = _parse(f"test://h?filterfile={path}&min_conf=1")
    assert set(delivery.request.wanted.scripts) == {b"\x51", b"\x52"}
    assert delivery.request.wanted.min_conf == 1


def test_a_changed_filter_is_noticed_and_a_changed_start_is_not() -> None:
    one, two, three = (_parse(f"test://h?types={types}&from={start}")[0] for types, start in _VARIANTS)
    assert one.wanted == two.wanted != three.wanted


_VARIANTS = [("tx_added", "now"), ("tx_added", "start"), ("tx_removed", "now")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing://h", "no transport for 'nothing'; there are test, tests"),
        ("word", "no transport for ''"),
        ("test://h?tpyes=tx_added", r"no setting 'tpyes' \(did you mean types\?\)"),
        ("test://h?zzzzz=1", "no setting 'zzzzz'; there are addresses, "),
        ("test://h?name=a&name=b", "name is given twice"),
        ("test://h?name=a%20b", "name=a b: 1 to 200 printable"),
        ("test://h?types=nothing", "types: no such event type: 'nothing'"),
        ("test://h?batch=0", "batch=0: a number from 1 to 1000 expected"),
        ("test://h?retry=1,x", "retry=1,x: seconds expected"),
        ("test://h?retry=-1", "retry=-1: seconds expected"),
        ("test://h?timeout=0", "timeout=0: more than 0 seconds expected"),
        ("test://h?encoding=xml", "encoding=xml: json or msgpack expected"),
        ("test://h?after_sync=yes", "after_sync=yes: 0 or 1 expected"),
        ("test://h?depth=0", "depth=0: a number of at least 1 expected"),
        ("test://h?sure=2", "sure=2: 0 or 1 expected"),
        ("test://h?filterfile=/no/such", "filterfile=/no/such: "),
        ("test://h/x#y", "nothing may stand behind a #"),
        ("test://[::1", "not a URL"),
    ],
)
def test_a_slip_of_the_hand_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _parse(text)


def test_errors_never_show_a_password() -> None:
    with pytest.raises(ConfigError) as caught:
        _parse("test://user:hunter2@h?batch=x")
    assert "hunter2" not in str(caught.value)
    assert "test://h" in str(caught.value)
