"""FindAndDelete and the removal of code separators, byte for byte as the reference does them (script_tests.cpp)."""

import pytest

from clarion.node.script.walk import find_and_delete, remove_code_separators

DELETIONS = [
    ("5152", "", "5152", 0),
    ("515253", "52", "5153", 1),
    ("535153535453", "53", "5154", 4),
    ("0302ff03", "0302ff03", "", 1),
    ("0302ff030302ff03", "0302ff03", "", 2),
    # Not at an operation's start.
    ("0302ff030302ff03", "02", "0302ff030302ff03", 0),
    ("0302ff030302ff03", "ff", "0302ff030302ff03", 0),
    # Bytes, not operations: what follows is read anew.
    ("0302ff030302ff03", "03", "02ff0302ff03", 2),
    ("02feed5169", "feed51", "02feed5169", 0),
    ("02feed5169", "02feed51", "69", 1),
    ("516902feed5169", "feed51", "516902feed5169", 0),
    ("516902feed5169", "02feed51", "516969", 1),
    ("00005151", "0051", "0051", 1),
    ("000051005151", "0051", "0051", 2),
    ("0003feed", "03feed", "00", 1),
    ("0003feed", "00", "03feed", 1),
]


@pytest.mark.parametrize(("script", "pattern", "expected", "count"), DELETIONS)
def test_find_and_delete(script: str, pattern: str, expected: str, count: int) -> None:
    got = find_and_delete(bytes.fromhex(script), bytes.fromhex(pattern))
    assert got == (bytes.fromhex(expected), count)


@pytest.mark.parametrize(
    ("script", "size", "expected"),
    [
        ("ac", 1, "ac"),
        ("ababac", 1, "ac"),
        ("51ab52ab", 2, "5152"),
        # Inside a push it is data.
        ("02abab51ab", 4, "02abab51"),
        # A script that ends inside a push: the length covers what is not hashed.
        ("ab510501", 3, "5105"),
        ("ab514d01", 3, "514d"),
        ("ab514d050001", 5, "514d0500"),
    ],
)
def test_remove_code_separators(script: str, size: int, expected: str) -> None:
    assert remove_code_separators(bytes.fromhex(script)) == (size, bytes.fromhex(expected))
