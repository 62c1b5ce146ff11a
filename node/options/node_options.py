"""Options of the node itself: files, validation, logging, choice of chain.

Owns: these rows of the options table. Never: their meaning.
"""

from clarion.node.options.option import Category, Effect, Kind, Option

_OPT, _DEBUG, _CHAIN = Category.OPTIONS, Category.DEBUG_TEST, Category.CHAINPARAMS
_FLAG, _NUM, _TEXT, _PATH, _HEX = Kind.FLAG, Kind.NUMBER, Kind.TEXT, Kind.PATH, Kind.HEX
_LATER = Effect.LATER

GENERAL = [
    Option("help", _FLAG, _OPT, "Show this text (also -h, -?)"),
    Option("version", _FLAG, _OPT, "Show the version"),
    Option("alertnotify", _TEXT, _OPT, "Run <cmd> on an alert; %s is the message", argument="=<cmd>"),
    Option(
        "allowignoredconf", _FLAG, _OPT, "Only warn about a bitcoin.conf in the data directory that is not used", "0"
    ),
    Option("assumevalid", _HEX, _OPT, "Skip script checks of this block's ancestors (0: check all)", argument="=<hex>"),
    Option("blocknotify", _TEXT, _OPT, "Run <cmd> on a new tip; %s is its hash", argument="=<cmd>"),
    Option("blocksdir", _PATH, _OPT, "Folder that holds blocks/", "data directory", argument="=<dir>"),
    Option("blocksxor", _FLAG, _OPT, "Obfuscate the files of a new blocks/ with a random key", "what is there, else 0"),
    Option("coinstatsindex", _FLAG, _OPT, "Keep statistics of the coins at every height", "0"),
    Option("conf", _PATH, _OPT, "Configuration file", "bitcoin.conf in the data directory", argument="=<file>"),
    Option("daemon", _FLAG, _OPT, "Run in the background", "0"),
    Option("daemonwait", _FLAG, _OPT, "Run in the background once the node has started", "0"),
    Option("datadir", _PATH, _OPT, "Data directory", "~/.clarion", argument="=<dir>", negatable=False),
    Option("dbbatchsize", _NUM, _OPT, "Largest database batch in bytes", "33554432", debug_only=True, effect=_LATER),
    Option("dbcache", _NUM, _OPT, "Memory for caches of the database in MiB, at least 4", "450", argument="=<n>"),
    Option("debuglogfile", _PATH, _OPT, "Log file; -nodebuglogfile for none", "debug.log", argument="=<file>"),
    Option("includeconf", _PATH, _OPT, "One more file to read (in a file only)", argument="=<file>", multiple=True),
    Option("loadblock", _PATH, _OPT, "Load blocks from a file at start", argument="=<file>", multiple=True),
    Option("minimumchainwork", _HEX, _OPT, "Least work of a chain to follow", argument="=<hex>", debug_only=True),
    Option("par", _NUM, _OPT, "Cores that check scripts; 0: all, -n: leave n free", "0", argument="=<n>"),
    Option("pid", _PATH, _OPT, "File for the process id", "clarion.pid", argument="=<file>"),
    Option("prevoutfetchthreads", _NUM, _OPT, "Threads that fetch coins", "8", argument="=<n>", effect=_LATER),
    Option("prune", _NUM, _OPT, "Delete old block files beyond <n> MiB; 1: by hand only", "0", argument="=<n>"),
    Option("reindex", _FLAG, _OPT, "Build index and chainstate again from the block files", "0"),
    Option("reindex-chainstate", _FLAG, _OPT, "Build the chainstate again", "0"),
    Option("shutdownnotify", _TEXT, _OPT, "Run <cmd> before stopping", argument="=<cmd>", multiple=True),
    Option("startupnotify", _TEXT, _OPT, "Run <cmd> once started", argument="=<cmd>"),
    Option("txindex", _FLAG, _OPT, "Index all transactions by txid", "0"),
    Option("txospenderindex", _FLAG, _OPT, "Index which input spends an output", "0"),
    Option("blockfilterindex", _TEXT, _OPT, "Index of compact filters", "0", "=<type>", multiple=True),
]

