"""The tools for agents: the services of pages and commands, with limits and typed rows.

Results of an evaluation are stored as if the user had run it; nothing else changes. Docstrings are
the descriptions that an agent sees, so they state the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from theodolite.app.agents import typed
from theodolite.app.agents.allowed import Allowed
from theodolite.app.agents.typed import row
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

MAX_ENCODERS, MAX_TASKS, MAX_QUERIES = 8, 20, 10
MAX_CHARACTERS, MAX_HITS, MAX_ROWS = 2000, 100, 500
MAX_ENCODED = 10_000
"""Sentences encoded for a search; more are left to a run that the user starts."""
Row = TypeVar("Row")


class Tools:
    """The tools, one a method.

    Args:
        workspace: store and data of the tools.
        allowed: checks the names that an agent gives.
    """

    def __init__(self, workspace: Workspace, allowed: Allowed) -> None:
        self._workspace = workspace
        self._allowed = allowed

    def encoders(self) -> typed.Encoders:
        """List the stored encoders. At most 500 rows."""
        from theodolite.app.pages.encoders import service

        return typed.Encoders(*_rows(typed.EncoderRow, service.listed(self._workspace)))

    def data(self) -> typed.Data:
        """List the available data sets, with the task that uses each. At most 500 rows."""
        infos = self._workspace.catalog.list()
        return typed.Data(*_rows(typed.DataRow, [vars(info) for info in infos]))

    def results(self, encoders: list[str] | None = None, tasks: str | None = None) -> typed.Results:
        """Read stored scores; nothing is evaluated.

        Args:
            encoders: spec strings, at most 8; all evaluated encoders if left out.
            tasks: names with commas, at most 20; all if left out.
        """
        names = None if encoders is None else self._named(encoders)
        wanted = None if tasks is None else _few(tasks.split(","), MAX_TASKS, "task")
        found = self._workspace.store.results.table(encoders=names, tasks=wanted)
        return typed.Results(*_rows(typed.ResultRow, found))

    def board(self, suite: str = "all") -> typed.Board:
        """Rank every evaluated encoder over the tasks of a suite. At most 500 rows.

        Args:
            suite: `all`, `starter`, `sts`, `transfer`, `probing` or the name of another suite.
        """
        from theodolite.app.pages.board import service

        standings = service.board(self._workspace, service.BoardSpec(suite))
        return typed.Board(*_rows(typed.BoardRow, standings.rows()))

    def evaluate(
        self, encoders: list[str], tasks: str, protocol: str | None = None, seed: int | None = None
    ) -> typed.Results:
        """Evaluate encoders on tasks and store the results; those already stored are read.

        This may take seconds to hours: begin with small tasks such as StarterSTS.

        Args:
            encoders: spec strings, at most 8, of stored encoders or ones that ship, e.g. minilm,
                wordllama, random:256, minilm | normalise.
            tasks: names or suites with commas, at most 20 tasks.
            protocol: for all tasks; each task's own if left out.
            seed: the protocol's own if left out.
        """
        from theodolite.app.pages.evaluate import service
        from theodolite.app.pages.evaluate.job import EvaluateJob
        from theodolite.engine.tasks import get

        names = self._named(encoders)
        job = EvaluateJob.of(self._workspace, names, tasks, protocol, seed)
        for task in _few(job.tasks, MAX_TASKS, "task"):
            self._allowed.data(get(task, self._workspace.catalog).dataset)
        # The list of encoders on the pages is the user's: add nothing to it.
        found = service.evaluate(self._workspace, job, listed=False)
        return typed.Results(*_rows(typed.ResultRow, list(found)))

    def compare(
        self, encoders: list[str], tasks: str | None = None, protocol: str | None = None
    ) -> typed.Compared:
        """Say which differences between evaluated encoders are real, by task and in the mean.

        Args:
            encoders: 2 to 8 spec strings; the first is the baseline of the others.
            tasks: names or suites with commas; all evaluated tasks if left out.
            protocol: results under this protocol only; each task's own if left out.
        """
        from theodolite.app.pages.compare import service

        report = service.compare(self._workspace, self._named(encoders), tasks, protocol)
        rows, left_out = _rows(typed.ComparedRow, report.rows())
        return typed.Compared(rows, list(report.warnings), left_out)

    def search(
        self,
        queries: list[str],
        data: str = "starter-topics",
        encoders: list[str] | None = None,
        k: int = 10,
        by: str = "meaning",
    ) -> typed.Hits:
        """Find sentences of a data set: the nearest of each query, or matches of words or pattern.

        Args:
            queries: at most 10 texts of at most 2,000 characters each.
            data: name of an available data set.
            encoders: at most 8 spec strings; minilm if left out.
            k: maximum number of hits for each query and encoder, 1 to 100.
            by: meaning, examples (all queries together), words or pattern.
        """
        from theodolite.app.pages.search import service
        from theodolite.app.pages.search.answer import answer
        from theodolite.app.python.answers import found

        if k > MAX_HITS:
            raise UserError(
                f"The top {k} are too many.", f"Ask for at most {MAX_HITS}.", code="too-large"
            )
        texts = _texts(queries)
        names = self._named(encoders or ["minilm"])
        spec = service.spec(texts, self._allowed.data(data), mode=by, k=k, encoders=names)
        for name in names if spec.is_near else ():
            self._encode(name, data)
        hits = found(spec, answer(self._workspace, spec))
        return typed.Hits([row(typed.HitRow, one) for one in hits.rows()])

    def decode(self, sentences: list[str], encoders: list[str] | None = None) -> typed.Decoded:
        """Encode sentences and decode their vectors, to show what each encoder preserves.

        Args:
            sentences: at most 10 of at most 2,000 characters each.
            encoders: at most 8 spec strings of encoders with a decoder; minilm if left out.
        """
        from theodolite.app.python import verbs

        names = self._named(encoders or ["minilm"])
        made = verbs.decode(_texts(sentences), names, workspace=self._workspace)
        return typed.Decoded([row(typed.DecodedRow, one) for one in made.rows()])

    def _encode(self, encoder: str, data: str) -> None:
        """Encode the missing sentences if they are few; longer runs are left to the user."""
        from theodolite.app.pages.search import searchable, service

        opened = searchable.so_far(self._workspace, encoder, data)
        if opened.needs_index or opened.lacking > MAX_ENCODED:
            raise UserError(
                service.undone(opened, data),
                "The person can have that done once: theodolite search, or the page Search.",
                code="no-result",
            )
        searchable.open_collection(self._workspace, encoder, data)

    def _named(self, encoders: Sequence[str]) -> list[str]:
        return [self._allowed.encoder(name) for name in _few(encoders, MAX_ENCODERS, "encoder")]


def _texts(given: Sequence[str]) -> list[str]:
    for text in given:
        if len(text) > MAX_CHARACTERS:
            raise UserError(
                f"A text has {len(text):,} characters.",
                f"Give at most {MAX_CHARACTERS:,}.",
                code="too-large",
            )
    return _few(given, MAX_QUERIES, "text")


def _few(given: Sequence[str], most: int, what: str) -> list[str]:
    if len(given) > most:
        raise UserError(
            f"{len(given)} {what}s are too many at once.", f"Name at most {most}.", code="too-large"
        )
    return list(given)


def _rows(kind: type[Row], found: Sequence[Mapping[str, Any]]) -> tuple[list[Row], int]:
    """The rows up to the limit, and the number left out."""
    return [row(kind, one) for one in found[:MAX_ROWS]], max(0, len(found) - MAX_ROWS)
