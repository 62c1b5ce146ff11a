"""Peers that do nothing are left.

Owns: the time that a peer has for its first message, for the handshake, and between messages. Never: pings.
Source: Bitcoin Core's src/net.cpp (InactivityCheck).
"""

from clarion.node.net.clock import SECOND_US
from clarion.node.net.peer import Peer

TIMEOUT_INTERVAL_S = 20 * 60


def check_activity(peer: Peer, now_us: int, timeout_s: int) -> None:
    """Leave a peer that does not open, send or take anything; `timeout_s` is what a new one has."""
    if peer.leaving or peer.connected_us + timeout_s * SECOND_US >= now_us:
        return
    now = now_us // SECOND_US
    if not peer.last_receive or not peer.last_send:
        never = "" if peer.last_receive else ", never received from peer"
        never += "" if peer.last_send else ", never sent to peer"
        peer.disconnect(f"socket no message in first {timeout_s} seconds{never}")
    elif now > peer.last_send + TIMEOUT_INTERVAL_S:
        peer.disconnect(f"socket sending timeout: {now - peer.last_send}s")
    elif now > peer.last_receive + TIMEOUT_INTERVAL_S:
        peer.disconnect(f"socket receive timeout: {now - peer.last_receive}s")
    elif not peer.fully_connected:
        detecting = peer.transport.transport_type == "detecting"
        peer.disconnect("V2 handshake timeout" if detecting else "version handshake timeout")
