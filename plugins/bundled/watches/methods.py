"""RPC methods about watches.

Owns: the methods, and the two sides of a change: what a client says is read in an API process, the index changes in the
node. Never: HTTP (`routes`), which calls the same functions.
"""

from collections.abc import Callable, Mapping
from typing import Any

from clarion.node.chain.indexes.jobs import Job
from clarion.node.errors import RpcError
from clarion.plugins.bundled.watches import reading
from clarion.plugins.bundled.watches.definition import check_height, check_name, read_definition
from clarion.plugins.bundled.watches.index import NAME, STORE_NAME, WatchIndex
from clarion.plugins.bundled.watches.records import INVALID, StoredRange
from clarion.plugins.contexts import NodeAccess, ReaderAccess
from clarion.plugins.rpc import ArgKind, RpcArg, RpcMethod

DEFAULT_COUNT = 100

Ask = Mapping[str, Any]
Reply = dict[str, Any]


# --- in an API process ------------------------------------------------------------------------------------------------


def add(context: ReaderAccess, name: str, fields: Ask) -> Reply:
    """Make a watch and return it. Raises RpcError."""
    wanted = read_definition(fields, context.params)
    context.node.call_blocking("_add_watch", [check_name(name), wanted.start, wanted.scripts, wanted.ranges])
    return show(context, name)


def extend(context: ReaderAccess, name: str, fields: Ask) -> Reply:
    """Add scripts to a watch and return it. Raises RpcError."""
    wanted = read_definition(fields, context.params)
    context.node.call_blocking("_extend_watch", [check_name(name), wanted.scripts, wanted.ranges])
    return show(context, name)


def remove(context: ReaderAccess, name: str) -> None:
    """Forget a watch. Raises RpcError."""
    context.node.call_blocking("_remove_watch", [check_name(name)])


def rescan(context: ReaderAccess, name: str, start: Any) -> Reply:
    """Let a watch count anew from a height on and return it. Raises RpcError."""
    context.node.call_blocking("_rescan_watch", [check_name(name), check_height(start)])
    return show(context, name)


def show(context: ReaderAccess, name: str) -> Reply:
    """Return a watch. Raises RpcError."""
    with _index(context).snapshot() as view:
        return reading.watch(view, check_name(name))


def show_all(context: ReaderAccess) -> list[Reply]:
    """Return all watches. Raises RpcError."""
    with _index(context).snapshot() as view:
        return reading.list_watches(view)


def history(context: ReaderAccess, name: str, after: str | None, count: int) -> Reply:
    """Return transactions of a watch. Raises RpcError."""
    with _index(context).snapshot() as view:
        return reading.history(view, check_name(name), after, count)


def _index(context: ReaderAccess) -> Any:
    """Return the index's reader, once it has reached the tip, or as far as it is while it is being built."""
    context.wait_for_index(NAME, STORE_NAME)
    return context.index(STORE_NAME)


# --- in the node ------------------------------------------------------------------------------------------------------


def _add(node: NodeAccess, name: str, start: int | None, scripts: list[Any], ranges: list[Any]) -> str:
    """Make a watch that counts from height `start`, None: what comes above today's tip."""
    first = node.chain.manager.tip.height + 1 if start is None else _there(node, start)
    return _change(node, lambda index: index.add(name, first, _scripts(scripts), _ranges(ranges)))


def _extend(node: NodeAccess, name: str, scripts: list[Any], ranges: list[Any]) -> str:
    return _change(node, lambda index: index.extend(name, _scripts(scripts), _ranges(ranges)))


def _remove(node: NodeAccess, name: str) -> str:
    return _change(node, lambda index: index.remove(name))


def _rescan(node: NodeAccess, name: str, start: int) -> str:
    return _change(node, lambda index: index.rescan(name, _there(node, start)))


def _there(node: NodeAccess, start: int) -> int:
    """Return `start`. Raises RpcError -8 if it is above the next block: a mistyped height would wait without a word."""
    tip_height = node.chain.manager.tip.height
    if start > tip_height + 1:
        raise RpcError(INVALID, f"start: no such height {start}; the chain's height is {tip_height}")
    return start


def _change(node: NodeAccess, make_job: Callable[[WatchIndex], Job]) -> str:
    """Have the index's thread make a change, and return once that is durable."""
    index = node.indexes.find(NAME)
    assert isinstance(index, WatchIndex), "the methods are registered where there is an index"
    return str(node.indexes.call(NAME, make_job(index)).result())


def _scripts(sent: list[Any]) -> list[tuple[bytes, int, int]]:
    return [(bytes(script), int(number), int(at)) for script, number, at in sent]


def _ranges(sent: list[Any]) -> list[StoredRange]:
    return [StoredRange(*each) for each in sent]


# --- the table --------------------------------------------------------------------------------------------------------

_NAME_ARG = RpcArg("name", ArgKind.TEXT, "The watch's name", required=True)
_WHAT_ARG = RpcArg(
    "what",
    ArgKind.OBJECT,
    'What to watch: lists "addresses", "scripts" (hex) and "descriptors" (texts, or objects with desc, range and gap)',
    required=True,
)
_WATCH = 'the watch: "name", "scripts", "descriptors", "start", "height", "caught_up", "balance_sat" and sums'
_EXAMPLE = """till '{"descriptors": [{"desc": "wpkh(xpub…/0/*)", "gap": 20}], "start": 0}'"""


METHODS = [
    RpcMethod(
        "addwatch",
        add,
        "Makes a watch: scripts with a name, whose transactions in blocks are counted and listed.\n"
        'With "start" it counts the blocks from that height on, without it those that come.',
        (_NAME_ARG, _WHAT_ARG),
        _WATCH,
        example=_EXAMPLE,
    ),
    RpcMethod(
        "extendwatch",
        extend,
        "Adds scripts to a watch. Blocks that were counted before are not counted again: see rescanwatch.",
        (_NAME_ARG, _WHAT_ARG),
        _WATCH,
        example='till \'{"addresses": ["bc1q…"]}\'',
    ),
    RpcMethod("removewatch", remove, "Forgets a watch.", (_NAME_ARG,), "nothing", example="till"),
    RpcMethod(
        "rescanwatch",
        rescan,
        "Lets a watch count anew, from a height on. Returns at once: getwatch tells how far it is.",
        (_NAME_ARG, RpcArg("start", ArgKind.NUMBER, "The height", required=True)),
        _WATCH,
        example="till 800000",
    ),
    RpcMethod("listwatches", show_all, "Returns all watches with their balances.", (), "a list of watches"),
    RpcMethod("getwatch", show, "Returns a watch with its balance.", (_NAME_ARG,), _WATCH, example="till"),
    RpcMethod(
        "getwatchhistory",
        history,
        "Returns the transactions of a watch in blocks, oldest first.",
        (
            _NAME_ARG,
            RpcArg("after", ArgKind.TEXT, 'The place behind which to begin, "next" of the answer before'),
            RpcArg("count", ArgKind.NUMBER, f"How many, up to {reading.MAX_ENTRIES}", default=DEFAULT_COUNT),
        ),
        '"entries", each with "height", "block_hash", "txid", "received_sat" and "sent_sat", and "next"',
        example="till",
    ),
    RpcMethod("_add_watch", _add, "Makes a watch.", in_node=True, internal=True),
    RpcMethod("_extend_watch", _extend, "Adds scripts to a watch.", in_node=True, internal=True),
    RpcMethod("_remove_watch", _remove, "Forgets a watch.", in_node=True, internal=True),
    RpcMethod("_rescan_watch", _rescan, "Lets a watch count anew.", in_node=True, internal=True),
]
