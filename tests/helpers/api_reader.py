"""`clarion api` as a subprocess, driven over its sockets as a node is.

Owns: what differs from a node. Never: asserting.
"""

from pathlib import Path

from helpers.node import Node, program


class ApiReader(Node):
    """An API without a node. Its data directory may be that of a node."""

    def __init__(self, datadir: Path, *options: str) -> None:
        super().__init__(datadir, *options)
        self.program = [*program(), "api"]
        self.output = datadir / "api-output.txt"
        self.cookie_name = ".api.cookie"
