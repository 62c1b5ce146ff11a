"""Chains that start from a snapshot of all unspent outputs, and the validation of the history below it."""
