"""How we show Tor that we may control it.

Owns: the choice of the method, and what the methods need. Never: the connection.
Source: Tor's control-spec, sections 3.5 and 3.24.
"""

import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from clarion.node.errors import PeerError
from clarion.node.net.text import sanitize
from clarion.node.net.tor.replies import Reply, parse_mapping, split_kind

OK = 250
COOKIE_SIZE = 32
NONCE_SIZE = 32
_SERVER_KEY = b"Tor safe cookie authentication server-to-controller hash"
_CLIENT_KEY = b"Tor safe cookie authentication controller-to-server hash"

Ask = Callable[[str], Awaitable[Reply]]

logger = logging.getLogger("clarion.tor")


async def authenticate(ask: Ask, password: str) -> None:
    """Authenticate by the first way of NULL, SAFECOOKIE, or by the password if there is one. Raises PeerError."""
    reply = await ask("PROTOCOLINFO 1")
    if reply.code != OK:
        raise PeerError("Requesting protocol info failed")
    methods, cookie_file = _offered(reply)
    for method in sorted(methods):
        logger.debug("Supported authentication method: %s", method)
    if password:
        if "HASHEDPASSWORD" not in methods:
            raise PeerError("Password provided with -torpassword, but HASHEDPASSWORD authentication is not available")
        logger.debug("Using HASHEDPASSWORD authentication")
        command = 'AUTHENTICATE "' + password.replace('"', '\\"') + '"'
    elif "NULL" in methods:
        logger.debug("Using NULL authentication")
        command = "AUTHENTICATE"
    elif "SAFECOOKIE" in methods:
        logger.debug("Using SAFECOOKIE authentication, reading cookie authentication from %s", cookie_file)
        command = "AUTHENTICATE " + (await _proof(ask, _read_cookie(cookie_file))).hex()
    elif "HASHEDPASSWORD" in methods:
        raise PeerError(
            "The only supported authentication mechanism left is password, but no password provided with -torpassword"
        )
    else:
        raise PeerError("No supported authentication method")
    if (await ask(command)).code != OK:
        raise PeerError("Authentication failed")
    logger.debug("Authentication successful")


def _offered(reply: Reply) -> tuple[set[str], str]:
    """Return the methods that Tor knows, and where its cookie is."""
    methods: set[str] = set()
    cookie_file = ""
    for line in reply.lines:
        kind, rest = split_kind(line)
        values = parse_mapping(rest)
        if kind == "AUTH":
            methods |= set(filter(None, values.get("METHODS", "").split(",")))
            cookie_file = values.get("COOKIEFILE", cookie_file)
        elif kind == "VERSION" and "Tor" in values:
            logger.debug("Connected to Tor version %s", sanitize(values["Tor"]))
    return methods, cookie_file


def _read_cookie(name: str) -> bytes:
    try:
        # Bytes of a file name came as single characters.
        with Path(name.encode("latin-1").decode(errors="surrogateescape")).open("rb") as file:
            cookie = file.read(COOKIE_SIZE + 1)
    except (OSError, ValueError):
        raise PeerError(f"Authentication cookie {name} could not be opened (check permissions)") from None
    if len(cookie) != COOKIE_SIZE:
        raise PeerError(f"Authentication cookie {name} is not exactly {COOKIE_SIZE} bytes, as is required by the spec")
    return cookie


async def _proof(ask: Ask, cookie: bytes) -> bytes:
    """Return the proof that we have read the cookie, once Tor has proved that it knows it too."""
    nonce = secrets.token_bytes(NONCE_SIZE)
    reply = await ask(f"AUTHCHALLENGE SAFECOOKIE {nonce.hex()}")
    if reply.code != OK:
        raise PeerError("SAFECOOKIE authentication challenge failed")
    kind, rest = split_kind(reply.lines[0])
    if kind != "AUTHCHALLENGE":
        raise PeerError("Invalid reply to AUTHCHALLENGE")
    values = parse_mapping(rest)
    try:
        their_hash, their_nonce = (bytes.fromhex(values[name]) for name in ("SERVERHASH", "SERVERNONCE"))
    except (KeyError, ValueError):
        raise PeerError(f"Error parsing AUTHCHALLENGE parameters: {sanitize(rest)}") from None
    if len(their_nonce) != NONCE_SIZE:
        raise PeerError(f"ServerNonce is not {NONCE_SIZE} bytes, as required by spec")
    expected = hmac.digest(_SERVER_KEY, cookie + nonce + their_nonce, "sha256")
    if not hmac.compare_digest(expected, their_hash):
        raise PeerError(f"ServerHash {their_hash.hex()} does not match expected ServerHash {expected.hex()}")
    logger.debug("SAFECOOKIE authentication challenge successful")
    return hmac.digest(_CLIENT_KEY, cookie + nonce + their_nonce, "sha256")
