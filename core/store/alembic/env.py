"""Alembic calls this file. The caller of `core.store.migrate` has opened the connection and begun the transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
