"""Core's script assembly, and the transactions around the scripts of its vectors.

Owns: reading what stands in script_tests.json, tx_valid.json and tx_invalid.json. Never: judging it.
"""

import re

from clarion.node.primitives import opcodes
from clarion.node.primitives.ids import NULL_OUTPOINT, make_outpoint
from clarion.node.primitives.opcodes import OP_NOP, OP_RESERVED
from clarion.node.primitives.script import push_data, push_number
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

_NUMBER = re.compile(r"-?[0-9]+")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})+")


def _opcode_names() -> dict[str, int]:
    names = {}
    for name, opcode in vars(opcodes).items():
        if name.startswith("OP_") and isinstance(opcode, int) and (opcode >= OP_NOP or opcode == OP_RESERVED):
            names[name] = names[name[3:]] = opcode
    return names


_OPCODES = _opcode_names()


def parse_script(text: str) -> bytes:
    """Return the script of Core's assembly: numbers and 'text' are pushed, 0x… is taken as it is, ADD or OP_ADD."""
    parts = []
    for word in text.split():
        if _NUMBER.fullmatch(word):
            parts.append(push_number(int(word)))
        elif _HEX.fullmatch(word):
            parts.append(bytes.fromhex(word[2:]))
        elif len(word) >= 2 and word[0] == word[-1] == "'":
            parts.append(push_data(word[1:-1].encode()))
        else:
            parts.append(bytes((_OPCODES[word],)))
    return b"".join(parts)


def crediting_transaction(script_pubkey: bytes, value: int) -> Transaction:
    """Return the transaction whose output the script vectors spend."""
    return Transaction(1, [TxIn(NULL_OUTPOINT, b"\0\0")], [TxOut(value, script_pubkey)])


def spending_transaction(script_sig: bytes, witness: tuple[bytes, ...], credit: Transaction) -> Transaction:
    """Return the transaction that spends the credit's output into an empty script."""
    txin = TxIn(make_outpoint(credit.txid, 0), script_sig, 0xFFFFFFFF, witness)
    return Transaction(1, [txin], [TxOut(credit.outputs[0].value, b"")])
