"""Signatures of private keys against the reference's own test values and an RFC6979 written here."""

import hashlib
import hmac

import pytest
from coincurve import PrivateKey

from clarion.node.params.networks import main_params
from clarion.node.primitives.address import decode_secret
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.keys import pubkey_of_secret
from clarion.node.script.signatures import parse_der_lax, verify_ecdsa, verify_schnorr
from clarion.node.script.signing.private_key import recover_pubkey, sign_ecdsa, sign_recoverable, sign_schnorr
from helpers.signing import GROUP_ORDER

MESSAGE = sha256d(b"Very deterministic message")
R1, S1 = (
    "5dbbddda71772d95ce91cd2d14b592cfbc1dd0aabd6a394b6c2d377bbe59d31d",
    "14ddda21494a4e221f0824f0b8b924c43fa43c0ad57dccdaa11f81a6bd4582f6",
)
R2, S2 = (
    "52d8a32079c11e79db95af63bb9600c5b04f21a9ca33dc129c2bfa8ac9dc1cd5",
    "61d8ae5e0f6c1a16bde3719c64c2fd70e404b6428ab9a69566962e8771b5944d",
)
# Uncompressed and compressed form of two keys, from the reference's key_tests.
KEYS = [
    ("5HxWvvfubhXpYYpS3tJkw6fq9jE9j18THftkZjHHfmFiWtmAbrj", R1, S1),
    ("Kwr371tjA9u2rFSMZjTNun2PXXP3WPZu2afRHTcta6KxEUdm1vEw", R1, S1),
    ("5KC4ejrDjv152FGwP386VD1i2NYc5KkfSMyv1nGy1VGDxGHqVY3", R2, S2),
    ("L3Hq7a8FEQwJkW1M2GNKDW28546Vp5miewcCzSqUD9kCAXrJdS3g", R2, S2),
]


@pytest.mark.parametrize(("wif", "r", "s"), KEYS)
def test_reference_values(wif: str, r: str, s: str) -> None:
    key = decode_secret(wif, main_params())
    assert key is not None
    assert sign_ecdsa(key.secret, MESSAGE).hex() == f"30440220{r}0220{s}"
    recoverable = sign_recoverable(key.secret, MESSAGE, compressed=key.compressed)
    assert recoverable.hex() == f"{'20' if key.compressed else '1c'}{r}{s}"
    assert recover_pubkey(recoverable, MESSAGE) == pubkey_of_secret(key.secret, key.compressed)


def rfc6979(secret: bytes, message: bytes, extra: bytes) -> int:
    """Return the first nonce, with `extra` behind what the RFC hashes (its section 3.6)."""
    key, value = bytes(32), b"\x01" * 32
    for separator in (b"\x00", b"\x01"):
        key = hmac.digest(key, value + separator + secret + message + extra, hashlib.sha256)
        value = hmac.digest(key, value, hashlib.sha256)
    return int.from_bytes(hmac.digest(key, value, hashlib.sha256), "big")


def small_r_signature(secret: bytes, message: bytes) -> tuple[int, int, int]:
    """Return (R, S, number of nonces tried) as the reference searches for them."""
    for counter in range(1 << 16):
        nonce = rfc6979(secret, message, counter.to_bytes(32, "little") if counter else b"")
        r = int.from_bytes(PrivateKey(nonce.to_bytes(32, "big")).public_key.format()[1:], "big") % GROUP_ORDER
        if r < 1 << 255:
            break
    s = (int.from_bytes(message, "big") + r * int.from_bytes(secret, "big")) * pow(nonce, -1, GROUP_ORDER) % GROUP_ORDER
    return r, min(s, GROUP_ORDER - s), counter + 1


def test_nonces_are_counted_up_until_r_is_small() -> None:
    tries = []
    for number in range(1, 40):
        secret, message = number.to_bytes(32, "big"), sha256d(bytes((number,)))
        r, s, tried = small_r_signature(secret, message)
        signature = sign_ecdsa(secret, message)
        assert signature[3] <= 32
        assert parse_der_lax(signature) == r.to_bytes(32, "big") + s.to_bytes(32, "big")
        assert verify_ecdsa(signature, pubkey_of_secret(secret), message)
        tries.append(tried)
    assert max(tries) > 3


def test_schnorr_without_tweak() -> None:
    # The first vector of BIP340: secret 3, no auxiliary randomness, a message of zeros.
    signature = sign_schnorr((3).to_bytes(32, "big"), bytes(32))
    assert signature.hex() == (
        "e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca8215"
        "25f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0"
    )
    assert verify_schnorr(signature, pubkey_of_secret((3).to_bytes(32, "big"))[1:], bytes(32))


@pytest.mark.parametrize("secret", [bytes(32), GROUP_ORDER.to_bytes(32, "big")])
def test_secret_out_of_range(secret: bytes) -> None:
    with pytest.raises(ValueError, match="out of range"):
        sign_ecdsa(secret, MESSAGE)
    with pytest.raises(ValueError, match="out of range"):
        sign_schnorr(secret, MESSAGE)
    with pytest.raises(ValueError, match="out of range"):
        sign_recoverable(secret, MESSAGE, compressed=True)


@pytest.mark.parametrize("signature", [b"", bytes(65), b"\x1f" + b"\xff" * 64, b"\x1b" + bytes(63)])
def test_nothing_to_recover(signature: bytes) -> None:
    assert recover_pubkey(signature, MESSAGE) is None
