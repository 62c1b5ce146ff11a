"""The OpenAPI page: what the methods, paths and streams declare, as one document. Never: answers."""
