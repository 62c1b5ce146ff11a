"""Relay policy: rules that the pool adds to consensus. Pure functions, which any thread may call."""
