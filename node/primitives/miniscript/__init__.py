"""Miniscript in P2WSH: scripts whose meaning can be analysed. Pure functions over plain values."""
