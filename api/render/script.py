"""Scripts as JSON.

Owns: the members of `scriptPubKey` and `scriptSig`. Never: what `decodescript` adds.
"""

from functools import lru_cache
from typing import Any

import orjson

from clarion.node.primitives.address import AddressFormat, AddressPrefixes, encode_address
from clarion.node.primitives.asm import to_asm
from clarion.node.primitives.descriptor_infer import SpendInfo, infer_descriptor
from clarion.node.primitives.templates import solve


def script_pubkey_json(
    script: bytes,
    network: AddressFormat,
    *,
    include_hex: bool = True,
    include_address: bool = True,
    info: SpendInfo | None = None,
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
