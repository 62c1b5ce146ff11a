"""The node's core: primitives, consensus, chain, storage. No HTTP here, no SQL outside `storage`."""
