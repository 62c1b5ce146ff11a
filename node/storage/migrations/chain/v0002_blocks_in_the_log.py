"""An index of the event log's rows about blocks: where in the log the chain stood at a height."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the index. Rows of the mempool, which are most rows, are not in it."""
    blocks = sa.text("kind <= 2")
    op.create_index("event_log_blocks", "event_log", ["height", "seq"], sqlite_where=blocks, postgresql_where=blocks)
