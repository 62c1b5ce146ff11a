"""Scripts as JSON.

Owns: the members of `scriptPubKey` and `scriptSig`, and what `decodescript` adds. Never: reading the script from text.
"""

from functools import lru_cache
from typing import Any

import orjson

from clarion.node.primitives.address import AddressFormat, AddressPrefixes, encode_address
from clarion.node.primitives.asm import to_asm
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_infer import infer_descriptor
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.opcodes import OP_CHECKSIGADD
from clarion.node.primitives.script import has_valid_ops, is_unspendable, iter_ops, p2sh_script, witness_script
from clarion.node.primitives.templates import ScriptType, Solution, solve
from clarion.node.script.witness import is_op_success


def script_pubkey_json(
    script: bytes,
    network: AddressFormat,
    *,
    include_hex: bool = True,
    include_address: bool = True,
    info: Findings | None = None,
) -> dict[str, Any]:
    """Return an output script as `asm`, `desc`, `hex`, `address` (where it has one) and `type`.

    `include_address` governs `desc` too; `info` lets `desc` name the keys behind hashes.
    """
    out: dict[str, Any] = {"asm": to_asm(script)}
    if include_address:
        out["desc"] = infer_descriptor(script, network, info)
    if include_hex:
        out["hex"] = script.hex()
    address = encode_address(script, network) if include_address else None
    if address is not None:
        out["address"] = address
    out["type"] = solve(script).type.value
    return out


@lru_cache(maxsize=1 << 15)
def script_pubkey_fragment(script: bytes, prefixes: AddressPrefixes) -> orjson.Fragment:
    """Return `script_pubkey_json` as ready-made JSON. The last scripts are cached: outputs repeat them."""
    return orjson.Fragment(orjson.dumps(script_pubkey_json(script, prefixes)))


def script_sig_json(script: bytes) -> dict[str, str]:
    """Return an input script as `asm`, with signature hash types by name, and `hex`."""
    return {"asm": to_asm(script, decode_sighash=True), "hex": script.hex()}


_WRAPPED = (
    ScriptType.MULTISIG,
    ScriptType.NONSTANDARD,
    ScriptType.PUBKEY,
    ScriptType.PUBKEYHASH,
    ScriptType.WITNESS_V0_KEYHASH,
    ScriptType.WITNESS_V0_SCRIPTHASH,
)


def decoded_script_json(script: bytes, network: AddressFormat) -> dict[str, Any]:
    """Return a script as `decodescript` shows it: with the addresses of P2SH and witness scripts that may wrap it."""
    out = script_pubkey_json(script, network, include_hex=False)
    solution = solve(script)
    if solution.type not in _WRAPPED or not _can_wrap(script):
        return out
    out["p2sh"] = _p2sh_address(script, network)
    program = _witness_program_of(script, solution)
    if program is not None:
        info = Findings(scripts={hash160(script): script})
        segwit = script_pubkey_json(program, network, info=info)
        segwit["p2sh-segwit"] = _p2sh_address(program, network)
        out["segwit"] = segwit
    return out


def _can_wrap(script: bytes) -> bool:
    """Whether it could run as a redeem script: opcodes that only tapscript has are left to tapscript."""
    if not has_valid_ops(script) or is_unspendable(script):
        return False
    return not any(op[0] == OP_CHECKSIGADD or is_op_success(op[0]) for op in iter_ops(script))


def _p2sh_address(script: bytes, network: AddressFormat) -> str | None:
    return encode_address(p2sh_script(hash160(script)), network)


def _witness_program_of(script: bytes, solution: Solution) -> bytes | None:
    """Return the witness program that wraps a script, None for programs themselves and for uncompressed keys."""
    kind, data, _ = solution
    if kind in (ScriptType.WITNESS_V0_KEYHASH, ScriptType.WITNESS_V0_SCRIPTHASH):
        return None
    if kind in (ScriptType.PUBKEY, ScriptType.MULTISIG) and any(len(key) != 33 for key in data):
        return None
    if kind is ScriptType.PUBKEY:
        return witness_script(0, hash160(data[0]))
    if kind is ScriptType.PUBKEYHASH:
        return witness_script(0, data[0])
    return witness_script(0, sha256(script))
