"""All that is known of addresses: others' and our own.

Owns: the composition, and the files over a restart. Never: connecting.
"""

import logging
from collections.abc import Sequence

from clarion.node.net.address import Network
from clarion.node.net.address_manager.anchors_file import MAX_ANCHORS, save_anchors, take_anchors
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.address_manager.peers_file import load_peers, save_peers
from clarion.node.net.address_manager.tables import AddressTables
from clarion.node.net.address_relay import AddressRelay
from clarion.node.net.bans import BanList
from clarion.node.net.clock import SECOND_US
from clarion.node.net.context import NetContext
from clarion.node.net.handshake import Handshake
from clarion.node.net.listener import Bind, listen_port_of
from clarion.node.net.local_addresses import LocalAddresses
from clarion.node.net.messages.addresses import TimedAddress
from clarion.node.net.peer_manager import PeerManager

PEERS_INTERVAL_S = 15 * 60
"""How often peers.dat is written while the node runs."""

MAP_INTERVAL_S = 24 * 60 * 60
_CLEAR = (Network.IPV4, Network.IPV6)

logger = logging.getLogger("clarion.net")


class AddressBook:
    """Remembered addresses, our own ones, and what passes between peers. Belongs to the network thread."""

    def __init__(
        self, context: NetContext, peers: PeerManager, handshake: Handshake, bans: BanList, binds: Sequence[Bind]
    ) -> None:
        """Read peers.dat. Raises ConfigError if it is broken."""
        self._context = context
        self._peers = peers
        options = context.options
        self._peers_path = context.data_dir / "peers.dat"
        self._anchors_path = context.data_dir / "anchors.dat"
        tables = load_peers(
            self._peers_path,
            context.params.magic,
            lambda: AddressTables(deterministic=options.fixed_address_key, groups=context.groups),
        )
        self.manager = AddressManager(context.clock.now, tables, check_every=options.check_addresses)
        self.own = LocalAddresses(options, listen_port_of(options, context.params.default_port))
        self.own.learn(binds)
        self.relay = AddressRelay(context, peers, handshake, self.manager, self.own, bans)

    def check_map(self) -> None:
        """Tell how well a map of autonomous systems knows our addresses."""
        if self._context.groups.has_map:
            found = [each for network in _CLEAR for each in self.manager.sample(0, 0, network, filtered=False)]
            self._context.groups.log_health(each.endpoint.address for each in found)

    def save(self) -> None:
        """Write peers.dat."""
        save_peers(self.manager.tables, self._peers_path, self._context.params.magic)
        logger.debug("Flushed %d addresses to peers.dat", self.manager.size())

    def take_anchors(self) -> list[TimedAddress]:
        """Return the peers for blocks only from before the restart; anchors.dat is deleted."""
        anchors = take_anchors(self._anchors_path, self._context.params.magic)
        logger.info("%d block-relay-only anchors will be tried for connections.", len(anchors))
        return anchors

    def save_anchors(self) -> None:
        """Write anchors.dat, while the connections are still there."""
        anchors = [
            TimedAddress(peer.connected_us // SECOND_US, peer.services, peer.endpoint)
            for peer in self._peers.peers.values()
            if peer.is_block_only
        ]
        save_anchors(self._anchors_path, self._context.params.magic, anchors[:MAX_ANCHORS])
