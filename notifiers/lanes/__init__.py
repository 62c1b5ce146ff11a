"""Lanes of transports: events out of the durable log to a server, a file or a program, each at its own pace."""
