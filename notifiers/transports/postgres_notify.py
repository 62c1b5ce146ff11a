"""`postgresql://host/database?channel=…`: NOTIFY for each event, with its identity only.

Owns: the payload. Never: the connection (node.storage.notify_channel).
A notification reaches who listens at this moment and holds at most 8,000 bytes, so it says that something happened and
where; the event itself is fetched by the cursor.
"""

import importlib.util
import re
from collections.abc import Sequence

import orjson

from clarion.node.errors import ConfigError, DeliveryError, StorageError
from clarion.node.storage.notify_channel import NotifyChannel
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind, missing_library

DEFAULT_CHANNEL = "clarion"
_CHANNEL = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")


class PostgresNotify:
    """Notifies one channel."""

    def __init__(self, channel: NotifyChannel) -> None:
        self._channel = channel

    def open(self) -> None:
        """Do nothing: it connects with the first message."""

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def send(self, messages: Sequence[Message]) -> None:
        """Notify of all messages in one transaction. Raises DeliveryError."""
        try:
            self._channel.notify([payload(each) for each in messages])
        except StorageError as error:
            raise DeliveryError(str(error)) from None


def payload(message: Message) -> str:
    """Return the JSON that says which event it is."""
    value = {"id": message.id, "type": message.type, "time": message.time, "cursor": message.cursor}
    return orjson.dumps(value).decode()


def _make(url: NotifyUrl) -> PostgresNotify:
    if importlib.util.find_spec("psycopg") is None:
        raise missing_library(url, "postgres")
    name = url.text("channel", DEFAULT_CHANNEL)
    if not _CHANNEL.fullmatch(name):
        raise ConfigError(f"-notify={url.shown}: channel={name}: a name of up to 63 letters, digits and _ expected")
    url.port(5432)
    return PostgresNotify(NotifyChannel(url.endpoint("postgresql"), name, url.timeout_s))


KIND = TransportKind(("postgresql", "postgres"), _make, frozenset(("channel",)), encodings=("json",))
