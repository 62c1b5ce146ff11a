"""Which kind of output a script is."""

import pytest

from clarion.node.primitives.script import multisig_script, p2pk_script, push_data
from clarion.node.primitives.templates import ScriptType, solve

KEY = b"\2" + bytes(range(32))
LONG_KEY = b"\4" + bytes(64)
HASH20, HASH32 = bytes(range(20)), bytes(range(32))

KINDS: dict[str, tuple[bytes, ScriptType]] = {
    "p2pk": (p2pk_script(KEY), ScriptType.PUBKEY),
    "p2pk-uncompressed": (p2pk_script(LONG_KEY), ScriptType.PUBKEY),
    "p2pk-hybrid": (p2pk_script(b"\6" + bytes(64)), ScriptType.PUBKEY),
    "p2pk-bad-prefix": (p2pk_script(b"\5" + bytes(32)), ScriptType.NONSTANDARD),
    "p2pkh": (b"\x76\xa9\x14" + HASH20 + b"\x88\xac", ScriptType.PUBKEYHASH),
    "p2sh": (b"\xa9\x14" + HASH20 + b"\x87", ScriptType.SCRIPTHASH),
    "p2wpkh": (b"\0\x14" + HASH20, ScriptType.WITNESS_V0_KEYHASH),
    "p2wsh": (b"\0\x20" + HASH32, ScriptType.WITNESS_V0_SCRIPTHASH),
    "v0-other-size": (b"\0\x15" + bytes(21), ScriptType.NONSTANDARD),
    "p2tr": (b"\x51\x20" + HASH32, ScriptType.WITNESS_V1_TAPROOT),
    "anchor": (b"\x51\x02\x4e\x73", ScriptType.ANCHOR),
    "v1-other-size": (b"\x51\x02\x4e\x74", ScriptType.WITNESS_UNKNOWN),
    "v2": (b"\x52\x20" + HASH32, ScriptType.WITNESS_UNKNOWN),
    "nulldata": (b"\x6a" + push_data(b"text") + b"\x51", ScriptType.NULLDATA),
    "nulldata-alone": (b"\x6a", ScriptType.NULLDATA),
    "return-cut-off": (b"\x6a\x05a", ScriptType.NONSTANDARD),
    "return-and-code": (b"\x6a\x61", ScriptType.NONSTANDARD),
    "empty": (b"", ScriptType.NONSTANDARD),
    "multisig": (multisig_script(1, [KEY, LONG_KEY]), ScriptType.MULTISIG),
    "multisig-20": (multisig_script(20, [KEY] * 20), ScriptType.MULTISIG),
    "multisig-21": (multisig_script(1, [KEY] * 21), ScriptType.NONSTANDARD),
    "multisig-none-required": (multisig_script(0, [KEY]), ScriptType.NONSTANDARD),
    "multisig-too-many-required": (multisig_script(2, [KEY]), ScriptType.NONSTANDARD),
    "multisig-wrong-count": (b"\x51" + push_data(KEY) + b"\x52\xae", ScriptType.NONSTANDARD),
    "multisig-more-behind": (multisig_script(1, [KEY]) + b"\xae", ScriptType.NONSTANDARD),
    "multisig-number-not-minimal": (b"\x01\x01" + push_data(KEY) + b"\x51\xae", ScriptType.NONSTANDARD),
    "multisig-key-in-pushdata1": (b"\x51\x4c\x21" + KEY + b"\x51\xae", ScriptType.MULTISIG),
    "multisig-cut-off": (b"\x51\x21\xae", ScriptType.NONSTANDARD),
}


@pytest.mark.parametrize(("script", "kind"), KINDS.values(), ids=KINDS)
def test_kind(script: bytes, kind: ScriptType) -> None:
    assert solve(script).type is kind


def test_parts() -> None:
    assert solve(p2pk_script(KEY)).data == (KEY,)
    assert solve(multisig_script(1, [KEY, LONG_KEY]))[1:] == ((KEY, LONG_KEY), 1)
    assert solve(b"\x60\x02ab")[1:] == ((b"ab",), 16)
    assert solve(b"\xa9\x14" + HASH20 + b"\x87").data == (HASH20,)
