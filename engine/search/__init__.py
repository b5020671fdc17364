"""Nearest neighbours of a vector, pattern matching, and checks of a collection."""
