"""What the members of headers, blocks and transactions mean: the results that several methods declare.

Owns: descriptions for help and OpenAPI. Never: making the values.
"""

from clarion.api.rpc.spec import Result, ResultType

_T = ResultType

HEADER_FIELDS = (
    Result(_T.STR_HEX, "hash", "the block's hash"),
    Result(_T.NUM, "confirmations", "number of confirmations, -1 off the active chain"),
    Result(_T.NUM, "height", "the block's height"),
    Result(_T.NUM, "version", "the block's version"),
    Result(_T.STR_HEX, "versionHex", "the same in hex"),
    Result(_T.STR_HEX, "merkleroot", "root of the txids' merkle tree"),
    Result(_T.NUM_TIME, "time", "the block's time in UNIX epoch time"),
    Result(_T.NUM_TIME, "mediantime", "median time of the block and its ten ancestors"),
    Result(_T.NUM, "nonce", "the nonce"),
    Result(_T.STR_HEX, "bits", "the target in compact form"),
    Result(_T.STR_HEX, "target", "the target"),
    Result(_T.NUM, "difficulty", "the difficulty"),
    Result(_T.STR_HEX, "chainwork", "expected number of hashes up to this block, in hex"),
    Result(_T.NUM, "nTx", "number of transactions"),
    Result(_T.STR_HEX, "previousblockhash", "hash of the block before", optional=True),
    Result(_T.STR_HEX, "nextblockhash", "hash of the block behind on the active chain", optional=True),
)

SCRIPT_PUBKEY_FIELDS = (
    Result(_T.STR, "asm", "the script in words"),
    Result(_T.STR, "desc", "descriptor that describes the script"),
    Result(_T.STR_HEX, "hex", "the script's bytes"),
    Result(_T.STR, "address", "the address, where the script has one", optional=True),
    Result(_T.STR, "type", "kind of script"),
)

_COINBASE = Result(
    _T.OBJ,
    "coinbase_tx",
    "the coinbase transaction in short",
    (
        Result(_T.NUM, "version", "its version"),
        Result(_T.NUM, "locktime", "its lock time"),
        Result(_T.NUM, "sequence", "sequence number of its input"),
        Result(_T.STR_HEX, "coinbase", "script of its input"),
        Result(_T.STR_HEX, "witness", "the only item of its witness", optional=True),
    ),
)

_PREVOUT = Result(
    _T.OBJ,
    "prevout",
    "the output that is spent, where undo data is there",
    (
        Result(_T.BOOL, "generated", "whether a coinbase made it"),
        Result(_T.NUM, "height", "height of the block that made it"),
        Result(_T.STR_AMOUNT, "value", "its value in BTC"),
        Result(_T.OBJ, "scriptPubKey", "its script", SCRIPT_PUBKEY_FIELDS),
    ),
    optional=True,
)


def transaction_fields(*, fee: bool = False, prevout: bool = False, include_hex: bool = True) -> tuple[Result, ...]:
    """Return the members of a transaction, with `fee` and spent outputs where the method shows them."""
    vin = (
        Result(_T.STR_HEX, "coinbase", "script of a coinbase's input", optional=True),
        Result(_T.STR_HEX, "txid", "transaction whose output is spent", optional=True),
        Result(_T.NUM, "vout", "number of that output", optional=True),
        Result(
            _T.OBJ,
            "scriptSig",
            "the input's script, not in a coinbase",
            (Result(_T.STR, "asm", "in words"), Result(_T.STR_HEX, "hex", "its bytes")),
            optional=True,
        ),
        Result(_T.ARR, "txinwitness", "the witness", (Result(_T.STR_HEX, "", "one item"),), optional=True),
        *((_PREVOUT,) if prevout else ()),
        Result(_T.NUM, "sequence", "the sequence number"),
    )
    vout = (
        Result(_T.STR_AMOUNT, "value", "value in BTC"),
        Result(_T.NUM, "n", "number of the output"),
        Result(_T.OBJ, "scriptPubKey", "its script", SCRIPT_PUBKEY_FIELDS),
    )
    return (
        Result(_T.STR_HEX, "txid", "hash without witness"),
        Result(_T.STR_HEX, "hash", "hash with witness"),
        Result(_T.NUM, "version", "the version"),
        Result(_T.NUM, "size", "bytes"),
        Result(_T.NUM, "vsize", "virtual bytes (BIP141)"),
        Result(_T.NUM, "weight", "weight (BIP141)"),
        Result(_T.NUM, "locktime", "the lock time"),
        Result(_T.ARR, "vin", "the inputs", (Result(_T.OBJ, "", "", vin),)),
        Result(_T.ARR, "vout", "the outputs", (Result(_T.OBJ, "", "", vout),)),
        *((Result(_T.STR_AMOUNT, "fee", "the fee in BTC, where undo data is there", optional=True),) if fee else ()),
        *((Result(_T.STR_HEX, "hex", "the transaction's bytes"),) if include_hex else ()),
    )


def _block(condition: str, transaction: Result) -> Result:
    sizes = (
        Result(_T.NUM, "strippedsize", "bytes without witnesses"),
        Result(_T.NUM, "size", "bytes"),
        Result(_T.NUM, "weight", "weight (BIP141)"),
        _COINBASE,
        Result(_T.ARR, "tx", "the transactions", (transaction,)),
    )
    return Result(_T.OBJ, "", "", HEADER_FIELDS + sizes, condition=condition)


BLOCK_RESULTS = (
    Result(_T.STR_HEX, "", "the block's bytes", condition="for verbosity = 0"),
    _block("for verbosity = 1", Result(_T.STR_HEX, "", "a txid")),
    _block("for verbosity = 2", Result(_T.OBJ, "", "", transaction_fields(fee=True))),
    _block("for verbosity = 3", Result(_T.OBJ, "", "", transaction_fields(fee=True, prevout=True))),
)
