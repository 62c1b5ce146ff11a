"""The chain database: block index, active chain, event log, settings."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of the first version."""
    op.create_table(
        "meta",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "blocks",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("header", sa.LargeBinary, nullable=False),
        sa.Column("height", sa.Integer, nullable=False),
        sa.Column("chainwork", sa.LargeBinary, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("tx_count", sa.Integer, nullable=False),
        sa.Column("chain_tx_count", sa.BigInteger, nullable=False),
        sa.Column("file", sa.Integer, nullable=False),
        sa.Column("data_pos", sa.BigInteger, nullable=False),
        sa.Column("data_size", sa.Integer, nullable=False),
        sa.Column("undo_pos", sa.BigInteger, nullable=False),
        sa.Column("undo_size", sa.Integer, nullable=False),
        sa.Column("sequence_id", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("blocks_by_height", "blocks", ["height", "hash"])
    op.create_table(
        "active_chain",
        sa.Column("height", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "event_log",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Integer, nullable=False),
        sa.Column("block_hash", sa.LargeBinary, nullable=False),
        sa.Column("height", sa.Integer, nullable=False),
        sa.Column("txid", sa.LargeBinary),
        sa.Column("reason", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
    )
