"""Output descriptors: from text to scripts.

Owns: `raw addr pk pkh wpkh combo multi sortedmulti sh wsh tr rawtr` over single keys, with the reference's messages.
Never: extended keys, ranges, script trees and miniscript, which are refused by name; inferring (`descriptor_infer`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from clarion.node.errors import DecodeError
from clarion.node.primitives.address import AddressFormat, decode_address, encode_address
from clarion.node.primitives.descriptor_checksum import DescriptorError, add_checksum, split_checksum
from clarion.node.primitives.descriptor_infer import ScriptContext, SpendInfo, infer_descriptor
from clarion.node.primitives.descriptor_key import Key, parse_key, parse_uint32
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.keys import taproot_output_key
from clarion.node.primitives.script import (
    MAX_PUBKEYS_PER_MULTISIG,
    MAX_SCRIPT_ELEMENT_SIZE,
    multisig_script,
    p2pk_script,
    p2pkh_script,
    p2sh_script,
    witness_script,
)

_TOP, _P2SH, _P2WPKH, _P2WSH, _P2TR = ScriptContext
_BARE = (_TOP, _P2SH)
_LEGACY = (_TOP, _P2SH, _P2WSH)
_MAX_BARE_KEYS = 3

_HEX = re.compile(r"([0-9a-fA-F]{2})+")
_MINISCRIPT = re.compile(
    r"([asctdvjnlu]+:)?(0|1|pk_k|pk_h|older|after|sha256|hash256|ripemd160|hash160|andor|and_v|and_b|and_n|or_b|or_c"
    r"|or_d|or_i|thresh|pk|pkh|multi)(\(|$)"
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A parsed descriptor.

    `text` is its canonical form with public keys only and no checksum; `scripts` are the outputs that it describes
    (two or four for `combo`: P2PK, P2PKH and, for a compressed key, P2WPKH and P2SH-P2WPKH).
    """

    text: str
    scripts: tuple[bytes, ...]
    solvable: bool
    has_private_keys: bool
    info: SpendInfo

    def __str__(self) -> str:
        """Return the canonical form with its checksum."""
        return add_checksum(self.text)

    def infer(self, script: bytes, network: AddressFormat) -> str:
        """Return how one of `scripts` is shown: its own descriptor with key origins, and a checksum."""
        return infer_descriptor(script, network, self.info)


@dataclass(slots=True)
class _Parse:
    """What one parse collects."""

    network: AddressFormat
    has_private_keys: bool = False
    solvable: bool = True
    pubkeys: dict[bytes, bytes] = field(default_factory=dict)
    origins: dict[bytes, str] = field(default_factory=dict)
    scripts: dict[bytes, bytes] = field(default_factory=dict)
    internal_keys: dict[bytes, bytes] = field(default_factory=dict)

    def key(self, text: str, context: ScriptContext, label: str) -> Key:
        try:
            key = parse_key(text, self.network, uncompressed=context in _BARE, xonly=context is _P2TR)
        except DescriptorError as error:
            raise DescriptorError(f"{label}{error}") from None
        key_hash = hash160(key.data)
        self.pubkeys[key_hash] = key.data
        self.origins[key_hash] = key.origin.replace("'", "h") or key_hash[:4].hex()
        self.has_private_keys |= key.is_private
        return key


_Result = tuple[str, list[bytes]]


def parse_descriptor(text: str, network: AddressFormat, *, require_checksum: bool = False) -> Descriptor:
    """Return the descriptor that `text` spells. Raises DescriptorError with the reference's message."""
    payload = split_checksum(text, required=require_checksum)
    parse = _Parse(network)
    canonical, scripts = _expression(payload, _TOP, parse)
    info = SpendInfo(parse.pubkeys, parse.origins, parse.scripts, parse.internal_keys)
    return Descriptor(canonical, tuple(scripts), parse.solvable, parse.has_private_keys, info)


def take_expression(text: str) -> tuple[str, str]:
    """Return (text up to the first `,`, `)` or `}` outside of brackets, the rest)."""
    level = 0
    for index, char in enumerate(text):
        if char in "({":
            level += 1
        elif char in ")}" and level:
            level -= 1
        elif char in "),}" and not level:
            return text[:index], text[index:]
    return text, ""


def _argument(name: str, expression: str) -> str | None:
    """Return what stands between `name(` and the closing bracket, None if the expression is another one."""
    if expression.startswith(name + "(") and expression.endswith(")"):
        return expression[len(name) + 1 : -1]
    return None


def _expression(text: str, context: ScriptContext, parse: _Parse) -> _Result:
    expression, rest = take_expression(text)
    for name, contexts, refusal, parser in _FUNCTIONS:
        argument = _argument(name, expression)
        if argument is None or (refusal is None and context not in contexts):
            continue
        if context not in contexts:
            raise DescriptorError(str(refusal))
        result = parser(argument, context, parse)
        # The reference gives no reason here.
        if rest:
            raise DescriptorError("")
        return result
    if context is _P2WSH and _MINISCRIPT.match(expression):
        raise DescriptorError("Miniscript expressions are not supported")
    if context is _P2SH:
        raise DescriptorError("A function is needed within P2SH")
    if context is _P2WSH:
        raise DescriptorError("A function is needed within P2WSH")
    raise DescriptorError(f"'{expression}' is not a valid descriptor function")


