"""RPC methods about addresses and descriptors alone.

Owns: their answers. Never: the chain.
"""

from collections.abc import Iterator
from typing import Any

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.outputs import expand_descriptor, parse_output_descriptors, parse_range
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.address import AddressError, AddressFormat, decode_address, encode_address
from clarion.node.primitives.descriptor_checksum import descriptor_checksum, split_checksum
from clarion.node.primitives.script import witness_program
from clarion.node.primitives.templates import ScriptType, solve

_T = ResultType
_SCRIPT_TYPES = (
    ScriptType.SCRIPTHASH,
    ScriptType.WITNESS_V0_SCRIPTHASH,
    ScriptType.WITNESS_V1_TAPROOT,
    ScriptType.ANCHOR,
)


@rpc_method(
    "validateaddress",
    category="util",
    where=READER,
    description="Return information about the given bitcoin address. Says whether it is one of this network.",
    args=[Arg("address", ArgType.STR, "The text", required=True)],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.BOOL, "isvalid", "whether it is an address; the other members are there only then"),
            Result(_T.STR, "address", "the address", optional=True),
            Result(_T.STR_HEX, "scriptPubKey", "the script that it pays to", optional=True),
            Result(_T.BOOL, "isscript", "whether it stands for a script", optional=True),
            Result(_T.BOOL, "iswitness", "whether it is a witness address", optional=True),
            Result(_T.NUM, "witness_version", "version of the witness program", optional=True),
            Result(_T.STR_HEX, "witness_program", "the witness program", optional=True),
            Result(_T.STR, "error", "what is wrong with it", optional=True),
            Result(_T.ARR, "error_locations", "positions of likely errors", (Result(_T.NUM),), optional=True),
        ),
    ),
    examples=(('"bc1q09vm5lfy0j5reeulh4x5752q25uqqvz34hufdl"', '"bc1q09vm5lfy0j5reeulh4x5752q25uqqvz34hufdl"'),),
)
def validateaddress(ctx: ReaderContext, address: str) -> dict[str, Any]:
    """Return what an address says of itself."""
    try:
        script = decode_address(address, ctx.params)
    except AddressError as error:
        return {"isvalid": False, "error_locations": error.locations, "error": str(error)}
    answer: dict[str, Any] = {
        "isvalid": True,
        "address": encode_address(script, ctx.params),
        "scriptPubKey": script.hex(),
    }
    kind = solve(script).type
    program = witness_program(script)
    # What a witness program of a later version stands for is not known yet.
    if kind is not ScriptType.WITNESS_UNKNOWN:
        answer["isscript"] = kind in _SCRIPT_TYPES
    answer["iswitness"] = program is not None
    if program is not None and kind is not ScriptType.ANCHOR:
        answer["witness_version"] = program[0]
        answer["witness_program"] = program[1].hex()
    return answer


@rpc_method(
    "getdescriptorinfo",
    category="util",
    where=READER,
    description="Analyses a descriptor.",
    args=[Arg("descriptor", ArgType.STR, "The descriptor", required=True)],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "descriptor", "canonical form with public keys only; of several alternatives the first"),
            Result(
                _T.ARR, "multipath_expansion", "all alternatives, if there are any", (Result(_T.STR),), optional=True
            ),
            Result(_T.STR, "checksum", "checksum of the descriptor that was given"),
            Result(_T.BOOL, "isrange", "whether it has a range"),
            Result(_T.BOOL, "issolvable", "whether it says how its outputs are spent"),
            Result(_T.BOOL, "hasprivatekeys", "whether it was given with a private key"),
        ),
    ),
    examples=(('"raw(51)"', '"raw(51)"'),),
)
def getdescriptorinfo(ctx: ReaderContext, descriptor: str) -> dict[str, Any]:
    """Return a descriptor's canonical form and properties. Raises RpcError -5."""
    parsed = parse_output_descriptors(descriptor, ctx.params)
    answer: dict[str, Any] = {"descriptor": str(parsed[0])}
    if len(parsed) > 1:
        answer["multipath_expansion"] = [str(alternative) for alternative in parsed]
    answer["checksum"] = descriptor_checksum(split_checksum(descriptor))
    answer["isrange"] = parsed[0].is_range
    answer["issolvable"] = parsed[0].solvable
    answer["hasprivatekeys"] = parsed[0].has_private_keys
    return answer


@rpc_method(
    "deriveaddresses",
    category="util",
    where=READER,
    heavy=True,
    description="Returns the addresses that a descriptor stands for. The checksum is required.",
    args=[
        Arg("descriptor", ArgType.STR, "The descriptor", required=True),
        Arg("range", ArgType.RANGE, "For a descriptor with a range: the end or [begin,end]"),
    ],
    results=[
        Result(_T.ARR, "", "", (Result(_T.STR, "address", "an address"),), condition="for a single descriptor"),
        Result(
            _T.ARR,
            "",
            "in the order of the alternatives",
            (Result(_T.ARR, "", "", (Result(_T.STR, "address", "an address"),)),),
            condition="for a descriptor with alternatives",
        ),
    ],
    examples=(('"addr(…)#checksum"', '"addr(…)#checksum"'),),
)
def deriveaddresses(ctx: ReaderContext, descriptor: str, derivation_range: Any) -> list[str] | list[list[str]]:
    """Return the addresses of a descriptor's scripts. Raises RpcError -5, or -8 for the wrong kind of range."""
    first, last = (0, 0) if derivation_range is None else parse_range(derivation_range)
    parsed = parse_output_descriptors(descriptor, ctx.params, require_checksum=True)
    if parsed[0].is_range and derivation_range is None:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Range must be specified for a ranged descriptor")
    if not parsed[0].is_range and derivation_range is not None:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Range should not be specified for an un-ranged descriptor")
    answers = [
        [
            address
            for index in range(first, last + 1)
            for address in _addresses(expand_descriptor(alternative, index), ctx.params)
        ]
        for alternative in parsed
    ]
    if not all(answers):
        raise RpcError(RpcCode.MISC_ERROR, "Unexpected empty result")
    return answers if len(answers) > 1 else answers[0]


def _addresses(scripts: list[bytes], network: AddressFormat) -> Iterator[str]:
    for script in scripts:
        address = encode_address(script, network)
        if address is not None:
            yield address
        # A combo leaves its bare key out, as it has no address.
        elif len(scripts) == 1 or solve(script).type is not ScriptType.PUBKEY:
            raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Descriptor does not have a corresponding address")
