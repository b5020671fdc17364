"""How well a decoder reconstructs sentences that are new to it, and what that says of encoders."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import (
    Block,
    Caveat,
    Caveats,
    Cell,
    Chart,
    Code,
    Finding,
    Fold,
    Nothing,
    Samples,
    Table,
    Text,
)
from theodolite.app.decoders import ARCHITECTURES
from theodolite.app.formats import last_part
from theodolite.app.pages.decode.service import NoDecoder, with_offer
from theodolite.app.pages.diagnose import example, figures, relations, service
from theodolite.app.pages.diagnose.figures import name_of
from theodolite.app.pages.diagnose.relations import Across
from theodolite.app.pages.diagnose.service import MAX_SENTENCES, SENTENCES, DiagnoseJob
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.engine.decoding.diagnosis import SYSTEMS
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decoding.diagnosis import Diagnosis, System

PRINTED = 5
"""Samples that a terminal shows."""
METRICS = ("token_f1", "bleu", "id", "perm", "id_perm", "round_trip")
"""Drawn by length, the first in view."""
BY_LENGTH = ("bleu", "token_f1", "round_trip")
"""Printed by length."""


@dataclass(frozen=True)
class DiagnoseSpec(Spec):
    """Measure how well a decoder reconstructs sentences, against two baselines, with intervals.

    The baselines are the nearest training sentence, and the decoding of another sentence's vector:
    a figure is meaningful only if its interval does not overlap theirs. The result is stored like
    any score. With --json every figure and sample is one object; `what` tells them apart.
    """

    encoder: Annotated[
        str,
        Field(
            "Encoder", "An encoder with a decoder; none with --across.", "encoder", argument=True
        ),
    ] = ""
    text: Annotated[
        str | None,
        Field(
            "Sentences of",
            "A data set or file of sentences, or held-out: sentences held out in training. "
            "Default: a text that is new to the decoder.",
            key="in",
            flags=("--in",),
        ),
    ] = None
    sentences: Annotated[
        int, Field("How many", "Maximum number of sentences.", ge=2, le=MAX_SENTENCES)
    ] = SENTENCES
    across: Annotated[
        bool,
        Field(
            "Across encoders",
            "Correlate the figures of all diagnosed encoders with their other scores, and decoders "
            "of different kinds with each other.",
        ),
    ] = False

    def check(self) -> None:
        """One encoder, or all of them."""
        if self.across == bool(self.encoder):
            raise UserError(
                "Give either an encoder or --across.",
                "Name one encoder, or use --across.",
                code="conflict",
            )


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosed(Answer):
    """A stored diagnosis.

    Attributes:
        spec: what was asked.
        text: the text of the sentences.
        diagnosis: None while there is none.
        shipped: whether it ships with Theodolite.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("what", "encoder", "text"), str),
        **dict.fromkeys(("giver", "length", "metric"), str | None),
        "n": int | None,
        **dict.fromkeys(("value", "low", "high"), float | None),
        **dict.fromkeys(("sentence", "decoded"), str | None),
        "cosine": float | None,
        "nearest": str | None,
        "nearest_cosine": float | None,
        "note": str | None,
    }

    spec: DiagnoseSpec
    text: str
    diagnosis: Diagnosis | None
    shipped: bool = False

    @property
    def systems(self) -> list[System]:
        """The decoder, and the baselines that have figures."""
        return [one for one in SYSTEMS if self.diagnosis and self.diagnosis.figures(one)]

    def rows(self) -> list[dict[str, Any]]:
        """A row per figure, then one per sample, then one per note; `what` tells them apart."""
        found = self.diagnosis
        if found is None:
            return []
        head = {"encoder": found.encoder, "text": self.text}
        figures_of = [
            {
                "what": "figure",
                **head,
                "giver": row.system,
                "length": row.length,
                "n": row.n,
                **vars(one),
            }
            for row in found.rows
            for one in row.figures
        ]
        samples = [
            {
                "what": "sample",
                **head,
                **vars(one),
                "words": [{"text": word.text, "fate": word.fate} for word in one.words],
            }
            for one in found.samples
        ]
        return [*figures_of, *samples, *({"what": "note", **head, "note": n} for n in found.notes)]

    def table_rows(self) -> list[dict[str, Any]]:
        """A row per metric, with the baselines beside the decoder; then some by length."""
        found = self.diagnosis
        if found is None:
            return []
        rows = []
        for length in ("", *found.lengths):
            for metric in found.figures("decoder", length) if not length else BY_LENGTH:
                name = f"{name_of(metric)}, {length}" if length else name_of(metric)
                cells = {
                    SYSTEMS[system]: figures.with_interval(one)
                    for system in self.systems
                    if (one := found.figures(system, length).get(metric))
                }
                rows.append({"figure": name, **cells})
        return rows

    def table_columns(self) -> list[str]:
        """The decoder and its baselines."""
        return ["figure", *(SYSTEMS[system] for system in self.systems)]

    def notes(self) -> list[str]:
        """What it was measured on, and some samples."""
        found = self.diagnosis
        if found is None:
            return []
        head = (
            f"{found.encoder} on {found.rows[0].n:,} sentences of {self.text}; 95 % intervals in "
        )
        samples = [
            f"{one.sentence}\n    -> {one.decoded}  ({one.cosine:.3f})"
            for one in found.samples[:PRINTED]
        ]
        return [f"{head}brackets.", *samples, *found.notes]

    def warnings(self) -> list[str]:
        """They are among the rows and the notes."""
        return []

    @property
    def lack(self) -> str:
        """A diagnosis can always be made anew."""
        return "Diagnose"

    def blocks(self) -> list[Block]:
        """The figures beside the baselines, by length, and samples."""
        found = self.diagnosis
        line = shlex.join(["theodolite", *DIAGNOSE.command(self.spec)])
        again = Fold("On the command line", [Code([line])])
        if found is None:
            hint = (
                "A diagnosis takes a few minutes in the background, and is stored like any score."
            )
            return [Nothing(f"{self.spec.encoder} is not diagnosed on this text yet", hint), again]
        metrics = [m for m in (*METRICS, found.mover) if m and m in found.figures()]
        charts = [Chart(c) for m in metrics if (c := figures.by_length(found, m))]
        samples = [[getattr(one, name) for name in figures.SAMPLES] for one in found.samples]
        every = [[None if c != c else c for c in row] for row in figures.rows(found)]
        return [
            Finding(self._headline(found), _facts(found, self.text), self.shipped),
            _figures(found, self.systems),
            *([Caveats([Caveat(note) for note in found.notes])] if found.notes else []),
            Text("By sentence length"),
            *charts[:1],
            Fold("Other figures by sentence length", charts[1:]),
            Samples(
                "Samples",
                "Each sentence, its reconstruction with differences marked, and the nearest "
                "sentence in the decoder's training data.",
                [(one.sentence, one.decoded) for one in found.samples],
                [(one.cosine, _nearest(one)) for one in found.samples],
            ),
            Fold(
                "All numbers and samples",
                [
                    Table("diagnosis", figures.COLUMNS, every),
                    Table("samples", figures.SAMPLES, samples),
                ],
            ),
            again,
        ]

    def _headline(self, found: Diagnosis) -> str:
        ours, *baselines = [
            figures.shown(found.figures(system)["token_f1"])[0] for system in self.systems
        ]
        against = f", against {baselines[-1]} for {SYSTEMS[self.systems[-1]]}" if baselines else ""
        return f"{found.encoder}: token F1 {ours}{against}."


