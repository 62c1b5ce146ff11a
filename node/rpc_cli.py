"""The `clarion-cli` command: one RPC call from the command line, as Bitcoin Core's bitcoin-cli makes it.

Owns: its options, the call, what is printed and the exit status. Never: the methods, nor an import of what knows them:
a script calls it hundreds of times, and each call pays for every import.
"""

import base64
import http.client
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from clarion.node.errors import ClarionError, ConfigError
from clarion.node.options.chain_choice import CHAINS
from clarion.node.options.load import Loaded, load_settings
from clarion.node.options.option import Category, Kind, Option
from clarion.node.options.reader import OptionReader
from clarion.node.options.values import check_port, split_host_port
from clarion.node.rpc_conversion import UnreadableArgument, convert_named, convert_positional

DEFAULT_TIMEOUT_S = 900
RPC_IN_WARMUP = -28
RETRY_S = 1.0

_OPTIONS = (
    ("named", "Pass named instead of positional arguments"),
    ("rpcclienttimeout=<n>", "Seconds that a call may take, 0 for no limit (default: 900)"),
    ("rpcconnect=<ip>", "Node to ask (default: 127.0.0.1)"),
    ("rpcid=<id>", "Id of the request (default: 1)"),
    ("rpcwait", "Wait for the node to start"),
    ("rpcwaittimeout=<n>", "Seconds to wait for it, 0 for no limit (default: 0)"),
    ("rpcwallet=<name>", "Ask at /wallet/<name>"),
    ("stdin", "Read more arguments from standard input, one a line"),
    ("stdinrpcpass", "Read the password from standard input's first line"),
)
# The node's table knows the others: it skips them in a bitcoin.conf that both programs share.
_EXTRA = (Option("rpcid", Kind.TEXT, Category.HIDDEN, "Id of the request"),)


class ConnectionFailed(Exception):
    """The node can't be reached, or is still starting: -rpcwait tries again."""


class CliError(Exception):
    """What goes wrong on this side; told as `error: …`, status 1."""


