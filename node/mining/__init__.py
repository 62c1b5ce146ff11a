"""Block assembly and regtest block generation. Never: the mempool's policy."""