LOGGING = [
    Option(
        "debug", _TEXT, _DEBUG, "Log details of <category> (1 or all: every one)", "0", "=<category>", multiple=True
    ),
    Option("debugexclude", _TEXT, _DEBUG, "Leave out <category> of -debug", argument="=<category>", multiple=True),
    Option("help-debug", _FLAG, _DEBUG, "Show the help text with all options for debugging"),
    Option("logips", _FLAG, _DEBUG, "Log IP addresses", "0"),
    Option(
        "loglevel",
        _TEXT,
        _DEBUG,
        "Severity of what -debug logs: info, debug, trace",
        "debug",
        "=<level>|<category>:<level>",
        multiple=True,
        debug_only=True,
        negatable=False,
        needs_value=True,
    ),
    Option("loglevelalways", _FLAG, _DEBUG, "Always log category and level", "0"),
    Option("logratelimit", _FLAG, _DEBUG, "Limit how much one place of the program may log", "1", effect=_LATER),
    Option("logsourcelocations", _FLAG, _DEBUG, "Log file, line and function", "0"),
    Option("logthreadnames", _FLAG, _DEBUG, "Log the thread's name", "0"),
    Option("logtimemicros", _FLAG, _DEBUG, "Log microseconds", "0", debug_only=True),
    Option("logtimestamps", _FLAG, _DEBUG, "Log the time", "1"),
    Option("printtoconsole", _FLAG, _DEBUG, "Log to standard output too", "1 without -daemon"),
    Option("shrinkdebugfile", _FLAG, _DEBUG, "Shorten a large log file at start", "1 without -debug"),
]

TESTING = [
    Option("capturemessages", _FLAG, _DEBUG, "Write all P2P messages to files", "0", debug_only=True),
    Option("checkaddrman", _NUM, _DEBUG, "Check addrman every <n> operations", "0", "=<n>", debug_only=True),
    Option(
        "checkblockindex",
        _NUM,
        _DEBUG,
        "Check the block index every <n> operations",
        "0",
        debug_only=True,
        effect=_LATER,
    ),
    Option("checkblocks", _NUM, _DEBUG, "Blocks to verify at start, 0: all", "6", "=<n>", debug_only=True),
    Option("checklevel", _NUM, _DEBUG, "How thoroughly, 0 to 4", "3", "=<n>", debug_only=True),
    Option(
        "checkmempool",
        _NUM,
        _DEBUG,
        "Check the mempool after one in <n> changes",
        "0, regtest: 1",
        "=<n>",
        debug_only=True,
    ),
    Option(
        "deprecatedrpc",
        _TEXT,
        _DEBUG,
        "Allow a deprecated RPC",
        "",
        "=<method>",
        multiple=True,
        debug_only=True,
        effect=_LATER,
    ),
    Option("fastprune", _FLAG, _DEBUG, "Small block files, for tests", "0", debug_only=True),
    Option("maxsigcachesize", _NUM, _DEBUG, "MiB for the script cache", "32", "=<n>", debug_only=True),
    Option("maxtipage", _NUM, _DEBUG, "Age in seconds of a tip in initial sync", "86400", "=<n>", debug_only=True),
    Option("mocktime", _NUM, _DEBUG, "Replace the clock by this Unix time", "0", "=<n>", debug_only=True),
    Option("printpriority", _FLAG, _DEBUG, "Log fee rates of mined transactions", "0", debug_only=True),
    Option("stopafterblockimport", _FLAG, _DEBUG, "Stop once blocks are loaded", "0", debug_only=True),
    Option(
        "stopatheight",
        _NUM,
        _DEBUG,
        "Stop once a block at this height or above becomes the tip",
        "0",
        "=<height>",
        debug_only=True,
    ),
    Option(
        "test", _TEXT, _DEBUG, "Switches for tests: addrman, bip94", "", "=<option>", multiple=True, debug_only=True
    ),
    Option(
        "testactivationheight",
        _TEXT,
        _DEBUG,
        "Height of segwit, bip34, dersig, cltv or csv",
        "",
        "=name@height",
        multiple=True,
        debug_only=True,
    ),
]

CHAIN_CHOICE = [
    Option("chain", _TEXT, _CHAIN, "main, test, testnet4, signet or regtest", "main", "=<chain>"),
    Option("regtest", _FLAG, _CHAIN, "A chain of one's own, with blocks made at once", "0", debug_only=True),
    Option("signet", _FLAG, _CHAIN, "The signet chain", "0"),
    Option("signetchallenge", _HEX, _CHAIN, "Script that signs a signet's blocks", multiple=True, negatable=False),
    Option("signetseednode", _TEXT, _CHAIN, "Seed node of a signet", multiple=True, negatable=False, effect=_LATER),
    Option("testnet", _FLAG, _CHAIN, "The testnet3 chain", "0"),
    Option("testnet4", _FLAG, _CHAIN, "The testnet4 chain", "0"),
    Option(
        "vbparams",
        _TEXT,
        _CHAIN,
        "Times of a version bits deployment",
        "",
        "=name:start:end[:min_activation_height]",
        multiple=True,
        debug_only=True,
    ),
]

NODE_OPTIONS = GENERAL + LOGGING + TESTING + CHAIN_CHOICE
