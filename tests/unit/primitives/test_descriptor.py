"""Descriptors: scripts, canonical texts, inference and the reference's messages."""

import pytest

from clarion.node.params.networks import main_params, regtest_params
from clarion.node.primitives.descriptor import Descriptor, parse_descriptors
from clarion.node.primitives.descriptor_checksum import DescriptorError, descriptor_checksum
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_infer import infer_descriptor
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.script import multisig_script, p2pk_script, witness_script

REGTEST = regtest_params()
G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
G_LONG = "04" + G[2:] + "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
G_HYBRID = "06" + G_LONG[2:]
KEY2 = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
WIF_1 = "cMahea7zqjxrtgAbB7LSGbcQUr1uX1ojuat9jZodMN87JcbXMTcA"
XPUB = "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B"


def parse(text: str) -> Descriptor:
    """Return the descriptor of a text without alternatives."""
    (descriptor,) = parse_descriptors(text, REGTEST)
    return descriptor


def scripts_of(text: str, index: int = 0) -> list[bytes]:
    """Return the scripts at an index."""
    scripts = parse(text).expand(index)
    assert scripts is not None
    return scripts


def inferred(text: str) -> list[str]:
    """Return how each script is shown, without checksum."""
    findings = Findings()
    scripts = parse(text).expand(0, findings)
    assert scripts is not None
    return [infer_descriptor(script, REGTEST, findings).split("#")[0] for script in scripts]


SCRIPTS = {
    "pk": (f"pk({G})", [f"21{G}ac"]),
    "pk-uncompressed": (f"pk({G_LONG})", [f"41{G_LONG}ac"]),
    "pk-wif": (f"pk({WIF_1})", [f"21{G}ac"]),
    "pkh": (f"pkh({G})", ["76a914751e76e8199196d454941c45d1b3a323f1433bd688ac"]),
    "wpkh": (f"wpkh({G})", ["0014751e76e8199196d454941c45d1b3a323f1433bd6"]),
    "sh-wpkh": (f"sh(wpkh({G}))", ["a914bcfeb728b584253d5f3f70bcb780e9ef218a68f487"]),
    "combo-uncompressed": (
        f"combo({G_LONG})",
        [f"41{G_LONG}ac", "76a91491b24bf9f5288532960ac687abb035127b1d28a588ac"],
    ),
    "raw": ("raw(5152AA)", ["5152aa"]),
    "multi": (f"multi(1,{KEY2},{G})", [f"5121{KEY2}21{G}52ae"]),
    "sortedmulti": (f"sortedmulti(2,{KEY2},{G})", [f"5221{G}21{KEY2}52ae"]),
    "tr": (f"tr({G[2:]})", ["5120da4710964f7852695de2da025290e24af6d8c281de5a0b902b7135fd9fd74d21"]),
    "rawtr": (f"rawtr({G[2:]})", [f"5120{G[2:]}"]),
    "addr": (
        "addr(BCRT1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KYGT080)",
        ["0014751e76e8199196d454941c45d1b3a323f1433bd6"],
    ),
}


@pytest.mark.parametrize(("text", "scripts"), SCRIPTS.values(), ids=SCRIPTS)
def test_scripts(text: str, scripts: list[str]) -> None:
    assert [script.hex() for script in scripts_of(text)] == scripts


def test_combo_of_a_compressed_key_has_four_scripts() -> None:
    singles = [f"pk({G})", f"pkh({G})", f"wpkh({G})", f"sh(wpkh({G}))"]
    assert scripts_of(f"combo({G})") == [scripts_of(single)[0] for single in singles]
    assert inferred(f"combo({G})") == [single.replace(G, f"[751e76e8]{G}") for single in singles]


@pytest.mark.parametrize(
    "text",
    [
        f"sh(wsh(multi(1,{G})))",
        f"wsh(pkh({G}))",
        f"sh(pk({G}))",
        f"tr({G[2:]})",
        f"rawtr({G[2:]})",
        f"multi(1,{G},{KEY2})",
    ],
)
def test_what_is_known_of_the_keys_is_inferred(text: str) -> None:
    assert inferred(text)[0].replace("[751e76e8]", "").replace("[06afd46b]", "") == text


def test_private_keys_are_not_shown() -> None:
    descriptor = parse(f"pkh({WIF_1})")
    assert str(descriptor) == f"pkh({G})#" + descriptor_checksum(f"pkh({G})")
    assert descriptor.has_private_keys
    assert not parse(f"pkh({G})").has_private_keys


