"""Fee estimation from how long transactions of the pool had to wait for a block, as the reference does it."""
