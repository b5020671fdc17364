"""Views of the page *Diagnose*: current runs, the details of a diagnosis, and all encoders."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components import word_diff
from theodolite.app.decoders import ARCHITECTURES
from theodolite.app.pages.diagnose import example, figures
from theodolite.app.web import parts, progress

if TYPE_CHECKING:
    from theodolite.app.pages.diagnose.relations import Across
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decoding.diagnosis import DecodedSample, Diagnosis
    from theodolite.engine.stats.agreement import Relation

PROTOCOL = "vec2sent"
NOTHING = parts.empty(
    "No decoder diagnosed yet",
    "A diagnosis takes a few minutes in the background, and is stored like any score.",
)


def diagnoses(workspace: Workspace) -> list[dict[str, Any]]:
    """Rows of the successful diagnoses in the store, newest first."""
    rows = workspace.store.results.table(protocols=[PROTOCOL])
    return [row for row in reversed(rows) if row["error"] is None]


def marks(workspace: Workspace) -> list[Any]:
    """A signature of the page's state, runs and diagnoses; if it changes, the page is redrawn."""
    return [progress.signature(_live(workspace)), [row["id"] for row in diagnoses(workspace)]]


def listed(
    workspace: Workspace, chosen: str | None, known: Sequence[Any] = (), *, encoder: str = ""
) -> dict[str, Any]:
    """Views by name: runs, the choice of a diagnosis, the table across encoders, and the marks.

    Args:
        workspace: the workspace.
        chosen: id of the diagnosis shown; a newly finished one replaces it.
        known: the previous marks.
        encoder: the encoder whose newest diagnosis is shown if none is chosen.
    """
    rows, new = diagnoses(workspace), marks(workspace)
    ids = [str(row["id"]) for row in rows]
    came = bool(known) and known[1] != new[1]
    mine = [str(row["id"]) for row in rows if row["encoder"] == encoder]
    shown = chosen if chosen in ids and not came else next(iter([*mine, *ids]), None)
    choices = [(_label(row), str(row["id"])) for row in rows]
    found = {
        "running": progress.strip(_live(workspace)),
        "result": gr.update(choices=choices, value=shown, visible=bool(rows)),
        "marks": new,
    }
    return found if known and not came else {**found, "across": across(workspace)}


def shown(
    workspace: Workspace, result: str | None, metric: str | None, metrics: Sequence[str]
) -> dict[str, Any]:
    """Views of one diagnosis by name: the table, the choice of a metric, its chart, the samples."""
    found = diagnosis(workspace, result)
    if found is None:
        return {
            "table": NOTHING,
            "metric": gr.update(visible=False),
            "picture": None,
            "samples": "",
        }
    there = [name for name in (*metrics, found.mover) if name and name in found.figures()]
    what = metric if metric in there else there[0]
    choices = [(figures.name_of(name), name) for name in there]
    return {
        "table": _table(found, shipped=not result),
        "metric": gr.update(choices=choices, value=what, visible=True),
        "picture": figures.by_length(found, what),
        "samples": _samples(found.samples) + _downloads(found),
    }


def by_length(workspace: Workspace, result: str | None, metric: str | None) -> Any:
    """The chart of a metric by sentence length."""
    found = diagnosis(workspace, result)
    return figures.by_length(found, metric) if found and metric else None


def diagnosis(workspace: Workspace, result: str | None) -> Diagnosis | None:
    """A stored diagnosis; the shipped one if none is stored; None for an unknown id."""
    from theodolite.engine.decoding.diagnosis import Diagnosis

    known = [row["id"] for row in diagnoses(workspace)]
    if not known:
        return example.read(workspace)
    if not str(result).isdecimal() or int(str(result)) not in known:
        return None
    return Diagnosis.from_dict(workspace.store.results.by_id(int(str(result)))["details"])


