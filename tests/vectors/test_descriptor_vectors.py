"""Descriptors by the test vectors of BIP381 to BIP387, BIP389 and BIP390, as their texts have them."""

import json
from pathlib import Path
from typing import Any

import pytest

from clarion.node.params.networks import main_params
from clarion.node.primitives.descriptor import parse_descriptors
from clarion.node.primitives.descriptor_checksum import DescriptorError

NETWORK = main_params()

VECTORS: dict[str, list[Any]] = json.loads(Path(__file__).with_name("bip_descriptors.json").read_text())


def cases(section: str) -> list[Any]:
    return [pytest.param(*row[1:], id=f"{row[0]}-{number}") for number, row in enumerate(VECTORS[section])]


def scripts_of(text: str, index: int) -> list[str]:
    (descriptor,) = parse_descriptors(text, NETWORK)
    scripts = descriptor.expand(index)
    assert scripts is not None
    return [script.hex() for script in scripts]


@pytest.mark.parametrize(("text", "expected"), cases("valid"))
def test_scripts(text: str, expected: list[str]) -> None:
    found: list[str] = []
    while len(found) < len(expected):
        found += scripts_of(text, index=len(found) // (len(scripts_of(text, 0))))
    assert found == expected


@pytest.mark.parametrize("text", cases("invalid"))
def test_refused(text: str) -> None:
    with pytest.raises(DescriptorError):
        parse_descriptors(text, NETWORK)


@pytest.mark.parametrize(("text", "expected"), cases("multipath"))
def test_alternatives(text: str, expected: list[str]) -> None:
    whole = text if text.endswith(")") else text + ")"
    found = [str(descriptor) for descriptor in parse_descriptors(whole, NETWORK)]
    assert found == [str(parse_descriptors(one, NETWORK)[0]) for one in expected]


def test_sections_are_not_empty() -> None:
    assert {name: len(rows) for name, rows in VECTORS.items()} == {"valid": 64, "invalid": 61, "multipath": 6}
