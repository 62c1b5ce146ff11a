"""The memory pool: unconfirmed transactions, what policy demands of them, and what leaves first."""
