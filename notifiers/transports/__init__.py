"""The transports of `-notify`, one file each: how messages reach one kind of receiver. Never: which messages, or when."""
