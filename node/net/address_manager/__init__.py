"""Addresses of other nodes: what is remembered of them, so that nobody can fill our memory with its own."""