def _figures(found: Diagnosis, systems: Sequence[System]) -> Table:
    """Every figure beside the two baselines."""
    rows = []
    for metric in found.figures():
        cells = []
        for system in systems:
            one = found.figures(system)[metric]
            value, ends = figures.shown(one)
            cells.append(Cell(one.value, value, notes=[ends] if ends else ()))
        words, above = figures.against_baselines(found, metric)
        kind = "" if above is None else "good" if above else "warn"
        rows.append([name_of(metric), *cells, Cell(words, tag=words, kind=kind)])
    heads = ["Figure", *(SYSTEMS[system].capitalize() for system in systems), "The decoder is"]
    return Table("figures", heads, rows)


def _facts(found: Diagnosis, source: str) -> str:
    """The decoder's architecture and training, and what was measured."""
    facts, kind = found.decoder, str(found.decoder.get("architecture"))
    words = ARCHITECTURES.get(kind, kind)
    text = f"{words[:1].upper()}{words[1:]} as the decoder"
    if facts.get("sentences"):
        text += f", trained on {formats.plural(int(facts['sentences']), 'sentence')}"
    if facts.get("words"):
        text += f" of at most {facts['words']} words"
    number = formats.plural(found.rows[0].n, "sentence")
    return f"{text}. Measured on {number} of {source}; the small numbers are 95 % intervals."


