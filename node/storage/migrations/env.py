"""Alembic's entry: migrates the connection that `storage.migrate` hands over. Never opens one itself."""

from alembic import context

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"],
    version_table=attributes["version_table"],
    transactional_ddl=True,
)
context.run_migrations()
