"""The messages of the P2P network: one frozen dataclass each, with its encoding. Never: behaviour, framing."""
