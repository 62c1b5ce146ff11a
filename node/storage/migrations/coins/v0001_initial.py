"""The coins database: unspent outputs and the block that they stand at."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of the first version."""
    op.create_table(
        "coins_meta",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "coins",
        sa.Column("outpoint", sa.LargeBinary, primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
        sa.Column("code", sa.BigInteger, nullable=False),
        sa.Column("script_pubkey", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    # One row: the block whose coins these are.
    op.create_table(
        "coins_tip",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("block_hash", sa.LargeBinary, nullable=False),
    )
