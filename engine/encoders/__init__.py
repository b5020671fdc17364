"""Text to vectors. `load(spec)` is the way in."""

from engine.encoders.base import Encoder, VectorCache
from engine.encoders.cached import MemoryCache
from engine.encoders.loading import as_a_gpu_chose, describe, load
from engine.encoders.spec import parse
from engine.encoders.stamp import stamp_of
from engine.encoders.steps import bind_task

__all__ = [
    "Encoder", "MemoryCache", "VectorCache", "as_a_gpu_chose", "bind_task", "describe", "load",
    "parse", "stamp_of",
]  # fmt: skip
