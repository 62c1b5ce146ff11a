"""JSON-RPC and REST as Bitcoin Core serves them. Never: the chain lock."""
