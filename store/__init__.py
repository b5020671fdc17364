"""Persistence: SQLite and files in one folder. Knows neither encoders nor pages."""

from store.errors import StoreError
from store.folder import Store

__all__ = ["Store", "StoreError"]