def test_origin_is_kept_with_one_kind_of_mark() -> None:
    text = f"pkh([AABBCCDD/44h/0'/5]{G})"
    assert str(parse(text).expression) == f"pkh([aabbccdd/44'/0'/5]{G})"
    assert inferred(text) == [f"pkh([aabbccdd/44h/0h/5]{G})"]


def test_solvable() -> None:
    assert parse(f"wsh(pk({G}))").solvable
    assert not parse("raw(51)").solvable
    assert not parse("addr(bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080)").solvable


def test_known_checksums() -> None:
    assert descriptor_checksum("raw(51)") == "8lvh9jxk"
    assert descriptor_checksum("raw(deadbeef)") == "89f8spxm"
    assert descriptor_checksum("addr(bcrt1qjvd3607ljez7k5f2awxhj8nd63gserv9efd6u0q0q0dgrmta3unqkagzrh)") == "r5eukn7p"


CHECKSUMS = {
    "missing": ("raw(51)", "Missing checksum"),
    "short": ("raw(51)#8lvh9jx", "Expected 8 character checksum, not 7 characters"),
    "empty": ("raw(51)#", "Expected 8 character checksum, not 0 characters"),
    "two": ("raw(51)#8lvh9jxk#", "Multiple '#' symbols"),
    "wrong": ("raw(52)#8lvh9jxk", "Provided checksum '8lvh9jxk' does not match computed checksum"),
    "payload": ("raw(Ü)#8lvh9jxk", "Invalid characters in payload"),
}


