"""What Tor's control port says."""

import pytest

from clarion.node.errors import PeerError
from clarion.node.net.tor.replies import MAX_LINE_BYTES, MAX_LINES, ReplyReader, parse_mapping, split_kind

# The cases of Core's torcontrol_tests.cpp for the grammar of the control-spec.
MAPPINGS = {
    'METHODS=COOKIE,SAFECOOKIE COOKIEFILE="/home/x/.tor/control_auth_cookie"': {
        "METHODS": "COOKIE,SAFECOOKIE", "COOKIEFILE": "/home/x/.tor/control_auth_cookie",
    },
    'Foo=Bar=Baz Spam="a b"': {"Foo": "Bar=Baz", "Spam": "a b"},
    r'Foo="Bar\"Baz" A=B': {"Foo": 'Bar"Baz', "A": "B"},
    r'Foo="\\\\"': {"Foo": "\\\\"},
    r'Foo="a\nb\tc\rd\q"': {"Foo": "a\nb\tc\rdq"},
    r'Foo="\1\12\123\1234\18\400\0"': {"Foo": "\1\12\123\1234\0018\0400\0"},
    "Foo=Bar OPTIONS here": {"Foo": "Bar"},
    "Foo= Bar=": {"Foo": "", "Bar": ""},
    "": {},
    'Foo="Bar': {},
    r'Foo="Bar\"': {},
    "Foo=Bar Baz": {},
    "Foo": {},
}  # fmt: skip


@pytest.mark.parametrize("text", MAPPINGS)
def test_mappings(text: str) -> None:
    assert parse_mapping(text) == MAPPINGS[text]


def test_kinds() -> None:
    assert split_kind("AUTH METHODS=NULL") == ("AUTH", "METHODS=NULL")
    assert split_kind("OK") == ("OK", "")


def test_replies_in_pieces() -> None:
    reader = ReplyReader()
    assert list(reader.receive(b"250-one\r\nx\r\n250 t")) == []
    first, second = reader.receive(b"wo\r\n650 note\n")
    assert (first.code, first.lines) == (250, ["one", "two"])
    assert (second.code, second.lines) == (650, ["note"])


def test_too_much() -> None:
    assert list(ReplyReader().receive(b"A" * MAX_LINE_BYTES + b"\n")) == []
    with pytest.raises(PeerError, match="line exceeded"):
        list(ReplyReader().receive(b"A" * (MAX_LINE_BYTES + 1)))
    assert list(ReplyReader().receive(b"250-x\n" * MAX_LINES)) == []
    with pytest.raises(PeerError, match="reply exceeded"):
        list(ReplyReader().receive(b"250-x\n" * (MAX_LINES + 1)))
