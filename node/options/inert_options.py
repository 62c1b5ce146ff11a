"""Options of the reference's wallet, window, IPC and command-line client.

Owns: their names, so that files and scripts written for the reference work. Never: any meaning.
"""

from clarion.node.options.option import Category, Effect, Kind, Option


def _names(text: str) -> list[str]:
    return text.split()


_WALLET = _names(
    "addresstype avoidpartialspends changetype consolidatefeerate disablewallet discardfee fallbackfee keypool maxapsfee "
    "maxtxfee mintxfee signer spendzeroconfchange txconfirmtarget unsafesqlitesync walletbroadcast walletcrosschain "
    "walletnotify walletrbf walletrejectlongchains"
)
_WALLET_NETWORK_ONLY = ("wallet", "walletdir")
_WINDOW = _names("choosedatadir lang min resetguisettings splash uiplatform")
_OTHER = _names(
    "checkpoints dbcrashratio forcecompactdb ipcbind limitancestorcount limitancestorsize limitdescendantcount "
    "limitdescendantsize mempoolfullrbf maxorphantx settings upnp"
)
_CLIENT = _names(
    "addrinfo color generate getinfo ipcconnect named netinfo rpcclienttimeout rpcconnect rpcwait rpcwaittimeout "
    "rpcwallet stdin stdinrpcpass stdinwalletpassphrase"
)


def _inert(name: str, *, network_only: bool = False) -> Option:
    return Option(
        name,
        Kind.TEXT,
        Category.HIDDEN,
        "Accepted without effect",
        multiple=True,
        network_only=network_only,
        effect=Effect.INERT,
    )


INERT_OPTIONS = [_inert(name) for name in _WALLET + _WINDOW + _OTHER + _CLIENT] + [
    _inert(name, network_only=True) for name in _WALLET_NETWORK_ONLY
]
