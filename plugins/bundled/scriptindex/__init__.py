"""-scriptindex: history, unspent outputs and balance of every script: an index, and routes that answer from it."""