def across(workspace: Workspace) -> str:
    """How the diagnostics rank the encoders, and how that correlates with their scores."""
    from theodolite.app.pages.diagnose.relations import across as related

    found = related(workspace)
    head = parts.heading(
        "Across encoders",
        "Whether a diagnostic ranks encoders as their task scores do: "
        "Spearman over the encoders that have both.",
    )
    if found.relations is None:
        message = found.problem
        return head + parts.say(f"{message.message} {message.hint}" if message else "")
    return head + _correlations(found) + _stability(found)


def _correlations(found: Across) -> str:
    """A table of scores by diagnostics, and one that leaves out each encoder in turn."""
    relations = found.relations
    if relations is None:
        return ""
    cells = {(cell.diagnostic, cell.score): cell for cell in relations.cells}
    diagnostics = list(dict.fromkeys(cell.diagnostic for cell in relations.cells))
    rows = [
        [
            escape(one.score),
            *(_rho(cells.get((name, one.score))) for name in diagnostics),
            _number(one.lowest),
            _number(one.mean),
        ]
        for one in relations.summaries
    ]
    overall = relations.overall
    blanks = [""] * len(diagnostics)
    rows.append(["<strong>all</strong>", *blanks, _number(overall.lowest), _number(overall.mean)])
    heads = ["Score", *map(figures.name_of, diagnostics), "Lowest", "Mean"]
    numbers = tuple(range(1, len(heads)))
    encoders = ", ".join(relations.encoders)
    left = [
        [escape(name), _number(one.overall.lowest), _number(one.overall.mean)]
        for name, one in found.without.items()
    ]
    missing = [
        f"{task}: {formats.plural(more, 'more encoder')} needed."
        for task, more in relations.missing.items()
    ]
    data: list[list[Any]] = [heads]
    for one in relations.summaries:
        known = [cells.get((name, one.score)) for name in diagnostics]
        data.append([one.score, *(c and c.rho for c in known), one.lowest, one.mean])
    save = parts.csv_button("Correlations as CSV", "correlations.csv", data)
    return (
        f'<p class="t-small">Over {escape(encoders)}, on sentences of '
        f"{escape(found.text or 'their own')}.</p>"
        f"{parts.table(heads, rows, 'Spearman of diagnostics with scores', numbers)}"
        f'<p class="t-actions">{save}</p>'
        + (f'<p class="t-small t-muted">{escape(" ".join(missing[:8]))}</p>' if missing else "")
        + '<p class="t-small">Without each encoder in turn: one that stands apart can make a '
        "correlation alone.</p>"
        + parts.table(["Without", "Lowest", "Mean"], left, "Without each encoder", (1, 2))
    )


def _stability(found: Across) -> str:
    """Whether decoders of different kinds rank the encoders alike."""
    head = parts.heading(
        "Stability",
        "Spearman between decoders of two kinds, other architectures or training "
        "sizes, over the encoders that have both.",
    )
    if not found.agreements:
        reason = found.unstable
        return head + parts.say(f"{reason.message} {reason.hint}" if reason else "")
    rows = [
        [
            escape(figures.name_of(one.diagnostic)),
            escape(one.first),
            escape(one.second),
            _number(one.rho),
            formats.count(one.encoders),
        ]
        for one in found.agreements
    ]
    heads = ["Diagnostic", "Decoders", "and", "Spearman", "Encoders"]
    return head + parts.table(heads, rows, "Agreement of decoders of two kinds", (3, 4))


def _rho(cell: Relation | None) -> str:
    return "" if cell is None else _number(cell.rho)


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.2f}".replace("-", "−")


def _live(workspace: Workspace) -> list[dict[str, Any]]:
    from theodolite.app.pages.diagnose.service import DiagnoseJob
    from theodolite.store.run_rows import LIVE

    return [dict(run) for run in workspace.store.runs.list(LIVE, kinds=[DiagnoseJob.kind])]


def _label(row: dict[str, Any]) -> str:
    text = row["task"].removeprefix("Vec2Sent").removeprefix("-")
    of = f" of {text}" if text else ""
    return f"{row['encoder']} · {formats.plural(row['n'], 'sentence')}{of}"


