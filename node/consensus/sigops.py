"""Counting signature operations.

Owns: the legacy, P2SH and witness counts over raw script bytes. Never: the limit (`block_check`, `connect`).
A script that ends inside a push counts as far as it parses; nothing here raises on one.
"""

from collections.abc import Sequence

from clarion.node.consensus.constants import WITNESS_SCALE_FACTOR
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.opcodes import (
    OP_1,
    OP_16,
    OP_CHECKMULTISIGVERIFY,
    OP_CHECKSIG,
    OP_CHECKSIGVERIFY,
    OP_EQUAL,
    OP_HASH160,
    OP_INVALIDOPCODE,
    OP_PUSHDATA1,
    OP_PUSHDATA4,
)
from clarion.node.primitives.script import MAX_PUBKEYS_PER_MULTISIG, is_p2sh, witness_program
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.flags import SCRIPT_VERIFY_P2SH, SCRIPT_VERIFY_WITNESS


def script_sigops(script: bytes, accurate: bool) -> int:
    """Return the signature operations in a script.

    A multisig counts 20, or with `accurate` the number pushed right before it by OP_1 to OP_16.
    """
    size = len(script)
    count = 0
    at = 0
    last = OP_INVALIDOPCODE
    while at < size:
        opcode = script[at]
        if opcode < OP_PUSHDATA1:
            at += opcode + 1
            last = opcode
            continue
        at += 1
        if opcode > OP_PUSHDATA4:
            if OP_CHECKSIG <= opcode <= OP_CHECKMULTISIGVERIFY:
                if opcode <= OP_CHECKSIGVERIFY:
                    count += 1
                elif accurate and OP_1 <= last <= OP_16:
                    count += last - (OP_1 - 1)
                else:
                    count += MAX_PUBKEYS_PER_MULTISIG
        else:
            prefix = 1 << (opcode - OP_PUSHDATA1)
            at += prefix + int.from_bytes(script[at : at + prefix], "little")
        last = opcode
    return count


def block_legacy_sigops(block: Block) -> list[int]:
    """Return `legacy_sigops` of every transaction. They are counted once, though two rules need them."""
    counts = block.legacy_sigops
    if counts is None:
        counts = block.legacy_sigops = [
            legacy_sigops(tx) if tx.notes is None else tx.notes.legacy_sigops for tx in block.txs
        ]
    return counts


def legacy_sigops(tx: Transaction) -> int:
    """Return the inaccurate count over all script_sigs and script_pubkeys of the transaction, the coinbase's too."""
    count = 0
    for txin in tx.inputs:
        if txin.script_sig:
            count += script_sigops(txin.script_sig, False)
    for txout in tx.outputs:
        script = txout.script_pubkey
        # The templates that nearly all outputs have are told apart without a walk.
        size = len(script)
        if size == 22 and script[0] == 0 and script[1] == 20:
            continue
        if size == 34 and script[1] == 32 and (script[0] == OP_1 or script[0] == 0):
            continue
        if size == 23 and script[0] == OP_HASH160 and script[1] == 20 and script[22] == OP_EQUAL:
            continue
        if size == 25 and script[:3] == b"\x76\xa9\x14" and script[23:] == b"\x88\xac":
            count += 1
            continue
        count += script_sigops(script, False)
    return count


def redeem_script(script_sig: bytes) -> bytes | None:
    """Return what the last operation pushes, None unless everything parses and is a push (BIP16)."""
    size = len(script_sig)
    start = end = at = 0
    while at < size:
        opcode = script_sig[at]
        at += 1
        if opcode < OP_PUSHDATA1:
            start, at = at, at + opcode
        elif opcode <= OP_PUSHDATA4:
            prefix = 1 << (opcode - OP_PUSHDATA1)
            start = at + prefix
            at = start + int.from_bytes(script_sig[at:start], "little")
        elif opcode <= OP_16:
            start = at
        else:
            return None
        end = at
    # Only the last operation can reach behind the end.
    return script_sig[start:end] if end <= size else None


def p2sh_sigops(script_sig: bytes) -> int:
    """Return the accurate count of the redeem script, 0 unless `script_sig` only pushes (BIP16)."""
    return script_sigops(redeem_script(script_sig) or b"", True)


def witness_sigops(script_pubkey: bytes, script_sig: bytes, witness: Sequence[bytes]) -> int:
    """Return the count of an input's witness, native or nested in P2SH (BIP141). Version 1 and up count 0."""
    program = witness_program(script_pubkey)
    if program is None and is_p2sh(script_pubkey):
        program = witness_program(redeem_script(script_sig) or b"")
    return 0 if program is None else _program_sigops(program, witness)


def _program_sigops(program: tuple[int, bytes], witness: Sequence[bytes]) -> int:
    version, payload = program
    if version == 0:
        if len(payload) == 20:
            return 1
        if len(payload) == 32 and witness:
            return script_sigops(witness[-1], True)
    return 0


def transaction_sigop_cost(tx: Transaction, spent: Sequence[SpentOutput], flags: int) -> int:
    """Return the cost of a transaction's signature operations: legacy and P2SH count four, witness one (BIP141).

    `spent` holds the outputs that the inputs spend, in order; a coinbase spends none.
    """
    return legacy_sigops(tx) * WITNESS_SCALE_FACTOR + input_sigop_cost(tx, spent, flags)


def input_sigop_cost(tx: Transaction, spent: Sequence[SpentOutput], flags: int) -> int:
    """Return the part of `transaction_sigop_cost` that depends on the outputs that the inputs spend."""
    count_p2sh = flags & SCRIPT_VERIFY_P2SH
    count_witness = flags & SCRIPT_VERIFY_WITNESS
    cost = 0
    for txin, coin in zip(tx.inputs, spent, strict=False):
        script = coin.script_pubkey
        size = len(script)
        if size == 25:
            # P2PKH, or at least neither P2SH nor a witness program unless its second byte says 23.
            if script[1] != 23:
                continue
        elif size == 22:
            if script[0] == 0 and script[1] == 20:
                if count_witness:
                    cost += 1
                continue
        elif size == 34 and script[0] == OP_1 and script[1] == 32:
            continue
        elif size == 23 and is_p2sh(script):
            script_sig = txin.script_sig
            if count_witness and count_p2sh and len(script_sig) == 23 and script_sig[:3] == b"\x16\x00\x14":
                cost += 1
                continue
            redeem = redeem_script(script_sig) if count_p2sh else None
            if redeem:
                program = witness_program(redeem)
                # A program holds a single push behind its version, so there is nothing to count in it.
                if program is None:
                    cost += script_sigops(redeem, True) * WITNESS_SCALE_FACTOR
                elif count_witness:
                    cost += _program_sigops(program, txin.witness)
            continue
        if count_witness:
            program = witness_program(script)
            if program is not None:
                cost += _program_sigops(program, txin.witness)
    return cost
