"""What an encoder's folder says of its training: `theodolite.json`, and the card, `README.md`."""

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from theodolite.engine.encoders.spec import EncoderSpec, SourceSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import BaseSpec, settings as settings_of, short, written
from theodolite.engine.training.events import Finished, against_base, headline
from theodolite.engine.training.spec import Pooling, TrainSpec

VERSION = 1
RECORD = "theodolite.json"


@dataclass(frozen=True)
class Record:
    """How an encoder was trained.

    Attributes:
        spec: of the run.
        data_hash: content hash of the training data.
        examples: number of training examples.
        notes: what was left out of the data, and anything else worth knowing.
        steps: updates made.
        best_step: the update whose weights were kept.
        best_score: their dev score; None without a dev set.
        base_score: that of the base; None without a dev set or a trained base.
        seconds: of training.
        why: as in `Finished`.
        curve: the `Stepped` and `Evaluated` events as dictionaries, in their order.
    """

    spec: TrainSpec
    data_hash: str
    examples: int
    notes: tuple[str, ...] = ()
    steps: int = 0
    best_step: int = 0
    best_score: float | None = None
    base_score: float | None = None
    seconds: float = 0.0
    why: str = "done"
    curve: Sequence[Mapping[str, Any]] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `hash` is that of the full spec, `spec` is without absolute paths."""
        own = {k: v for k, v in asdict(self).items() if k not in ("spec", "curve")}
        return {
            "version": VERSION,
            "hash": self.spec.hash,
            "spec": self.spec.relative_paths().to_dict(),
            **own,
            "curve": [dict(event) for event in self.curve],
        }


def last_event(record: Mapping[str, Any], folder: Path) -> Finished:
    """The last event of a run, from its record (see `Record.to_dict`) and its folder."""
    return Finished(
        record["steps"],
        record["best_step"],
        record["best_score"],
        record["seconds"],
        str(folder),
        encoder_of(folder),
        record["why"],
        record.get("base_score"),
    )


def encoder_of(folder: Path) -> str:
    """The spec string that loads an encoder folder."""
    return str(EncoderSpec((SourceSpec("dir", str(folder)),)))


def read(folder: Path) -> dict[str, Any] | None:
    """Read `theodolite.json` in a folder; None if there is none, or not of this version."""
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.get("version") == VERSION else None


def earlier(folder: Path, digest: str) -> dict[str, Any] | None:
    """The record of the run with this hash in a folder, or None; refuses any other content."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    record = read(folder)
    if record is None or record["hash"] != digest:
        raise UserError(
            f"{folder} already exists, and is not the encoder with these settings.",
            "Choose another folder; nothing is overwritten.",
            code="conflict",
        )
    return record


MAX_ROWS = 25
"""Scores of the dev set that the card lists; `theodolite.json` has all."""
OBJECTIVES = {
    "unsup": "unsupervised SimCSE: a sentence and itself under another dropout mask are positives "
    "(Gao et al. 2021)",
    "sup": "supervised SimCSE: annotated pairs, with hard negatives where the data has them "
    "(Gao et al. 2021)",
    "mlm": "masked language modelling",
    "next-sentence": "contrastive learning of sentences and the ones that follow them (Gao et al. "
    "2021, SimCSE)",
    "st": "a loss of sentence-transformers",
    "static": "distillation into one vector for each token",
}
WHY = {
    "done": "All updates were made.",
    "stopped": "It was stopped by hand.",
    "patience": "It stopped early: the dev score no longer rose.",
    "diverged": "It stopped because the loss was NaN or infinity.",
}


