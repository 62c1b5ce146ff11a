"""Signatures and keys of webhooks."""

import base64
import os
import time
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks import Webhook

from clarion.node.errors import ConfigError
from clarion.notifiers.transports.webhook_signatures import KeyRing, PrivateKey, SecretKey, read_key

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PRIVATE = "whsk_" + base64.b64encode(bytes(32)).decode()


def test_the_specifications_own_example_is_signed_as_it_says() -> None:
    body = '{"test": 2432232314}'
    signature = SecretKey(SECRET).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secrets", [[SECRET], [OTHER, SECRET], [SECRET, OTHER], [PRIVATE, SECRET]])
def test_a_receiver_with_any_of_the_keys_accepts(secrets: list[str]) -> None:
    ring = KeyRing([read_key(each) for each in secrets])
    headers = ring.headers("a.1.0", int(time.time()), '{"a": 1}')
    assert Webhook(SECRET).verify('{"a": 1}', headers) == {"a": 1}
    assert len(headers["webhook-signature"].split(" ")) == len(secrets)


def test_the_public_half_of_an_ed25519_key_verifies() -> None:
    key = PrivateKey(PRIVATE)
    version, signature = key.sign("a.1.0", 5, "body").split(",")
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public.removeprefix("whpk_")))
    public.verify(base64.b64decode(signature), b"a.1.0.5.body")
    assert version == "v1a"
    with pytest.raises(InvalidSignature):
        public.verify(base64.b64decode(signature), b"a.1.0.6.body")


def test_keys_of_a_file_are_rotated_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{SECRET}\n")
    ring = KeyRing([], path)
    assert len(ring.headers("a", 1, "")["webhook-signature"].split()) == 1
    path.write_text(f"{OTHER}\n{SECRET}\n")
    os.utime(path, ns=(1, 1))
    assert len(ring.headers("a", 1, "")["webhook-signature"].split()) == 2
    path.write_text("")
    with pytest.raises(ConfigError, match="it holds no key"):
        ring.headers("a", 1, "")
    path.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        ring.headers("a", 1, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hunter2", "keys begin with whsec_"),
        ("whsec_!!!", "base64 behind its prefix"),
        ("whsec_YWJj", "24 to 64 bytes expected, not 3"),
        ("whsk_YWJj", "ed25519 key of 32 bytes expected, not 3"),
    ],
)
def test_a_wrong_key_is_refused_without_showing_it(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_key(text)
    assert text not in str(caught.value)
