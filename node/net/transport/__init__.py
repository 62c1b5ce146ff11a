"""Transports: bytes on a connection to messages and back. Never: sockets, what messages mean."""
