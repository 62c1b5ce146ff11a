"""Edits of a script's raw bytes that follow its operations, as signature checks outside witness scripts need them.

Owns: FindAndDelete and the removal of OP_CODESEPARATOR. Never: encoding a script again.
"""

from clarion.node.primitives.opcodes import OP_CODESEPARATOR, OP_PUSHDATA1, OP_PUSHDATA4
from clarion.node.primitives.script import read_op


def find_and_delete(script: bytes, pattern: bytes) -> tuple[bytes, int]:
    """Return (script without `pattern` wherever it starts at an operation's boundary, how often it was there).

    What is deleted is bytes, not operations: the pattern's end need not be a boundary.
    """
    if not pattern or pattern not in script:
        return script, 0
    kept = []
    found = 0
    at = start = 0
    size = len(pattern)
    while True:
        kept.append(script[start:at])
        while script.startswith(pattern, at):
            at += size
            found += 1
        start = at
        op = read_op(script, at)
        if op is None:
            break
        at = op[2]
    if not found:
        return script, 0
    kept.append(script[start:])
    return b"".join(kept), found


def remove_code_separators(script: bytes) -> tuple[int, bytes]:
    """Return (length that is hashed, script without its OP_CODESEPARATOR operations).

    They differ for a script that ends inside a push: the reference then announces the whole length but hashes only up
    to where its reader stopped.
    """
    kept = []
    removed = 0
    at = start = 0
    while (op := read_op(script, at)) is not None:
        at = op[2]
        if op[0] == OP_CODESEPARATOR:
            kept.append(script[start : at - 1])
            removed += 1
            start = at
    kept.append(script[start : _stop(script, at)])
    return len(script) - removed, b"".join(kept)


def _stop(script: bytes, at: int) -> int:
    # Where the reference's reader stands after it failed: behind the opcode and the length bytes it could read.
    if at >= len(script):
        return at
    opcode = script[at]
    at += 1
    if OP_PUSHDATA1 <= opcode <= OP_PUSHDATA4:
        length_bytes = 1 << (opcode - OP_PUSHDATA1)
        if len(script) - at >= length_bytes:
            at += length_bytes
    return at
