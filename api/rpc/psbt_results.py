"""What the members of a decoded PSBT mean.

Owns: descriptions for help and OpenAPI. Never: making the values.
"""

from clarion.api.rpc.block_results import SCRIPT_PUBKEY_FIELDS, transaction_fields
from clarion.api.rpc.spec import Result, ResultType

_T = ResultType
_SCRIPT = (
    Result(_T.STR, "asm", "the script in words"),
    Result(_T.STR_HEX, "hex", "its bytes"),
    Result(_T.STR, "type", "its kind"),
)
_ORIGIN = (
    Result(_T.STR, "master_fingerprint", "the fingerprint of the master key"),
    Result(_T.STR, "path", "the path below the master key"),
)
_SCRIPTS = (
    Result(_T.OBJ, "redeem_script", "the script behind a P2SH output", _SCRIPT, optional=True),
    Result(_T.OBJ, "witness_script", "the script behind a P2WSH program", _SCRIPT, optional=True),
)
_BIP32_DERIVS = Result(
    _T.ARR,
    "bip32_derivs",
    "where public keys come from",
    (Result(_T.OBJ, "", "", (Result(_T.STR, "pubkey", "the public key"), *_ORIGIN)),),
    optional=True,
)
_TAP_DERIVS = Result(
    _T.ARR,
    "taproot_bip32_derivs",
    "where x-only keys come from",
    (
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.STR, "pubkey", "the x-only key"),
                *_ORIGIN,
                Result(_T.ARR, "leaf_hashes", "hashes of the leaves that it stands in", (Result(_T.STR_HEX, "hash"),)),
            ),
        ),
    ),
    optional=True,
)
_INTERNAL_KEY = Result(_T.STR_HEX, "taproot_internal_key", "taproot's x-only internal key", optional=True)
_PARTICIPANTS = Result(
    _T.ARR,
    "musig2_participant_pubkeys",
    "who makes up aggregate keys",
    (
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.STR_HEX, "aggregate_pubkey", "the aggregate key"),
                Result(_T.ARR, "participant_pubkeys", "the keys in their order", (Result(_T.STR_HEX, "pubkey"),)),
            ),
        ),
    ),
    optional=True,
)
_UNKNOWN = Result(
    _T.OBJ_DYN, "unknown", "keys of unknown types", (Result(_T.STR_HEX, "key", "the value"),), optional=True
)
_PROPRIETARY = Result(
    _T.ARR,
    "proprietary",
    "keys of programs of their own",
    (
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.STR_HEX, "identifier", "whose key it is"),
                Result(_T.NUM, "subtype", "its type there"),
                Result(_T.STR_HEX, "key", "the whole key"),
                Result(_T.STR_HEX, "value", "the value"),
            ),
        ),
    ),
    optional=True,
)


def _preimages(function: str) -> Result:
    return Result(
        _T.OBJ_DYN,
        f"{function}_preimages",
        f"preimages of {function}",
        (Result(_T.STR, "hash", "the preimage"),),
        optional=True,
    )


def _by_signer(key: str, name: str, what: str) -> Result:
    return Result(
        _T.ARR,
        key,
        f"MuSig2's {what}s",
        (
            Result(
                _T.OBJ,
                "",
                "",
                (
                    Result(_T.STR_HEX, "participant_pubkey", "whose it is"),
                    Result(_T.STR_HEX, "aggregate_pubkey", "the aggregate key"),
                    Result(_T.STR_HEX, "leaf_hash", "hash of the leaf, not for the key path", optional=True),
                    Result(_T.STR_HEX, name, f"the {what}"),
                ),
            ),
        ),
        optional=True,
    )


