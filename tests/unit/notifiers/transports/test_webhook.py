"""Webhooks against a real HTTP server: delivery, what answers mean, redirects, private addresses, TLS."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Transport
from clarion.notifiers.transports import http_post, public_address
from clarion.notifiers.transports.http_post import HttpAnswer
from clarion.notifiers.transports.webhook import KIND, MAX_RETRY_AFTER_S, SLOW_DOWN_S, retry_after_s
from helpers.lane_bench import messages, url_of
from helpers.webhook_server import Answer, Posted, WebhookServer, own_certificate

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def server() -> Iterator[WebhookServer]:
    with WebhookServer() as running:
        yield running


def _webhook(server: WebhookServer, **settings: str) -> Transport:
    made = KIND.make(url_of(server.url, **{"secret": SECRET, "private": "1", **settings}))
    made.open()
    return made


def _answers(*found: Answer) -> Callable[[Posted], Answer]:
    left = list(found)
    return lambda posted: left.pop(0) if left else (204, {})


def test_each_event_is_posted_signed_and_in_the_specifications_form(server: WebhookServer) -> None:
    hook = _webhook(server)
    sent = messages(3, body=b'{"height":5}')
    hook.send(sent)
    hook.close()
    for message, posted in zip(sent, server.got, strict=True):
        value = Verifier(SECRET).verify(posted.body, posted.headers)
        assert value == {"type": "tip_changed", "timestamp": "2023-11-14T22:13:20Z", "data": {"height": 5}}
        assert (posted.id, posted.headers["content-type"], posted.path) == (message.id, "application/json", "/hook")
    assert len({posted.connection for posted in server.got}) == 1


def test_the_receivers_own_query_is_kept_apart(server: WebhookServer) -> None:
    hook = _webhook(server, query="token=a&b=c")
    hook.send(messages(1))
    hook.close()
    assert server.got[0].path == "/hook?token=a&b=c"


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_status_of_success_means_delivered(server: WebhookServer, status: int) -> None:
    server.answer = lambda posted: (status, {})
    hook = _webhook(server)
    hook.send(messages(2))
    hook.close()
    assert len(server.got) == 2


@pytest.mark.parametrize(
    ("answer", "retry_after", "ends"),
    [
        ((400, {}), None, False),
        ((500, {}), None, False),
        ((301, {"location": "/other"}), None, False),
        ((410, {}), None, True),
        ((429, {}), SLOW_DOWN_S, False),
        ((429, {"retry-after": "120"}), 120, False),
        ((502, {}), SLOW_DOWN_S, False),
        ((504, {"retry-after": "7"}), 7, False),
        ((503, {"retry-after": "soon"}), SLOW_DOWN_S, False),
    ],
)
def test_what_another_status_means(server: WebhookServer, answer: Answer, retry_after: float, ends: bool) -> None:
    server.answer = _answers((204, {}), answer)
    hook = _webhook(server)
    with pytest.raises(DeliveryError, match=f"status {answer[0]}") as caught:
        hook.send(messages(3))
    hook.close()
    error = caught.value
    assert (error.sent, error.retry_after_s, error.ends_lane, error.permanent) == (1, retry_after, ends, False)


def test_a_date_to_come_back_at_counts_from_now() -> None:
    answer = HttpAnswer(429, {"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, b"")
    assert retry_after_s(answer, 1_700_000_000.0) == 10
    assert retry_after_s(answer, 1_800_000_000.0) == 0
    assert retry_after_s(HttpAnswer(429, {"retry-after": "9" * 30}, b""), 0) == MAX_RETRY_AFTER_S


def test_a_receiver_that_closed_the_connection_meanwhile_is_connected_to_again(server: WebhookServer) -> None:
    server.answer = _answers((204, {"connection": "close"}))
    hook = _webhook(server)
    hook.send(messages(2))
    hook.close()
    assert len({posted.connection for posted in server.got}) == 2


@pytest.mark.parametrize("status", [307, 308])
def test_redirects_that_keep_the_method_are_followed_where_that_is_asked_for(
    server: WebhookServer, status: int
) -> None:
    with WebhookServer() as other:
        server.answer = lambda posted: (status, {"location": f"http://127.0.0.1:{other.port}/new"})
        plain = _webhook(server)
        with pytest.raises(DeliveryError, match=f"status {status}"):
            plain.send(messages(1))
        plain.close()
        hook = _webhook(server, redirects="1")
        hook.send(messages(2))
        hook.close()
        assert [(posted.path, posted.id) for posted in other.got] == [("/new", each.id) for each in messages(2)]
        Verifier(SECRET).verify(other.got[0].body, other.got[0].headers)


@pytest.mark.parametrize(
    ("location", "message"),
    [("/hook", "more than 3 redirects"), ("file:///etc/passwd", "not as safe"), ("ftp://a/", "not as safe")],
)
def test_redirects_that_lead_nowhere_are_errors(server: WebhookServer, location: str, message: str) -> None:
    server.answer = lambda posted: (308, {"location": location})
    hook = _webhook(server, redirects="3")
    with pytest.raises(DeliveryError, match=message):
        hook.send(messages(1))
    hook.close()


def test_private_addresses_are_refused_before_anything_is_sent(server: WebhookServer) -> None:
    hook = _webhook(server, private="0")
    with pytest.raises(DeliveryError, match=r"127\.0\.0\.1, which is not on the internet"):
        hook.send(messages(1))
    assert server.got == []


def test_private_addresses_are_refused_behind_a_redirect_too(
    server: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_address, "is_public", lambda address: str(address) == "127.0.0.1")
    server.answer = lambda posted: (307, {"location": f"http://127.0.0.2:{server.port}/inner"})
    hook = _webhook(server, private="0", redirects="1")
    with pytest.raises(DeliveryError, match=r"127\.0\.0\.2, which is not on the internet"):
        hook.send(messages(1))
    hook.close()
    assert [posted.path for posted in server.got] == ["/hook"]


def test_a_name_is_resolved_once_so_that_it_can_not_change_after_it_was_judged(
    server: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def first_public(host: str, port: int, *, allow_private: bool) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(http_post, "resolve", first_public)
    hook = KIND.make(url_of(server.url.replace("127.0.0.1", "shop.invalid"), secret=SECRET))
    hook.send(messages(1))
    hook.close()
    assert asked == ["shop.invalid"]
    assert server.got[0].headers["host"] == f"shop.invalid:{server.port}"


def test_a_receiver_that_does_not_come_to_an_end_is_cut_off(server: WebhookServer) -> None:
    server.hang = threading.Event()
    url = url_of(server.url, secret=SECRET, private="1")
    hook = KIND.make(type(url)(url.parts, url.settings, 0.2))
    started = time.monotonic()
    with pytest.raises(DeliveryError, match=r"no answer within 0\.2 s"):
        hook.send(messages(1))
    hook.close()
    assert time.monotonic() - started < 15


def test_nobody_there_is_an_error_that_says_so() -> None:
    with WebhookServer() as server:
        hook = _webhook(server)
    with pytest.raises(DeliveryError, match="Connection refused"):
        hook.send(messages(1))


def test_tls_is_verified(tmp_path: Path) -> None:
    context, certificate = own_certificate(tmp_path)
    with WebhookServer(tls=context) as server:
        hook = _webhook(server, cafile=str(certificate))
        hook.send(messages(2))
        hook.close()
        assert len(server.got) == 2
        stranger = _webhook(server)
        with pytest.raises(DeliveryError, match=r"(?i)certificate.verify.failed"):
            stranger.send(messages(1))
        named = KIND.make(
            url_of(server.url.replace("127.0.0.1", "localhost"), secret=SECRET, private="1", cafile=str(certificate))
        )
        with pytest.raises(DeliveryError, match=r"(?i)hostname|certificate"):
            named.send(messages(1))


@pytest.mark.parametrize(
    ("url", "settings", "message"),
    [
        ("webhook+https:///x", {"secret": SECRET}, "a host is missing"),
        ("webhook+https://h:x/", {"secret": SECRET}, "the port is no number"),
        ("webhook+https://u:p@h/", {"secret": SECRET}, "not by user and password"),
        ("webhook+https://h/", {}, "either secret= or secretfile= is needed"),
        ("webhook+https://h/", {"secret": SECRET, "secretfile": "x"}, "either secret= or secretfile="),
        ("webhook+https://h/", {"secret": "abc"}, "keys begin with whsec_"),
        ("webhook+https://h/", {"secretfile": "/no/such"}, "secretfile=/no/such: No such file"),
        ("webhook+https://h/", {"secret": SECRET, "cafile": "/no/such"}, "cafile=/no/such"),
    ],
)
def test_a_wrong_setting_stops_the_start(url: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        KIND.make(url_of(url, **settings))
