"""RPC methods about signed messages: signmessagewithprivkey, verifymessage.

Owns: their answers and errors. Never: keeping keys.
"""

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.outputs import script_of_address
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.address import decode_secret
from clarion.node.primitives.base64_text import decode_base64
from clarion.node.primitives.templates import ScriptType, solve
from clarion.node.script.signing.message import is_signed_by, sign_message

_MESSAGE = Arg("message", ArgType.STR, "The message", required=True)


@rpc_method(
    "signmessagewithprivkey",
    category="util",
    where=READER,
    description="Signs a message with a private key.",
    args=[Arg("privkey", ArgType.STR, "The private key in the wallet import format", required=True), _MESSAGE],
    results=Result(ResultType.STR, "signature", "The signature in base64"),
    examples=(('"privkey" "my message"', '"privkey", "my message"'),),
)
def signmessagewithprivkey(ctx: ReaderContext, privkey: str, message: str) -> str:
    """Return the signature. Raises RpcError -5."""
    key = decode_secret(privkey, ctx.params)
    if key is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Invalid private key")
    return sign_message(key, _bytes_of(message))


@rpc_method(
    "verifymessage",
    category="util",
    where=READER,
    description="Says whether a message was signed by the key of an address.",
    args=[
        Arg("address", ArgType.STR, "The address, which must be of a key's hash (P2PKH)", required=True),
        Arg("signature", ArgType.STR, "The signature in base64", required=True),
        _MESSAGE,
    ],
    results=Result(ResultType.BOOL, "", "Whether it was"),
    examples=(
        (
            '"1D1ZrZNe3JUo7ZycKEYQQiQAWd9y54F4XX" "signature" "my message"',
            '"1D1ZrZNe3JUo7ZycKEYQQiQAWd9y54F4XX", "signature", "my message"',
        ),
    ),
)
def verifymessage(ctx: ReaderContext, address: str, signature: str, message: str) -> bool:
    """Return whether the address's key signed. Raises RpcError -3 or -5."""
    script = script_of_address(address, ctx.params)
    if script is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Invalid address")
    kind, data, _ = solve(script)
    if kind is not ScriptType.PUBKEYHASH:
        raise RpcError(RpcCode.TYPE_ERROR, "Address does not refer to key")
    decoded = decode_base64(signature)
    if decoded is None:
        raise RpcError(RpcCode.TYPE_ERROR, "Malformed base64 encoding")
    return is_signed_by(decoded, _bytes_of(message), data[0])


def _bytes_of(message: str) -> bytes:
    # Texts that came in as something else than UTF-8 are signed as the bytes that they were.
    return message.encode("utf-8", "surrogateescape")