_UTXOS = (
    Result(
        _T.OBJ,
        "non_witness_utxo",
        "the transaction whose output is spent",
        transaction_fields(include_hex=False),
        optional=True,
    ),
    Result(
        _T.OBJ,
        "witness_utxo",
        "the output that is spent",
        (
            Result(_T.NUM, "amount", "its value in BTC"),
            Result(_T.OBJ, "scriptPubKey", "its script", SCRIPT_PUBKEY_FIELDS),
        ),
        optional=True,
    ),
)
_FINAL = (
    Result(
        _T.OBJ,
        "final_scriptSig",
        "the final script",
        (Result(_T.STR, "asm", "in words"), Result(_T.STR_HEX, "hex", "its bytes")),
        optional=True,
    ),
    Result(_T.ARR, "final_scriptwitness", "the final witness", (Result(_T.STR_HEX, "", "one item"),), optional=True),
)
_VERSION_2 = (
    Result(_T.STR_HEX, "previous_txid", "transaction whose output is spent", optional=True),
    Result(_T.NUM, "previous_vout", "number of that output", optional=True),
    Result(_T.NUM, "sequence", "the sequence number", optional=True),
    Result(_T.NUM, "time_locktime", "least lock time that is a time", optional=True),
    Result(_T.NUM, "height_locktime", "least lock time that is a height", optional=True),
)
_TAPROOT = (
    Result(_T.STR_HEX, "taproot_key_path_sig", "signature of the key path", optional=True),
    Result(
        _T.ARR,
        "taproot_script_path_sigs",
        "signatures in leaves",
        (
            Result(
                _T.OBJ,
                "signature",
                "",
                (
                    Result(_T.STR, "pubkey", "the x-only key"),
                    Result(_T.STR, "leaf_hash", "hash of the leaf"),
                    Result(_T.STR, "sig", "the signature"),
                ),
                optional=True,
            ),
        ),
        optional=True,
    ),
    Result(
        _T.ARR,
        "taproot_scripts",
        "leaves of the script tree",
        (
            Result(
                _T.OBJ,
                "",
                "",
                (
                    Result(_T.STR_HEX, "script", "the leaf's script"),
                    Result(_T.NUM, "leaf_ver", "the leaf's version"),
                    Result(_T.ARR, "control_blocks", "what leads to it", (Result(_T.STR_HEX, "control_block"),)),
                ),
            ),
        ),
        optional=True,
    ),
    _TAP_DERIVS,
    _INTERNAL_KEY,
    Result(_T.STR_HEX, "taproot_merkle_root", "root of the script tree", optional=True),
)
INPUT_FIELDS = (
    *_UTXOS,
    Result(
        _T.OBJ_DYN,
        "partial_signatures",
        "signatures by public key",
        (Result(_T.STR, "pubkey", "the signature"),),
        optional=True,
    ),
    Result(_T.STR, "sighash", "the signature hash type to use", optional=True),
    *_SCRIPTS,
    _BIP32_DERIVS,
    *_FINAL,
    *map(_preimages, ("ripemd160", "sha256", "hash160", "hash256")),
    *_VERSION_2,
    *_TAPROOT,
    _PARTICIPANTS,
    _by_signer("musig2_pubnonces", "pubnonce", "public nonce"),
    _by_signer("musig2_partial_sigs", "partial_sig", "partial signature"),
    _UNKNOWN,
    _PROPRIETARY,
)
"""The members of an input."""

OUTPUT_FIELDS = (
    *_SCRIPTS,
    _BIP32_DERIVS,
    Result(_T.NUM, "amount", "the value in BTC, in version 2", optional=True),
    Result(_T.OBJ, "script", "the output's script, in version 2", SCRIPT_PUBKEY_FIELDS, optional=True),
    _INTERNAL_KEY,
    Result(
        _T.ARR,
        "taproot_tree",
        "the leaves of the script tree in depth-first order",
        (
            Result(
                _T.OBJ,
                "tuple",
                "",
                (
                    Result(_T.NUM, "depth", "the leaf's depth"),
                    Result(_T.NUM, "leaf_ver", "its version"),
                    Result(_T.STR, "script", "its script"),
                ),
                optional=True,
            ),
        ),
        optional=True,
    ),
    _TAP_DERIVS,
    _PARTICIPANTS,
    _UNKNOWN,
    _PROPRIETARY,
)
"""The members of an output."""

PSBT_FIELDS = (
    Result(
        _T.OBJ, "tx", "the unsigned transaction, in version 0", transaction_fields(include_hex=False), optional=True
    ),
    Result(
        _T.ARR,
        "global_xpubs",
        "extended keys",
        (Result(_T.OBJ, "", "", (Result(_T.STR, "xpub", "the extended public key"), *_ORIGIN)),),
    ),
    Result(_T.NUM, "tx_version", "the transaction's version, in version 2", optional=True),
    Result(_T.NUM, "fallback_locktime", "lock time where no input asks for one", optional=True),
    Result(_T.NUM, "input_count", "number of inputs, in version 2", optional=True),
    Result(_T.NUM, "output_count", "number of outputs, in version 2", optional=True),
    Result(_T.BOOL, "inputs_modifiable", "whether inputs may be added", optional=True),
    Result(_T.BOOL, "outputs_modifiable", "whether outputs may be added", optional=True),
    Result(_T.BOOL, "has_sighash_single", "whether an input is signed with SINGLE", optional=True),
    Result(_T.NUM, "psbt_version", "the version of the PSBT", optional=True),
    Result(_T.ARR, "proprietary", "keys of programs of their own", _PROPRIETARY.inner),
    Result(_T.OBJ_DYN, "unknown", "keys of unknown types", _UNKNOWN.inner),
    Result(_T.ARR, "inputs", "the inputs", (Result(_T.OBJ, "", "", INPUT_FIELDS),)),
    Result(_T.ARR, "outputs", "the outputs", (Result(_T.OBJ, "", "", OUTPUT_FIELDS),)),
    Result(_T.STR_AMOUNT, "fee", "the fee in BTC, where all outputs that are spent are known", optional=True),
)
"""The members of a whole PSBT."""
