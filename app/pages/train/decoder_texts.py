"""The text that decoders learn from, and that they are judged on, unless told otherwise."""

from __future__ import annotations

from engine.datasets.catalog import Catalog

STARTER = "starter"
LEARNED = ("unlabelled/wiki_split", "unlabelled/movie_reviews", "unlabelled/speeches")
"""What our own decoders learn from, as far as the data folder has it."""
JUDGED = ("unlabelled/abc", "starter-topics")
"""What none of them has seen."""


def to_learn(catalog: Catalog) -> tuple[str, ...]:
    """Names of the texts to learn from: those of ours that are here, else the starter set."""
    known = {info.name for info in catalog.list()}
    return tuple(name for name in LEARNED if name in known) or (STARTER,)
