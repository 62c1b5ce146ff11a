"""Runs script checks on as many cores as there are. No chain state, no SQL."""
