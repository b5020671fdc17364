"""Scores published in papers, for comparison with measured ones.

The rows are in `published.csv`: tables of Gao, Yao, Chen, "SimCSE: Simple Contrastive Learning of
Sentence Embeddings" (EMNLP 2021, arXiv 2104.08821v4, where the main table is number 5; it is
often cited as number 6, as in the first arXiv version), and the table in the README of
facebookresearch/InferSent, by SentEval's authors. The transfer rows of both use SentEval's default
setting: logistic regression, ten folds.

Further rows are from Conneau, Kiela, "SentEval" (LREC 2018), tables 3 and 4 (only the correlations
of a trained regressor: the means of Pearson over subsets are no main score here), and Kerscher,
Eger, "Vec2Sent" (2020), table 5 (accuracies; the setting of SentEval is not stated).

From Eger, Rücklé, Gurevych, "Pitfalls in the Evaluation of Sentence Embeddings" (RepL4NLP 2019)
comes the single Spearman of a plain cosine in section 3: table 2 has Pearson, no main score here.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal


@dataclass(frozen=True, eq=False)
class Published:
    """One row of a paper's table.

    Attributes:
        model: the model's name in the paper.
        training: `unsupervised` or `supervised` (with labelled NLI pairs), as the paper groups it.
        scores: task name -> score in points, by the protocol's metric for the task.
        average: as printed; None if not printed. SBERT-base's STS average is 74.89 in both papers,
            though the mean of its row is 74.86.
        aggregation: for STS12 to STS16: `all` (protocol simcse-2021) or `wmean`; None elsewhere.
        table: the table it is printed in.
        origin: the paper that the row is quoted from; empty if the table's authors measured it.
        protocols: those whose results it is comparable with.
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
        """Return the printed score of a task; None if not comparable under the protocol."""
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
"""Per paper: whether a regressor is added, the correlation, and the aggregation of subsets."""

_PROTOCOLS = {
    "sts": ("simcse-2021", "pitfalls", "pitfalls-mlp"),
    "transfer": ("senteval", "senteval-exact"),
    "MLP": ("senteval-mlp",),
}
_BEFORE_SCORES = ("table", "training", "model", "origin", "aggregation", "average")


def _read() -> dict[str, tuple[Published, ...]]:
    """Return the rows of `published.csv`, grouped by table."""
    rows: dict[str, list[Published]] = {}
    text = files("theodolite.engine.protocols").joinpath("published.csv").read_text("utf-8")
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
    return {table: tuple(values) for table, values in rows.items()}


def _kind(table: str, scores: Mapping[str, float]) -> str:
    """Return the kind of a row's scores, a key of `_PROTOCOLS`."""
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
    name: rows
    for name, rows in _TABLES.items()
    if name.startswith(("SentEval", "Vec2Sent", "Pitfalls"))
}
"""Table -> rows: accuracies and correlations of a trained regressor, comparable with SentEval's
protocols; and a correlation, comparable with the similarity protocols."""


def beside(columns: Sequence[tuple[str, str]]) -> dict[Published, list[float | None]]:
    """Return the rows with a score for any of the (task, protocol) columns, and their scores."""
    rows = {
        row: [row.printed(*at) for at in columns] for table in _TABLES.values() for row in table
    }
    return {
        row: values for row, values in rows.items() if any(value is not None for value in values)
    }
