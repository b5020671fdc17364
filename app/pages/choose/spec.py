"""What can be asked about data of your own: which encoder to take for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from theodolite.app.spec import Encoders, Field, Spec
from theodolite.engine.encoders import parse, variants

BASELINE = "random:256"
"""Baseline of every sheet: random word vectors, without learned knowledge."""


@dataclass(frozen=True)
class ChooseSpec(Spec):
    """Decide which encoder to take for your data, and how sure that is.

    Who is best, who ties with it, the cheapest that is shown to lose less than a margin, in its
    smallest vectors, how many more examples would end the ties, and what speaks against trusting
    it. Without encoders, all that are listed are compared. As JSON, a row for each encoder comes
    first, and the sheet last.
    """

    data: Annotated[
        str,
        Field(
            "Data",
            "CSV, TSV, JSONL, Parquet, plain text or ZIP; or the name of a data set.",
            names="dataset",
        ),
    ]
    encoders: Encoders = ()
    columns: Annotated[
        str,
        Field(
            "Columns", "Of a file, as in text=review,label=stars; found by their values if empty."
        ),
    ] = ""
    max_ms: Annotated[
        float | None, Field("Maximum milliseconds per sentence", "On this machine.", ge=0.001)
    ] = None
    max_bytes: Annotated[
        int | None,
        Field(
            "Maximum bytes per vector",
            "Larger vectors are shortened and measured in int8.",
            ge=16,
        ),
    ] = None
    licences: Annotated[
        Sequence[str],
        Field(
            "Licences",
            "Allowed licences of the weights; any if empty.",
            key="licence",
            flags=("--licence",),
        ),
    ] = ()
    margin: Annotated[
        float,
        Field(
            "Points that a cheaper form may lose",
            "Something cheaper is recommended only if it is shown to lose less.",
            ge=0.01,
            le=100,
        ),
    ] = 2.0

    def check(self) -> None:
        """Bring names to their canonical form, so that equal questions are equal jobs."""
        encoders = tuple(dict.fromkeys(str(parse(name)) for name in self.encoders))
        several = ",".join(self.licences).casefold().split(",")
        licences = tuple(sorted({one.strip() for one in several} - {""}))
        object.__setattr__(self, "encoders", encoders)
        object.__setattr__(self, "licences", licences)

    @property
    def baseline(self) -> str:
        """The random encoder that the others must beat."""
        random = (name for name in self.encoders if variants.baseline(name) == "random")
        return next(random, BASELINE)

    @property
    def measured(self) -> list[str]:
        """The encoders to choose from, and the baseline."""
        return list(dict.fromkeys([*self.encoders, self.baseline]))
