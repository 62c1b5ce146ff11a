"""From a script back to the descriptor that describes it best.

Owns: the reference's `desc` of outputs, with and without knowledge of keys and scripts. Never: parsing descriptors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from clarion.node.primitives.address import AddressFormat, AddressPrefixes, encode_address
from clarion.node.primitives.descriptor_checksum import add_checksum
from clarion.node.primitives.hashes import hash160, ripemd160
from clarion.node.primitives.keys import is_valid_xonly
from clarion.node.primitives.miniscript.decoding import decode_script
from clarion.node.primitives.miniscript.node import to_text
from clarion.node.primitives.templates import ScriptType, solve


class ScriptContext(Enum):
    """Where an expression stands."""

    TOP = 0
    P2SH = 1
    P2WPKH = 2
    P2WSH = 3
    P2TR = 4


@dataclass(frozen=True, slots=True)
class SpendInfo:
    """What is known of keys and scripts behind hashes.

    `pubkeys`, `origins` (fingerprint and path, as between the brackets) by hash160 of the key, `scripts` by hash160 of
    the script, `internal_keys` (x-only) by x-only output key.
    """

    pubkeys: Mapping[bytes, bytes] = field(default_factory=dict)
    origins: Mapping[bytes, str] = field(default_factory=dict)
    scripts: Mapping[bytes, bytes] = field(default_factory=dict)
    internal_keys: Mapping[bytes, bytes] = field(default_factory=dict)


_NOTHING = SpendInfo()
_BARE = (ScriptContext.TOP, ScriptContext.P2SH)
_LEGACY = (ScriptContext.TOP, ScriptContext.P2SH, ScriptContext.P2WSH)


def infer_descriptor(script: bytes, network: AddressFormat, info: SpendInfo | None = None) -> str:
    """Return the descriptor of an output's script with its checksum, as the reference's `desc`. Never raises."""
    if info is None:
        return _infer_cached(script, AddressPrefixes.of(network))
    return add_checksum(_infer(script, ScriptContext.TOP, info) or _opaque(script, network))


@lru_cache(maxsize=1 << 16)
def _infer_cached(script: bytes, prefixes: AddressPrefixes) -> str:
    return add_checksum(_infer(script, ScriptContext.TOP, _NOTHING) or _opaque(script, prefixes))


def _opaque(script: bytes, network: AddressFormat) -> str:
    address = encode_address(script, network)
    return f"raw({script.hex()})" if address is None else f"addr({address})"


def _infer(script: bytes, context: ScriptContext, info: SpendInfo) -> str | None:
    """Return an expression that says how the script is spent, None if what is known does not tell."""
    kind, data, number = solve(script)
    if kind is ScriptType.PUBKEY and context in _LEGACY:
        return _call("pk", _key(data[0], context, info))
    if kind is ScriptType.MULTISIG and context in _LEGACY:
        keys = [_key(key, context, info) for key in data]
        return None if None in keys else f"multi({number},{','.join(map(str, keys))})"
    if kind is ScriptType.PUBKEYHASH and context in _LEGACY:
        return _call("pkh", _hashed_key(data[0], context, info))
    if kind is ScriptType.WITNESS_V0_KEYHASH and context in _BARE:
        return _call("wpkh", _hashed_key(data[0], ScriptContext.P2WPKH, info))
    if kind is ScriptType.SCRIPTHASH and context is ScriptContext.TOP:
        return _call("sh", _hashed_script(data[0], ScriptContext.P2SH, info))
    if kind is ScriptType.WITNESS_V0_SCRIPTHASH and context in _BARE:
        return _call("wsh", _hashed_script(ripemd160(data[0]), ScriptContext.P2WSH, info))
    if kind is ScriptType.WITNESS_V1_TAPROOT and context is ScriptContext.TOP:
        internal_key = info.internal_keys.get(data[0])
        if internal_key is not None:
            return _call("tr", _xonly_key(internal_key, info))
        return _call("rawtr", _xonly_key(data[0], info)) if is_valid_xonly(data[0]) else None
    return _miniscript(script, info) if context is ScriptContext.P2WSH else None


def _miniscript(script: bytes, info: SpendInfo) -> str | None:
    node = decode_script(script, info.pubkeys.get)
    if node is None or not node.is_sane:
        return None
    return to_text(node, lambda key: _origin((hash160(key),), info) + key.hex())


def _call(name: str, argument: str | None) -> str | None:
    return None if argument is None else f"{name}({argument})"


def _key(key: bytes, context: ScriptContext, info: SpendInfo) -> str | None:
    # Hybrid keys have no place in descriptors, uncompressed ones none under segwit.
    compressed = key[0] in (2, 3)
    if not compressed and (key[0] != 4 or context not in _BARE):
        return None
    return _origin((hash160(key),), info) + key.hex()


def _xonly_key(key: bytes, info: SpendInfo) -> str:
    if not info.origins:
        return key.hex()
    return _origin((hash160(b"\x02" + key), hash160(b"\x03" + key)), info) + key.hex()


def _origin(key_hashes: tuple[bytes, ...], info: SpendInfo) -> str:
    for key_hash in key_hashes:
        if key_hash in info.origins:
            return f"[{info.origins[key_hash]}]"
    return ""


def _hashed_key(key_hash: bytes, context: ScriptContext, info: SpendInfo) -> str | None:
    key = info.pubkeys.get(key_hash)
    return None if key is None else _key(key, context, info)


def _hashed_script(script_hash: bytes, context: ScriptContext, info: SpendInfo) -> str | None:
    script = info.scripts.get(script_hash)
    return None if script is None else _infer(script, context, info)
