"""Miniscript, script trees and MuSig2 in descriptors: scripts and messages that the reference gives."""

import re

import pytest

from clarion.node.params.networks import regtest_params
from clarion.node.primitives.descriptor import parse_descriptors
from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_infer import infer_descriptor

REGTEST = regtest_params()
NAMES = {
    "G": "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    "XONLY": "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    "LONG": "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8",
    "K2": "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5",
    "X": "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B",
    "BRACES": "{" * 129,
}
# Keys by names; the scripts are those at index 1, of each alternative.
SCRIPTS = [
    ("wsh(and_v(v:pk(G),older(10)))", ["0020c1cf2070a1d3b3192622394e4220c261d423b9550abbd53543c8c9da95d868c3"]),
    ("wsh(t:or_c(pk(G),v:pkh(K2)))", ["00202e9c1db690a0b2253aa8d79442ba1a16ee79b2cb45f5104840b520a9108a355a"]),
    (
        "wsh(andor(pk(X/0/*),older(4),pk(X/1/*)))",
        ["002090ee1377debe1582845a2fc15ba05a6603477fe9d55ab6167e53a5cd25ce81a0"],
    ),
    (
        "wsh(thresh(2,pk(G),s:pk(K2),sln:older(9)))",
        ["00202258b4a336a981d1f18b561d5364fa6fca034012c13242f38b0c435b47781c14"],
    ),
    (
        "sh(wsh(or_d(multi(1,G,K2),and_v(v:pkh(X/*),after(500000000)))))",
        ["a91415d9331f81c19f7928c5d203d8c8a93b1fd961ed87"],
    ),
    (
        "wsh(and_v(v:hash160(1111111111111111111111111111111111111111),pk(G)))",
        ["0020d70c7be650455d3dba5678a507da99aac41780fac567c471f883901779f76965"],
    ),
    ("tr(XONLY,and_v(v:pk(K2),older(10)))", ["51202be53b5af40e891f5846601616e85371ad6a12f5e3adc97bda2bd222eccf8a39"]),
    (
        "tr(XONLY,{pk(K2),{multi_a(2,G,K2),sortedmulti_a(1,K2,G)}})",
        ["512004721adbe5fb04ea213295a7b500fc5f080ccec37c36fb1504134e18e5f9942f"],
    ),
    (
        "tr(XONLY,thresh(1,pkh(K2),s:pk(X/*),s:pk(G)))",
        ["5120fc3fcd568ee4101bf7e65c6f49f70f24ec648277fce8042d0e4f6574707d1aab"],
    ),
    ("tr(musig(G,K2),pk(G))", ["5120bbddc50d4dc70b6b2da9fc710a4668de36fc090d91617309c188fd6f94299c05"]),
    (
        "tr(musig(X/1,X/2)/0/<2;3>/*)",
        [
            "51204343c2292ca6ca210263bf449db4ee4f40e82184e082f2f68e2443482a98515a",
            "5120f8a3d6ebdc9317ce87dceee0f39f5999428b43f21f34113f7696c34cdc83b8cb",
        ],
    ),
    ("rawtr(musig(X/*,K2))", ["5120ea35c450f05ba155a876534fdbb65152b46b7c4e348b9addebc3764c832d28de"]),
    (
        "tr(XONLY,and_v(v:multi_a(1,K2,X/3),dv:older(3)))",
        ["512015fe095d47b2e24c4bfaf10307f5a9039ae4c97c9b6ba29c49c4cd3546c0ce8e"],
    ),
]
MESSAGES = [
    ("wsh(and_v(v:pk(G),pk(G)))", "and_v(v:pk(G),pk(G)) is not sane: contains duplicate public keys"),
    ("wsh(older(1))", "older(1) is not sane: witnesses without signature exist"),
    ("wsh(pk_k(G))", "pk_k(G) is not sane"),
    ("wsh(or_i(pk(G),after(1)))", "or_i(pk(G),after(1)) is not sane: witnesses without signature exist"),
    (
        "wsh(and_b(after(1),a:after(500000000)))",
        "and_b(after(1),a:after(500000000)) is not sane: witnesses without signature exist",
    ),
    ("wsh(and_b(pk(G),s:0))", "s:0 is invalid"),
    ("wsh(and_v(pk(G),pk(K2)))", "and_v(pk(G),pk(K2)) is invalid"),
    ("and_v(v:pk(G),pk(K2))", "Miniscript expressions can only be used in wsh or tr."),
    ("sh(and_v(v:pk(G),older(1)))", "Miniscript expressions can only be used in wsh or tr."),
    ("wsh(and_v(v:pk(zz),older(1)))", "key 'zz' is not valid"),
    ("tr(XONLY,multi(1,G))", "Can only have multi/sortedmulti at top level, in sh(), or in wsh()"),
    ("tr(XONLY,{pk(G)})", "tr(): expected ',' after script expression"),
    ("tr(XONLY,{pk(G),pk(G))", "tr(): expected '}' after script expression"),
    ("tr(XONLY,pk(G)))", ""),
    ("tr(XONLY,pkh(LONG))", "Uncompressed keys are not allowed"),
    ("wsh(multi_a(1,G))", "Can only have multi_a/sortedmulti_a inside tr()"),
    ("tr(musig(G,K2)/0)", "tr(): musig(): derivation requires all participants to be xpubs or xprvs"),
    ("tr(musig())", "tr(): musig(): Must contain key expressions"),
    ("tr(musig(G,K2)", "tr(): Invalid musig() expression"),
    ("tr(musig(G)))", ""),
    ("tr(musig(X/*,X)/0)", "tr(): musig(): Cannot have ranged participant keys if musig() also has derivation"),
    ("tr(musig(X,X)/*h)", "tr(): musig(): Cannot have hardened child derivation"),
    ("tr(musig(X,X)/0h)", "tr(): musig(): cannot have hardened derivation steps"),
    (
        "tr(musig(X/<0;1>,X)/<0;1>)",
        "tr(): musig(): Cannot have multipath participant keys if musig() is also multipath",
    ),
    ("tr(musig(X/<0;1>,X/<0;1;2>))", "tr(): musig(): Multipath derivation paths have mismatched lengths"),
    ("tr(musig(musig(G),K2))", "tr(): Too many ')' in musig() expression"),
    (
        "tr(XONLY,multi_a(2,G))",
        "Multisig threshold cannot be larger than the number of keys; threshold is 2 but only 1 keys specified",
    ),
    (
        "wsh(thresh(2,pk(G),s:pk(K2),s:sha256(2222222222222222222222222222222222222222222222222222222222222222)))",
        "thresh(2,pk(G),s:pk(K2),s:sha256(2222222222222222222222222222222222222222222222222222222222222222)) is not sane: malleable witnesses exist",
    ),
    ("wsh(and_v(v:pk(X/<0;1>),pk(X/<2;3;4>)))", "Miniscript: Multipath derivation paths have mismatched lengths"),
    ("wsh(vv:pk(G))", "A function is needed within P2WSH"),
    (
        "wsh(and_v(v:pk(G),and_v(v:after(1),after(500000000))))",
        "and_v(v:after(1),after(500000000)) is not sane: contains mixes of timelocks expressed in blocks and seconds",
    ),
    ("tr(XONLY,BRACESpk(G))", "tr() supports at most 128 nesting levels"),
]


