"""Miniscript in P2WSH and tapscript: scripts whose meaning can be analysed. Pure functions over plain values."""
