"""Persistence: SQLite and files in one folder. Knows neither encoders nor pages."""

from theodolite.store.errors import StoreError
from theodolite.store.folder import Store

__all__ = ["Store", "StoreError"]
