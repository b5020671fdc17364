"""Text to vectors. `load(spec)` is the way in."""

from engine.encoders.base import Encoder, VectorCache
from engine.encoders.cached import MemoryCache
from engine.encoders.loading import describe, load
from engine.encoders.spec import parse
from engine.encoders.steps import bind_task

__all__ = ["Encoder", "MemoryCache", "VectorCache", "bind_task", "describe", "load", "parse"]
