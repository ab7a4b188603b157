"""Alembic runs this file. The caller of `core.store.migrate` has opened the connection and begun the transaction."""

from alembic import context

if hasattr(context, "config"):  # only while Alembic runs it; importing it does nothing
    context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
    context.run_migrations()
