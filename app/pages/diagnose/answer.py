"""How well a decoder reconstructs sentences that are new to it, and what that says of encoders."""

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

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
from theodolite.app.examples import shipped
from theodolite.app.formats import cosine, last_part, plural
from theodolite.app.pages.diagnose.service import (
    MAX_SENTENCES,
    PROTOCOL,
    SENTENCES,
    DiagnoseJob,
    newest,
)
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.web.figures import axis, draw, plain, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.diagnosis import NAMES, SYSTEMS, Diagnosis, Figure, source_of
from theodolite.engine.errors import UserError
from theodolite.engine.stats.agreement import (
    DecoderAgreement,
    Relations,
    between_decoders,
    relate,
    without_each,
)

EXAMPLE_ENCODER, EXAMPLE_TEXT = "minilm", "starter-topics"
"""Of the diagnosis that ships."""
PRINTED = 5
"""Samples that a terminal shows."""
METRICS = ("token_f1", "bleu", "id", "perm", "id_perm", "round_trip")
"""Drawn by length, the first in view."""
BY_LENGTH = ("bleu", "token_f1", "round_trip")
"""Printed by length."""
FIGURES = ("giver", "length", "n", "metric", "value", "low", "high")
SAMPLES = ("sentence", "decoded", "cosine", "cut", "nearest", "nearest_cosine")


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
            names="text",
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
class Undiagnosed(Answer):
    """That there is no diagnosis yet."""

    spec: DiagnoseSpec

    def rows(self) -> list[dict[str, Any]]:
        """None yet."""
        return []

    @property
    def lack(self) -> str:
        """A diagnosis can always be made anew."""
        return "Diagnose"

    def blocks(self) -> list[Block]:
        """What to do, also on the command line."""
        hint = "A diagnosis takes a few minutes in the background, and is stored like any score."
        nothing = Nothing(f"{self.spec.encoder} is not diagnosed on this text yet", hint)
        return [nothing, self.command]

    @property
    def command(self) -> Fold:
        """The command that makes it."""
        line = shlex.join(["theodolite", *DIAGNOSE.command(self.spec)])
        return Fold("On the command line", [Code([line])])


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosed(Undiagnosed):
    """A stored diagnosis.

    Attributes:
        text: the text of the sentences.
        diagnosis: its figures and samples.
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

    text: str
    diagnosis: Diagnosis
    shipped: bool = False

    @property
    def systems(self) -> dict[str, dict[str, Figure]]:
        """Name of the decoder, and of the baselines that have figures -> their figures."""
        every = {name: self.diagnosis.figures(system) for system, name in SYSTEMS.items()}
        return {name: figures for name, figures in every.items() if figures}

    def rows(self) -> list[dict[str, Any]]:
        """A row per figure, then one per sample, then one per note; `what` tells them apart."""
        head, diagnosis = {"encoder": self.diagnosis.encoder, "text": self.text}, self.diagnosis
        figures = [
            {"giver": row["system"], "length": row["length"], "n": row["n"], **one}
            for row in diagnosis.to_dict()["rows"]
            for one in row["figures"]
        ]
        samples = [
            {**vars(one), "words": [{"text": w.text, "fate": w.fate} for w in one.words]}
            for one in diagnosis.samples
        ]
        notes = [{"note": note} for note in diagnosis.notes]
        groups: dict[str, list[dict[str, Any]]]
        groups = {"figure": figures, "sample": samples, "note": notes}
        return [{"what": what, **head, **row} for what, rows in groups.items() for row in rows]

    def table_rows(self) -> list[dict[str, Any]]:
        """A row per metric, with the baselines beside the decoder; then some by length."""
        rows: dict[str, dict[str, Any]] = {}
        for row in self.diagnosis.rows:
            for figure in row.figures:
                if not row.length or figure.metric in BY_LENGTH:
                    name = f"{name_of(figure.metric)}{row.length and f', {row.length}'}"
                    value, ends = figure_text(figure)
                    text = f"{value} [{ends.replace(' to ', ', ')}]" if ends else value
                    cells = rows.setdefault(name, {"figure": name})
                    cells[SYSTEMS[row.system]] = text.replace("−", "-")
        return list(rows.values())

    def table_columns(self) -> list[str]:
        """The decoder and its baselines."""
        return ["figure", *self.systems]

    def notes(self) -> list[str]:
        """What it was measured on, and some samples."""
        diagnosis = self.diagnosis
        number = f"{diagnosis.encoder} on {diagnosis.rows[0].n:,} sentences of {self.text}"
        samples = [
            f"{sample.sentence}\n    -> {sample.decoded}  ({sample.cosine:.3f})"
            for sample in diagnosis.samples[:PRINTED]
        ]
        return [f"{number}; 95 % intervals in brackets.", *samples, *diagnosis.notes]

    def warnings(self) -> list[str]:
        """They are among the rows and the notes."""
        return []

    def blocks(self) -> list[Block]:
        """The figures beside the baselines, by length, and samples."""
        diagnosis, rows = self.diagnosis, self.rows()
        metrics = [m for m in (*METRICS, diagnosis.mover) if m and m in diagnosis.figures()]
        charts = [chart for metric in metrics if (chart := by_length(diagnosis, metric))]
        return [
            Finding(*self._headline(), self.shipped),
            self._figures(),
            *([Caveats([Caveat(note) for note in diagnosis.notes])] if diagnosis.notes else []),
            Text("By sentence length"),
            *charts[:1],
            Fold("Other figures by sentence length", charts[1:]),
            Samples(
                "Samples",
                "Each sentence, its reconstruction with differences marked, and the nearest "
                "sentence in the decoder's training data.",
                [(sample.sentence, sample.decoded) for sample in diagnosis.samples],
                [
                    (sample.cosine, f"nearest {cosine(sample.nearest_cosine)}: {sample.nearest}")
                    if sample.nearest_cosine is not None
                    else (sample.cosine, "")
                    for sample in diagnosis.samples
                ],
            ),
            Fold(
                "All numbers and samples",
                [
                    Table(name, columns, [[r[c] for c in columns] for r in rows if kind in r])
                    for name, columns, kind in (
                        ("diagnosis", FIGURES, "metric"),
                        ("samples", SAMPLES, "decoded"),
                    )
                ],
            ),
            self.command,
        ]

    def _headline(self) -> tuple[str, str]:
        """Token F1 beside that of the last baseline; the decoder's training, and the sentences."""
        diagnosis, facts = self.diagnosis, self.diagnosis.decoder
        ours, *others = (
            f"{figure_text(figures['token_f1'])[0]} for {name}"
            for name, figures in self.systems.items()
        )
        against = f", against {others[-1]}" if others else ""
        words = ARCHITECTURES.get(str(facts.get("architecture")), str(facts.get("architecture")))
        training = f"{words[:1].upper()}{words[1:]} as the decoder"
        if facts.get("sentences"):
            training += f", trained on {plural(int(facts['sentences']), 'sentence')}"
        if facts.get("words"):
            training += f" of at most {facts['words']} words"
        number = plural(diagnosis.rows[0].n, "sentence")
        return (
            f"{diagnosis.encoder}: token F1 {ours.partition(' ')[0]}{against}.",
            f"{training}. Measured on {number} of {self.text}; the small numbers are 95 % "
            "intervals.",
        )

    def _figures(self) -> Table:
        """Every figure beside the two baselines."""
        rows = []
        for metric in self.diagnosis.figures():
            cells = []
            for figures in self.systems.values():
                value, ends = figure_text(figures[metric])
                cells.append(Cell(figures[metric].value, value, notes=[ends] if ends else ()))
            words, above = against_baselines(self.diagnosis, metric)
            kind = "" if above is None else "good" if above else "warn"
            rows.append([name_of(metric), *cells, Cell(words, tag=words, kind=kind)])
        names = [name.capitalize() for name in self.systems]
        return Table("figures", ["Figure", *names, "The decoder is"], rows)


