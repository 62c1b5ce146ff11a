"""Consensus rules as pure functions over plain values. No clock, no I/O, no SQL, no logging."""
