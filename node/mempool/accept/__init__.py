"""Decides whether transactions enter the mempool: checks in the reference's order, replacement, packages."""
