"""Optional indexes: what an index is, and how each follows the chain behind the tip commit on a thread of its own."""
