"""Script checks of whole blocks and the worker pool that runs them."""
