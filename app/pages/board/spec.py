"""What a board is asked for: a suite, a protocol, and filters for tasks and encoders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from theodolite.app.blocks import Link
from theodolite.app.spec import Field, Spec, parameters, query
from theodolite.app.suites import ALL

OWN, PUBLISHED = "", "published"
"""Protocols: each task's own, and published
results together with those of mteb's own code computed here."""
TASKS, TYPES, LANGUAGES = "tasks", "types", "languages"
FILTERS = (
    "protocol",
    "types",
    "languages",
    "most_parameters",
    "most_dimensions",
    "least_tokens",
    "licences",
)
"""Names of the values that restrict a board."""


@dataclass(frozen=True)
class TaskColumn:
    """A task on the board; without its data, its languages and data set are unknown."""

    task: str
    type: str
    protocol: str
    languages: tuple[str, ...] = ()
    dataset: str = ""


@dataclass(frozen=True)
class BoardSpec(Spec):
    """Put every evaluated encoder in order: means, Borda count, rank intervals, tie groups.

    Means, Borda count and ranks are over the tasks that the ranked encoders share, whose number is
    `mean_over`; one that lacks some of them, or is still being evaluated, is not ranked. Borda is
    counted as MTEB does: n - rank points a task. Results of mteb's own code (protocol mteb-VERSION)
    are never in one mean with others. `trained_on` are the tasks whose data an encoder's files or
    MTEB name among what it was trained on.
    """

    suite: Annotated[str, Field("Suite", "Tasks of this suite; all: every evaluated task.")] = ALL
    columns: Annotated[
        str,
        Field(
            "Columns",
            "What the columns of a report are.",
            choices={TASKS: "Tasks", TYPES: "Types", LANGUAGES: "Languages"},
        ),
    ] = TASKS
    protocol: Annotated[
        str,
        Field(
            "Protocol",
            "Results under this protocol only; default: each task's own. published: published "
            "scores and those of mteb's own code.",
        ),
    ] = OWN
    types: Annotated[
        Sequence[str],
        Field("Types of tasks", "A type of tasks, such as STS.", key="type", flags=("--type",)),
    ] = ()
    languages: Annotated[
        Sequence[str],
        Field(
            "Languages of tasks",
            "A language of tasks, such as eng.",
            key="language",
            flags=("--language",),
        ),
    ] = ()
    most_parameters: Annotated[
        float | None,
        Field("Most parameters, in millions", "Encoders of unknown size are left out.", ge=0),
    ] = None
    most_dimensions: Annotated[int | None, Field("Most dimensions", ge=1)] = None
    least_tokens: Annotated[int | None, Field("Minimum max sequence length, in tokens", ge=1)] = (
        None
    )
    licences: Annotated[
        Sequence[str],
        Field("Licences", "A licence, such as apache-2.0.", key="licence", flags=("--licence",)),
    ] = ()
    published: Annotated[
        bool,
        Field(
            "Published rows",
            "Also those of papers and imports: never ranked, tested, or averaged with yours.",
        ),
    ] = False

    def wants(self, column: TaskColumn) -> bool:
        """Whether a task matches the filters by type and language."""
        return (not self.types or column.type in self.types) and (
            not self.languages or bool(set(self.languages) & set(column.languages))
        )

    def fits(self, facts: Mapping[str, Any]) -> bool:
        """Whether an encoder's facts match the filters; unknown values do not."""
        size, dim, tokens = (facts.get(name) for name in ("parameters", "dim", "max_tokens"))
        most, largest, least = self.most_parameters, self.most_dimensions, self.least_tokens
        return not (
            (most is not None and (size is None or size > 1e6 * most))
            or (largest is not None and (dim is None or dim > largest))
            or (least is not None and (tokens is None or tokens < least))
            or (self.licences and facts.get("licence") not in self.licences)
        )

    def filters(self) -> Iterator[Link]:
        """What restricts the board, each with the link to the board without it."""
        for parameter in parameters(BoardSpec):
            value = getattr(self, parameter.name)
            if parameter.name not in FILTERS or value == parameter.default:
                continue
            for one in value if parameter.many else [value]:
                rest = tuple(v for v in value if v != one) if parameter.many else parameter.default
                changes: dict[str, Any] = {parameter.name: rest}
                label = f"{parameter.field.label}: {one}"
                yield Link(label, "board", query(replace(self, **changes)))


EVERYTHING = BoardSpec()
