"""Where an address is kept: in which bucket, and where in it.

Owns: the keyed hashes that decide. Whoever does not know the key can't choose the place of its addresses, and all
addresses that one network tells share a few buckets. Never: the tables.
Source: Bitcoin Core's src/addrman.cpp.
"""

from clarion.node.net.address import Endpoint, NetAddress
from clarion.node.net.network_groups import NetGroups
from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.hashes import sha256d

NEW_BUCKETS = 1024
TRIED_BUCKETS = 256
BUCKET_SIZE = 64
_TRIED_BUCKETS_PER_GROUP = 8
_NEW_BUCKETS_PER_SOURCE_GROUP = 64


class Placement:
    """The decisions under one key of 32 bytes."""

    def __init__(self, key: bytes, groups: NetGroups | None = None) -> None:
        self.key = key
        self.groups = groups or NetGroups()

    def tried_bucket(self, endpoint: Endpoint) -> int:
        """Return the bucket of the tried table."""
        choice = self._hash(_endpoint_key(endpoint)) % _TRIED_BUCKETS_PER_GROUP
        return self._hash(var_bytes(self.groups.group_of(endpoint.address)) + _u64(choice)) % TRIED_BUCKETS

    def new_bucket(self, endpoint: Endpoint, source: NetAddress) -> int:
        """Return the bucket of the new table for an address that `source` told us of."""
        source_group = var_bytes(self.groups.group_of(source))
        choice = (
            self._hash(var_bytes(self.groups.group_of(endpoint.address)) + source_group) % _NEW_BUCKETS_PER_SOURCE_GROUP
        )
        return self._hash(source_group + _u64(choice)) % NEW_BUCKETS

    def position(self, endpoint: Endpoint, bucket: int, *, is_new: bool) -> int:
        """Return the place in a bucket."""
        table = b"N" if is_new else b"K"
        return self._hash(table + bucket.to_bytes(4, "little") + _endpoint_key(endpoint)) % BUCKET_SIZE

    def _hash(self, data: bytes) -> int:
        return int.from_bytes(sha256d(self.key + data)[:8], "little")


def _endpoint_key(endpoint: Endpoint) -> bytes:
    return var_bytes(endpoint.address.key + endpoint.port.to_bytes(2, "big"))


def _u64(number: int) -> bytes:
    return number.to_bytes(8, "little")
