"""Output descriptors: from text to scripts.

Owns: `raw addr pk pkh wpkh combo multi sortedmulti sh wsh tr rawtr unused`, with the reference's messages.
Never: script trees, musig and miniscript, which are refused by name; inferring (`descriptor_infer`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from clarion.node.errors import DecodeError
from clarion.node.primitives import descriptor_expression as expressions
from clarion.node.primitives.address import AddressFormat, decode_address, encode_address
from clarion.node.primitives.descriptor_checksum import DescriptorError, add_checksum, split_checksum
from clarion.node.primitives.descriptor_expression import Expression, Findings, Maker
from clarion.node.primitives.descriptor_infer import ScriptContext
from clarion.node.primitives.descriptor_key import KeyExpression, parse_key, parse_uint32
from clarion.node.primitives.script import MAX_PUBKEYS_PER_MULTISIG, MAX_SCRIPT_ELEMENT_SIZE

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
    """A parsed descriptor, one of the alternatives of its text if that has several."""

    expression: Expression

    @property
    def is_range(self) -> bool:
        """Whether it stands for scripts at every index."""
        return self.expression.is_range

    @property
    def solvable(self) -> bool:
        """Whether it says how its outputs are spent."""
        return self.expression.solvable

    @property
    def has_private_keys(self) -> bool:
        """Whether it was given with a private key."""
        return self.expression.has_private_keys

    def __str__(self) -> str:
        """Return the canonical form, with public keys only, and its checksum."""
        return add_checksum(str(self.expression))

    def expand(self, index: int = 0, findings: Findings | None = None) -> list[bytes] | None:
        """Return the scripts at an index (0 where there is no range), None if a private key is needed for them.

        A `combo` has two or four: P2PK, P2PKH and, for a compressed key, P2WPKH and P2SH-P2WPKH. What is learnt of keys
        and scripts is added to `findings`.
        """
        return self.expression.expand(index, Findings() if findings is None else findings)


def parse_descriptors(text: str, network: AddressFormat, *, require_checksum: bool = False) -> list[Descriptor]:
    """Return the descriptors that `text` spells: several if a path has alternatives (BIP389).

    Raises DescriptorError with the reference's message.
    """
    payload = split_checksum(text, required=require_checksum)
    return [Descriptor(expression) for expression in _parse(payload, _TOP, network)]


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


def _parse(text: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    expression, rest = take_expression(text)
    for name, contexts, refusal, parser in _FUNCTIONS:
        argument = _argument(name, expression)
        if argument is None or (refusal is None and context not in contexts):
            continue
        if context not in contexts:
            raise DescriptorError(str(refusal))
        found = parser(argument, context, network)
        # The reference gives no reason here.
        if rest:
            raise DescriptorError("")
        return found
    if context is _P2WSH and _MINISCRIPT.match(expression):
        raise DescriptorError("Miniscript expressions are not supported")
    if context is _P2SH:
        raise DescriptorError("A function is needed within P2SH")
    if context is _P2WSH:
        raise DescriptorError("A function is needed within P2WSH")
    raise DescriptorError(f"'{expression}' is not a valid descriptor function")


_Parser = Callable[[str, ScriptContext, AddressFormat], list[Expression]]


def _keys(text: str, context: ScriptContext, network: AddressFormat, label: str) -> list[KeyExpression]:
    try:
        return parse_key(text, network, uncompressed=context in _BARE, xonly=context is _P2TR)
    except DescriptorError as error:
        raise DescriptorError(f"{label}{error}") from None


def _single_key(name: str, make: Maker, key_context: ScriptContext | None = None) -> _Parser:
    """Return the parser of a function of one key; `key_context` governs the key where it is not the function's own."""

    def parse(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
        keys = _keys(argument, key_context or context, network, f"{name}(): ")
        return [Expression(name, make, keys=(key,)) for key in keys]

    return parse


def _wrapper(name: str, make: Maker, inner_context: ScriptContext) -> _Parser:
    """Return the parser of a function of one script."""

    def parse(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
        return [Expression(name, make, inner=inner) for inner in _parse(argument, inner_context, network)]

    return parse


def _multisig(name: str) -> _Parser:
    def parse(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
        threshold, rest = take_expression(argument)
        required = parse_uint32(threshold)
        if required is None:
            raise DescriptorError(f"Multi threshold '{threshold}' is not valid")
        columns = []
        while rest:
            if rest[0] != ",":
                raise DescriptorError(f"Multi: expected ',', got '{rest[0]}'")
            text, rest = take_expression(rest[1:])
            columns.append(_keys(text, context, network, "Multi: "))
        _check_multisig(required, [column[0] for column in columns], context)
        make = expressions.multisig_maker(required, by_order=name == "sortedmulti")
        rows = _rows(columns, "multi(): Multipath derivation paths have mismatched lengths")
        return [Expression(name, make, str(required), keys) for keys in rows]

    return parse


def _rows(columns: list[list[KeyExpression]], mismatch: str) -> list[tuple[KeyExpression, ...]]:
    """Return the keys of each alternative; a key without alternatives is in all of them."""
    count = max(len(column) for column in columns)
    if any(len(column) not in (1, count) for column in columns):
        raise DescriptorError(mismatch)
    return [tuple([column[at if len(column) > 1 else 0] for column in columns]) for at in range(count)]


def _check_multisig(threshold: int, keys: list[KeyExpression], context: ScriptContext) -> None:
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
    size = sum(len(key.pubkey) + 1 for key in keys) + 3
    if context is _P2SH and size > MAX_SCRIPT_ELEMENT_SIZE:
        raise DescriptorError(f"P2SH script is too large, {size} bytes is larger than {MAX_SCRIPT_ELEMENT_SIZE} bytes")


def _addr(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    try:
        script = decode_address(argument, network)
    except DecodeError:
        raise DescriptorError("Address is not valid") from None
    address = str(encode_address(script, network))
    return [Expression("addr", expressions.constant_maker(script), address, solvable=False)]


def _raw(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    if not _HEX.fullmatch(argument):
        raise DescriptorError("Raw script is not hex")
    script = bytes.fromhex(argument)
    return [Expression("raw", expressions.constant_maker(script), script.hex(), solvable=False)]


def _tr(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    text, rest = take_expression(argument)
    keys = _keys(text, _P2TR, network, "tr(): ")
    if rest and rest[0] != ",":
        raise DescriptorError(f"tr: expected ',', got '{rest[0]}'")
    if rest:
        raise DescriptorError("tr(): script trees are not supported")
    return [Expression("tr", expressions.make_tr, keys=(key,)) for key in keys]


def _rawtr(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    text, rest = take_expression(argument)
    if rest:
        raise DescriptorError("rawtr(): only one key expected.")
    keys = _keys(text, _P2TR, network, "rawtr(): ")
    return [Expression("rawtr", expressions.make_rawtr, keys=(key,)) for key in keys]


def _unused(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    text, rest = take_expression(argument)
    if rest:
        raise DescriptorError("unused(): only one key expected")
    keys = _keys(text, context, network, "")
    if any(key.is_range for key in keys):
        raise DescriptorError("unused(): key cannot be ranged")
    return [Expression("unused", expressions.make_nothing, keys=(key,)) for key in keys]


_MULTI_REFUSAL = "Can only have multi/sortedmulti at top level, in sh(), or in wsh()"
_MULTI_A_REFUSAL = "Can only have multi_a/sortedmulti_a inside tr()"

# Name, where it may stand, what is said elsewhere (None: it is no function there), parser; the reference's order.
_FUNCTIONS: tuple[tuple[str, tuple[ScriptContext, ...], str | None, _Parser], ...] = (
    ("pk", _LEGACY, None, _single_key("pk", expressions.make_pk)),
    ("pkh", _LEGACY, None, _single_key("pkh", expressions.make_pkh)),
    ("combo", (_TOP,), "Can only have combo() at top level", _single_key("combo", expressions.make_combo)),
    ("multi", _LEGACY, _MULTI_REFUSAL, _multisig("multi")),
    ("sortedmulti", _LEGACY, _MULTI_REFUSAL, _multisig("sortedmulti")),
    ("multi_a", (), _MULTI_A_REFUSAL, _multisig("multi_a")),
    ("sortedmulti_a", (), _MULTI_A_REFUSAL, _multisig("sortedmulti_a")),
    (
        "wpkh",
        _BARE,
        "Can only have wpkh() at top level or inside sh()",
        _single_key("wpkh", expressions.make_wpkh, _P2WPKH),
    ),
    ("sh", (_TOP,), "Can only have sh() at top level", _wrapper("sh", expressions.make_sh, _P2SH)),
    ("wsh", _BARE, "Can only have wsh() at top level or inside sh()", _wrapper("wsh", expressions.make_wsh, _P2WSH)),
    ("addr", (_TOP,), "Can only have addr() at top level", _addr),
    ("tr", (_TOP,), "Can only have tr at top level", _tr),
    ("rawtr", (_TOP,), "Can only have rawtr at top level", _rawtr),
    ("unused", (_TOP,), "Can only have unused at top level", _unused),
    ("raw", (_TOP,), "Can only have raw() at top level", _raw),
)