def _pk(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    key = parse.key(argument, context, "pk(): ")
    return f"pk({key})", [p2pk_script(key.data)]


def _pkh(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    key = parse.key(argument, context, "pkh(): ")
    return f"pkh({key})", [p2pkh_script(hash160(key.data))]


def _wpkh(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    key = parse.key(argument, _P2WPKH, "wpkh(): ")
    return f"wpkh({key})", [witness_script(0, hash160(key.data))]


def _combo(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    key = parse.key(argument, context, "combo(): ")
    key_hash = hash160(key.data)
    scripts = [p2pk_script(key.data), p2pkh_script(key_hash)]
    if len(key.data) == 33:
        p2wpkh = witness_script(0, key_hash)
        parse.scripts[hash160(p2wpkh)] = p2wpkh
        scripts += [p2wpkh, p2sh_script(hash160(p2wpkh))]
    return f"combo({key})", scripts


def _multi(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    return _multisig("multi", argument, context, parse)


def _sortedmulti(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    return _multisig("sortedmulti", argument, context, parse)


def _multisig(name: str, argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    threshold, rest = take_expression(argument)
    required = parse_uint32(threshold)
    if required is None:
        raise DescriptorError(f"Multi threshold '{threshold}' is not valid")
    keys = []
    while rest:
        if rest[0] != ",":
            raise DescriptorError(f"Multi: expected ',', got '{rest[0]}'")
        text, rest = take_expression(rest[1:])
        keys.append(parse.key(text, context, "Multi: "))
    _check_multisig(required, keys, context)
    data = [key.data for key in keys]
    if name == "sortedmulti":
        data.sort()
    text = ",".join([str(required), *map(str, keys)])
    return f"{name}({text})", [multisig_script(required, data)]


def _check_multisig(threshold: int, keys: list[Key], context: ScriptContext) -> None:
    count = len(keys)
    if not 1 <= count <= MAX_PUBKEYS_PER_MULTISIG:
        raise DescriptorError(
            f"Cannot have {count} keys in multisig; must have between 1 and {MAX_PUBKEYS_PER_MULTISIG} keys, inclusive"
        )
    if threshold < 1:
        raise DescriptorError(f"Multisig threshold cannot be {threshold}, must be at least 1")
    if threshold > count:
        raise DescriptorError(
            "Multisig threshold cannot be larger than the number of keys; "
            f"threshold is {threshold} but only {count} keys specified"
        )
    if context is _TOP and count > _MAX_BARE_KEYS:
        raise DescriptorError(f"Cannot have {count} pubkeys in bare multisig; only at most {_MAX_BARE_KEYS} pubkeys")
    size = sum(len(key.data) + 1 for key in keys) + 3
    if context is _P2SH and size > MAX_SCRIPT_ELEMENT_SIZE:
        raise DescriptorError(f"P2SH script is too large, {size} bytes is larger than {MAX_SCRIPT_ELEMENT_SIZE} bytes")


def _sh(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    text, (script,) = _expression(argument, _P2SH, parse)
    parse.scripts[hash160(script)] = script
    return f"sh({text})", [p2sh_script(hash160(script))]


def _wsh(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    text, (script,) = _expression(argument, _P2WSH, parse)
    parse.scripts[hash160(script)] = script
    return f"wsh({text})", [witness_script(0, sha256(script))]


def _addr(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    parse.solvable = False
    try:
        script = decode_address(argument, parse.network)
    except DecodeError:
        raise DescriptorError("Address is not valid") from None
    return f"addr({encode_address(script, parse.network)})", [script]


def _tr(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    text, rest = take_expression(argument)
    key = parse.key(text, _P2TR, "tr(): ")
    if rest and rest[0] != ",":
        raise DescriptorError(f"tr: expected ',', got '{rest[0]}'")
    if rest:
        raise DescriptorError("tr(): script trees are not supported")
    output_key = taproot_output_key(key.xonly)
    parse.internal_keys[output_key] = key.xonly
    return f"tr({key})", [witness_script(1, output_key)]


def _rawtr(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    text, rest = take_expression(argument)
    if rest:
        raise DescriptorError("rawtr(): only one key expected.")
    key = parse.key(text, _P2TR, "rawtr(): ")
    return f"rawtr({key})", [witness_script(1, key.xonly)]


def _raw(argument: str, context: ScriptContext, parse: _Parse) -> _Result:
    parse.solvable = False
    if not _HEX.fullmatch(argument):
        raise DescriptorError("Raw script is not hex")
    script = bytes.fromhex(argument)
    return f"raw({script.hex()})", [script]


_Parser = Callable[[str, ScriptContext, _Parse], _Result]

_MULTI_REFUSAL = "Can only have multi/sortedmulti at top level, in sh(), or in wsh()"
_MULTI_A_REFUSAL = "Can only have multi_a/sortedmulti_a inside tr()"

# Name, where it may stand, what is said elsewhere (None: it is no function there), parser; the reference's order.
_FUNCTIONS: tuple[tuple[str, tuple[ScriptContext, ...], str | None, _Parser], ...] = (
    ("pk", _LEGACY, None, _pk),
    ("pkh", _LEGACY, None, _pkh),
    ("combo", (_TOP,), "Can only have combo() at top level", _combo),
    ("multi", _LEGACY, _MULTI_REFUSAL, _multi),
    ("sortedmulti", _LEGACY, _MULTI_REFUSAL, _sortedmulti),
    ("multi_a", (), _MULTI_A_REFUSAL, _multi),
    ("sortedmulti_a", (), _MULTI_A_REFUSAL, _sortedmulti),
    ("wpkh", _BARE, "Can only have wpkh() at top level or inside sh()", _wpkh),
    ("sh", (_TOP,), "Can only have sh() at top level", _sh),
    ("wsh", _BARE, "Can only have wsh() at top level or inside sh()", _wsh),
    ("addr", (_TOP,), "Can only have addr() at top level", _addr),
    ("tr", (_TOP,), "Can only have tr at top level", _tr),
    ("rawtr", (_TOP,), "Can only have rawtr at top level", _rawtr),
    ("raw", (_TOP,), "Can only have raw() at top level", _raw),
)