@pytest.mark.parametrize(("text", "message"), CHECKSUMS.values(), ids=CHECKSUMS)
def test_checksum_messages(text: str, message: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        parse_descriptors(text, REGTEST, require_checksum=True)
    assert str(caught.value).startswith(message)


MESSAGES = {
    "unknown": ("foo(51)", "'foo(51)' is not a valid descriptor function"),
    "no-function": ("51", "'51' is not a valid descriptor function"),
    "raw-odd": ("raw(5)", "Raw script is not hex"),
    "raw-inside": ("sh(raw(51))", "Can only have raw() at top level"),
    "addr": ("addr(x)", "Address is not valid"),
    "combo-inside": (f"wsh(combo({G}))", "Can only have combo() at top level"),
    "sh-inside": (f"sh(sh(pk({G})))", "Can only have sh() at top level"),
    "wsh-inside": (f"wsh(wsh(pk({G})))", "Can only have wsh() at top level or inside sh()"),
    "wpkh-inside": (f"wsh(wpkh({G}))", "Can only have wpkh() at top level or inside sh()"),
    "tr-inside": (f"sh(tr({G}))", "Can only have tr at top level"),
    "multi_a": (f"multi_a(1,{G})", "Can only have multi_a/sortedmulti_a inside tr()"),
    "sh-key": (f"sh({G})", "A function is needed within P2SH"),
    "wsh-key": (f"wsh({G})", "A function is needed within P2WSH"),
    "no-key": ("pk()", "pk(): No key provided"),
    "blank": (f"pkh( {G})", f"pkh(): Key ' {G}' is invalid due to whitespace"),
    "bad-key": ("wpkh(02)", "wpkh(): Pubkey '02' is invalid"),
    "not-a-key": ("combo(x)", "combo(): key 'x' is not valid"),
    "hybrid": (f"pk({G_HYBRID})", "pk(): Hybrid public keys are not allowed"),
    "uncompressed": (f"wpkh({G_LONG})", "wpkh(): Uncompressed keys are not allowed"),
    "xonly-elsewhere": (f"pk({G[2:]})", f"pk(): Pubkey '{G[2:]}' is invalid"),
    "threshold": (f"multi(x,{G})", "Multi threshold 'x' is not valid"),
    "threshold-0": (f"multi(0,{G})", "Multisig threshold cannot be 0, must be at least 1"),
    "threshold-2": (
        f"multi(2,{G})",
        "Multisig threshold cannot be larger than the number of keys; threshold is 2 but only 1 keys specified",
    ),
    "no-keys": ("multi(1)", "Cannot have 0 keys in multisig; must have between 1 and 20 keys, inclusive"),
    "bare-4": (f"multi(1{f',{G}' * 4})", "Cannot have 4 pubkeys in bare multisig; only at most 3 pubkeys"),
    "p2sh-16": (f"sh(multi(1{f',{G}' * 16}))", "P2SH script is too large, 547 bytes is larger than 520 bytes"),
    "multi-key": ("multi(1,x)", "Multi: key 'x' is not valid"),
    "rawtr-2": (f"rawtr({G},{G})", "rawtr(): only one key expected."),
    "fingerprint": (f"pk([aabb]{G})", "pk(): Fingerprint is not 4 bytes (4 characters instead of 8 characters)"),
    "fingerprint-hex": (f"pk([aabbccdx]{G})", "pk(): Fingerprint 'aabbccdx' is not hex"),
    "origin-start": (
        f"pk(aabbccdd]{G})",
        "pk(): Key origin start '[ character expected but not found, got 'a' instead",
    ),
    "origin-twice": (f"pk([aabbccdd]]{G})", "pk(): Multiple ']' characters found for a single pubkey"),
    "path": (f"pk([aabbccdd/x]{G})", "pk(): Key path value 'x' is not a valid uint32"),
    "path-range": (f"pk([aabbccdd/2147483648]{G})", "pk(): Key path value 2147483648 is out of range"),
    "behind": (f"sh(pk({G}),1)", ""),
}


@pytest.mark.parametrize(("text", "message"), MESSAGES.values(), ids=MESSAGES)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        parse(text)
    assert str(caught.value) == message


INFERRED = {
    "p2pk": (p2pk_script(bytes.fromhex(G)).hex(), f"pk({G})"),
    "p2pk-hybrid": (p2pk_script(bytes.fromhex(G_HYBRID)).hex(), f"raw(41{G_HYBRID}ac)"),
    "multisig": (multisig_script(1, [bytes.fromhex(G)]).hex(), f"multi(1,{G})"),
    "p2pkh": ("76a914751e76e8199196d454941c45d1b3a323f1433bd688ac", "addr(1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH)"),
    "p2tr": (f"5120{G[2:]}", f"rawtr({G[2:]})"),
    "nulldata": ("6a0161", "raw(6a0161)"),
    "empty": ("", "raw()"),
    "anchor": ("51024e73", "addr(bc1pfeessrawgf)"),
}


@pytest.mark.parametrize(("script", "text"), INFERRED.values(), ids=INFERRED)
def test_inferred_without_keys(script: str, text: str) -> None:
    assert infer_descriptor(bytes.fromhex(script), main_params()) == f"{text}#{descriptor_checksum(text)}"


def test_taproot_output_that_is_no_point_is_an_address() -> None:
    script = b"\x51\x20" + b"\xff" * 32
    assert infer_descriptor(script, main_params()).startswith("addr(bc1p")


XPRV = "tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK"


def test_extended_keys_derive_the_same_public_or_private() -> None:
    # bcrt1qjqmxmkpmxt80xz4y3746zgt0q3u3ferr34acd5
    program = "001490366dd83b32cef30aa48faba1216f047914e463"
    for key in (XPUB, XPRV):
        assert [script.hex() for script in scripts_of(f"wpkh({key}/1/1/0)")] == [program]
        assert [script.hex() for script in scripts_of(f"wpkh({key}/1/1/*)", 0)] == [program]
    assert str(parse(f"wpkh({XPRV}/1/*)").expression) == f"wpkh({XPUB}/1/*)"
    assert parse(f"wpkh({XPRV})").has_private_keys


def test_range() -> None:
    ranged = parse(f"wsh(multi(1,{G},{XPUB}/*))")
    assert ranged.is_range
    assert not parse(f"wsh(multi(1,{G},{XPUB}/0))").is_range
    assert ranged.expand(7) == scripts_of(f"wsh(multi(1,{G},{XPUB}/7))") != ranged.expand(8)


def test_hardened_steps_need_the_private_key() -> None:
    for path in ("/1'/2", "/1/*h", "/*'"):
        assert parse(f"pkh({XPUB}{path})").expand(3) is None
        assert parse(f"pkh({XPRV}{path})").expand(3) is not None
    assert scripts_of(f"pkh({XPRV}/1/*h)", 3) == scripts_of(f"pkh({XPRV}/1/3')")


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/1h/2'/*", "/1'/2'/*"), ("/1'/2h/*'", "/1h/2h/*h"), ("/1/*'", "/1/*'"), ("/1/2/*h", "/1/2/*h")],
)
def test_one_kind_of_mark_is_shown(path: str, shown: str) -> None:
    assert str(parse(f"pkh({XPRV}{path})").expression) == f"pkh({XPUB}{shown})"
    with_origin = f"pkh([aabbccdd/5h]{XPRV}{path})"
    mark = "'" if "'" in shown else "h"
    assert str(parse(with_origin).expression) == f"pkh([aabbccdd/5{mark}]{XPUB}{shown})"


def test_origin_of_a_derived_key() -> None:
    findings = Findings()
    parse(f"pkh([aabbccdd/5h]{XPUB}/1/*)").expand(9, findings)
    assert [origin.text() for origin in findings.origins.values()] == ["aabbccdd/5h/1/9"]
    findings = Findings()
    parse(f"pkh({XPRV}/1h/*)").expand(9, findings)
    assert [origin.text() for origin in findings.origins.values()] == ["0c5f9a1e/1h/9"]


def test_alternatives() -> None:
    texts = [str(each.expression) for each in parse_descriptors(f"sh(wpkh({XPUB}/<0;7h;2>/*))", REGTEST)]
    assert texts == [f"sh(wpkh({XPUB}/{step}/*))" for step in ("0", "7h", "2")]
    several = parse_descriptors(f"wsh(sortedmulti(1,{G},{XPUB}/<1;2>/*,{XPUB}/<3;4>))", REGTEST)
    assert [str(each.expression) for each in several] == [
        f"wsh(sortedmulti(1,{G},{XPUB}/1/*,{XPUB}/3))",
        f"wsh(sortedmulti(1,{G},{XPUB}/2/*,{XPUB}/4))",
    ]


def test_key_without_scripts() -> None:
    assert scripts_of(f"unused({XPUB}/1)") == []
    assert parse(f"unused({XPUB})").solvable


EXTENDED_MESSAGES = {
    "other-network": (f"pkh(x{XPUB[1:]})", f"pkh(): key 'x{XPUB[1:]}' is not valid"),
    "path": (f"pkh({XPUB}/x)", "pkh(): Key path value 'x' is not a valid uint32"),
    "star-inside": (f"pkh({XPUB}/*/1)", "pkh(): Key path value '*' is not a valid uint32"),
    "range": (f"pkh({XPUB}/2147483648)", "pkh(): Key path value 2147483648 is out of range"),
    "path-behind-a-key": (f"pkh({G}/1)", f"pkh(): key '{G}' is not valid"),
    "one-alternative": (f"pkh({XPUB}/<1>)", "pkh(): Multipath key path specifiers must have at least two items"),
    "two-lists": (f"pkh({XPUB}/<1;2>/<1;2>)", "pkh(): Multiple multipath key path specifiers found"),
    "doubled": (f"pkh({XPUB}/<1;1>)", "pkh(): Duplicated key path value 1 in multipath specifier"),
    "empty-alternative": (f"pkh({XPUB}/<1;>)", "pkh(): Key path value '' is not a valid uint32"),
    "in-the-origin": (
        f"pkh([aabbccdd/<1;2>]{XPUB})",
        "pkh(): Key path value '<1;2>' specifies multipath in a section where multipath is not allowed",
    ),
    "lengths": (
        f"wsh(multi(1,{XPUB}/<1;2>,{XPUB}/<1;2;3>))",
        "multi(): Multipath derivation paths have mismatched lengths",
    ),
    "unused-range": (f"unused({XPUB}/*)", "unused(): key cannot be ranged"),
    "unused-two": (f"unused({XPUB},{XPUB})", "unused(): only one key expected"),
    "unused-inside": (f"sh(unused({XPUB}))", "Can only have unused at top level"),
}


@pytest.mark.parametrize(("text", "message"), EXTENDED_MESSAGES.values(), ids=EXTENDED_MESSAGES)
def test_messages_about_extended_keys(text: str, message: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        parse_descriptors(text, REGTEST)
    assert str(caught.value) == message


def test_miniscript_is_inferred_if_it_is_sane() -> None:
    key = bytes.fromhex(G)
    script = p2pk_script(key)[:-1] + bytes.fromhex("ad029000b2")
    info = Findings(scripts={hash160(script): script})
    output = witness_script(0, sha256(script))
    assert infer_descriptor(output, REGTEST, info).split("#")[0] == f"wsh(and_v(v:pk({G}),older(144)))"
    unsigned = bytes.fromhex("029000b2")
    info = Findings(scripts={hash160(unsigned): unsigned})
    assert infer_descriptor(witness_script(0, sha256(unsigned)), REGTEST, info).startswith("addr(")
