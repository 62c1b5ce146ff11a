"""The fixture with running nodes."""

pytest_plugins = ["clarion.plugins.testing"]
