"""Event types, their identity and order, and their encoding. Never: delivery."""
