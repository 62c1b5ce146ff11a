"""The table knows every option of the reference, and each has a help text."""

import pytest

from clarion.node.options.help_text import help_text
from clarion.node.options.option import Category, Effect
from clarion.node.options.table import OptionTable

REFERENCE_OPTIONS = """
    acceptnonstdtxn acceptstalefeeestimates addnode addresstype alertnotify allowignoredconf asmap assumevalid
    avoidpartialspends bantime bind blockfilterindex blockmaxweight blockmintxfee blocknotify
    blockreconstructionextratxn blockreservedweight blocksdir blocksonly blocksxor blockversion bytespersigop
    capturemessages chain changetype checkaddrman checkblockindex checkblocks checklevel checkmempool checkpoints
    choosedatadir cjdnsreachable coinstatsindex conf connect consolidatefeerate daemon daemonwait datacarrier
    datacarriersize datadir dbbatchsize dbcache dbcrashratio debug debugexclude debuglogfile deprecatedrpc disablewallet
    discardfee discover dns dnsseed dustrelayfee externalip fallbackfee fastprune fixedseeds forcecompactdb forcednsseed
    help help-debug i2pacceptincoming i2psam includeconf incrementalrelayfee ipcbind keypool lang limitancestorcount
    limitancestorsize limitclustercount limitclustersize limitdescendantcount limitdescendantsize listen listenonion
    loadblock logips loglevel loglevelalways logratelimit logsourcelocations logthreadnames logtimemicros logtimestamps
    maxapsfee maxconnections maxmempool maxreceivebuffer maxsendbuffer maxsigcachesize maxtipage maxtxfee
    maxuploadtarget mempoolexpiry min minimumchainwork minrelaytxfee mintxfee mocktime natpmp networkactive onion
    onlynet par peerblockfilters peerbloomfilters peertimeout permitbaremultisig persistmempool persistmempoolv1 pid
    port prevoutfetchthreads printpriority printtoconsole privatebroadcast proxy proxyrandomize prune regtest reindex
    reindex-chainstate resetguisettings rest rpcallowip rpcauth rpcbind rpccookiefile rpccookieperms rpcdoccheck
    rpcpassword rpcport rpcservertimeout rpcthreads rpcuser rpcwhitelist rpcwhitelistdefault rpcworkqueue seednode
    server settings shrinkdebugfile shutdownnotify signer signet signetchallenge signetseednode spendzeroconfchange
    splash startupnotify stopafterblockimport stopatheight test testactivationheight testnet testnet4 timeout torcontrol
    torpassword txconfirmtarget txindex txospenderindex txreconciliation uacomment uiplatform unsafesqlitesync
    v2transport vbparams version wallet walletbroadcast walletcrosschain walletdir walletnotify walletrbf
    walletrejectlongchains whitebind whitelist whitelistforcerelay whitelistrelay zmqpubhashblock zmqpubhashblockhwm
    zmqpubhashtx zmqpubhashtxhwm zmqpubrawblock zmqpubrawblockhwm zmqpubrawtx zmqpubrawtxhwm zmqpubsequence
    zmqpubsequencehwm
"""


@pytest.mark.parametrize("name", REFERENCE_OPTIONS.split())
def test_option_of_the_reference_is_known(name: str) -> None:
    table = OptionTable()
    assert table.find(name) is not None
    option, negated = table.interpret(f"no{name}")
    assert option is not None
    assert negated


def test_help_text_shows_every_option() -> None:
    table = OptionTable()
    text = help_text(table, "1.2.3", debug=True)
    for option in table:
        assert option.help
        assert (f"\n  -{option.name}{option.argument}\n" in text) is (option.category is not Category.HIDDEN), (
            option.name
        )
    assert "-stopatheight" not in help_text(table, "1.2.3", debug=False)


def test_inert_options_are_hidden() -> None:
    hidden = [option for option in OptionTable() if option.category is Category.HIDDEN]
    assert hidden
    assert all(option.effect is Effect.INERT for option in hidden)