def _table(found: Diagnosis, *, shipped: bool) -> str:
    """Every figure beside the two baselines."""
    from theodolite.engine.decoding.diagnosis import SYSTEMS

    systems = [system for system in SYSTEMS if found.figures(system)]
    heads = ["Figure", *(SYSTEMS[system].capitalize() for system in systems), "The decoder is"]
    rows = []
    for metric in found.figures():
        cells = [escape(figures.name_of(metric))]
        for system in systems:
            value, ends = figures.shown(found.figures(system)[metric])
            small = f'<br><small class="t-muted">{ends}</small>' if ends else ""
            cells.append(f"{value}{small}")
        comparison, above = figures.against_baselines(found, metric)
        kind = {True: "good", False: "warn", None: ""}[above]
        rows.append([*cells, parts.tag(comparison, kind) if comparison else ""])
    numbers = tuple(range(1, len(systems) + 1))
    number = next(row.n for row in found.rows)
    f1 = [figures.shown(found.figures(system)["token_f1"])[0] for system in systems]
    title = f"{found.encoder}: token F1 {f1[0]}"
    if len(f1) > 1:
        title += f", against {f1[-1]} for {SYSTEMS[systems[-1]]}"
    named = "Figures of the decoder and of two baselines"
    beside = f" {parts.SHIPPED}" if shipped else ""
    lead = (
        f"{_facts(found)} Measured on {formats.plural(number, 'sentence')}; the small numbers "
        "are 95 % intervals."
    )
    return (
        f"{parts.heading(title, html=lead, beside=beside)}"
        f"{parts.table(heads, rows, named, numbers, stacked=True)}"
        f"{parts.warn(found.notes)}"
    )


def _facts(found: Diagnosis) -> str:
    """The decoder's architecture and training, as HTML."""
    facts = found.decoder
    kind = str(facts.get("architecture"))
    words = ARCHITECTURES.get(kind, kind)
    decoded = f"{words[:1].upper()}{words[1:]} as the decoder"
    if facts.get("sentences"):
        decoded += f", trained on {formats.plural(int(facts['sentences']), 'sentence')}"
    if facts.get("words"):
        decoded += f" of at most {facts['words']} words"
    return escape(f"{decoded}.")


def _samples(samples: Sequence[DecodedSample]) -> str:
    items = "".join(
        f'<li><p class="t-given" dir="auto">{escape(one.sentence)}</p><div class="t-telling-line">'
        f'<p class="t-sentence" dir="auto">{word_diff.marked(one.words) or "nothing"}</p>'
        f"{parts.cosine(one.cosine)}</div>{_nearest(one)}</li>"
        for one in samples
    )
    head = parts.heading(
        "Samples",
        "Each sentence, its reconstruction with differences marked, and the nearest "
        "sentence in the decoder's training data.",
    )
    return f'{head}<ul class="t-told t-samples" aria-label="Samples">{items}</ul>{word_diff.LEGEND}'


def _nearest(one: DecodedSample) -> str:
    if not one.nearest:
        return ""
    cosine = "" if one.nearest_cosine is None else f" {formats.cosine(one.nearest_cosine)}"
    return f'<p class="t-near" dir="auto"><span>nearest{cosine}</span> {escape(one.nearest)}</p>'


def _downloads(found: Diagnosis) -> str:
    name = "".join(c if c.isalnum() else "-" for c in found.encoder)[:40]
    samples = [figures.SAMPLE_COLUMNS, *figures.sample_rows(found)]
    return (
        '<p class="t-actions">'
        + parts.csv_button(
            "All figures as CSV",
            f"diagnosis-{name}.csv",
            [figures.FIGURE_COLUMNS, *figures.figure_rows(found)],
        )
        + parts.csv_button("Samples as CSV", f"samples-{name}.csv", samples)
        + parts.csv_button(
            "Samples as CSV for spreadsheets", f"samples-{name}.csv", samples, spreadsheet=True
        )
        + "</p>"
    )
