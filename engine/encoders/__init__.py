"""Text to vectors. `load(spec)` is the way in."""

from engine.encoders.loading import load
from engine.encoders.spec import parse

__all__ = ["load", "parse"]
