"""Encoders in order, and what they cost."""
