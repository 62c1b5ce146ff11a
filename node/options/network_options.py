"""Options of network, relay, mempool and mining.

Owns: these rows of the options table. Never: their meaning.
"""

from clarion.node.options.option import Category, Effect, Kind, Option

_OPT, _CONN, _DEBUG = Category.OPTIONS, Category.CONNECTION, Category.DEBUG_TEST
_RELAY, _MINING = Category.NODE_RELAY, Category.BLOCK_CREATION
_FLAG, _NUM, _TEXT, _AMOUNT, _PATH = Kind.FLAG, Kind.NUMBER, Kind.TEXT, Kind.AMOUNT, Kind.PATH


def _later(
    name: str,
    kind: Kind,
    category: Category,
    help_text: str,
    default: str = "",
    argument: str = "",
    *,
    multiple: bool = False,
    debug_only: bool = False,
    network_only: bool = False,
    sensitive: bool = False,
    needs_value: bool = False,
) -> Option:
    # The network is a later capability; until then its options are stored only.
    return Option(
        name,
        kind,
        category,
        help_text,
        default,
        argument,
        multiple,
        debug_only,
        network_only,
        sensitive,
        needs_value=needs_value,
        effect=Effect.LATER,
    )


CONNECTION = [
    Option("addnode", _TEXT, _CONN, "Keep a connection to this node", "", "=<ip>", multiple=True, network_only=True),
    Option("asmap", _PATH, _CONN, "File that maps addresses to networks", "", "=<file>"),
    Option("bantime", _NUM, _CONN, "Seconds that a manual ban lasts", "86400", "=<n>"),
    Option(
        "bind",
        _TEXT,
        _CONN,
        "Listen on this address",
        "0.0.0.0",
        "=<addr>[:<port>][=onion]",
        multiple=True,
        network_only=True,
    ),
    Option("cjdnsreachable", _FLAG, _CONN, "This machine is on the CJDNS network", "0"),
    Option(
        "connect",
        _TEXT,
        _CONN,
        "Connect to these nodes only; -noconnect: to none",
        "",
        "=<ip>",
        multiple=True,
        network_only=True,
    ),
    Option("discover", _FLAG, _CONN, "Find out one's own addresses", "1 when listening"),
    Option("dns", _FLAG, _CONN, "Look up names", "1"),
    Option("dnsseed", _FLAG, _CONN, "Ask DNS seeds for addresses", "1 without -connect"),
    Option("externalip", _TEXT, _CONN, "One's own public address", "", "=<ip>", multiple=True),
    Option("fixedseeds", _FLAG, _CONN, "Use built-in addresses if nothing else helps", "1"),
    Option("forcednsseed", _FLAG, _CONN, "Always ask DNS seeds", "0"),
    _later("i2pacceptincoming", _FLAG, _CONN, "Accept connections over I2P", "1"),
    _later("i2psam", _TEXT, _CONN, "I2P SAM proxy", "", "=<ip:port>"),
    Option("listen", _FLAG, _CONN, "Accept connections", "1 without -connect and -proxy"),
    Option("listenonion", _FLAG, _CONN, "Make a Tor onion service", "1 when listening"),
    Option("maxconnections", _NUM, _CONN, "Most automatic connections", "125", "=<n>"),
    Option("maxreceivebuffer", _NUM, _CONN, "Receive buffer of a connection in kB", "5000", "=<n>"),
    Option("maxsendbuffer", _NUM, _CONN, "Send buffer of a connection in kB", "1000", "=<n>"),
    Option("maxuploadtarget", _TEXT, _CONN, "Bytes to send in a day, with a unit; 0: no limit", "0M", "=<n>"),
    _later("natpmp", _FLAG, _CONN, "Map the port by PCP or NAT-PMP", "1"),
    Option("networkactive", _FLAG, _CONN, "Take part in the network", "1"),
    Option("onion", _TEXT, _CONN, "SOCKS5 proxy for onion addresses", "-proxy", "=<ip:port|path>"),
    Option("onlynet", _TEXT, _CONN, "Connect to this network only", "", "=<net>", multiple=True),
    Option("peerblockfilters", _FLAG, _CONN, "Serve compact filters (BIP157)", "0"),
    Option("peerbloomfilters", _FLAG, _CONN, "Serve bloom filters (BIP37)", "0"),
    Option("peertimeout", _NUM, _CONN, "Seconds until a silent peer is dropped", "60", "=<n>", debug_only=True),
    Option(
        "port", _NUM, _CONN, "Listen on this port", "8333, 18333, 48333, 38333, 18444", "=<port>", network_only=True
    ),
    Option(
        "proxy",
        _TEXT,
        _CONN,
        "SOCKS5 proxy",
        "",
        "=<ip>[:<port>]|unix:<path>[=<network>]",
        multiple=True,
        needs_value=True,
    ),
    Option("proxyrandomize", _FLAG, _CONN, "Other credentials for each connection by proxy", "1"),
    Option("seednode", _TEXT, _CONN, "Ask this node for addresses", "", "=<ip>", multiple=True),
    Option("timeout", _NUM, _CONN, "Milliseconds to wait for a connection", "5000", "=<n>"),
    Option("torcontrol", _TEXT, _CONN, "Tor control port", "127.0.0.1:9051", "=<ip>:<port>"),
    Option("torpassword", _TEXT, _CONN, "Tor control password", "", "=<pass>", sensitive=True),
    _later("txreconciliation", _FLAG, _CONN, "Reconcile transactions (BIP330)", "0", debug_only=True),
    Option("v2transport", _FLAG, _CONN, "Encrypted transport (BIP324)", "1"),
    Option("whitebind", _TEXT, _CONN, "Listen and give permissions", "", "=<[permissions@]addr>", multiple=True),
    Option("whitelist", _TEXT, _CONN, "Give permissions to addresses", "", "=<[permissions@]network>", multiple=True),
]