class _Number(str):
    """A JSON number as it was written, so that amounts are printed as they came."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `clarion-cli` with `argv` (without the program's name) and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "-?", "-help", "--help"):
        print(_help(), end="")
        if arguments:
            return 0
        print("Error: too few parameters", file=sys.stderr)
        return 1
    if "-version" in arguments[:1] or "--version" in arguments[:1]:
        print(f"Clarion RPC client version {_version()}")
        return 0
    try:
        loaded = load_settings(arguments, {}, _EXTRA)
    except ConfigError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    try:
        status = _run(loaded, OptionReader(loaded.settings))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output went away (`clarion-cli help | head`); nothing may be flushed to it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (CliError, ConnectionFailed, UnreadableArgument, ClarionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def script() -> NoReturn:
    """Entry point for `python -m clarion.node.rpc_cli`."""
    sys.exit(main())


def _version() -> str:
    # Reading the installed package's metadata takes longer than a call.
    from clarion import __version__

    return __version__


def _help() -> str:
    lines = [
        f"Clarion RPC client version {_version()}",
        "",
        "Usage:  clarion-cli [options] <command> [params]",
        "or:     clarion-cli [options] -named <command> [name=value]...",
        "or:     clarion-cli [options] help [command]",
        "",
        "Options (beside clarion's -datadir, -conf, -chain, -regtest, …, -rpcuser, -rpcpassword, -rpcport,",
        "-rpccookiefile):",
    ]
    for name, text in _OPTIONS:
        lines += ["", f"  -{name}", f"       {text}"]
    return "\n".join(lines) + "\n"


def _run(loaded: Loaded, read: OptionReader) -> int:
    password = sys.stdin.readline().rstrip("\n") if read.flag("stdinrpcpass", False) else read.text("rpcpassword")
    arguments = list(loaded.arguments)
    if read.flag("stdin", False):
        arguments += [line.rstrip("\n") for line in sys.stdin]
    if not arguments:
        raise CliError("too few parameters (need at least command)")
    method, texts = arguments[0], arguments[1:]
    if read.flag("named", False):
        # Not a dict: an argument that is named twice is for the server to refuse.
        pairs = convert_named(method, texts)
        params = "{" + ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in pairs) + "}"
    else:
        params = json.dumps(convert_positional(method, texts))
    request = (
        f'{{"method":{json.dumps(method)},"params":{params},'
        f'"id":{json.dumps(read.text("rpcid", "1"))},"jsonrpc":"2.0"}}\n'
    )
    reply = _ask_patiently(_Caller(loaded, read, password), request.encode(), read)
    error = reply.get("error")
    if error is not None:
        return _print_error(error)
    result = reply.get("result")
    if result is not None:
        print(result if type(result) is str else pretty(result))
    return 0


def _print_error(error: Any) -> int:
    if not isinstance(error, dict):
        print(f"error: {pretty(error)}", file=sys.stderr)
        return 1
    lines = []
    if error.get("code") is not None:
        lines.append(f"error code: {error['code']}")
    if isinstance(error.get("message"), str):
        lines += ["error message:", error["message"]]
    print("\n".join(lines), file=sys.stderr)
    return abs(int(error.get("code") or 1)) & 0xFF


def _ask_patiently(caller: "_Caller", request: bytes, read: OptionReader) -> dict[str, Any]:
    """Make the call; with -rpcwait again and again until the node answers something other than -28."""
    wait = read.flag("rpcwait", False)
    limit = read.number("rpcwaittimeout", 0)
    deadline = time.monotonic() + limit
    while True:
        try:
            reply = caller.ask(request)
            error = reply.get("error")
            if wait and isinstance(error, dict) and error.get("code") == str(RPC_IN_WARMUP):
                raise ConnectionFailed("server in warmup")
            return reply
        except ConnectionFailed as failure:
            if not wait:
                raise
            if limit > 0 and time.monotonic() >= deadline:
                raise ConnectionFailed(f"timeout on transient error: {failure}") from None
            time.sleep(RETRY_S)


class _Caller:
    """Where to call and with which credentials; the cookie is read anew for each try."""

    def __init__(self, loaded: Loaded, read: OptionReader, password: str) -> None:
        self._loaded = loaded
        self._read = read
        self._password = password
        try:
            self.host, port = split_host_port(read.text("rpcconnect", "127.0.0.1"))
        except ValueError:
            raise CliError(f"Invalid port provided in -rpcconnect: {read.text('rpcconnect')}") from None
        given = loaded.settings.get("rpcport")
        if given is not None:
            port = check_port("rpcport", given)
        self.port = port if port is not None else CHAINS[loaded.chain].rpc_port
        wallet = read.text("rpcwallet")
        self._path = f"/wallet/{quote(wallet, safe='')}" if wallet else "/"

    def _cookie(self) -> str | None:
        folder = self._loaded.datadir / CHAINS[self._loaded.chain].folder
        path = self._read.path("rpccookiefile", ".cookie", folder)
        return _read_text(path) if path is not None else None

    def ask(self, request: bytes) -> dict[str, Any]:
        """Return the reply. Raises ConnectionFailed or CliError."""
        cookie = None if self._password else self._cookie()
        credentials = cookie or f"{self._read.text('rpcuser')}:{self._password}"
        status, body = self._post(credentials, request)
        if status == 401:
            raise CliError(f"Authorization failed: {self._blame(cookie)}")
        if status == 503:
            raise CliError(f"Server response: {body.decode(errors='replace')}")
        if status >= 400 and status not in (400, 404, 500):
            raise CliError(f"server returned HTTP error {status}")
        if not body:
            raise CliError("no response from server")
        try:
            reply = json.loads(body, parse_float=_Number, parse_int=_Number)
        except ValueError:
            raise CliError("couldn't parse reply from server") from None
        if not isinstance(reply, dict) or not reply:
            raise CliError("expected reply to have result, error and id properties")
        return reply

    def _blame(self, cookie: str | None) -> str:
        if self._password:
            reason = "Incorrect rpcuser or rpcpassword were specified."
        elif cookie is None:
            reason = "Failed to read cookie file and no rpcpassword was specified."
        else:
            reason = "Cookie file credentials were invalid and no rpcpassword was specified."
        return f"{reason} Configuration file: ({self._loaded.conf_path or ''})"

    def _post(self, credentials: str, body: bytes) -> tuple[int, bytes]:
        limit = self._read.number("rpcclienttimeout", DEFAULT_TIMEOUT_S)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=limit if limit > 0 else None)
        headers = {
            "Content-Type": "application/json",
            "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),
        }
        try:
            connection.request("POST", self._path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionFailed(
                f"Could not connect to the server {self.host}:{self.port} ({error})\n\nMake sure the clarion server is "
                'running and that you are connecting to the correct RPC port.\nUse "clarion-cli -help" for more info.'
            ) from None
        finally:
            connection.close()


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text().partition("\n")[0]
    except OSError:
        return None


def pretty(value: Any, indent: int = 0) -> str:
    """Return JSON as the reference prints it: two spaces a level, empty brackets on two lines."""
    if isinstance(value, _Number):
        return str(value)
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    pad, inner = " " * indent, " " * (indent + 2)
    if isinstance(value, dict):
        items = [f"{inner}{json.dumps(k, ensure_ascii=False)}: {pretty(v, indent + 2)}" for k, v in value.items()]
        opening, closing = "{", "}"
    else:
        items = [inner + pretty(item, indent + 2) for item in value]
        opening, closing = "[", "]"
    body = ",\n".join(items)
    return f"{opening}\n{body}{chr(10) if body else ''}{pad}{closing}"


if __name__ == "__main__":
    script()
