"""Hook specifications, the plugin manager and the bundled plugins."""
