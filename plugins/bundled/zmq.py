"""ZMQ as a plugin: Bitcoin Core's topics, the event stream, and replay of both.

Owns: which `-zmq…` options become notifiers. Never: sockets (notifiers.zmq_core, zmq_event, zmq_replay).
"""

from functools import partial

from clarion.node.config import Config, params_of
from clarion.node.errors import ConfigError
from clarion.node.storage.chain_reader import ChainReader
from clarion.notifiers.notifier import Notifier
from clarion.notifiers.stream.messages import ENCODINGS
from clarion.notifiers.topic_marks import TopicMarks
from clarion.notifiers.zmq_address import DEFAULT_HWM, EVENT_TOPIC, ZmqAddress, parse_zmq_address
from clarion.notifiers.zmq_core import CoreTopics
from clarion.notifiers.zmq_curve import Curve, read_curve
from clarion.notifiers.zmq_event import EventTopic
from clarion.notifiers.zmq_replay import ReplayServer
from clarion.plugins.hookspecs import hookimpl


@hookimpl
def register_notifiers(config: Config) -> list[Notifier]:
    """Return one notifier for all of Core's topics and addresses, since their order is one order, and our own."""
    marks, params = TopicMarks(), params_of(config)
    replay = _addresses(config, "zmqreplay", 0)
    events = _addresses(config, "zmqpubevent", _hwm(config))
    curve = read_curve(config.get("zmqcurvekey"), config.get("zmqcurveclients"))
    notifiers: list[Notifier] = []
    if config.zmq_notifiers:
        core_curve = curve if _core_curve(config, curve) else None
        notifiers.append(CoreTopics(config.zmq_notifiers, marks=marks if replay else None, curve=core_curve))
    if events:
        notifiers.append(EventTopic(events, params, curve=curve, encoding=_encoding(config)))
    if replay:
        open_reader = partial(ChainReader, config.database_url, config.chain_dir, params, blocks_dir=config.blocks_dir)
        notifiers.append(ReplayServer(replay, params, open_reader, marks, curve=curve))
    return notifiers


def _addresses(config: Config, option: str, hwm: int) -> list[ZmqAddress]:
    found = []
    for text in config.values(option):
        address = parse_zmq_address(EVENT_TOPIC, text, hwm)
        if not address.has_transport:
            raise ConfigError(f"-{option}={text} is no ZMQ address: tcp://host:port or unix:/path expected")
        found.append(address)
    return found


def _core_curve(config: Config, curve: Curve | None) -> bool:
    """Whether Core's topics are encrypted too, which today's clients do not know."""
    wanted = config.get("zmqcurvecore") not in (None, "0")
    if wanted and curve is None:
        raise ConfigError("-zmqcurvecore needs -zmqcurvekey")
    return wanted


def _encoding(config: Config) -> str:
    encoding = config.get("zmqpubeventencoding") or "json"
    if encoding not in ENCODINGS:
        raise ConfigError(f"-zmqpubeventencoding={encoding}: {' or '.join(ENCODINGS)} expected")
    return encoding


def _hwm(config: Config) -> int:
    text = config.get("zmqpubeventhwm")
    if text is None:
        return DEFAULT_HWM
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"-zmqpubeventhwm={text}: a number expected")
    return int(text)
