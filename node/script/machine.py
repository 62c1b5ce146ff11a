"""The state of one script's execution.

Owns: the values that opcodes work on. Never: what the opcodes do.
"""

from typing import TYPE_CHECKING

from clarion.node.script.flags import SCRIPT_VERIFY_MINIMALDATA

if TYPE_CHECKING:
    from clarion.node.script.checker import SignatureChecker

MAX_OPS_PER_SCRIPT = 201
"""Most operations above OP_16 in a script outside tapscript; a CHECKMULTISIG counts its keys too."""

MAX_STACK_SIZE = 1000
"""Most items on both stacks together."""

SIGVERSION_BASE = 0
"""Scripts outside the witness, redeem scripts included."""
SIGVERSION_WITNESS_V0 = 1
"""BIP141, BIP143."""
SIGVERSION_TAPSCRIPT = 3
"""BIP342."""

TRUE = b"\x01"
FALSE = b""


class ExecutionData:
    """What taproot signatures commit to beside the transaction, and the budget of tapscript's signatures.

    `annex_hash`: SHA-256 of the length-prefixed annex or None; `tapleaf_hash`: None on the key path;
    `code_separator_position`: number of the operation; `weight_left`: validation weight units (BIP342).
    """

    __slots__ = ("annex_hash", "code_separator_position", "tapleaf_hash", "weight_left")

    def __init__(self) -> None:
        self.annex_hash: bytes | None = None
        self.tapleaf_hash: bytes | None = None
        self.code_separator_position = 0xFFFFFFFF
        self.weight_left = 0


class Machine:
    """One execution: `stack` and `altstack` (bottom first), `script`, and how to judge it.

    `code_start` is the offset behind the last executed OP_CODESEPARATOR, `op_count` what counts towards
    MAX_OPS_PER_SCRIPT.
    """

    __slots__ = (
        "altstack",
        "checker",
        "code_start",
        "execution",
        "flags",
        "minimal",
        "op_count",
        "script",
        "sigversion",
        "stack",
    )

    def __init__(
        self,
        stack: list[bytes],
        script: bytes,
        flags: int,
        checker: "SignatureChecker",
        sigversion: int,
        execution: ExecutionData,
    ) -> None:
        self.stack = stack
        self.altstack: list[bytes] = []
        self.script = script
        self.flags = flags
        self.minimal = bool(flags & SCRIPT_VERIFY_MINIMALDATA)
        self.checker = checker
        self.sigversion = sigversion
        self.execution = execution
        self.code_start = 0
        self.op_count = 0
