"""Bitcoin's data structures and encodings. Pure: no clock, no I/O, no logging."""
