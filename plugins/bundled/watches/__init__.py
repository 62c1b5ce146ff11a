"""-watches: named sets of scripts with balance and history, as a plugin: an index, RPC methods and a route."""
