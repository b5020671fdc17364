"""Encoders with two sides: one for queries, one for documents.

Models of E5's or BGE's kind put one prompt before queries and another one before documents. An
encoder is its own query side unless it has an attribute `queries`; `query_side` says which.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from theodolite.engine.encoders.base import Encoder, encoder_repr
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.prompts import TWO_SIDED, PromptTask
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress

E = TypeVar("E")


def query_side(encoder: Encoder) -> Encoder:
    """The query encoder that goes with an encoder of documents; mostly that encoder itself."""
    queries: Encoder | None = getattr(encoder, "queries", None)
    return encoder if queries is None else queries


def similarity_of(encoder: Encoder) -> str:
    """How the vectors of an encoder are compared: `cosine`, `dot`, `euclidean` or `manhattan`.

    Encoders with steps and sums of encoders are spaces of their own, compared by the cosine.
    """
    return str(getattr(encoder, "similarity", "cosine"))


def prompts_of(encoder: Any) -> dict[str, str]:
    """The prompts that an encoder puts before sentences.

    Returns:
        `prompt`, unless empty, and `query_prompt` where queries have another one. The prompts of
        concatenated models are joined by " + ".
    """
    prompt, query = _prompt(encoder), _prompt(query_side(encoder))
    prompts = {"prompt": prompt} if prompt else {}
    return prompts | ({"query_prompt": query} if query != prompt else {})


def _prompt(encoder: Any) -> str:
    """The text before every sentence, found in the underlying source."""
    parts = getattr(encoder, "parts", None)
    if parts is not None:
        prompts = [_prompt(part) for part in parts]
        return " + ".join(prompts) if any(prompts) else ""
    for inner in ("documents", "encoder", "source"):
        if hasattr(encoder, inner):
            return _prompt(getattr(encoder, inner))
    return str(getattr(encoder, "prompt", ""))


class TwoSided:
    """Documents by one encoder, queries by another; `encode` is the side of documents.

    Args:
        name: canonical spec of the whole.
        documents: encoder of the spec without its query prompt, with which it shares vectors.
        queries: encoder of the spec with the query prompt as its prompt.
        kind: how the sides came about; part of the fingerprint.
    """

    def __init__(
        self, name: str, documents: Encoder, queries: Encoder, kind: str = "two-sided"
    ) -> None:
        self.name = name
        self.documents = documents
        # Two equal sides need no encoder of queries of their own.
        self.queries = None if queries.fingerprint == documents.fingerprint else queries
        self.dim = documents.dim
        if queries.dim != documents.dim:
            raise UserError(
                f"{name} gives queries {queries.dim} dimensions and documents {documents.dim}: "
                "they cannot be compared.",
                "Both routes of a model have to end in vectors of one length.",
                code="mismatch",
            )
        self.similarity = similarity_of(documents)
        self.fingerprint = fingerprint(kind, documents.fingerprint, queries.fingerprint)

    __repr__ = encoder_repr

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of both sides, each once."""
        return tuple(dict.fromkeys((*self.documents.warnings, *query_side(self).warnings)))

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        return self.documents.encode(sentences, progress)


class PromptedByTask:
    """An encoder whose prompts depend on the task, before the task is known.

    Args:
        name: canonical spec of the whole.
        plain: encoder of the spec without prompts.
        sides: makes the encoder for a task.
    """

    needs_task = True

    def __init__(self, name: str, plain: Encoder, sides: Callable[[PromptTask], TwoSided]) -> None:
        self.name = name
        self.dim = plain.dim
        self.plain = plain
        self.similarity = similarity_of(plain)
        self.fingerprint = fingerprint("prompts of the task", name, plain.fingerprint)
        self._sides = sides

    __repr__ = encoder_repr

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the encoder without prompts."""
        return self.plain.warnings

    def bind(self, _: Sequence[str], __: str, task: PromptTask | None = None) -> TwoSided:
        """The encoder with the prompts of a task; without one, with the model's default prompt."""
        return self._sides(task or PromptTask())

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Refuse."""
        raise UserError(
            f"{self.name} takes its prompt from a task and can only encode within one.",
            "Evaluate it on a task, search a data set with it, or name a prompt instead of @task.",
            code="missing",
        )


class RoutedByTask(PromptedByTask):
    """A model with routes of their own for queries and documents, before the task is known.

    Tasks without sides, and `encode` itself, take its default route.

    Args:
        name: canonical spec of the whole.
        plain: makes the encoder by the default route.
        sides: makes the encoder of documents and queries.
    """

    def __init__(
        self, name: str, plain: Callable[[], Encoder], sides: Callable[[], TwoSided]
    ) -> None:
        self._both = sides
        self._problem: UserError | None = None
        try:
            default = plain()
        except UserError as error:  # a model may have no default route
            self._problem, default = error, sides()
        super().__init__(name, default, self._of_task)

    @property
    def queries(self) -> Encoder | None:
        """The encoder of queries."""
        return self._both().queries

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        return self._default().encode(sentences, progress)

    def _of_task(self, task: PromptTask) -> TwoSided:
        if task.type in TWO_SIDED:
            return self._both()
        return TwoSided(self.name, self._default(), self._default(), "routes")

    def _default(self) -> Encoder:
        if self._problem is not None:
            raise self._problem
        return self.plain


def bind_task(
    encoder: E, sentences: Sequence[str], data_hash: str, task: PromptTask | None = None
) -> E:
    """Bind `@task` in steps and prompts; an encoder without it is returned as it is.

    Args:
        encoder: any, or a ranker.
        sentences: of the task, which steps are fitted on.
        data_hash: of the sentences.
        task: for models that name prompts by tasks; None for a task that no model knows.
    """
    if not getattr(encoder, "needs_task", False):
        return encoder
    bound: E = encoder.bind(sentences, data_hash, task)  # type: ignore[attr-defined]
    return bound
