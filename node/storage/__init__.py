"""Everything that is kept: SQL databases, block files, undo files, the event log. The only home of SQLAlchemy.

Never: what the stored values mean. The chain manager decides, storage keeps.
"""
