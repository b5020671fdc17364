"""What orders documents for a query, encoders included. `load(spec)` is the entry point."""

from theodolite.engine.rankers.base import Index, Ranked, Ranker
from theodolite.engine.rankers.loading import load, of, rank
from theodolite.engine.rankers.spec import RankerSpec, canonical, parse, split

__all__ = [
    "Index",
    "Ranked",
    "Ranker",
    "RankerSpec",
    "canonical",
    "load",
    "of",
    "parse",
    "rank",
    "split",
]
