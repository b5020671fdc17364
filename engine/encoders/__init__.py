"""From text to vectors. `load(spec)` is the entry point."""

from theodolite.engine.encoders.base import Encoder, VectorCache, is_encoder, with_checks
from theodolite.engine.encoders.cached import MemoryCache
from theodolite.engine.encoders.facts import cuts_of, describe, stamp_of, warnings_of
from theodolite.engine.encoders.loading import load
from theodolite.engine.encoders.prompts import PromptTask
from theodolite.engine.encoders.sides import bind_task, prompts_of, query_side, similarity_of
from theodolite.engine.encoders.spec import canonical, parse

__all__ = [
    "Encoder",
    "MemoryCache",
    "PromptTask",
    "VectorCache",
    "bind_task",
    "canonical",
    "cuts_of",
    "describe",
    "is_encoder",
    "load",
    "parse",
    "prompts_of",
    "query_side",
    "similarity_of",
    "stamp_of",
    "warnings_of",
    "with_checks",
]