def name_of(metric: str) -> str:
    """The display name of a metric."""
    by = metric.removeprefix("mover-")
    return NAMES.get(metric, metric) if by == metric else f"Word Mover's score, words by {by}"


def figure_text(figure: Figure) -> tuple[str, str]:
    """Value and interval as text: points with one decimal, cosines with three."""
    if math.isnan(figure.value):
        return "–", ""
    places = 3 if figure.metric == "round_trip" else 1
    value, low, high = (
        "–" if math.isnan(number) else f"{number:.{places}f}".replace("-", "−")
        for number in (figure.value, figure.low, figure.high)
    )
    return value, f"{low} to {high}"


def against_baselines(diagnosis: Diagnosis, metric: str) -> tuple[str, bool | None]:
    """Compare a figure of the decoder with the baselines by their intervals.

    Returns:
        A phrase, and whether the figure is above all baselines; "" and None if not comparable.
    """
    low = diagnosis.figures()[metric].low
    others = {
        name: diagnosis.figures(system)[metric]
        for system, name in SYSTEMS.items()
        if system != "decoder" and metric in diagnosis.figures(system)
    }
    if metric == "id_perm" or not others or math.isnan(low):
        return "", None
    below = [name for name, other in others.items() if not low > other.high]
    if below:
        return f"not above {' nor '.join(below)}", False
    return "above both" if len(others) > 1 else "above it", True


