"""The composition root: builds the node's parts, starts, supervises and stops them.

Owns: which part is given to which, and the order of start and stop. Never: what a part does.
"""

from clarion.node.app.db import run_db
from clarion.node.app.importer import run_import
from clarion.node.app.node import run_node

__all__ = ["run_db", "run_import", "run_node"]
