"""Output descriptors: from text to scripts.

Owns: the script expressions, all of the reference's, with its messages. Never: keys, miniscript and trees of leaves in
detail; inferring (`descriptor_infer`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from clarion.node.errors import DecodeError
from clarion.node.primitives import descriptor_expression as expressions
from clarion.node.primitives.address import AddressFormat, decode_address, encode_address
from clarion.node.primitives.descriptor_checksum import DescriptorError, add_checksum, split_checksum
from clarion.node.primitives.descriptor_context import ScriptContext
from clarion.node.primitives.descriptor_expression import Expression, Maker
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_key import Key, parse_uint32
from clarion.node.primitives.descriptor_keys import parse_keys, rows_of
from clarion.node.primitives.descriptor_miniscript import parse_miniscript_expression
from clarion.node.primitives.descriptor_tree import read_tree, tree_text
from clarion.node.primitives.miniscript.parsing import take_expression
from clarion.node.primitives.script import MAX_PUBKEYS_PER_MULTI_A, MAX_PUBKEYS_PER_MULTISIG, MAX_SCRIPT_ELEMENT_SIZE

_TOP, _P2SH, _P2WPKH = ScriptContext.TOP, ScriptContext.P2SH, ScriptContext.P2WPKH
_P2WSH, _P2TR = ScriptContext.P2WSH, ScriptContext.P2TR
_BARE = (_TOP, _P2SH)
_LEGACY = (_TOP, _P2SH, _P2WSH)
_MAX_BARE_KEYS = 3
_HEX = re.compile(r"([0-9a-fA-F]{2})+")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A parsed descriptor, one of the alternatives of its text if that has several; `given` are the text's secrets."""

    expression: Expression
    given: Findings

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
        findings = Findings() if findings is None else findings
        if self.given.secrets:
            findings.secrets |= self.given.secrets
        return self.expression.expand(index, findings)

    def expand_private(self, index: int, findings: Findings) -> None:
        """Add the private keys at an index to `findings`, as far as they are known to it: expand it there first."""
        self.expression.expand_private(index, findings)


def parse_descriptors(text: str, network: AddressFormat, *, require_checksum: bool = False) -> list[Descriptor]:
    """Return the descriptors that `text` spells: several if a path has alternatives (BIP389).

    Raises DescriptorError with the reference's message.
    """
    payload = split_checksum(text, required=require_checksum)
    parsed = _parse(payload, _TOP, network)
    given = Findings()
    for expression in parsed:
        expression.add_given_secrets(given)
    return [Descriptor(expression, given) for expression in parsed]


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
        if rest and context is not _P2TR:
            # The reference gives no reason here.
            raise DescriptorError("")
        return found
    miniscript = parse_miniscript_expression(expression, context, network)
    if miniscript is not None:
        return miniscript
    if context is _P2SH:
        raise DescriptorError("A function is needed within P2SH")
    if context is _P2WSH:
        raise DescriptorError("A function is needed within P2WSH")
    raise DescriptorError(f"'{expression}' is not a valid descriptor function")


_Parser = Callable[[str, ScriptContext, AddressFormat], list[Expression]]


