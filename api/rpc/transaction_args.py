"""Transactions that clients send or describe.

Owns: decoding hex, and building an unsigned transaction of the inputs and outputs of a request, with the reference's
error texts. Never: signing, or finding out what the inputs spend.
"""

from typing import Any

from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.members import pairs_of
from clarion.api.rpc.outputs import script_of_address
from clarion.api.rpc.parse import (
    INT64,
    UINT32,
    parse_amount,
    parse_hash,
    parse_hex,
    parse_int,
    parse_list,
    parse_object,
    unhex,
)
from clarion.api.rpc.prevtxs import OUTPOINT_ARGS
from clarion.api.rpc.spec import Arg, ArgType
from clarion.node.errors import DecodeError, RpcError
from clarion.node.primitives.address import AddressFormat
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.opcodes import OP_RETURN
from clarion.node.primitives.script import push_data
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut, decode_hex_transaction

MIN_VERSION, MAX_VERSION = 1, 3
"""Versions of standard transactions."""

DEFAULT_VERSION = 2
FINAL_SEQUENCE = 0xFFFFFFFF
LOCK_TIME_SEQUENCE = FINAL_SEQUENCE - 1
"""Lets the lock time count without announcing a replacement."""

MAX_REPLACEABLE_SEQUENCE = FINAL_SEQUENCE - 2
"""Highest sequence number that announces a replacement (BIP125)."""

CONSTRUCTION_ARGS = (
    Arg(
        "inputs",
        ArgType.ARR,
        "The outputs to spend",
        required=True,
        inner=(
            Arg(
                "",
                ArgType.OBJ,
                inner=(
                    *OUTPOINT_ARGS,
                    Arg(
                        "sequence",
                        ArgType.NUM,
                        "The sequence number",
                        hint="depends on the value of the 'replaceable' and 'locktime' arguments",
                    ),
                ),
            ),
        ),
    ),
    Arg(
        "outputs",
        ArgType.ARR,
        "What to pay, an address or data each; one object with all of them is taken too.\n"
        "An address may stand there once, and so may data.",
        required=True,
        unchecked=True,
        inner=(
            Arg(
                "",
                ArgType.OBJ_USER_KEYS,
                inner=(Arg("address", ArgType.AMOUNT, "The address, with the amount in BTC", required=True),),
            ),
            Arg(
                "",
                ArgType.OBJ,
                inner=(
                    Arg("data", ArgType.STR_HEX, 'The word "data", with what an OP_RETURN output holds', required=True),
                ),
            ),
        ),
    ),
    Arg("locktime", ArgType.NUM, "The lock time; other than 0, it also makes the inputs heed it", default=0),
    Arg(
        "replaceable",
        ArgType.BOOL,
        "Whether to announce that the transaction may be replaced (BIP125).\n"
        "If given, sequence numbers that contradict it are an error.",
        hint="true",
    ),
    Arg("version", ArgType.NUM, "The version", default=DEFAULT_VERSION),
)
"""Arguments of the methods that build a transaction, in the order of `construct_transaction`."""


def decode_transaction(text: str, *, try_witness: bool = True, try_no_witness: bool = True) -> Transaction | None:
    """Return the transaction that hex spells in one of the encodings to try, None if it spells none."""
    data = unhex(text)
    if data is None:
        return None
    try:
        return decode_hex_transaction(data, try_witness=try_witness, try_no_witness=try_no_witness)
    except DecodeError:
        return None


def construct_transaction(
    network: AddressFormat, inputs: list[Any], outputs: Any, locktime: Any, replaceable: bool | None, version: Any
) -> Transaction:
    """Return the unsigned transaction that a request describes. Raises RpcError -1, -3, -5 or -8."""
    lock_time = parse_int(locktime, INT64)
    if not 0 <= lock_time <= UINT32[1]:
        raise _invalid("locktime out of range")
    version = parse_int(version, UINT32)
    if not MIN_VERSION <= version <= MAX_VERSION:
        raise _invalid(f"version out of range({MIN_VERSION}~{MAX_VERSION})")
    if replaceable is None or replaceable:
        sequence = MAX_REPLACEABLE_SEQUENCE
    else:
        sequence = LOCK_TIME_SEQUENCE if lock_time else FINAL_SEQUENCE
    txins = [_input(parse_object(value), sequence) for value in inputs]
    txouts = _outputs(outputs, network)
    if replaceable and txins and all(txin.sequence > MAX_REPLACEABLE_SEQUENCE for txin in txins):
        raise RpcError(
            RpcCode.INVALID_PARAMETER,
            "Invalid parameter combination: Sequence number(s) contradict replaceable option",
        )
    return Transaction(version, txins, txouts, lock_time)


def _invalid(problem: str) -> RpcError:
    return RpcError(RpcCode.INVALID_PARAMETER, f"Invalid parameter, {problem}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _input(value: dict[str, Any], sequence: int) -> TxIn:
    txid = parse_hash(value.get("txid"), "txid")
    if not _is_number(value.get("vout")):
        raise _invalid("missing vout key")
    index = parse_int(value["vout"])
    if index < 0:
        raise _invalid("vout cannot be negative")
    if _is_number(value.get("sequence")):
        sequence = parse_int(value["sequence"], INT64)
        if not 0 <= sequence <= FINAL_SEQUENCE:
            raise _invalid("sequence number is out of range")
    return TxIn(make_outpoint(txid, index), sequence=sequence)


def _outputs(value: Any, network: AddressFormat) -> list[TxOut]:
    txouts: list[TxOut] = []
    scripts = set()
    has_data = False
    pairs = _output_pairs(value)
    values = dict(reversed(pairs))
    for name, _ in pairs:
        # Of a doubled name the first value is read, both times.
        if name == "data":
            if has_data:
                raise _invalid("duplicate key: data")
            has_data = True
            given = values[name]
            # True is the text 1 there, as a number is its own text.
            data = parse_hex("1" if given is True else str(given) if _is_number(given) else given, "Data")
            txouts.append(TxOut(0, bytes((OP_RETURN,)) + push_data(data)))
            continue
        script = script_of_address(name, network)
        amount = parse_amount(values[name])
        if script is None:
            raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, f"Invalid Bitcoin address: {name}")
        if script in scripts:
            raise _invalid(f"duplicated address: {name}")
        scripts.add(script)
        txouts.append(TxOut(amount, script))
    return txouts


def _output_pairs(value: Any) -> list[tuple[str, Any]]:
    if value is None:
        raise _invalid("output argument must be non-null")
    if isinstance(value, dict):
        return pairs_of(value)
    pairs = []
    for output in parse_list(value):
        if not isinstance(output, dict):
            raise _invalid("key-value pair not an object as expected")
        own = pairs_of(output)
        if len(own) != 1:
            raise _invalid("key-value pair must contain exactly one key")
        pairs += own
    return pairs
