"""Solves a taproot output: its key path, or the smallest of the leaves that can be satisfied.

Owns: looking for keys, signatures and leaves (BIP341, BIP342). Never: outputs of other kinds, other leaf versions.
"""

from clarion.node.primitives.codec import compact_size, var_bytes
from clarion.node.primitives.miniscript.decoding import decode_script
from clarion.node.primitives.taproot_tree import TAPSCRIPT_VERSION, tapleaf_hash
from clarion.node.script.signing.creator import Creator
from clarion.node.script.signing.musig_producer import sign_musig
from clarion.node.script.signing.provider import SigningProvider, origin_of_xonly
from clarion.node.script.signing.satisfaction import Satisfier, satisfy
from clarion.node.script.signing.signature_data import SignatureData

_KEY_SIZE = 33


def find_pubkey(provider: SigningProvider, data: SignatureData, key_hash: bytes) -> bytes | None:
    """Return the public key with a hash160, None, and a note of it in `data.missing`, if nobody knows it."""
    signature = data.signatures.get(key_hash)
    if signature is not None:
        return signature.pubkey
    if key_hash in data.origins:
        return data.origins[key_hash][0]
    if key_hash in data.tap_pubkeys:
        return b"\x02" + data.tap_pubkeys[key_hash]
    pubkey = provider.pubkey(key_hash)
    if pubkey is None:
        data.missing.pubkeys.append(key_hash)
    return pubkey


def solve_taproot(
    provider: SigningProvider, creator: Creator, data: SignatureData, output_key: bytes
) -> tuple[bytes, ...] | None:
    """Return the witness that spends an output key, None if there is none yet. Adds to `data` what is learnt."""
    output = provider.taproot(output_key)
    if output is not None:
        data.learn_output(output)
    data.participants = {**provider.participants(), **data.participants}
    signature = _key_path(provider, creator, data, output_key)
    if signature:
        return (signature,)
    found: tuple[bytes, ...] | None = None
    for script, version in sorted(data.tap_scripts):
        items = _leaf(provider, creator, data, script) if version == TAPSCRIPT_VERSION else None
        if items is None:
            continue
        blocks = data.tap_scripts[script, version]
        witness = (*items, script, min(blocks, key=lambda block: (len(block), block)))
        if found is None or _size(witness) < _size(found):
            found = witness
    return found


def _key_path(provider: SigningProvider, creator: Creator, data: SignatureData, output_key: bytes) -> bytes:
    """Return the signature of the key path, empty if it can't be made."""
    internal_key = data.tap_internal_key
    if internal_key:
        data.learn_tap_origin(internal_key, origin_of_xonly(provider, internal_key))
    data.learn_tap_origin(output_key, origin_of_xonly(provider, output_key))
    signature = data.key_path_signature
    if not signature:
        root = data.tap_merkle_root
        made = creator.schnorr(provider, internal_key, merkle_root=root)
        signature = made or sign_musig(provider, creator, data, internal_key, merkle_root=root) or b""
    if not signature:
        made = creator.schnorr(provider, output_key)
        signature = made or sign_musig(provider, creator, data, output_key) or b""
    data.key_path_signature = signature
    return signature


def _leaf(provider: SigningProvider, creator: Creator, data: SignatureData, script: bytes) -> tuple[bytes, ...] | None:
    """Return the items that satisfy a leaf's script, None if that can't be done."""
    leaf_hash = tapleaf_hash(TAPSCRIPT_VERSION, script)

    def key_of_hash(key_hash: bytes) -> bytes | None:
        pubkey = find_pubkey(provider, data, key_hash)
        return None if pubkey is None else pubkey[1:_KEY_SIZE]

    def sign(pubkey: bytes) -> bytes | None:
        data.learn_tap_origin(pubkey, origin_of_xonly(provider, pubkey), leaf_hash)
        known = data.tap_signatures.get((pubkey, leaf_hash))
        if known is not None:
            return known
        signature = creator.schnorr(provider, pubkey, leaf_hash=leaf_hash)
        if signature is None:
            signature = sign_musig(provider, creator, data, pubkey, leaf_hash=leaf_hash)
        if signature is not None:
            data.tap_signatures[pubkey, leaf_hash] = signature
        return signature

    node = decode_script(script, key_of_hash, tapscript=True)
    return None if node is None else satisfy(node, Satisfier(sign, data.preimage, creator.checker))


def _size(witness: tuple[bytes, ...]) -> int:
    return len(compact_size(len(witness)) + b"".join(map(var_bytes, witness)))