MEMPOOL = [
    Option("blockreconstructionextratxn", _NUM, _OPT, "Transactions kept for compact blocks", "100", "=<n>"),
    Option("blocksonly", _FLAG, _OPT, "Take no transactions from peers", "0"),
    Option("maxmempool", _NUM, _OPT, "Size of the mempool in MB", "300", "=<n>"),
    Option("mempoolexpiry", _NUM, _OPT, "Hours that a transaction may wait", "336", "=<n>"),
    Option("persistmempool", _FLAG, _OPT, "Keep the mempool over a restart", "1"),
    Option("persistmempoolv1", _FLAG, _OPT, "Write mempool.dat in its first format", "0"),
    Option("limitclustercount", _NUM, _DEBUG, "Most transactions in a cluster", "64", "=<n>", debug_only=True),
    Option("limitclustersize", _NUM, _DEBUG, "Largest cluster in kvB", "101", "=<n>", debug_only=True),
    Option("acceptstalefeeestimates", _FLAG, _DEBUG, "Read old fee estimates", "0", debug_only=True),
]

RELAY = [
    Option("acceptnonstdtxn", _FLAG, _RELAY, "Relay non-standard transactions (test chains)", "0", debug_only=True),
    Option("bytespersigop", _NUM, _RELAY, "Bytes that a sigop counts for", "20"),
    Option("datacarrier", _FLAG, _RELAY, "Relay OP_RETURN outputs", "1"),
    Option("datacarriersize", _NUM, _RELAY, "Most bytes of them in a transaction", "100000"),
    Option(
        "dustrelayfee", _AMOUNT, _RELAY, "Fee rate that defines dust, BTC/kvB", "0.00003", "=<amt>", debug_only=True
    ),
    Option(
        "incrementalrelayfee",
        _AMOUNT,
        _RELAY,
        "Fee rate of a replacement, BTC/kvB",
        "0.000001",
        "=<amt>",
        debug_only=True,
    ),
    Option("minrelaytxfee", _AMOUNT, _RELAY, "Least fee rate, BTC/kvB", "0.000001", "=<amt>"),
    Option("permitbaremultisig", _FLAG, _RELAY, "Relay bare multisig outputs", "1"),
    _later("privatebroadcast", _FLAG, _RELAY, "Send own transactions over Tor or I2P only", "0"),
    Option("whitelistforcerelay", _FLAG, _RELAY, "Whitelisted peers may force relay", "0"),
    Option("whitelistrelay", _FLAG, _RELAY, "Whitelisted peers may relay", "1"),
]

MINING = [
    Option("blockmaxweight", _NUM, _MINING, "Largest block to make, weight units", "4000000", "=<n>", debug_only=True),
    Option("blockmintxfee", _AMOUNT, _MINING, "Least fee rate in a block, BTC/kvB", "0.00000001", "=<amt>"),
    Option("blockreservedweight", _NUM, _MINING, "Weight kept free for the coinbase", "8000", "=<n>"),
    Option("blockversion", _NUM, _MINING, "Version of blocks made on regtest", "", "=<n>", debug_only=True),
]

NETWORK_OPTIONS = CONNECTION + MEMPOOL + RELAY + MINING