def by_length(diagnosis: Diagnosis, metric: str) -> Chart | None:
    """Chart one metric by sentence length, with intervals; None if there are no values."""
    what = name_of(metric)
    traces, table = [], []
    for place, (system, name) in enumerate(SYSTEMS.items()):
        known = [
            (length, row.n, row_figure)
            for length in diagnosis.lengths
            for row in diagnosis.rows
            if (row.system, row.length) == (system, length)
            for row_figure in row.figures
            if row_figure.metric == metric and not math.isnan(row_figure.value)
        ]
        if not known:
            continue
        traces.append(
            scatter(
                x=[length for length, _, _ in known],
                y=[one.value for _, _, one in known],
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "thickness": 1.5,
                    "width": 4,
                    "array": [max(0.0, one.high - one.value) for _, _, one in known],
                    "arrayminus": [max(0.0, one.value - one.low) for _, _, one in known],
                },
                name=name,
                mode="lines+markers",
                line={"color": SERIES[place], "dash": ("solid", "dash", "dot")[place], "width": 2},
                marker={"symbol": ("circle", "square", "diamond")[place], "size": 8},
                customdata=[[n, *figure_text(one)] for _, n, one in known],
                hovertemplate="%{x}, %{customdata[0]} sentences: %{customdata[1]} "
                f"(%{{customdata[2]}})<extra>{plain(name)}</extra>",
            )
        )
        table += [[name, length, n, one.value, one.low, one.high] for length, n, one in known]
    if not table:
        return None
    ours = [f"{row[3]:.4g} at {row[1]}" for row in table if row[0] == table[0][0]]
    x = axis(type="category", categoryarray=list(diagnosis.lengths))
    y = axis(plain(what), rangemode="tozero")
    return Chart(
        draw(traces, x, y, height=340, left=64, legend=True),
        f"{what} by the length of the sentence. {table[0][0]}: {ours[0]}, {ours[-1]}.",
        name=f"diagnosis-{metric}",
        columns=("giver", "length", "sentences", what, "low", "high"),
        rows=table,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Correlated(Answer):
    """How the diagnostics rank the encoders, and how that correlates with their scores.

    Attributes:
        text: the diagnosed text, as in the name of the task.
        relations: correlations of the diagnostics with every other score, over encoders.
        without: the same, leaving out each encoder in turn.
        agreements: rank agreement of decoders of different kinds.
        unstable: why there are no agreements; empty if there are.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("what", "diagnostic", "score", "without", "first", "second"), str | None),
        **dict.fromkeys(("rho", "lowest", "mean"), float | None),
        "encoders": int | None,
    }

    text: str
    relations: Relations
    without: Mapping[str, Relations]
    agreements: Sequence[DecoderAgreement]
    unstable: str

    def rows(self) -> list[dict[str, Any]]:
        """Correlations, their summaries, these without each encoder, and agreements of decoders."""
        overall = vars(self.relations.overall) | {"score": "all"}
        left = [
            {"without": name, "lowest": one.overall.lowest, "mean": one.overall.mean}
            for name, one in self.without.items()
        ]
        groups: dict[str, Iterable[Mapping[str, Any]]] = {
            "correlation": map(vars, self.relations.cells),
            "summary": [*map(vars, self.relations.summaries), overall],
            "without": left,
            "stability": map(vars, self.agreements),
        }
        return [{"what": what, **row} for what, rows in groups.items() for row in rows]

    def blocks(self) -> list[Block]:
        """All of it as a table."""
        who = ", ".join(self.relations.encoders)
        rows = [[row.get(name) for name in self.columns] for row in self.rows()]
        finding = Finding(f"Spearman over {who}, on sentences of {self.text}.")
        return [finding, Table("correlations", list(self.columns), rows, note=self.unstable)]


def across(workspace: Workspace) -> Correlated:
    """Correlate the diagnoses in the store with the other scores.

    Vec2Sent, figure 2, table 1 and section 3.3. Only diagnoses on the same sentences are compared:
    those with which most encoders were diagnosed. Of several decoders of one kind for an encoder,
    the newest counts.
    """
    from theodolite.app.results import has_score, under_own_protocol

    table = workspace.store.results.table
    rows = [row for row in table(protocols=[PROTOCOL], all_versions=True) if row["error"] is None]
    if not rows:
        raise UserError(
            "No decoder diagnosed yet.", "Diagnose some encoders first.", code="no-result"
        )
    pairs = {(row["encoder"], row["data_hash"]) for row in rows}
    ((most, _),) = Counter(data_hash for _, data_hash in pairs).most_common(1)
    rows = [row for row in rows if row["data_hash"] == most]
    full = workspace.store.results.in_full([row["id"] for row in rows])
    kinds: dict[str, dict[str, dict[str, float]]] = {}  # the kind of the newest diagnosis last
    for row in rows:
        decoder = full[row["id"]]["details"].get("decoder") or {}
        size = decoder.get("sentences")
        kind = f"{decoder.get('architecture', '?')}, {size:,} sentences" if size else "unknown"
        figures = {
            score["metric"]: float(score["score"])
            for score in full[row["id"]]["scores"]
            if score["aggregation"] is None and not math.isnan(score["score"])
        }
        kinds[kind] = kinds.pop(kind, {}) | {row["encoder"]: figures}
    newest = {name: figures for every in kinds.values() for name, figures in every.items()}
    scores: dict[str, dict[str, float]] = {}
    others = [row for row in table() if row["protocol"] != PROTOCOL]
    for (encoder, task), result in under_own_protocol(others).items():
        if has_score(result):
            scores.setdefault(encoder, {})[task] = float(result["score"])
    relations, without = relate(newest, scores), without_each(newest, scores)
    text, unstable = source_of(rows[-1]["task"]), ""
    agreements: Sequence[DecoderAgreement] = ()
    try:
        agreements = between_decoders(kinds)
    except UserError as error:
        unstable = f"{error.message} {error.hint}"
    return Correlated(text, relations, without, agreements, unstable)


def answer(workspace: Workspace, spec: DiagnoseSpec, do: Do) -> Iterator[Any]:
    """Diagnose the encoder's decoder, or relate all diagnoses."""
    if spec.across:
        yield across(workspace)
        return
    job = DiagnoseJob.of(workspace, spec.encoder, spec.text, spec.sentences)
    done = do(job) and newest(workspace, job.encoder, last_part(job.text))
    yield Diagnosed(spec, job.text, done[0]) if done else Undiagnosed(spec)


def example(workspace: Workspace, encoder: str) -> Diagnosis | None:
    """The diagnosis of an encoder's decoder that ships; None if none of this decoder does."""
    facts = shipped.read(workspace, DiagnoseJob.kind, encoder)
    return None if facts is None else Diagnosis.from_dict(facts)


def so_far(workspace: Workspace, spec: DiagnoseSpec, do: Do) -> Iterator[Any]:
    """The same, but where no text is named an earlier diagnosis, on any text, or one that ships."""
    job = DiagnoseJob.of(workspace, spec.encoder, spec.text, spec.sentences)
    do(job)
    known = newest(workspace, job.encoder, spec.text and last_part(job.text))
    if known:
        yield Diagnosed(spec, known[1], known[0])
    elif not spec.text and (ships := example(workspace, job.encoder)):
        yield Diagnosed(spec, EXAMPLE_TEXT, ships, shipped=True)
    else:
        job.validate(workspace)
        yield Undiagnosed(spec)


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
SO_FAR = replace(DIAGNOSE, answer=so_far)
"""The same, for a page."""
