"""Settings of a spec that the model's files contradict, except the pooling (see the doctor).

Reads files, loads no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.prompts import Prompts
from theodolite.engine.encoders.spec import PROMPTS, TASK_DATA, SourceSpec

_NAME = re.compile(r"[\w-]+")
_NAMED = 4
"""Prompts listed in a warning."""


def contradictions(checkpoint: Checkpoint, spec: SourceSpec) -> tuple[str, ...]:
    """Warnings on prompts and lengths, as sentences to read before trusting a score."""
    return tuple(
        [*_prompts(checkpoint, spec), *_length(checkpoint, spec), *_similarity(checkpoint, spec)]
    )


def runs_modules(checkpoint: Checkpoint, spec: SourceSpec) -> bool:
    """Whether sentence-transformers runs the model, with all of its modules."""
    return bool(checkpoint.modules) and spec.kind != "minilm" and chooses_nothing(spec)


def chooses_nothing(spec: SourceSpec) -> bool:
    """Whether a source leaves the pooling to the model."""
    return not any(spec.option(name) for name in ("pooling", "layer"))


def _prompts(checkpoint: Checkpoint, spec: SourceSpec) -> Iterator[str]:
    prompts = Prompts.of(checkpoint)
    given = [spec.option(name) for name in PROMPTS]
    if given == [None, None]:
        yield from _unsaid(checkpoint, spec, prompts)
    if TASK_DATA in given and not prompts.own:
        yield f"The files of {checkpoint.label} name no prompts: @task puts none before sentences."
    for text in dict.fromkeys(given):
        if text and text != TASK_DATA and text not in prompts.own:
            yield from _unknown(checkpoint, text, prompts)


def _unsaid(checkpoint: Checkpoint, spec: SourceSpec, prompts: Prompts) -> Iterator[str]:
    """Warn where the model was trained with prompts, and the spec gives none."""
    # Only sentence-transformers itself applies a default prompt unasked.
    own = runs_modules(checkpoint, spec)
    if own and checkpoint.is_routed:  # each route takes its own prompt
        return
    default = prompts.text(None) if own else ""
    query = prompts.own.get("query", "")
    if default and query and query != default:
        yield (
            f"Queries get the default prompt of {checkpoint.label}, {default!r}; its files have "
            f"{query!r} for them: add query_prompt=query."
        )
    elif prompts.own and not default:
        sides = {"query", "document"} & prompts.own.keys()
        more = len(prompts.own) - _NAMED
        shown = ", ".join(f"{name} ({text!r})" for name, text in [*prompts.own.items()][:_NAMED])
        yield (
            f"{checkpoint.label} has prompts, and none is asked for: {shown}"
            f"{f' and {more} more' if more > 0 else ''}. "
            f"Add prompt={TASK_DATA if sides else next(iter(prompts.own))}."
        )


def _unknown(checkpoint: Checkpoint, text: str, prompts: Prompts) -> Iterator[str]:
    """Warn where a prompt looks like a name that the model lacks, or like a text cut short."""
    own = next((own for own in prompts.own.values() if own != text and own.strip() == text), None)
    if own is not None:
        yield (
            f"{checkpoint.label} has the prompt {own!r}, and {text!r} is asked for: a space at "
            "the end is written %20."
        )
    elif _NAME.fullmatch(text) and (prompts.own or text in prompts.named):
        has = f"; it has {', '.join(prompts.own)}" if prompts.own else ""
        yield f"{checkpoint.label} has no prompt named {text!r}{has}."


def _length(checkpoint: Checkpoint, spec: SourceSpec) -> Iterator[str]:
    given, stated = spec.option("max_length"), checkpoint.max_length
    if given is not None and stated is not None and int(given) > stated:
        yield (
            f"max_length={given} is more than the {stated} tokens that the files of "
            f"{checkpoint.label} say."
        )


def _similarity(checkpoint: Checkpoint, spec: SourceSpec) -> Iterator[str]:
    if runs_modules(checkpoint, spec) and checkpoint.similarity != "cosine":
        by = {
            "dot": "dot product",
            "euclidean": "Euclidean distance",
            "manhattan": "Manhattan distance",
        }[checkpoint.similarity]
        yield (
            f"{checkpoint.label} compares its vectors by the {by}. Retrieval and reranking do so "
            "too; searches, maps and all else compare them by the cosine."
        )
