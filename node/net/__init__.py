"""The Bitcoin P2P network: transports, messages, peers, sync and relay. Never: mining, clients' APIs."""
