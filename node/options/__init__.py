"""The options: their table, where values come from, and how sources are merged. Reads files, never writes any."""
