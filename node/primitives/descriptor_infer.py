"""From a script back to the descriptor that describes it best.

Owns: the reference's `desc` of outputs, with and without knowledge of keys and scripts. Never: parsing descriptors.
"""

from functools import lru_cache

from clarion.node.primitives.address import AddressFormat, AddressPrefixes, encode_address
from clarion.node.primitives.descriptor_checksum import add_checksum
from clarion.node.primitives.descriptor_context import ScriptContext
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_tree import tree_text
from clarion.node.primitives.hashes import hash160, ripemd160
from clarion.node.primitives.keys import is_valid_xonly
from clarion.node.primitives.miniscript.decoding import decode_script
from clarion.node.primitives.miniscript.writing import to_text
from clarion.node.primitives.opcodes import OP_CHECKSIG
from clarion.node.primitives.taproot_tree import TAPSCRIPT_VERSION, TapLeaf
from clarion.node.primitives.templates import ScriptType, match_multi_a, solve

_NOTHING = Findings()
_XONLY_SIZE, _PK_LEAF_SIZE = 32, 34
_BARE = (ScriptContext.TOP, ScriptContext.P2SH)
_LEGACY = (ScriptContext.TOP, ScriptContext.P2SH, ScriptContext.P2WSH)


def infer_descriptor(script: bytes, network: AddressFormat, info: Findings | None = None) -> str:
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


def _infer(script: bytes, context: ScriptContext, info: Findings) -> str | None:
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
        return _tap_output(data[0], info)
    return _miniscript(script, context, info) if context in (ScriptContext.P2WSH, ScriptContext.P2TR) else None


def _tap_output(output_key: bytes, info: Findings) -> str | None:
    output = info.tap_outputs.get(output_key)
    if output is not None:
        leaves = output.tree.by_script()
        texts = [text for text in (_leaf(leaf, info) for leaf in leaves) if text is not None]
        if len(texts) == len(leaves):
            tree = tree_text([leaf.depth for leaf in leaves], texts)
            return f"tr({_xonly_key(output.internal_key, info)}{',' if tree else ''}{tree})"
    return _call("rawtr", _xonly_key(output_key, info)) if is_valid_xonly(output_key) else None


def _leaf(leaf: TapLeaf, info: Findings) -> str | None:
    if leaf.version != TAPSCRIPT_VERSION:
        return None
    script = leaf.script
    if len(script) == _PK_LEAF_SIZE and script[0] == _XONLY_SIZE and script[-1] == OP_CHECKSIG:
        return _call("pk", _xonly_key(script[1:-1], info))
    multi = match_multi_a(script)
    if multi is not None:
        return f"multi_a({multi[0]},{','.join(_xonly_key(key, info) for key in multi[1])})"
    return _infer(script, ScriptContext.P2TR, info)


def _miniscript(script: bytes, context: ScriptContext, info: Findings) -> str | None:
    tapscript = context is ScriptContext.P2TR
    node = decode_script(script, info.pubkeys.get, tapscript=tapscript)
    if node is None or not node.is_sane:
        return None
    if not tapscript:
        return to_text(node, lambda key: _origin((hash160(key),), info) + key.hex())
    keys = [_full(key) for each in node.walk() for key in each.keys]
    if len(set(keys)) != len(keys):
        return None
    return to_text(node, lambda key: _xonly_key(key, info) if len(key) == _XONLY_SIZE else _any_key(key, info))


def _full(key: bytes) -> bytes:
    return b"\x02" + key if len(key) == _XONLY_SIZE else key


def _any_key(key: bytes, info: Findings) -> str:
    return _origin((hash160(key),), info) + key.hex()


def _call(name: str, argument: str | None) -> str | None:
    return None if argument is None else f"{name}({argument})"


def _key(key: bytes, context: ScriptContext, info: Findings) -> str | None:
    # Hybrid keys have no place in descriptors, uncompressed ones none under segwit.
    compressed = key[0] in (2, 3)
    if not compressed and (key[0] != 4 or context not in _BARE):
        return None
    return _origin((hash160(key),), info) + key.hex()


def _xonly_key(key: bytes, info: Findings) -> str:
    if not info.origins:
        return key.hex()
    return _origin((hash160(b"\x02" + key), hash160(b"\x03" + key)), info) + key.hex()


def _origin(key_hashes: tuple[bytes, ...], info: Findings) -> str:
    for key_hash in key_hashes:
        if key_hash in info.origins:
            return f"[{info.origins[key_hash].text()}]"
    return ""


def _hashed_key(key_hash: bytes, context: ScriptContext, info: Findings) -> str | None:
    key = info.pubkeys.get(key_hash)
    return None if key is None else _key(key, context, info)


def _hashed_script(script_hash: bytes, context: ScriptContext, info: Findings) -> str | None:
    script = info.scripts.get(script_hash)
    return None if script is None else _infer(script, context, info)
