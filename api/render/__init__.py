"""The reference's JSON of scripts, transactions, headers and blocks. Pure functions over plain values."""