def card(record: Record, dim: int, pooling: Pooling) -> str:
    """The text of `README.md`.

    Args:
        record: of the run.
        dim: length of a vector.
        pooling: of the encoder.
    """
    spec, verdict = record.spec, headline(record.best_score, record.base_score)
    name = plain(spec.name or Path(spec.out).name or "encoder")
    parts = [
        _front(spec),
        f"# {name}",
        f"A sentence encoder of {dim} dimensions, trained with Theodolite from "
        f"{code(short(spec.base))} by {OBJECTIVES[spec.objective]}"
        + (f", {code(spec.loss)}." if spec.objective == "st" else "."),
        verdict and f"**{verdict}**",
        _usage(replace(spec, pooling=pooling)),
        "## Training data",
        f"{code(short(spec.train))}, {record.examples:,} examples. Content hash "
        f"{code(record.data_hash)}.",
        "\n".join(f"- {plain(note)}" for note in record.notes),
        "## Training",
        f"Computed in {record.seconds:,.0f} seconds, without updates."
        if spec.objective == "static"
        else f"{WHY.get(record.why, record.why)} {record.steps:,} updates in {record.seconds:,.0f} "
        f"seconds; the weights are those after update {record.best_step:,}.",
        settings(spec, ("base", "train", "out", "name")),
        "The same again:",
        code_block(shlex.join(spec.relative_paths().command()), "sh"),
        "## Scores while training",
        _scores(record),
        table(("step", "dev score", "alignment", "uniformity", "loss"), _curve(record.curve)),
        "Scores are cosine Spearman × 100 of the dev part. Alignment and uniformity are those of "
        "Wang and Isola (2020); lower is better. `theodolite.json` holds the whole curve.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front(spec: TrainSpec) -> str:
    lines = ["library_name: sentence-transformers", "pipeline_tag: sentence-similarity"]
    base = spec.base.removeprefix("hf:").partition("?")[0]
    # Only what is certainly an id of the hub, which needs no escaping.
    if spec.base.startswith("hf:") and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", base):
        lines.append(f'base_model: "{base}"')
    tags = ["sentence-transformers", "feature-extraction", "sentence-similarity"]
    if "SimCSE" in OBJECTIVES[spec.objective]:
        tags.append("simcse")
    return "\n".join(["---", *lines, "tags:", *(f"- {tag}" for tag in tags), "---"])


def _usage(spec: TrainSpec) -> str:
    example = (
        "from sentence_transformers import SentenceTransformer\n\n"
        'model = SentenceTransformer("FOLDER")\n'
    )
    if len(set(spec.column_prompts)) > 1:
        example += 'queries = model.encode_query(["A question?"])\n'
        example += 'documents = model.encode_document(["A sentence.", "Another one."])'
    else:
        example += 'vectors = model.encode(["A sentence.", "Another one."])'
    return "## Use\n\n" + code_block(example, "python") + "\n\n" + _plainly(spec)


def _plainly(spec: TrainSpec) -> str:
    """How transformers gives the same vectors."""
    if spec.objective == "static":
        return "The vector is the mean of the vectors of the text's tokens."
    has_head = spec.head == "mlp" and spec.objective not in ("mlm", "st")
    states = {
        "cls_token": "the first token's last hidden state",
        "avg": "the mean of the last hidden states over the tokens, padding left out",
        "avg_first_last": "the mean over the tokens, padding left out, of "
        "`(hidden_states[1] + hidden_states[-1]) / 2`",
        "avg_top2": "the mean over the tokens, padding left out, of "
        "`(hidden_states[-2] + hidden_states[-1]) / 2`",
        "max": "the largest value of the last hidden states over the tokens, padding left out",
    }[spec.pooling]
    if has_head and spec.pooling == "cls_token":
        return "With `transformers` alone the vector is `pooler_output` (of a BERT or RoBERTa)."
    if has_head:
        return (
            f"With `transformers` alone the vector is {states}, passed through the dense layer in "
            "the folder `Dense` and tanh."
        )
    return f"With `transformers` alone the vector is {states}."


def settings(spec: BaseSpec, aside: Collection[str]) -> str:
    """A table of the settings that a spec reads, except those in `aside`."""
    kind: Any = type(spec)
    values = spec.relative_paths().to_dict()
    typed = {k: v if isinstance(v, bool | list) else written(v) for k, v in values.items()}
    rows = [
        (code(name), code(values[name]))
        for name, setting in settings_of(kind).items()
        if name not in aside and spec.applies(setting, typed)
    ]
    return table(("setting", "value"), rows)


def _scores(record: Record) -> str:
    if record.best_score is None:
        return "There was no dev set; the weights are the last ones."
    base = against_base(record.best_score, record.base_score)
    best = next((e for e in record.curve if e.get("best") and e["step"] == record.best_step), {})
    within = f" (95 % interval {best['low']:.1f} to {best['high']:.1f})" if "low" in best else ""
    return (
        f"Best on {code(short(record.spec.dev or ''))}: **{record.best_score:.2f}**{within} after "
        f"update {record.best_step:,}" + (f", {base}." if base else ".")
    )


def _curve(events: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Scores, each with the latest loss; evenly thinned, the best and the last always kept."""
    rows: list[tuple[str, ...]] = []
    loss, best = "", 0
    for event in events:
        if event.get("kind") == "stepped":
            loss = f"{event['loss']:.4f}"
        elif event.get("kind") == "looked":
            best = len(rows) if event["best"] else best
            values = (f"{event[key]:.3f}" for key in ("alignment", "uniformity"))
            rows.append((f"{event['step']:,}", f"{event['score']:.2f}", *values, loss))
    every = -(-len(rows) // MAX_ROWS) or 1
    return [row for i, row in enumerate(rows) if i % every == 0 or i in (best, len(rows) - 1)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; empty without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(value: Any) -> str:
    """One line that Markdown and HTML take as plain text."""
    flat = " ".join(str(value).split())
    return re.sub(r"([\\`*_{}\[\]<>#|&])", r"\\\1", flat)


def code(value: Any) -> str:
    """One line between backticks, with the backticks and bars inside replaced."""
    flat = " ".join(str(value).split()).replace("`", "'").replace("|", "¦")
    return f"`{flat}`" if flat else ""


def code_block(lines: str, language: str) -> str:
    """A block of code, with a fence longer than any inside."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", lines)), default=0))
    return f"{fence}{language}\n{lines}\n{fence}"
