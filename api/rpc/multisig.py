"""RPC method createmultisig.

Owns: its answer and the checks of keys. Never: the chain, private keys.
"""

from typing import Any

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import is_hex, parse_int, parse_str
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.address import encode_address
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_infer import infer_descriptor
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.keys import is_valid_pubkey
from clarion.node.primitives.script import (
    MAX_PUBKEYS_PER_MULTISIG,
    MAX_SCRIPT_ELEMENT_SIZE,
    multisig_script,
    p2sh_script,
    witness_script,
)

_T = ResultType
LEGACY, P2SH_SEGWIT, BECH32, BECH32M = "legacy", "p2sh-segwit", "bech32", "bech32m"
_COMPRESSED_SIZE = 33
_EXAMPLE_KEYS = (
    '["03789ed0bb717d88f7d321a368d905e7430207ebbd82bd342cf11ae157a7ace5fd",'
    '"03dbc6764b8884a92e871274b87583e6d5c2a58819473e17e107ef3f6aa5a61626"]'
)


@rpc_method(
    "createmultisig",
    category="util",
    where=READER,
    description="Returns the address of a script that some of several keys must sign for.",
    args=[
        Arg("nrequired", ArgType.NUM, "How many signatures are needed", required=True),
        Arg("keys", ArgType.ARR, "The public keys", required=True, inner=(Arg("key", ArgType.STR_HEX),)),
        Arg("address_type", ArgType.STR, f'"{LEGACY}", "{P2SH_SEGWIT}" or "{BECH32}"', default=LEGACY),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "address", "the address"),
            Result(_T.STR_HEX, "redeemScript", "the script's bytes"),
            Result(_T.STR, "descriptor", "its descriptor"),
            Result(_T.ARR, "warnings", "what went otherwise than asked", (Result(_T.STR),), optional=True),
        ),
    ),
    examples=((f"2 '{_EXAMPLE_KEYS}'", f"2, {_EXAMPLE_KEYS}"),),
)
def createmultisig(ctx: ReaderContext, nrequired: Any, keys: list[Any], address_type: str) -> dict[str, Any]:
    """Return address, script and descriptor. Raises RpcError -5 or -8."""
    required = parse_int(nrequired)
    pubkeys = [_pubkey(parse_str(key)) for key in keys]
    if address_type == BECH32M:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "createmultisig cannot create bech32m multisig addresses")
    if address_type not in (LEGACY, P2SH_SEGWIT, BECH32):
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, f"Unknown address type '{address_type}'")
    script = _script(required, pubkeys)
    # Segwit takes compressed keys only.
    possible = address_type if all(len(key) == _COMPRESSED_SIZE for key in pubkeys) else LEGACY
    if possible == LEGACY and len(script) > MAX_SCRIPT_ELEMENT_SIZE:
        raise _invalid(f"redeemScript exceeds size limit: {len(script)} > {MAX_SCRIPT_ELEMENT_SIZE}")
    program = witness_script(0, sha256(script))
    script_pubkey = program if possible == BECH32 else p2sh_script(hash160(script if possible == LEGACY else program))
    info = Findings(scripts={hash160(each): each for each in (script, program)})
    answer: dict[str, Any] = {
        "address": encode_address(script_pubkey, ctx.params),
        "redeemScript": script.hex(),
        "descriptor": infer_descriptor(script_pubkey, ctx.params, info),
    }
    if possible != address_type:
        answer["warnings"] = [
            "Unable to make chosen address type, please ensure no uncompressed public keys are present."
        ]
    return answer


def _pubkey(text: str) -> bytes:
    if not is_hex(text):
        problem = "must be a hex string"
    elif len(text) not in (66, 130):
        problem = "must have a length of either 33 or 65 bytes"
    elif not is_valid_pubkey(bytes.fromhex(text)):
        problem = "must be cryptographically valid."
    else:
        return bytes.fromhex(text)
    raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, f'Pubkey "{text}" {problem}')


def _script(required: int, pubkeys: list[bytes]) -> bytes:
    if required < 1:
        raise _invalid("a multisignature address must require at least one key to redeem")
    if len(pubkeys) < required:
        raise _invalid(f"not enough keys supplied (got {len(pubkeys)} keys, but need at least {required} to redeem)")
    if len(pubkeys) > MAX_PUBKEYS_PER_MULTISIG:
        raise _invalid(
            "Number of keys involved in the multisignature address creation > "
            f"{MAX_PUBKEYS_PER_MULTISIG}\nReduce the number"
        )
    return multisig_script(required, pubkeys)


def _invalid(message: str) -> RpcError:
    return RpcError(RpcCode.INVALID_PARAMETER, message)
