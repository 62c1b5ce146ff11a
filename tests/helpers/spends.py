"""Signed spends of the usual templates, for tests that change them afterwards.

Owns: one-input transactions with real signatures. Never: whether they are valid.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from coincurve import PrivateKey

from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.script import (
    multisig_script,
    p2pk_script,
    p2pkh_script,
    p2sh_script,
    push_data,
    witness_script,
)
from clarion.node.primitives.taproot_tree import tapleaf_hash
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.sighash import PrecomputedTxData, legacy_sighash, taproot_sighash, witness_v0_sighash
from clarion.node.script.signatures import taproot_output_key, taproot_tweak
from clarion.node.script.witness import TAPROOT_LEAF_TAPSCRIPT

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
VALUE = 50_000
KEY = PrivateKey(sha256(b"clarion test key"))
OTHER_KEY = PrivateKey(sha256(b"clarion other test key"))
THIRD_KEY = PrivateKey(sha256(b"clarion third test key"))
PUBKEY = KEY.public_key.format()
UNCOMPRESSED = KEY.public_key.format(compressed=False)
HYBRID = bytes((6 + (UNCOMPRESSED[64] & 1),)) + UNCOMPRESSED[1:]


@dataclass(frozen=True)
class Spend:
    """One input that spends one output of VALUE satoshis, in a transaction with another input and two outputs."""

    script_pubkey: bytes
    script_sig: bytes = b""
    witness: tuple[bytes, ...] = ()
    sequence: int = 0xFFFFFFFE
    lock_time: int = 0
    version: int = 2

    @property
    def tx(self) -> Transaction:
        """The spending transaction; the input is the first one."""
        own = TxIn(make_outpoint(bytes(range(32)), 7), self.script_sig, self.sequence, self.witness)
        other = TxIn(make_outpoint(bytes(range(1, 33)), 0))
        outputs = [TxOut(20_000, b"\x51"), TxOut(40_000, bytes.fromhex("0014") + bytes(20))]
        return Transaction(self.version, [own, other], outputs, self.lock_time)

    @property
    def spent(self) -> list[TxOut]:
        """The outputs that both inputs spend."""
        return [TxOut(VALUE, self.script_pubkey), TxOut(30_000, b"\x51")]

    @property
    def txdata(self) -> PrecomputedTxData:
        """Fresh shared hashes."""
        return PrecomputedTxData(self.tx, self.spent)

    def with_changes(self, **changes: object) -> "Spend":
        """Return a copy with some fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]


def sign_legacy(spend: Spend, script_code: bytes, hash_type: int = 1, key: PrivateKey = KEY) -> bytes:
    """Return the signature of the input outside witness scripts, hash type last."""
    return key.sign(legacy_sighash(spend.txdata, 0, script_code, hash_type), hasher=None) + bytes((hash_type,))


def sign_v0(spend: Spend, script_code: bytes, hash_type: int = 1, key: PrivateKey = KEY) -> bytes:
    """Return the witness v0 signature of the input, hash type last."""
    digest = witness_v0_sighash(spend.txdata, 0, script_code, VALUE, hash_type)
    return key.sign(digest, hasher=None) + bytes((hash_type,))


def p2pk(hash_type: int = 1, pubkey: bytes = PUBKEY) -> Spend:
    spend = Spend(p2pk_script(pubkey))
    return spend.with_changes(script_sig=push_data(sign_legacy(spend, spend.script_pubkey, hash_type)))


def p2pkh(hash_type: int = 1, pubkey: bytes = PUBKEY) -> Spend:
    spend = Spend(p2pkh_script(hash160(pubkey)))
    signature = sign_legacy(spend, spend.script_pubkey, hash_type)
    return spend.with_changes(script_sig=push_data(signature) + push_data(pubkey))


def p2wpkh(hash_type: int = 1, pubkey: bytes = PUBKEY) -> Spend:
    spend = Spend(witness_script(0, hash160(pubkey)))
    signature = sign_v0(spend, p2pkh_script(hash160(pubkey)), hash_type)
    return spend.with_changes(witness=(signature, pubkey))


def p2sh_p2wpkh(hash_type: int = 1, pubkey: bytes = PUBKEY) -> Spend:
    redeem = witness_script(0, hash160(pubkey))
    spend = Spend(p2sh_script(hash160(redeem)), push_data(redeem))
    signature = sign_v0(spend, p2pkh_script(hash160(pubkey)), hash_type)
    return spend.with_changes(witness=(signature, pubkey))


def p2wsh_multisig(
    hash_type: int = 1, keys: Sequence[PrivateKey] = (KEY, OTHER_KEY), signers: Sequence[PrivateKey] = (KEY, OTHER_KEY)
) -> Spend:
    script = multisig_script(len(signers), [key.public_key.format() for key in keys])
    spend = Spend(witness_script(0, sha256(script)))
    signatures = [sign_v0(spend, script, hash_type, key) for key in signers]
    return spend.with_changes(witness=(b"", *signatures, script))


def p2tr_key_path(hash_type: int = 0) -> Spend:
    internal = PUBKEY[1:]
    output = taproot_output_key(internal)
    assert output is not None
    secret = int.from_bytes(KEY.secret, "big")
    secret = secret if PUBKEY[0] == 2 else ORDER - secret
    tweaked = PrivateKey.from_int((secret + int.from_bytes(taproot_tweak(internal, b""), "big")) % ORDER)
    spend = Spend(witness_script(1, output[0]))
    digest = taproot_sighash(spend.txdata, 0, hash_type)
    assert digest is not None
    return spend.with_changes(witness=(tweaked.sign_schnorr(digest) + bytes((hash_type,) if hash_type else ()),))


def p2tr_script_path(script: bytes, *items: bytes, annex: bytes | None = None) -> Spend:
    """Return a spend of a taproot output whose only leaf is `script`, with `items` below it in the witness."""
    leaf = tapleaf_hash(TAPROOT_LEAF_TAPSCRIPT, script)
    output = taproot_output_key(PUBKEY[1:], leaf)
    assert output is not None
    control = bytes((TAPROOT_LEAF_TAPSCRIPT | output[1],)) + PUBKEY[1:]
    extra = () if annex is None else (annex,)
    return Spend(witness_script(1, output[0]), witness=(*items, script, control, *extra))


def p2tr_checksig(hash_type: int = 0) -> Spend:
    script = push_data(PUBKEY[1:]) + b"\xac"
    spend = p2tr_script_path(script)
    digest = taproot_sighash(spend.txdata, 0, hash_type, tapleaf_hash=tapleaf_hash(TAPROOT_LEAF_TAPSCRIPT, script))
    assert digest is not None
    return p2tr_script_path(script, KEY.sign_schnorr(digest) + bytes((hash_type,) if hash_type else ()))


TEMPLATES: dict[str, Callable[..., Spend]] = {
    "p2pk": p2pk,
    "p2pkh": p2pkh,
    "p2wpkh": p2wpkh,
    "p2sh-p2wpkh": p2sh_p2wpkh,
    "p2wsh-multisig": p2wsh_multisig,
    "p2tr": p2tr_key_path,
    "p2tr-checksig": p2tr_checksig,
}
"""Valid spends by name, each made by a function of the hash type."""
