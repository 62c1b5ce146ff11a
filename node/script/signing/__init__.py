"""Making signatures and the scripts and witnesses that carry them: what spends the standard templates."""
