"""Encoders with two sides: one for queries, one for documents.

Models of E5's or BGE's kind put one prompt before queries and another one before documents. An
encoder is its own query side unless it has an attribute `queries`; `query_side` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.encoders.base import Encoder
from engine.encoders.fingerprint import fingerprint
from engine.encoders.prompts import PromptTask
from engine.errors import UserError
from engine.progress import Progress


def query_side(encoder: Encoder) -> Encoder:
    """The encoder of queries, whose documents the given one encodes; mostly the same."""
    queries: Encoder | None = getattr(encoder, "queries", None)
    return encoder if queries is None else queries


def prompts_of(encoder: Encoder) -> dict[str, str]:
    """What is put before sentences, where anything is.

    Returns:
        `prompt`, and `query_prompt` where queries have another one. Of several models side by side
        the prompts are joined by " + ".
    """
    prompt, query = _prompt(encoder), _prompt(query_side(encoder))
    prompts = {"prompt": prompt} if prompt else {}
    return prompts | ({"query_prompt": query} if query != prompt else {})


def _prompt(encoder: Any) -> str:
    """The text before every sentence, found in the model beneath."""
    parts = getattr(encoder, "parts", None)
    if parts is not None:
        found = [_prompt(part) for part in parts]
        return " + ".join(found) if any(found) else ""
    for inner in ("documents", "encoder", "source"):
        if hasattr(encoder, inner):
            return _prompt(getattr(encoder, inner))
    return str(getattr(encoder, "prompt", ""))


class TwoSided:
    """Documents by one encoder, queries by another; `encode` is the side of documents.

    Args:
        name: canonical spec of the whole.
        documents: of the spec without its query prompt, so that vectors are shared with that.
        queries: of the spec whose prompt is that of queries.
        kind: how the sides came about; part of the fingerprint.
    """

    def __init__(
        self, name: str, documents: Encoder, queries: Encoder, kind: str = "two-sided"
    ) -> None:
        self.name = name
        self.documents = documents
        # An encoder whose sides are one needs none apart.
        self.queries = None if queries.fingerprint == documents.fingerprint else queries
        self.dim = documents.dim
        self.fingerprint = fingerprint(kind, documents.fingerprint, queries.fingerprint)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of both, each once."""
        return tuple(dict.fromkeys((*self.documents.warnings, *query_side(self).warnings)))

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        return self.documents.encode(sentences, progress)


class PromptedByTask:
    """An encoder whose prompts are those that its model has for the task, before that is known.

    Args:
        name: canonical spec of the whole.
        plain: of the spec without prompts.
        sides: makes the whole for a task.
    """

    needs_task = True

    def __init__(self, name: str, plain: Encoder, sides: Callable[[PromptTask], TwoSided]) -> None:
        self.name = name
        self.dim = plain.dim
        self.warnings = plain.warnings
        self.fingerprint = fingerprint("prompts of the task", name, plain.fingerprint)
        self._sides = sides

    def bind(self, _: Sequence[str], __: str, task: PromptTask | None = None) -> TwoSided:
        """With the prompts of a task; the model's own for queries and documents without one."""
        return self._sides(task or PromptTask())

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Refuse.

        Raises:
            UserError: always, since there is no task.
        """
        raise UserError(
            f"{self.name} takes its prompt from a task and can only encode within one.",
            "Evaluate it on a task, search a data set with it, or name a prompt instead of @task.",
        )


def bind_task(
    encoder: Encoder,
    sentences: Sequence[str],
    data_hash: str,
    task: PromptTask | None = None,
) -> Encoder:
    """Complete what says `@task`, in steps and in prompts; any other encoder comes back as it is.

    Args:
        encoder: any.
        sentences: of the task, which steps are fitted on.
        data_hash: of these.
        task: as a model knows it that names prompts by tasks; None is none that it knows.
    """
    if not getattr(encoder, "needs_task", False):
        return encoder
    bound: Encoder = encoder.bind(sentences, data_hash, task)  # type: ignore[attr-defined]
    return bound
