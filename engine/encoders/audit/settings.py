"""The settings of a model that are worth trying, each written as a spec.

Reads files, loads no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.pooling_choice import examine
from theodolite.engine.encoders.prompts import Prompts
from theodolite.engine.encoders.spec import DTYPES, POOLINGS, SourceSpec

Group = Literal["prompt", "pooling", "cut", "length", "precision"]
GROUPS: dict[Group, str] = {
    "prompt": "Prompt",
    "pooling": "Pooling",
    "cut": "Truncation",
    "length": "Normalisation",
    "precision": "Precision",
}
CUTS = (128, 256, 512)
MOST_PROMPTS = 6
"""Number of a model's own prompts that are tried."""
_QUERY, _DOCUMENT = ("query",), ("document", "passage", "corpus")


@dataclass(frozen=True)
class Setting:
    """One setting; everything else is as in the audited spec.

    Attributes:
        group: kind of setting.
        label: value of the setting, for people.
        spec: the source with that setting.
        by: how its vectors are compared.
    """

    group: Group
    label: str
    spec: SourceSpec
    by: Literal["cosine", "dot product"] = "cosine"


def prompts(spec: SourceSpec, checkpoint: Checkpoint, two_sided: bool) -> Iterator[Setting]:
    """No prompt, each of the model's own, and the sides swapped.

    Args:
        spec: the audited source.
        checkpoint: its files.
        two_sided: whether the examples have queries.
    """
    known = Prompts.of(checkpoint)
    given = spec.option("prompt"), spec.option("query_prompt")
    own = list(known.own)[:MOST_PROMPTS]
    if any(given) or known.own:
        yield Setting("prompt", "no prompt", _with(spec, ""))
    for name in own:
        yield Setting("prompt", f"prompt {name}", _with(spec, name))
    query, document = (_named(own, words) for words in (_QUERY, _DOCUMENT))
    if given[1] is not None and "@task" not in given:
        yield Setting("prompt", "its two prompts swapped", _with(spec, given[1], given[0] or ""))
    if two_sided and (query or document):
        sides = document or "", query or ""
        label = f"{query or 'none'} for queries, {document or 'none'} for documents"
        yield Setting("prompt", label, _with(spec, *sides))
        yield Setting("prompt", "these two swapped", _with(spec, *sides[::-1]))


def _with(spec: SourceSpec, prompt: str, query: str | None = None) -> SourceSpec:
    return spec.with_options(prompt=prompt, query_prompt=query)


def _named(names: list[str], words: tuple[str, ...]) -> str | None:
    """The first name that holds one of the words, as `search_query` does."""
    return next((name for word in words for name in names if word in name), None)


def poolings(spec: SourceSpec, checkpoint: Checkpoint) -> Iterator[Setting]:
    """Every pooling that the weights allow, without the modules after the model's own pooling."""
    for pooling in POOLINGS:
        if pooling != "pooler_output" or checkpoint.has_pooler:
            changed = spec.with_options(pooling=pooling, layer=None)
            yield Setting("pooling", pooling, changed)


def cuts(spec: SourceSpec, checkpoint: Checkpoint, longest: int) -> Iterator[Setting]:
    """Other lengths to cut texts at, where they change any text.

    Args:
        spec: the audited source.
        checkpoint: its files.
        longest: tokens of the longest text.
    """
    positions = checkpoint.positions or longest
    limit = int(spec.option("max_length") or checkpoint.max_length or longest)
    tried = {min(limit, longest)}
    for length in CUTS:
        kept = min(length, longest)
        if kept not in tried and length <= positions:
            tried.add(kept)
            yield Setting("cut", f"cut at {length} tokens", _cut(spec, length))


def _cut(spec: SourceSpec, length: int) -> SourceSpec:
    return spec.with_options(max_length=str(length))


def raw(spec: SourceSpec, checkpoint: Checkpoint, unit: bool) -> Iterator[Setting]:
    """Vectors that are not normalised, compared by dot product.

    Args:
        spec: the audited source.
        checkpoint: its files.
        unit: whether the model itself normalises: then the pooled vectors before that are taken.
    """
    if unit:
        pooling = examine(checkpoint).pooling
        spec = spec.with_options(pooling=spec.option("pooling") or pooling)
    yield Setting("length", "not normalised, by dot product", spec, "dot product")


def precisions(spec: SourceSpec) -> Iterator[Setting]:
    """The other precisions that this machine has."""
    from theodolite.engine.encoders.int8 import available

    for dtype in DTYPES:
        if dtype != (spec.option("dtype") or "float32") and (dtype != "int8" or available()):
            changed = spec.with_options(dtype=None if dtype == "float32" else dtype)
            yield Setting("precision", dtype, changed)


def token_counts(checkpoint: Checkpoint, texts: list[str]) -> list[int]:
    """The number of tokens of each text, special ones included, before any is cut."""
    from theodolite.engine.encoders.source import clean
    from theodolite.engine.encoders.transformer import quiet, read_tokenizer

    with quiet():
        tokenizer = read_tokenizer(checkpoint)
        counted = tokenizer([clean(text) for text in texts], truncation=False)["input_ids"]
    return [len(row) for row in counted]
