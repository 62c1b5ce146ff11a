"""Transactions between peers: asking for them, taking them in, serving and announcing them. Never: blocks, sockets."""