def _single_key(name: str, make: Maker, key_context: ScriptContext | None = None) -> _Parser:
    """Return the parser of a function of one key; `key_context` governs the key where it is not the function's own."""

    def parse(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
        keys = parse_keys(argument, key_context or context, network, f"{name}(): ")
        return [Expression(name, make, keys=(key,)) for key in keys]

    return parse


def _wrapper(name: str, make: Maker, inner_context: ScriptContext) -> _Parser:
    """Return the parser of a function of one script."""

    def parse(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
        inner = _parse(argument, inner_context, network)
        return [Expression(name, make, subs=(each,), solvable=each.solvable) for each in inner]

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
            columns.append(parse_keys(text, context, network, "Multi: "))
        _check_multisig(required, [column[0] for column in columns], context)
        maker = expressions.multi_a_maker if context is _P2TR else expressions.multisig_maker
        make = maker(required, by_order=name.startswith("sorted"))
        rows = rows_of(columns, "multi(): Multipath derivation paths have mismatched lengths")
        return [Expression(name, make, str(required), keys) for keys in rows]

    return parse


def _check_multisig(threshold: int, keys: list[Key], context: ScriptContext) -> None:
    count = len(keys)
    limit, kind = MAX_PUBKEYS_PER_MULTISIG, "multisig"
    if context is _P2TR:
        limit, kind = MAX_PUBKEYS_PER_MULTI_A, "multi_a"
    if not 1 <= count <= limit:
        raise DescriptorError(f"Cannot have {count} keys in {kind}; must have between 1 and {limit} keys, inclusive")
    if threshold < 1:
        raise DescriptorError(f"Multisig threshold cannot be {threshold}, must be at least 1")
    if threshold > count:
        raise DescriptorError(
            "Multisig threshold cannot be larger than the number of keys; "
            f"threshold is {threshold} but only {count} keys specified"
        )
    if context is _TOP and count > _MAX_BARE_KEYS:
        raise DescriptorError(f"Cannot have {count} pubkeys in bare multisig; only at most {_MAX_BARE_KEYS} pubkeys")
    size = sum(key.size + 1 for key in keys) + 3
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
    keys = parse_keys(text, _P2TR, network, "tr(): ")
    leaves: list[list[Expression]] = []
    depths: list[int] = []
    if rest:
        if rest[0] != ",":
            raise DescriptorError(f"tr: expected ',', got '{rest[0]}'")
        depths = read_tree(rest[1:], lambda leaf: leaves.append(_parse(leaf, _P2TR, network)))
    count = max([len(keys), *map(len, leaves)])
    if any(len(leaf) not in (1, count) for leaf in leaves):
        raise DescriptorError("tr(): Multipath subscripts have mismatched lengths")
    if len(keys) not in (1, count):
        raise DescriptorError("tr(): Multipath internal key mismatches multipath subscripts lengths")
    make = expressions.tr_maker(depths)
    rows = [tuple([each[at if len(each) > 1 else 0] for each in leaves]) for at in range(count)]
    return [
        Expression("tr", make, keys=(keys[at if len(keys) > 1 else 0],), subs=row, text=_tree_writer(depths))
        for at, row in enumerate(rows)
    ]


def _tree_writer(depths: list[int]) -> Callable[[Expression], str] | None:
    if not depths:
        return None
    return lambda tr: f"tr({tr.keys[0]},{tree_text(depths, [str(sub) for sub in tr.subs])})"


def _rawtr(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    text, rest = take_expression(argument)
    if rest:
        raise DescriptorError("rawtr(): only one key expected.")
    keys = parse_keys(text, _P2TR, network, "rawtr(): ")
    return [Expression("rawtr", expressions.make_rawtr, keys=(key,)) for key in keys]


def _unused(argument: str, context: ScriptContext, network: AddressFormat) -> list[Expression]:
    text, rest = take_expression(argument)
    if rest:
        raise DescriptorError("unused(): only one key expected")
    keys = parse_keys(text, context, network)
    if any(key.is_range for key in keys):
        raise DescriptorError("unused(): key cannot be ranged")
    return [Expression("unused", expressions.make_nothing, keys=(key,)) for key in keys]


_MULTI_REFUSAL = "Can only have multi/sortedmulti at top level, in sh(), or in wsh()"
_MULTI_A_REFUSAL = "Can only have multi_a/sortedmulti_a inside tr()"

# Name, where it may stand, what is said elsewhere (None: it is no function there), parser; the reference's order.
_FUNCTIONS: tuple[tuple[str, tuple[ScriptContext, ...], str | None, _Parser], ...] = (
    ("pk", _LEGACY, None, _single_key("pk", expressions.make_pk)),
    ("pk", (_P2TR,), None, _single_key("pk", expressions.make_xonly_pk)),
    ("pkh", _LEGACY, None, _single_key("pkh", expressions.make_pkh)),
    ("combo", (_TOP,), "Can only have combo() at top level", _single_key("combo", expressions.make_combo)),
    ("multi", _LEGACY, _MULTI_REFUSAL, _multisig("multi")),
    ("sortedmulti", _LEGACY, _MULTI_REFUSAL, _multisig("sortedmulti")),
    ("multi_a", (_P2TR,), _MULTI_A_REFUSAL, _multisig("multi_a")),
    ("sortedmulti_a", (_P2TR,), _MULTI_A_REFUSAL, _multisig("sortedmulti_a")),
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
