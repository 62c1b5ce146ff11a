"""Options of the interfaces (RPC, REST, ZMQ) and those that only Clarion has.

Owns: these rows of the options table. Never: their meaning.
"""

from clarion.node.options.option import Category, Effect, Kind, Option

_RPC, _ZMQ, _OWN, _DEBUG = Category.RPC, Category.ZMQ, Category.CLARION, Category.DEBUG_TEST
_FLAG, _NUM, _TEXT, _PATH = Kind.FLAG, Kind.NUMBER, Kind.TEXT, Kind.PATH

ZMQ_TOPICS = ("hashblock", "hashtx", "rawblock", "rawtx", "sequence")
"""In the order in which the reference creates its notifiers."""

RPC_OPTIONS = [
    Option("rest", _FLAG, _RPC, "Serve REST", "0"),
    Option("rpcallowip", _TEXT, _RPC, "Serve clients of this address or network", "", "=<ip>", multiple=True),
    Option(
        "rpcauth",
        _TEXT,
        _RPC,
        "User with salted password, name:salt$hash",
        "",
        "=<userpw>",
        multiple=True,
        sensitive=True,
    ),
    Option(
        "rpcbind",
        _TEXT,
        _RPC,
        "Serve on this address (needs -rpcallowip)",
        "127.0.0.1 and ::1",
        "=<addr>[:port]",
        multiple=True,
        network_only=True,
    ),
    Option("rpccookiefile", _PATH, _RPC, "File with the cookie; -norpccookiefile for none", ".cookie", "=<file>"),
    Option("rpccookieperms", _TEXT, _RPC, "Who may read it: owner, group or all", "owner", "=<who>"),
    Option(
        "rpcdoccheck",
        _FLAG,
        _RPC,
        "Check answers against their documentation",
        "0",
        debug_only=True,
        effect=Effect.LATER,
    ),
    Option("rpcpassword", _TEXT, _RPC, "Password", "", "=<pw>", sensitive=True),
    Option("rpcport", _NUM, _RPC, "Port", "8332, 18332, 48332, 38332, 18443", "=<port>", network_only=True),
    Option("rpcservertimeout", _NUM, _RPC, "Seconds until a silent client is dropped", "30", "=<n>", debug_only=True),
    Option("rpcthreads", _NUM, _RPC, "Threads that answer calls in the node", "16", "=<n>"),
    Option("rpcuser", _TEXT, _RPC, "User", "", "=<user>", sensitive=True),
    Option("rpcwhitelist", _TEXT, _RPC, "Calls that a user may make, name:rpc,rpc", "", "=<whitelist>", multiple=True),
    Option("rpcwhitelistdefault", _FLAG, _RPC, "Users without whitelist may call nothing", "1 with -rpcwhitelist"),
    Option("rpcworkqueue", _NUM, _RPC, "Calls that may wait", "64", "=<n>", debug_only=True),
    Option("server", _FLAG, _RPC, "Serve JSON-RPC", "1"),
    Option("uacomment", _TEXT, _DEBUG, "Comment in the user agent", "", "=<cmt>", multiple=True),
]

ZMQ_OPTIONS = [
    *(
        Option(f"zmqpub{topic}", _TEXT, _ZMQ, f"Publish {topic} on <address>", "", "=<address>", multiple=True)
        for topic in ZMQ_TOPICS
    ),
    Option("zmqpubevent", _TEXT, _ZMQ, "Publish the event stream on <address>", "", "=<address>", multiple=True),
    Option("zmqpubeventhwm", _NUM, _ZMQ, "High-water mark of event", "1000", "=<n>"),
    Option("zmqpubeventencoding", _TEXT, _ZMQ, "Encoding of event: json or msgpack", "json", "=<word>"),
    Option("zmqcurvekey", _PATH, _ZMQ, "Encrypt event and replay (CURVE) with the secret key in <file>", "", "=<file>"),
    Option("zmqcurveclients", _PATH, _ZMQ, "Let in only clients whose public keys are in <folder>", "", "=<folder>"),
    Option("zmqcurvecore", _FLAG, _ZMQ, "Encrypt Bitcoin Core's topics, too", "0"),
    Option("zmqreplay", _TEXT, _ZMQ, "Replay events and lost messages on <address>", "", "=<address>", multiple=True),
    *(Option(f"zmqpub{topic}hwm", _NUM, _ZMQ, f"High-water mark of {topic}", "1000", "=<n>") for topic in ZMQ_TOPICS),
]

CLARION_OPTIONS = [
    Option(
        "apicache",
        _NUM,
        _OWN,
        "MiB of rendered blocks that each API process keeps; 0: nothing of blocks is kept",
        "64",
        "=<n>",
    ),
    Option("apiworkers", _NUM, _OWN, "API processes; 0: in the node's process", "one per two cores", "=<n>"),
    Option("checkqueue", _TEXT, _OWN, "How scripts are checked: auto, inline, threads, processes", "auto", "=<kind>"),
    Option(
        "database",
        _TEXT,
        _OWN,
        "SQLAlchemy URL of the database",
        "SQLite in the data directory",
        "=<url>",
        sensitive=True,
    ),
    Option(
        "eventsmemory",
        _NUM,
        _OWN,
        "MiB that the events process may hold before the plugin that took most of it is paused; 0: no limit",
        "4096",
        "=<n>",
    ),
    Option("eventretention", _NUM, _OWN, "Days that mempool rows stay in the event log; 0: for good", "14", "=<n>"),
    Option("eventsprocess", _FLAG, _OWN, "Deliver events in a process of their own", "1"),
    Option(
        "notify",
        _TEXT,
        _OWN,
        "Deliver events to <url>, see docs/transports.md",
        "",
        "=<url>",
        multiple=True,
        sensitive=True,
    ),
    Option("notifyprunelag", _NUM, _OWN, "Blocks that pruning keeps for a lane that is behind", "4032", "=<n>"),
    Option("parbatch", _NUM, _OWN, "Script checks that a worker claims at a time", "128", "=<n>"),
    Option("plugin", _TEXT, _OWN, "Load this plugin module too", "", "=<module>", multiple=True),
    Option("disableplugin", _TEXT, _OWN, "Leave out an installed plugin", "", "=<name>", multiple=True),
    Option("scriptindex", _FLAG, _OWN, "Keep history, unspent outputs and balance of every script", "0"),
    Option("watches", _FLAG, _OWN, "Keep named sets of scripts with balance and history", "0"),
]

SERVICE_OPTIONS = RPC_OPTIONS + ZMQ_OPTIONS + CLARION_OPTIONS