def spelled(text: str) -> str:
    """Return a text with keys in the place of their names."""
    return re.sub(r"\b(XONLY|LONG|K2|G|X)\b|BRACES", lambda match: NAMES[match.group()], text)


@pytest.mark.parametrize(("text", "expected"), SCRIPTS)
def test_scripts(text: str, expected: list[str]) -> None:
    found = [descriptor.expand(1) for descriptor in parse_descriptors(spelled(text), REGTEST)]
    assert [script.hex() for scripts in found for script in scripts or ()] == expected


@pytest.mark.parametrize(("text", "message"), MESSAGES)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        parse_descriptors(spelled(text), REGTEST)
    assert str(caught.value) == spelled(message)


@pytest.mark.parametrize("text", [text for text, _ in SCRIPTS])
def test_canonical_form_is_read_again(text: str) -> None:
    for descriptor in parse_descriptors(spelled(text), REGTEST):
        (again,) = parse_descriptors(str(descriptor), REGTEST)
        assert again.expand(2) == descriptor.expand(2)
        assert again.solvable


@pytest.mark.parametrize(
    "text",
    [
        "wsh(and_v(v:pk(K2),older(10)))",
        "tr(XONLY,{pk(c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5),pk(XONLY)})",
        "tr(XONLY,and_v(v:pk(c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5),older(10)))",
    ],
)
def test_inferred_again(text: str) -> None:
    (descriptor,) = parse_descriptors(spelled(text), REGTEST)
    findings = Findings()
    scripts = descriptor.expand(0, findings)
    assert scripts is not None
    found = infer_descriptor(scripts[0], REGTEST, findings)
    leaves = re.compile(r"\[[0-9a-f]{8}\]")
    (again,) = parse_descriptors(found, REGTEST)
    assert again.expand(0) == scripts
    assert sorted(leaves.sub("", found).split("#")[0]) == sorted(spelled(text))


def test_private_key_of_one_alternative_serves_its_public_form() -> None:
    xprv = "tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK"
    (descriptor,) = parse_descriptors(spelled(f"wsh(multi(2,{xprv}/1,X/2h))"), REGTEST)
    assert descriptor.expand(0) is not None
    (public,) = parse_descriptors(spelled("wsh(multi(2,X/1,X/2h))"), REGTEST)
    assert public.expand(0) is None


def test_private_keys_at_an_index() -> None:
    xprv = "tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK"
    (descriptor,) = parse_descriptors(f"wpkh({xprv}/0h/*)", REGTEST)
    findings = Findings()
    descriptor.expand(4, findings)
    descriptor.expand_private(4, findings)
    (key_hash,) = findings.pubkeys
    assert findings.secrets[key_hash].compressed
