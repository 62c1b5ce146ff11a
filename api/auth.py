"""Who may use the RPC port: the cookie, -rpcauth, -rpcuser, whitelists and allowed networks.

Owns: the checks and the cookie file. Never: HTTP.
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path

from clarion.node.errors import ConfigError
from clarion.node.net.address import Network as NetworkKind
from clarion.node.net.subnet import parse_subnet

COOKIE_USER = "__cookie__"

_PERMISSIONS = {"owner": 0o600, "group": 0o640, "all": 0o644}


class CredentialError(ConfigError):
    """Who may call can't be settled. The reference tells the details in its log only."""


Credential = tuple[str, str, str]
"""User, salt and HMAC-SHA256 of the password in hex, keyed with the salt."""

Network = IPv4Network | IPv6Network


def write_cookie(path: Path, perms: str | None = None) -> tuple[str, str]:
    """Write a cookie with a fresh password to `path` and return (user, password).

    `perms` is the value of -rpccookieperms: owner (also where None), group or all. The file appears whole, with its
    permissions set. Raises CredentialError for other words and if the file can't be written.
    """
    if perms is not None and perms not in _PERMISSIONS:
        raise CredentialError(f"Invalid -rpccookieperms={perms}; must be one of 'owner', 'group', or 'all'.")
    password = secrets.token_hex(32)
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            os.fchmod(file.fileno(), _PERMISSIONS[perms or "owner"])
            file.write(f"{COOKIE_USER}:{password}")
        os.replace(temporary, path)
    except OSError as error:
        raise CredentialError(f"Unable to open cookie authentication file {temporary} for writing: {error}") from error
    return COOKIE_USER, password


def delete_cookie(path: Path) -> None:
    """Remove the cookie that this node wrote; a file that is gone already is fine."""
    path.unlink(missing_ok=True)


def hash_password(password: str, salt: str) -> str:
    """Return the HMAC-SHA256 of `password` keyed with `salt`, in hex, as -rpcauth holds it."""
    return hmac.new(salt.encode(), password.encode(), hashlib.sha256).hexdigest()


def salted(user: str, password: str) -> Credential:
    """Return the credential of a password in clear, with a salt of its own."""
    salt = secrets.token_hex(16)
    return user, salt, hash_password(password, salt)


def parse_rpcauth(value: str) -> Credential:
    """Return the credential that `user:salt$hash` names. Raises CredentialError."""
    user, colon, rest = value.partition(":")
    salt, dollar, digest = rest.partition("$")
    if not colon or not dollar or ":" in rest or "$" in digest:
        raise CredentialError("Invalid -rpcauth argument.")
    return user, salt, digest


class Authenticator:
    """Checks `Authorization: Basic …` headers. Safe to use from any thread."""

    def __init__(self, credentials: Sequence[Credential]) -> None:
        self._credentials = [(user.encode(), salt.encode(), digest.encode()) for user, salt, digest in credentials]
        # The HMAC costs more than the rest of a small call, and clients send the same header every time.
        self._known: dict[bytes, str] = {}

    def user_of(self, header: bytes) -> str | None:
        """Return the user whose password the header carries, None if there is no such user."""
        user = self._known.get(header)
        if user is None:
            user = self._check(header)
            if user is not None and len(self._known) < 64:
                self._known[header] = user
        return user

    def _check(self, header: bytes) -> str | None:
        if not header.startswith(b"Basic "):
            return None
        try:
            user, colon, password = base64.b64decode(header[6:].strip(), validate=True).partition(b":")
        except binascii.Error:
            return None
        if not colon:
            return None
        for name, salt, digest in self._credentials:
            if hmac.compare_digest(name, user):
                given = hmac.new(salt, password, hashlib.sha256).hexdigest().encode()
                if hmac.compare_digest(given, digest):
                    return user.decode("utf-8", "replace")
        return None


@dataclass(frozen=True)
class Whitelist:
    """Methods that each user may call. A user without an entry may call all, or none with `default_deny`."""

    users: Mapping[str, frozenset[str]] = field(default_factory=dict)
    default_deny: bool = False

    def methods_of(self, user: str) -> frozenset[str] | None:
        """Return the methods that `user` may call, None where there is no limit."""
        return self.users.get(user, frozenset() if self.default_deny else None)


def parse_whitelist(values: Sequence[str], default: bool | None) -> Whitelist:
    """Return what -rpcwhitelist=user:method,method says; entries of one user are intersected.

    `default` is -rpcwhitelistdefault; where it is not given, users without an entry are refused once any has one.
    """
    users: dict[str, frozenset[str]] = {}
    for value in values:
        user, colon, names = value.partition(":")
        if not colon:
            users.setdefault(user, frozenset())
            continue
        methods = frozenset(names.replace(",", " ").split(" "))
        users[user] = users[user] & methods if user in users else methods
    return Whitelist(users, bool(values) if default is None else default)


def parse_allowed(values: Sequence[str]) -> tuple[Network, ...]:
    """Return the networks of -rpcallowip with the loopback ones, which are always allowed. Raises ConfigError."""
    networks: list[Network] = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
    for value in values:
        subnet = parse_subnet(value)
        if subnet is None:
            raise ConfigError(
                f"Invalid -rpcallowip subnet specification: {value}. Valid values are a single IP (e.g. 1.2.3.4), "
                "a network/netmask (e.g. 1.2.3.4/255.255.255.0), a network/CIDR (e.g. 1.2.3.4/24), all ipv4 "
                "(0.0.0.0/0), or all ipv6 (::/0)."
            )
        # Nobody comes from an address of the other networks.
        if subnet.network.network in (NetworkKind.IPV4, NetworkKind.IPV6):
            networks.append(ip_network(f"{ip_address(subnet.network.raw)}/{subnet.bits}"))
    return tuple(networks)


def is_allowed(client: str, networks: Sequence[Network]) -> bool:
    """Whether a client's address lies in one of `networks`; IPv4 in an IPv6 socket counts as IPv4."""
    try:
        address = ip_address(client.split("%", 1)[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    return any(address.version == network.version and address in network for network in networks)
