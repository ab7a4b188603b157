"""The one MetaData that all tables of the site share."""

from core.store.columns import new_metadata

metadata = new_metadata()
