"""ZMQ as a plugin: Bitcoin Core's topics, the event stream, and replay of both.

Owns: which `-zmq…` options become notifiers. Never: sockets (notifiers.zmq_core, zmq_event, zmq_replay).
"""

from functools import partial

from clarion.node.config import Config, params_of
from clarion.node.errors import ConfigError
from clarion.node.storage.chain_reader import ChainReader
from clarion.notifiers.notifier import Notifier
from clarion.notifiers.topic_marks import TopicMarks
from clarion.notifiers.zmq_address import DEFAULT_HWM, EVENT_TOPIC, ZmqAddress, parse_zmq_address
from clarion.notifiers.zmq_core import CoreTopics
from clarion.notifiers.zmq_event import EventTopic
from clarion.notifiers.zmq_replay import ReplayServer
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_notifiers(config: Config) -> list[Notifier]:
    """Return one notifier for all of Core's topics and addresses, since their order is one order, and our own."""
    marks, params = TopicMarks(), params_of(config)
    replay = _addresses(config, "zmqreplay", 0)
    events = _addresses(config, "zmqpubevent", _hwm(config))
    notifiers: list[Notifier] = []
    if config.zmq_notifiers:
        notifiers.append(CoreTopics(config.zmq_notifiers, marks=marks if replay else None))
    if events:
        notifiers.append(EventTopic(events, params))
    if replay:
        open_reader = partial(ChainReader, config.database_url, config.chain_dir, params, blocks_dir=config.blocks_dir)
        notifiers.append(ReplayServer(replay, params, open_reader, marks))
    return notifiers


def _addresses(config: Config, option: str, hwm: int) -> list[ZmqAddress]:
    found = []
    for text in config.values(option):
        address = parse_zmq_address(EVENT_TOPIC, text, hwm)
        if not address.has_transport:
            raise ConfigError(f"-{option}={text} is no ZMQ address: tcp://host:port or unix:/path expected")
        found.append(address)
    return found


def _hwm(config: Config) -> int:
    text = config.get("zmqpubeventhwm")
    if text is None:
        return DEFAULT_HWM
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"-zmqpubeventhwm={text}: a number expected")
    return int(text)
