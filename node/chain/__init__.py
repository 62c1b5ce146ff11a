"""The chain manager: fetch, decide, apply. The only writer of the chain's state."""
