"""Script: interpreter, signature hashes and signature checks. Pure and synchronous."""
