"""Packet encryption of BIP324: forward-secure ChaCha20 for lengths, ChaCha20-Poly1305 for contents.

Owns: key derivation, nonces and rekeying. Never: what packets mean.
Source: BIP324. The primitives are `cryptography`'s.
"""

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from clarion.node.errors import PeerError

REKEY_INTERVAL = 224
"""Packets after which a key is replaced by one that does not reveal it."""
LENGTH_SIZE = 3
HEADER_SIZE = 1
TAG_SIZE = 16
EXPANSION = LENGTH_SIZE + HEADER_SIZE + TAG_SIZE
"""By how many bytes a packet is longer than its contents."""
TERMINATOR_SIZE = 16
IGNORE_BIT = 0x80


class LengthCipher:
    """Encrypts and decrypts lengths with one key stream that goes on from packet to packet (FSChaCha20)."""

    def __init__(self, key: bytes) -> None:
        self._packets = 0
        self._epoch = 0
        self._start(key)

    def _start(self, key: bytes) -> None:
        # Counter of blocks, then the 96-bit nonce: zeros and the number of the key.
        nonce = bytes(8) + self._epoch.to_bytes(8, "little")
        self._stream = Cipher(ChaCha20(key, nonce), None).encryptor()

    def crypt(self, data: bytes) -> bytes:
        """Return `data` encrypted, or decrypted."""
        out = self._stream.update(data)
        self._packets += 1
        if self._packets == REKEY_INTERVAL:
            self._packets = 0
            self._epoch += 1
            self._start(self._stream.update(bytes(32)))
        return out


class ContentCipher:
    """Encrypts and decrypts contents, each with a tag (FSChaCha20Poly1305)."""

    def __init__(self, key: bytes) -> None:
        self._aead = ChaCha20Poly1305(key)
        self._packets = 0
        self._epoch = 0

    def _nonce(self, number: int) -> bytes:
        return number.to_bytes(4, "little") + self._epoch.to_bytes(8, "little")

    def encrypt(self, plain: bytes, aad: bytes) -> bytes:
        """Return ciphertext and tag."""
        out = self._aead.encrypt(self._nonce(self._packets), plain, aad)
        self._advance()
        return out

    def decrypt(self, sealed: bytes, aad: bytes) -> bytes | None:
        """Return the plaintext, None if the tag is wrong."""
        try:
            plain = self._aead.decrypt(self._nonce(self._packets), sealed, aad)
        except InvalidTag:
            return None
        self._advance()
        return plain

    def _advance(self) -> None:
        self._packets += 1
        if self._packets == REKEY_INTERVAL:
            key = self._aead.encrypt(self._nonce(0xFFFFFFFF), bytes(32), b"")[:32]
            self._packets = 0
            self._epoch += 1
            self._aead = ChaCha20Poly1305(key)


class PacketCiphers:
    """Both directions of one connection, from the secret that its ends share."""

    def __init__(self, secret: bytes, magic: bytes, initiating: bool) -> None:
        pseudo_random_key = hmac.digest(b"bitcoin_v2_shared_secret" + magic, secret, "sha256")

        def derive(label: bytes) -> bytes:
            # HKDF's expansion (RFC 5869) to one block.
            return hmac.new(pseudo_random_key, label + b"\x01", hashlib.sha256).digest()

        ours, theirs = (b"initiator", b"responder") if initiating else (b"responder", b"initiator")
        self._send_length = LengthCipher(derive(ours + b"_L"))
        self._send_content = ContentCipher(derive(ours + b"_P"))
        self._receive_length = LengthCipher(derive(theirs + b"_L"))
        self._receive_content = ContentCipher(derive(theirs + b"_P"))
        terminators = derive(b"garbage_terminators")
        first, second = terminators[:TERMINATOR_SIZE], terminators[TERMINATOR_SIZE:]
        self.send_terminator, self.receive_terminator = (first, second) if initiating else (second, first)
        self.session_id = derive(b"session_id")

    def encrypt(self, contents: bytes, aad: bytes = b"", *, ignore: bool = False) -> bytes:
        """Return a whole packet; with `ignore` a decoy, which the other side drops."""
        length = self._send_length.crypt(len(contents).to_bytes(LENGTH_SIZE, "little"))
        header = bytes((IGNORE_BIT if ignore else 0,))
        return length + self._send_content.encrypt(header + contents, aad)

    def decrypt_length(self, sealed: bytes) -> int:
        """Return how long the contents of the packet that begins with these three bytes are."""
        return int.from_bytes(self._receive_length.crypt(sealed), "little")

    def decrypt(self, sealed: bytes, aad: bytes = b"") -> tuple[bytes, bool]:
        """Return (contents, whether to ignore them) of what follows a length. Raises PeerError for a wrong tag."""
        plain = self._receive_content.decrypt(sealed, aad)
        if plain is None:
            raise PeerError(f"packet decryption failure ({len(sealed)} bytes)")
        return plain[HEADER_SIZE:], bool(plain[0] & IGNORE_BIT)
