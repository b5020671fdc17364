"""From text to vectors. `load(spec)` is the entry point."""

from engine.encoders.base import Encoder, VectorCache, is_encoder
from engine.encoders.cached import MemoryCache
from engine.encoders.facts import cuts_of, describe, warnings_of
from engine.encoders.loading import as_a_gpu_chose, load
from engine.encoders.prompts import PromptTask
from engine.encoders.sides import bind_task, prompts_of, query_side, similarity_of
from engine.encoders.spec import parse
from engine.encoders.stamp import stamp_of

__all__ = [
    "Encoder", "MemoryCache", "PromptTask", "VectorCache", "as_a_gpu_chose", "bind_task",
    "cuts_of", "describe", "is_encoder", "load", "parse", "prompts_of", "query_side",
    "similarity_of", "stamp_of", "warnings_of",
]  # fmt: skip
