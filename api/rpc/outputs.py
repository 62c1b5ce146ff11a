"""Outputs that clients name by address or descriptor.

Owns: the errors of such arguments. Never: parsing addresses and descriptors.
"""

from typing import Any

from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import INT64, parse_int, parse_str
from clarion.node.errors import DecodeError, RpcError
from clarion.node.primitives.address import AddressFormat, decode_address
from clarion.node.primitives.descriptor import Descriptor, parse_descriptors
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_infer import infer_descriptor

MAX_RANGE = 1_000_000
DEFAULT_RANGE_END = 1000
"""Last index that a scan derives of a descriptor with a range, unless it is told otherwise."""

_COMBO_OF_COMPRESSED = 4


def script_of_address(text: str, network: AddressFormat) -> bytes | None:
    """Return the script that an address pays to, None if the text is no address of the network."""
    try:
        return decode_address(text, network)
    except DecodeError:
        return None


def parse_output_descriptors(text: str, network: AddressFormat, *, require_checksum: bool = False) -> list[Descriptor]:
    """Return a parsed descriptor, or its alternatives. Raises RpcError -5 with the reference's message."""
    try:
        return parse_descriptors(text, network, require_checksum=require_checksum)
    except DecodeError as error:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, str(error)) from None


def expand_descriptor(descriptor: Descriptor, index: int, findings: Findings | None = None) -> list[bytes]:
    """Return a descriptor's scripts at an index. Raises RpcError -5 if a private key is needed for them."""
    scripts = descriptor.expand(index, findings)
    if scripts is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Cannot derive script without private keys")
    return scripts


def script_of_descriptor(text: str, network: AddressFormat) -> bytes:
    """Return the one script to mine to: of a combo the P2WPKH one, for an uncompressed key P2PKH. Raises RpcError."""
    descriptors = parse_output_descriptors(text, network)
    if len(descriptors) > 1:
        raise _invalid("Multipath descriptor not accepted")
    if descriptors[0].is_range:
        raise _invalid("Ranged descriptor not accepted. Maybe pass through deriveaddresses first?")
    scripts = expand_descriptor(descriptors[0], 0)
    if len(scripts) == 1:
        return scripts[0]
    return scripts[2] if len(scripts) == _COMBO_OF_COMPRESSED else scripts[1]


def scripts_of_scan_object(value: Any, network: AddressFormat) -> dict[bytes, str]:
    """Return the scripts that a descriptor, alone or in an object, describes, each with its own descriptor.

    Raises RpcError -5 or -8.
    """
    findings = Findings()
    scripts = _expand_scan_object(value, network, findings)
    return {script: infer_descriptor(script, network, findings) for script in scripts}


def findings_of_scan_objects(values: list[Any], network: AddressFormat, *, private: bool = False) -> Findings:
    """Return what descriptors, alone or in objects, tell of keys and scripts, with `private` of private keys too.

    Raises RpcError -5 or -8.
    """
    findings = Findings()
    for value in values:
        _expand_scan_object(value, network, findings, private=private)
    return findings


def _expand_scan_object(
    value: Any, network: AddressFormat, findings: Findings, *, private: bool = False
) -> list[bytes]:
    first, last = 0, DEFAULT_RANGE_END
    if isinstance(value, dict):
        if value.get("desc") is None:
            raise _invalid("Descriptor needs to be provided in scan object")
        text = parse_str(value["desc"])
        if value.get("range") is not None:
            first, last = parse_range(value["range"])
    elif isinstance(value, str):
        text = value
    else:
        raise _invalid("Scan object needs to be either a string or an object")
    descriptors = parse_output_descriptors(text, network)
    if not descriptors[0].is_range:
        first = last = 0
    scripts: list[bytes] = []
    for index in range(first, last + 1):
        for descriptor in descriptors:
            expanded = descriptor.expand(index, findings)
            if expanded is None:
                raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, f"Cannot derive script without private keys: '{text}'")
            if private:
                descriptor.expand_private(index, findings)
            scripts += expanded
    return scripts


def parse_range(value: Any) -> tuple[int, int]:
    """Return (first, last) of a descriptor's range, given as its end or as [begin,end]. Raises RpcError -8, -1."""
    if isinstance(value, list) and len(value) == 2:
        if any(isinstance(bound, bool) or not isinstance(bound, int | float) for bound in value):
            raise _invalid("Range must be specified as end or as [begin,end]")
        low, high = parse_int(value[0], INT64), parse_int(value[1], INT64)
        if low > high:
            raise _invalid("Range specified as [begin,end] must not have begin after end")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = 0, parse_int(value, INT64)
    else:
        raise _invalid("Range must be specified as end or as [begin,end]")
    if low < 0:
        raise _invalid("Range should be greater or equal than 0")
    if high >> 31:
        raise _invalid("End of range is too high")
    if high >= low + MAX_RANGE:
        raise _invalid("Range is too large")
    return low, high


def _invalid(message: str) -> RpcError:
    return RpcError(RpcCode.INVALID_PARAMETER, message)
