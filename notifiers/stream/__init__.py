"""The event stream: reading the log from any cursor, filters, and what transports of the stream share. Never: sockets."""
