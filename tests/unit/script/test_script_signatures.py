"""Signatures and keys as consensus accepts them, and the forms that policy demands."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from coincurve import PrivateKey

from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.script.encoding import is_strict_der
from clarion.node.script.signatures import (
    ECDSA,
    KnownKeys,
    has_low_s,
    is_valid_pubkey,
    is_valid_xonly_pubkey,
    parse_der_lax,
    serialize_pubkey,
    verify_ecdsa,
    verify_prepared,
    verify_schnorr,
)
from helpers.spends import HYBRID, KEY, ORDER, PUBKEY, UNCOMPRESSED

DIGEST = sha256(b"message")
SIGNATURE = KEY.sign(DIGEST, hasher=None)


def _numbers(signature: bytes) -> tuple[int, int]:
    compact = parse_der_lax(signature)
    assert compact is not None
    return int.from_bytes(compact[:32], "big"), int.from_bytes(compact[32:], "big")


def _der(r: bytes, s: bytes) -> bytes:
    body = b"\x02" + bytes((len(r),)) + r + b"\x02" + bytes((len(s),)) + s
    return b"\x30" + bytes((len(body),)) + body


def _unsigned(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _signed(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big")


R, S = _numbers(SIGNATURE)
HIGH_S = _der(_signed(R), _signed(ORDER - S))


@pytest.mark.parametrize("pubkey", [PUBKEY, UNCOMPRESSED, HYBRID], ids=["compressed", "uncompressed", "hybrid"])
def test_all_forms_of_a_key_verify(pubkey: bytes) -> None:
    assert verify_ecdsa(SIGNATURE, pubkey, DIGEST)
    assert not verify_ecdsa(SIGNATURE, pubkey, sha256(b"other"))
    assert serialize_pubkey(pubkey, compressed=True) == PUBKEY
    assert serialize_pubkey(pubkey, compressed=False) == UNCOMPRESSED


@pytest.mark.parametrize(
    "pubkey",
    [b"", bytes(33), b"\x02" + b"\xff" * 32, PUBKEY[:32], PUBKEY + b"\0", bytes((HYBRID[0] ^ 1,)) + HYBRID[1:]],
)
def test_what_is_no_key_verifies_nothing(pubkey: bytes) -> None:
    assert not verify_ecdsa(SIGNATURE, pubkey, DIGEST)
    assert not is_valid_pubkey(pubkey)
    assert serialize_pubkey(pubkey, compressed=True) is None


def verify_ecdsa_strict(signature: bytes, pubkey: bytes, digest: bytes, low_s: bool) -> bool:
    key = KnownKeys().full(pubkey)
    return key is not None and verify_prepared((ECDSA, signature, key[1], digest), low_s)


def test_known_keys_are_bounded() -> None:
    keys = KnownKeys(capacity=2)
    secrets = [PrivateKey(bytes((number,)) * 32).public_key.format() for number in range(1, 9)]
    for pubkey in secrets * 2:
        entry = keys.full(pubkey)
        assert entry is not None
        assert entry[0] == hash160(pubkey)
        assert keys.full(pubkey) is entry
        assert keys.xonly(pubkey[1:]) is keys.xonly(pubkey[1:])
    assert keys.full(b"\x02" + b"\xff" * 32) is None
    assert keys.xonly(b"\xff" * 32) is None
    assert keys.xonly(b"") is None


def test_high_s_verifies_but_is_not_low() -> None:
    assert verify_ecdsa(HIGH_S, PUBKEY, DIGEST)
    assert has_low_s(SIGNATURE)
    assert not has_low_s(HIGH_S)
    assert verify_ecdsa_strict(HIGH_S, PUBKEY, DIGEST, False)
    assert not verify_ecdsa_strict(HIGH_S, PUBKEY, DIGEST, True)


LAX = {
    "bytes behind S": SIGNATURE + b"\x01\x02",
    "wrong outer length": b"\x30\x01" + SIGNATURE[2:],
    "long outer length": b"\x30\x82\xff\xff" + SIGNATURE[2:],
    "padded numbers": _der(bytes(5) + _unsigned(R), bytes(3) + _unsigned(S)),
    "numbers without sign byte": _der(_unsigned(R), _unsigned(ORDER - S)),
    "long lengths": b"\x30\x00\x02\x81"
    + bytes((len(_unsigned(R)),))
    + _unsigned(R)
    + b"\x02\x83\0\0"
    + bytes((len(_unsigned(S)),))
    + _unsigned(S),
}


@pytest.mark.parametrize("name", LAX)
def test_lax_der_verifies_but_is_not_strict(name: str) -> None:
    assert verify_ecdsa(LAX[name], PUBKEY, DIGEST)
    assert not is_strict_der(LAX[name] + b"\x01")
    assert not verify_ecdsa_strict(LAX[name], PUBKEY, DIGEST, False)


NO_SIGNATURES = {
    "empty": b"",
    "tag only": b"\x30",
    "wrong tag": b"\x31" + SIGNATURE[1:],
    "R has no tag": SIGNATURE[:2] + b"\x03" + SIGNATURE[3:],
    "R is cut off": SIGNATURE[:20],
    "S is missing": SIGNATURE[: 4 + SIGNATURE[3]],
    "S is cut off": SIGNATURE[:-1],
    "length of four bytes": b"\x30\x00\x02\x84\x01\x00\x00\x00" + bytes(40),
    "length bytes cut off": b"\x30\x00\x02\x85\x00",
    "outer length cut off": b"\x30\x85\x00",
}


@pytest.mark.parametrize("name", NO_SIGNATURES)
def test_what_is_no_signature(name: str) -> None:
    assert parse_der_lax(NO_SIGNATURES[name]) is None
    assert not verify_ecdsa(NO_SIGNATURES[name], PUBKEY, DIGEST)
    assert not has_low_s(NO_SIGNATURES[name])


@pytest.mark.parametrize(("r", "s"), [(ORDER, S), (R, ORDER), (2**256, S), (0, S), (R, 0)])
def test_numbers_outside_the_group_parse_and_never_verify(r: int, s: int) -> None:
    signature = _der(_signed(r), _signed(s))
    assert parse_der_lax(signature) is not None
    assert not verify_ecdsa(signature, PUBKEY, DIGEST)
    assert has_low_s(signature)


@pytest.mark.parametrize("change", range(len(SIGNATURE) * 8))
def test_strict_verification_implies_strict_encoding(change: int) -> None:
    changed = bytearray(SIGNATURE)
    changed[change // 8] ^= 1 << (change % 8)
    strict = verify_ecdsa_strict(bytes(changed), PUBKEY, DIGEST, False)
    assert not strict or is_strict_der(bytes(changed) + b"\x01")


def test_strict_der() -> None:
    assert is_strict_der(SIGNATURE + b"\x01")
    assert is_strict_der(HIGH_S + b"\x01")
    assert not is_strict_der(SIGNATURE)
    assert not is_strict_der(b"")


def test_schnorr_sizes() -> None:
    signature = KEY.sign_schnorr(DIGEST)
    assert verify_schnorr(signature, PUBKEY[1:], DIGEST)
    assert not verify_schnorr(signature + b"\0", PUBKEY[1:], DIGEST)
    assert not verify_schnorr(signature, PUBKEY, DIGEST)
    assert is_valid_xonly_pubkey(PUBKEY[1:])
    assert not is_valid_xonly_pubkey(b"\xff" * 32)


def test_threads_do_not_share_buffers() -> None:
    def check(seed: int) -> bool:
        key = PrivateKey(sha256(bytes((seed,))))
        public = key.public_key.format()
        signature, schnorr = key.sign(DIGEST, hasher=None), key.sign_schnorr(DIGEST)
        return all(
            verify_ecdsa(signature, public, DIGEST) and verify_schnorr(schnorr, public[1:], DIGEST) for _ in range(200)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(check, range(1, 17)))
