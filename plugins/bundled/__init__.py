"""Plugins that come with the node. They use the same hooks as everybody's."""
