"""What a session of judging is about, and what can be asked of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from theodolite.app.spec import Encoders, Field, Spec
from theodolite.engine.encoders import parse
from theodolite.engine.errors import UserError
from theodolite.engine.judging import second as judges

MAX_ENCODERS, MAX_QUERIES = 4, 1000
MODES = {"relevance": "Documents: relevant or not", "preference": "Lists: left or right"}
MEASURES = {
    "dcg": "Lower ranks count less (DCG)",
    "precision": "All ranks count the same (precision)",
}


@dataclass(frozen=True)
class JudgeSpec(Spec):
    """Settings of a session, in which two to four encoders are asked the same queries."""

    collection: Annotated[
        str, Field("Collection", "The collection to search.", names="dataset", key="in")
    ]
    encoders: Encoders = ()
    queries: Annotated[
        Sequence[str],
        Field("Query", "A query of your own; else they are drawn.", flags=("--query",)),
    ] = ()
    draw: Annotated[int, Field("Queries to draw", "From the collection.", ge=1, le=MAX_QUERIES)] = (
        100
    )
    k: Annotated[int, Field("Top k", "Of each encoder.", flags=("-k",), ge=1, le=50)] = 5
    mode: Annotated[str, Field("Mark", "What is judged.", choices=MODES)] = "relevance"
    measure: Annotated[str, Field("Ranks", "How they are weighted.", choices=MEASURES)] = "dcg"
    margin: Annotated[
        float, Field("Smallest difference that matters", "In points.", ge=0, le=100)
    ] = 2.0
    seed: Annotated[
        int, Field("Random seed", "Of queries and of the choice of documents.", ge=0)
    ] = 0
    second: Annotated[
        str, Field("Second judge", "A model that also marks the documents: api:URL#MODEL.")
    ] = ""

    def check(self) -> None:
        """Bring names to their canonical form."""
        encoders = tuple(dict.fromkeys(str(parse(name)) for name in self.encoders))
        queries = tuple(dict.fromkeys(text.strip() for text in self.queries if text.strip()))
        if not 2 <= len(encoders) <= MAX_ENCODERS:
            raise UserError(
                f"Judging compares 2 to {MAX_ENCODERS} different encoders, not {len(encoders)}.",
                "Choose others.",
            )
        if len(queries) > MAX_QUERIES:
            raise UserError(
                f"{len(queries)} queries cannot be judged.", f"Give at most {MAX_QUERIES:,}."
            )
        second = judges.canonical(self.second)
        if second and self.mode != "relevance":
            raise UserError(
                "A second judge marks documents; it does not compare lists.",
                "Leave out one of them.",
                code="conflict",
            )
        for name, value in (("encoders", encoders), ("queries", queries), ("second", second)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class StatusSpec(Spec):
    """Show what the marks so far say of each pair of encoders.

    All intervals hold together at 95 %, even if you look after every mark. As JSON, a row for each
    pair comes first, and the whole status last.
    """

    session: Annotated[str, Field("Session", "See `judge list`.")]
    blind: Annotated[
        bool, Field("Blind", "Call the encoders A, B, …: for those who still judge.")
    ] = False
