"""Numbers from papers, for comparison with measured ones. Never measured here.

The rows are in `published.csv`: tables of Gao, Yao, Chen, "SimCSE: Simple Contrastive Learning of
Sentence Embeddings" (EMNLP 2021, arXiv 2104.08821v4, whose main table is number 5 there and number
6 in the first arXiv version, under which it is often cited), and the table in the README of
facebookresearch/InferSent, whose authors are those of SentEval. The transfer rows of both are of
SentEval's default setting: logistic regression, ten folds.

Further rows are of Conneau, Kiela, "SentEval" (LREC 2018), tables 3 and 4 (of which the correlation
of a trained regressor: the means of Pearson over subsets are no main score here), and of Kerscher,
Eger, "Vec2Sent" (2020), table 5 (accuracies; which setting of SentEval's is not printed).

Of Eger, Rücklé, Gurevych, "Pitfalls in the Evaluation of Sentence Embeddings" (RepL4NLP 2019) it is
the one Spearman of a plain cosine that section 3 gives: table 2 is of Pearson, no main score here.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal


@dataclass(frozen=True, eq=False)
class Published:
    """One row of a paper's table.

    Attributes:
        model: as the paper calls it.
        training: `unsupervised` or `supervised` (with labelled NLI pairs), as the paper groups it.
        scores: task name to score in points, of the metric that the protocol has for it.
        average: as printed; None where none is. SBERT-base's for STS is 74.89 in both papers though
            its row has mean 74.86.
        aggregation: of STS12 to STS16: `all` (protocol simcse-2021) or `wmean`; None elsewhere.
        table: where it is printed.
        origin: the paper the row was itself taken from; empty when the table's authors measured it.
        protocols: those whose results it may stand beside; another measures something else.
    """

    model: str
    training: Literal["unsupervised", "supervised"]
    scores: Mapping[str, float]
    average: float | None
    aggregation: Literal["all", "wmean"] | None
    table: str
    origin: str
    protocols: tuple[str, ...]

    def printed(self, task: str, protocol: str) -> float | None:
        """What is printed for a task; None beside a protocol that measures another thing."""
        return self.scores.get(task) if protocol in self.protocols else None


@dataclass(frozen=True)
class StsSetting:
    """How one paper evaluates STS, a row of SimCSE's table B.1."""

    paper: str
    regressor: bool
    metric: str
    aggregation: str


TABLE_B1 = (
    StsSetting("Hill et al. 2016", False, "both", "all"),
    StsSetting("Conneau et al. 2017", True, "Pearson", "mean"),
    StsSetting("Conneau, Kiela 2018", True, "Pearson", "mean"),
    StsSetting("Reimers, Gurevych 2019", False, "Spearman", "all"),
    StsSetting("Zhang et al. 2020", False, "Spearman", "all"),
    StsSetting("Li et al. 2020", False, "Spearman", "wmean"),
    StsSetting("Su et al. 2021", False, "Spearman", "wmean"),
    StsSetting("Wieting et al. 2020", False, "Pearson", "mean"),
    StsSetting("Giorgi et al. 2021", False, "Spearman", "mean"),
    StsSetting("Gao et al. 2021 (SimCSE)", False, "Spearman", "all"),
)
"""Who used an additional regressor, which correlation, and how subsets were aggregated."""

_PROTOCOLS = {
    "sts": ("simcse-2021", "pitfalls", "pitfalls-mlp"),
    "transfer": ("senteval", "senteval-exact"),
    "MLP": ("senteval-mlp",),
}
_BEFORE_SCORES = ("table", "training", "model", "origin", "aggregation", "average")


def _read() -> dict[str, tuple[Published, ...]]:
    """The rows of `published.csv` by the table that they are printed in."""
    rows: dict[str, list[Published]] = {}
    text = files("engine.protocols").joinpath("published.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        scores = {task: float(v) for task, v in row.items() if v and task not in _BEFORE_SCORES}
        row_of = Published(
            model=row["model"],
            training=row["training"],  # type: ignore[arg-type]
            scores=scores,
            average=float(row["average"]) if row["average"] else None,
            aggregation=row["aggregation"] or None,  # type: ignore[arg-type]
            table=row["table"],
            origin=row["origin"],
            protocols=_PROTOCOLS[_kind(row["table"], scores)],
        )
        rows.setdefault(row["table"], []).append(row_of)
    return {table: tuple(found) for table, found in rows.items()}


def _kind(table: str, scores: Mapping[str, float]) -> str:
    """What a row's numbers are of, a key of the protocols."""
    if "STS12" in scores or table.startswith("Pitfalls"):
        return "sts"
    return "MLP" if table.endswith("MLP") else "transfer"


_TABLES = _read()
TABLE_MAIN = _TABLES["SimCSE table 5 (6 in the first arXiv version)"]
"""The main STS table: comparable with results under protocol simcse-2021."""
TABLE_B3 = _TABLES["SimCSE table B.3"]
"""Weighted means over subsets: comparable with the `wmean` scores only."""
TABLE_E1 = _TABLES["SimCSE table E.1 (7 in an earlier arXiv version)"]
"""Transfer accuracies: comparable with results under protocol senteval."""
TABLE_INFERSENT = _TABLES["README of facebookresearch/InferSent"]
"""The baselines of SentEval's authors, to one decimal; no average is printed."""

FURTHER = {
    name: rows for name, rows in _TABLES.items()
    if name.startswith(("SentEval", "Vec2Sent", "Pitfalls"))
}  # fmt: skip
"""By table: accuracies and correlations of a trained regressor, beside SentEval's protocols; and a
correlation beside those of similarity."""


def beside(columns: Sequence[tuple[str, str]]) -> dict[Published, list[float | None]]:
    """The rows with a number for one of some (task, protocol), and what each has for all."""
    rows = {
        row: [row.printed(*at) for at in columns] for table in _TABLES.values() for row in table
    }
    return {row: found for row, found in rows.items() if any(one is not None for one in found)}
