"""Partially signed transactions (BIP174, 370, 371, 373): the values, their bytes, and what may be done with them."""