def _nearest(one: Any) -> str:
    cosine = "" if one.nearest_cosine is None else f" {formats.cosine(one.nearest_cosine)}"
    return f"nearest{cosine}: {one.nearest}" if one.nearest else ""


@dataclass(frozen=True, eq=False, repr=False)
class Correlated(Answer):
    """How the diagnostics rank the encoders, and how that correlates with their scores."""

    columns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("what", "diagnostic", "score", "without", "first", "second"), str | None),
        **dict.fromkeys(("rho", "lowest", "mean"), float | None),
        "encoders": int | None,
    }

    across: Across

    def rows(self) -> list[dict[str, Any]]:
        """Correlations, their summaries, these without each encoder, and agreements of decoders."""
        relations, without = self.across.relations, self.across.without
        if relations is None:
            return []
        summaries = [*map(vars, relations.summaries), vars(relations.overall) | {"score": "all"}]
        left = [
            {"without": name, "lowest": one.overall.lowest, "mean": one.overall.mean}
            for name, one in without.items()
        ]
        groups = {
            "correlation": map(vars, relations.cells),
            "summary": summaries,
            "without": left,
            "stability": map(vars, self.across.agreements),
        }
        return [{"what": what, **row} for what, rows in groups.items() for row in rows]

    def blocks(self) -> list[Block]:
        """All of it as a table."""
        relations, unstable = self.across.relations, self.across.unstable
        who = ", ".join(relations.encoders) if relations else ""
        rows = [[row.get(name) for name in self.columns] for row in self.rows()]
        note = f"{unstable.message} {unstable.hint}" if unstable else ""
        finding = Finding(f"Spearman over {who}, on sentences of {self.across.text}.")
        return [finding, Table("correlations", list(self.columns), rows, note=note)]


def answer(
    workspace: Workspace, spec: DiagnoseSpec, do: Do, *, so_far: bool = False
) -> Iterator[Any]:
    """Diagnose the encoder's decoder, or relate all diagnoses.

    Args:
        workspace: with the decoder and its diagnoses.
        spec: what is asked.
        do: makes a diagnosis.
        so_far: whether an earlier one is shown until then, the newest or one that ships.
    """
    if spec.across:
        across = relations.across(workspace)
        if across.problem is not None:
            raise across.problem
        yield Correlated(across)
        return
    try:
        job = DiagnoseJob.of(workspace, spec.encoder, spec.text, spec.sentences)
    except NoDecoder as error:
        raise with_offer(workspace, spec.encoder, error) from error
    done = do(job)
    any_text = so_far and spec.text is None
    found = service.newest(workspace, job.encoder, None if any_text else last_part(job.text))
    shipped = so_far and found is None and job.encoder == example.ENCODER
    if shipped:
        found = (ships, example.TEXT) if (ships := example.read(workspace)) else None
    diagnosis, text = found if found and (done or so_far) else (None, job.text)
    yield Diagnosed(spec, job.text if done else text, diagnosis, shipped)


DIAGNOSE = Question(
    "diagnose",
    DiagnoseSpec,
    answer,
    Diagnosed,
    (
        "diagnose minilm",
        "diagnose wordllama --in unlabelled/abc --sentences 500 --json",
        "diagnose --across",
    ),
    queues=True,
)
SO_FAR = replace(DIAGNOSE, answer=partial(answer, so_far=True))
"""The same, with what there is of it, for a page."""
