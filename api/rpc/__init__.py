"""JSON-RPC methods, each declared once with its arguments and the place where it runs."""
