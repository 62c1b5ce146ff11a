"""Keys that sign real transactions, with signature hashes computed here and not by the code under test.

Owns: output scripts of one key and spends of them. Never: fees, blocks.
"""

import hashlib
from collections.abc import Sequence

from coincurve import PrivateKey

from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import TxIn, TxOut

GROUP_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
SIGHASH_ALL = 1


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def sha256d(data: bytes) -> bytes:
    return sha256(sha256(data))


def hash160(data: bytes) -> bytes:
    from Crypto.Hash import RIPEMD160

    return RIPEMD160.new(sha256(data)).digest()


def tagged(tag: str, data: bytes) -> bytes:
    prefix = sha256(tag.encode())
    return sha256(prefix + prefix + data)


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def size(value: int) -> bytes:
    if value < 253:
        return bytes((value,))
    return b"\xfd" + value.to_bytes(2, "little") if value < 0x10000 else b"\xfe" + value.to_bytes(4, "little")


def push(data: bytes) -> bytes:
    """Return a push of up to 520 bytes."""
    if len(data) < 76:
        return bytes((len(data),)) + data
    return b"\x4c" + bytes((len(data),)) + data if len(data) < 256 else b"\x4d" + len(data).to_bytes(2, "little") + data


def output_bytes(output: TxOut) -> bytes:
    return output.value.to_bytes(8, "little") + size(len(output.script_pubkey)) + output.script_pubkey


class Key:
    """One private key: `pkh`, `wpkh` and `tr` are the output scripts that it can spend."""

    def __init__(self, number: int) -> None:
        secret = number.to_bytes(32, "big")
        self.private = PrivateKey(secret)
        self.public = self.private.public_key.format()
        scalar = number if self.public[0] == 2 else GROUP_ORDER - number
        tweak = int.from_bytes(tagged("TapTweak", self.public[1:]), "big")
        self.tweaked = PrivateKey(((scalar + tweak) % GROUP_ORDER).to_bytes(32, "big"))
        self.pkh = b"\x76\xa9\x14" + hash160(self.public) + b"\x88\xac"
        self.wpkh = b"\x00\x14" + hash160(self.public)
        self.tr = b"\x51\x20" + self.tweaked.public_key.format()[1:]

    def script_sig(self, message: bytes) -> bytes:
        """Return the scriptSig that spends `pkh`."""
        return push(self.private.sign(message, hasher=None) + bytes((SIGHASH_ALL,))) + push(self.public)


def legacy_hash(
    version: int, inputs: Sequence[TxIn], outputs: Sequence[TxOut], index: int, code: bytes, lock_time: int
) -> bytes:
    """Return the legacy signature hash for SIGHASH_ALL."""
    parts = [u32(version), size(len(inputs))]
    for i, txin in enumerate(inputs):
        parts += [txin.prevout, size(len(code)) + code if i == index else b"\x00", u32(txin.sequence)]
    parts += [size(len(outputs)), *(output_bytes(output) for output in outputs), u32(lock_time), u32(SIGHASH_ALL)]
    return sha256d(b"".join(parts))


def segwit_hash(
    version: int,
    inputs: Sequence[TxIn],
    outputs: Sequence[TxOut],
    index: int,
    code: bytes,
    value: int,
    lock_time: int,
) -> bytes:
    """Return BIP143's signature hash for SIGHASH_ALL."""
    return sha256d(
        u32(version)
        + sha256d(b"".join(txin.prevout for txin in inputs))
        + sha256d(b"".join(u32(txin.sequence) for txin in inputs))
        + inputs[index].prevout
        + size(len(code))
        + code
        + value.to_bytes(8, "little")
        + u32(inputs[index].sequence)
        + sha256d(b"".join(output_bytes(output) for output in outputs))
        + u32(lock_time)
        + u32(SIGHASH_ALL)
    )


def taproot_hash(
    version: int,
    inputs: Sequence[TxIn],
    outputs: Sequence[TxOut],
    index: int,
    spent: Sequence[TxOut],
    lock_time: int,
) -> bytes:
    """Return BIP341's signature hash for a key path spend with SIGHASH_DEFAULT and no annex."""
    message = (
        b"\x00"
        + u32(version)
        + u32(lock_time)
        + sha256(b"".join(txin.prevout for txin in inputs))
        + sha256(b"".join(output.value.to_bytes(8, "little") for output in spent))
        + sha256(b"".join(size(len(output.script_pubkey)) + output.script_pubkey for output in spent))
        + sha256(b"".join(u32(txin.sequence) for txin in inputs))
        + sha256(b"".join(output_bytes(output) for output in outputs))
        + b"\x00"
        + u32(index)
    )
    return tagged("TapSighash", b"\x00" + message)


def sign(
    key: Key,
    spends: Sequence[tuple[OutPoint, TxOut]],
    outputs: Sequence[TxOut],
    *,
    version: int = 2,
    lock_time: int = 0,
    sequence: int = 0xFFFFFFFE,
    spoil: bool = False,
) -> list[TxIn]:
    """Return signed inputs for outputs of `key`; any other script is spent without script and witness.

    `spoil` signs another message than the right one.
    """
    bare = [TxIn(prevout, sequence=sequence) for prevout, _ in spends]
    spent = [output for _, output in spends]
    signed = []
    for index, (prevout, output) in enumerate(spends):
        script_sig = b""
        witness: tuple[bytes, ...] = ()
        if output.script_pubkey == key.pkh:
            message = legacy_hash(version, bare, outputs, index, key.pkh, lock_time)
            script_sig = key.script_sig(sha256(message) if spoil else message)
        elif output.script_pubkey == key.wpkh:
            message = segwit_hash(version, bare, outputs, index, key.pkh, output.value, lock_time)
            signature = key.private.sign(sha256(message) if spoil else message, hasher=None)
            witness = (signature + bytes((SIGHASH_ALL,)), key.public)
        elif output.script_pubkey == key.tr:
            message = taproot_hash(version, bare, outputs, index, spent, lock_time)
            witness = (key.tweaked.sign_schnorr(sha256(message) if spoil else message, bytes(32)),)
        signed.append(TxIn(prevout, script_sig, sequence, witness))
    return signed
