"""Numbers printed in papers, for setting beside measured ones. Never measured here.

Copied from the tables of Gao, Yao, Chen, "SimCSE: Simple Contrastive Learning of Sentence
Embeddings" (EMNLP 2021, arXiv 2104.08821v4). Its main table is number 5 there and number 6 in the
first arXiv version, under which it is often cited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.tasks import SEVEN


@dataclass(frozen=True)
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
    protocols: tuple[str, ...] = ("simcse-2021", "pitfalls", "pitfalls-mlp")


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

_ORIGINS = {
    "R": "Reimers, Gurevych 2019",
    "Z": "Zhang et al. 2020",
    "S": "Li et al. 2020; Su et al. 2021",
    "-": "",
}

# origin; model; STS12 STS13 STS14 STS15 STS16 STS-B SICK-R; printed average
_MAIN_UNSUPERVISED = """
R; GloVe embeddings (avg.); 55.14 70.66 59.73 68.25 63.66 58.02 53.76; 61.32
-; BERT-base (first-last avg.); 39.70 59.38 49.67 66.03 66.19 53.87 62.06; 56.70
-; BERT-base-flow; 58.40 67.10 60.85 75.16 71.22 68.66 64.47; 66.55
-; BERT-base-whitening; 57.83 66.90 60.90 75.08 71.31 68.24 63.73; 66.28
Z; IS-BERT-base; 56.77 69.24 61.21 75.23 70.16 69.21 64.25; 66.58
-; CT-BERT-base; 61.63 76.80 68.47 77.50 76.48 74.31 69.19; 72.05
-; SimCSE-BERT-base; 68.40 82.41 74.38 80.91 78.56 76.85 72.23; 76.25
-; RoBERTa-base (first-last avg.); 40.88 58.74 49.07 65.63 61.48 58.55 61.63; 56.57
-; RoBERTa-base-whitening; 46.99 63.24 57.23 71.36 68.99 61.36 62.91; 61.73
-; DeCLUTR-RoBERTa-base; 52.41 75.19 65.52 77.12 78.63 72.41 68.62; 69.99
-; SimCSE-RoBERTa-base; 70.16 81.77 73.24 81.36 80.65 80.22 68.56; 76.57
-; SimCSE-RoBERTa-large; 72.86 83.99 75.62 84.77 81.80 81.98 71.26; 78.90
"""
_MAIN_SUPERVISED = """
R; InferSent-GloVe; 52.86 66.75 62.15 72.77 66.87 68.03 65.65; 65.01
R; Universal Sentence Encoder; 64.49 67.80 64.61 76.83 73.18 74.92 76.69; 71.22
R; SBERT-base; 70.97 76.53 73.19 79.09 74.30 77.03 72.91; 74.89
-; SBERT-base-flow; 69.78 77.27 74.35 82.01 77.46 79.12 76.21; 76.60
-; SBERT-base-whitening; 69.65 77.57 74.66 82.27 78.39 79.52 76.91; 77.00
-; CT-SBERT-base; 74.84 83.20 78.07 83.84 77.93 81.46 76.42; 79.39
-; SimCSE-BERT-base; 75.30 84.67 80.19 85.40 80.82 84.25 80.39; 81.57
R; SRoBERTa-base; 71.54 72.49 70.80 78.74 73.69 77.77 74.46; 74.21
-; SRoBERTa-base-whitening; 70.46 77.07 74.46 81.64 76.43 79.49 76.65; 76.60
-; SimCSE-RoBERTa-base; 76.53 85.21 80.95 86.03 82.57 85.83 80.50; 82.52
-; SimCSE-RoBERTa-large; 77.46 87.27 82.36 86.66 83.93 86.70 81.95; 83.76
"""
_WMEAN_UNSUPERVISED = """
S; BERT-base (first-last avg.); 57.86 61.97 62.49 70.96 69.76 59.04 63.75; 63.69
S; BERT-base-flow (NLI); 59.54 64.69 64.66 72.92 71.84 58.56 65.44; 65.38
S; BERT-base-flow (target); 63.48 72.14 68.42 73.77 75.37 70.72 63.11; 69.57
S; BERT-base-whitening (NLI); 61.69 65.70 66.02 75.11 73.11 68.19 63.60; 67.63
S; BERT-base-whitening (target); 63.62 73.02 69.23 74.52 72.15 71.34 60.60; 69.21
-; SimCSE-BERT-base; 70.14 79.56 75.91 81.46 79.07 76.85 72.23; 76.46
"""
_WMEAN_SUPERVISED = """
S; SBERT-base (first-last avg.); 68.70 74.37 74.73 79.65 75.21 77.63 74.84; 75.02
S; SBERT-base-flow (NLI); 67.75 76.73 75.53 80.63 77.58 79.10 78.03; 76.48
S; SBERT-base-flow (target); 68.95 78.48 77.62 81.95 78.94 81.03 74.97; 77.42
S; SBERT-base-whitening (NLI); 69.11 75.79 75.76 82.31 79.61 78.66 76.33; 76.80
S; SBERT-base-whitening (target); 69.01 78.10 77.04 80.83 77.93 80.50 72.54; 76.56
-; SimCSE-BERT-base; 70.90 81.49 80.19 83.79 81.89 84.25 80.39; 80.41
"""


def _rows(
    text: str,
    training: Literal["unsupervised", "supervised"],
    aggregation: Literal["all", "wmean"],
    table: str,
) -> tuple[Published, ...]:
    rows = []
    for line in text.strip().splitlines():
        origin, model, scores, average = (field.strip() for field in line.split(";"))
        values = dict(zip(SEVEN, map(float, scores.split()), strict=True))
        rows.append(
            Published(model, training, values, float(average), aggregation, table, _ORIGINS[origin])
        )
    return tuple(rows)


_MAIN = "SimCSE table 5 (6 in the first arXiv version)"
TABLE_MAIN = _rows(_MAIN_UNSUPERVISED, "unsupervised", "all", _MAIN) + _rows(
    _MAIN_SUPERVISED, "supervised", "all", _MAIN
)
"""The main STS table: comparable with results under protocol simcse-2021."""
TABLE_B3 = _rows(_WMEAN_UNSUPERVISED, "unsupervised", "wmean", "SimCSE table B.3") + _rows(
    _WMEAN_SUPERVISED, "supervised", "wmean", "SimCSE table B.3"
)
"""Weighted means over subsets: comparable with the `wmean` scores only."""
