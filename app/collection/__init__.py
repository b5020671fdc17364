"""Sentences of a collection: added, found, indexed, looked over."""
