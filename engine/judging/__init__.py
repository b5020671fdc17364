"""Encoders compared by what a person finds relevant: what is shown next, and what follows."""
