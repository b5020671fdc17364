"""Sentences near a vector, or that match a pattern; and what stands out in a collection."""
