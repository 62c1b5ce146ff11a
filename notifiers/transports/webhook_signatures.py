"""Signatures of webhooks as the Standard Webhooks specification has them, and the keys that make them.

Owns: reading keys, and the headers of one message. Never: HTTP.
Source: https://github.com/standard-webhooks/standard-webhooks (HMAC-SHA256 as `v1`, ed25519 as `v1a`).
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook

from clarion.node.errors import ConfigError

SECRET_PREFIX, PRIVATE_PREFIX, PUBLIC_PREFIX = "whsec_", "whsk_", "whpk_"
_SECRET_BYTES = range(24, 65)
_SEED_BYTES = 32


class Key(Protocol):
    """Signs messages."""

    def sign(self, message_id: str, timestamp: int, body: str) -> str:
        """Return the signature with its version in front, for the header `webhook-signature`."""


class SecretKey:
    """A secret that both sides know."""

    def __init__(self, text: str) -> None:
        """Raises ConfigError."""
        secret = _decode(text.removeprefix(SECRET_PREFIX))
        if len(secret) not in _SECRET_BYTES:
            raise ConfigError(f"a secret of 24 to 64 bytes expected, not {len(secret)}")
        self._webhook = Webhook(secret)

    def sign(self, message_id: str, timestamp: int, body: str) -> str:
        """Return `v1,` and the HMAC."""
        return str(self._webhook.sign(message_id, datetime.fromtimestamp(timestamp, UTC), body))


class PrivateKey:
    """A key of which the receiver knows the public half only."""

    def __init__(self, text: str) -> None:
        """Raises ConfigError."""
        seed = _decode(text.removeprefix(PRIVATE_PREFIX))
        # Some tools write the public key behind the seed.
        if len(seed) not in (_SEED_BYTES, 2 * _SEED_BYTES):
            raise ConfigError(f"an ed25519 key of 32 bytes expected, not {len(seed)}")
        self._key = Ed25519PrivateKey.from_private_bytes(seed[:_SEED_BYTES])

    @property
    def public(self) -> str:
        """The public key as receivers take it."""
        return PUBLIC_PREFIX + base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def sign(self, message_id: str, timestamp: int, body: str) -> str:
        """Return `v1a,` and the signature."""
        return "v1a," + base64.b64encode(self._key.sign(f"{message_id}.{timestamp}.{body}".encode())).decode()


def read_key(text: str) -> Key:
    """Return the key that a text holds. Raises ConfigError, which never shows it."""
    if text.startswith(PRIVATE_PREFIX):
        return PrivateKey(text)
    if text.startswith(SECRET_PREFIX):
        return SecretKey(text)
    raise ConfigError(f"keys begin with {SECRET_PREFIX} (a shared secret) or {PRIVATE_PREFIX} (an ed25519 key)")


class KeyRing:
    """The keys of one webhook: every message is signed by each, so that receivers can change over at their own time.

    Keys of a file are read again when the file changes: that is how keys are rotated without a restart.
    """

    def __init__(self, keys: Sequence[Key], path: Path | None = None) -> None:
        self._keys = list(keys)
        self._path = path
        self._stamp = (0, 0)

    def headers(self, message_id: str, timestamp: int, body: str) -> dict[str, str]:
        """Return the three headers of a message. Raises ConfigError for a file that holds no keys any more."""
        self.read()
        signatures = " ".join(key.sign(message_id, timestamp, body) for key in self._keys)
        return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": signatures}

    def read(self) -> None:
        """Read the file if it has changed. Raises ConfigError."""
        if self._path is None:
            return
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp == self._stamp:
                return
            words = self._path.read_text().split()
        except OSError as error:
            raise ConfigError(f"secretfile={self._path}: {error.strerror}") from None
        if not words:
            raise ConfigError(f"secretfile={self._path}: it holds no key")
        self._keys = [read_key(word) for word in words]
        self._stamp = stamp


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError("a key is base64 behind its prefix") from None
