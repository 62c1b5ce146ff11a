"""`mqtt://host:1883/topic`: messages of MQTT 5 at quality of service 1.

Owns: the topic, properties, and the connection. Never: sessions of subscribers.
"""

import importlib.util
import threading
import time
from collections.abc import Sequence
from typing import Any

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind, missing_library

DEFAULT_TOPIC = "clarion/events"
PORTS = {"mqtt": 1883, "mqtts": 8883}
IN_FLIGHT = 20
_FAILURE = 0x80


class Mqtt:
    """Publishes to one topic: MQTT keeps the order within a topic only. A PUBACK means delivered."""

    def __init__(self, url: NotifyUrl, topic: str) -> None:
        self._host = url.host()
        self._port = url.port(PORTS[url.parts.scheme])
        self._user = (url.parts.username, url.parts.password)
        self._tls = url.parts.scheme == "mqtts"
        self._ca_file = url.settings.get("cafile")
        self._topic = topic
        self._timeout_s = url.timeout_s
        self._client: Any = None
        self._acks: dict[int, int] = {}
        self._changed = threading.Condition()

    def open(self) -> None:
        """Do nothing: it connects with the first message."""

    def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()

    def send(self, messages: Sequence[Message]) -> None:
        """Publish the messages and return when the broker has taken each. Raises DeliveryError."""
        deadline = time.monotonic() + self._timeout_s
        try:
            if self._client is None or not self._client.is_connected():
                self._connect(deadline)
            published = [self._publish(each) for each in messages]
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            raise DeliveryError(f"mqtt: {error or type(error).__name__}") from None
        for count, number in enumerate(published):
            code = self._wait_for_ack(number, deadline)
            if code is None or code >= _FAILURE:
                # What is in flight comes again on a new connection, in order.
                self.close()
                text = "no acknowledgement" if code is None else f"refused with reason {code:#x}"
                raise DeliveryError(f"mqtt: {text}", sent=count)

    def _publish(self, message: Message) -> int:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        about = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        about.UserProperty = [("id", message.id), ("type", message.type), ("cursor", message.cursor)]
        about.ContentType = message.content_type
        info = self._client.publish(self._topic, message.body, qos=1, properties=about)
        if info.rc:
            raise ValueError(f"the library refuses the message with code {info.rc}")
        return int(info.mid)

    def _connect(self, deadline: float) -> None:
        from paho.mqtt.client import Client, MQTTv5
        from paho.mqtt.enums import CallbackAPIVersion

        self.close()
        self._acks.clear()
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
        client.max_inflight_messages_set(IN_FLIGHT)
        client.max_queued_messages_set(0)
        client.connect_timeout = self._timeout_s
        client.on_publish = self._on_publish
        client.on_connect = self._on_change
        client.on_connect_fail = self._on_change
        client.on_disconnect = self._on_change
        if self._user[0] is not None:
            client.username_pw_set(*self._user)
        if self._tls:
            client.tls_set(self._ca_file)
        client.connect(self._host, self._port)
        client.loop_start()
        self._client = client
        with self._changed:
            if not self._changed.wait_for(client.is_connected, max(0.0, deadline - time.monotonic())):
                raise OSError("the broker does not accept the connection")

    def _wait_for_ack(self, number: int, deadline: float) -> int | None:
        """Return the reason code of an acknowledgement, None if the connection ends or the time is up."""
        with self._changed:
            self._changed.wait_for(
                lambda: number in self._acks or not self._client.is_connected(), max(0.0, deadline - time.monotonic())
            )
            return self._acks.pop(number, None)

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason_code: Any, properties: Any) -> None:
        with self._changed:
            if client is self._client:
                self._acks[mid] = int(reason_code.value)
            self._changed.notify_all()

    def _on_change(self, *_: Any) -> None:
        with self._changed:
            self._changed.notify_all()


def _make(url: NotifyUrl) -> Mqtt:
    if importlib.util.find_spec("paho") is None:
        raise missing_library(url, "mqtt")
    topic = url.path.strip("/") or DEFAULT_TOPIC
    if "#" in topic or "+" in topic:
        raise ConfigError(f"-notify={url.shown}: a topic to publish to has no wildcards")
    return Mqtt(url, topic)


KIND = TransportKind(("mqtt", "mqtts"), _make, frozenset(("cafile",)))
