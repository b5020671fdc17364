"""Transfer accuracies printed by others, for setting beside measured ones. Never measured here.

Copied from table E.1 of Gao, Yao, Chen, "SimCSE: Simple Contrastive Learning of Sentence
Embeddings" (EMNLP 2021, arXiv 2104.08821v4; number 7 in an earlier arXiv version), and from the
table in the README of facebookresearch/InferSent, whose authors are those of SentEval. Both used
SentEval's default setting: logistic regression, ten folds.
"""

from __future__ import annotations

from typing import Literal

from engine.published import Published
from engine.tasks import TRANSFER

PROTOCOLS = ("senteval", "senteval-exact")
_SIMCSE = "SimCSE table E.1 (7 in an earlier arXiv version)"
_INFERSENT = "README of facebookresearch/InferSent"
_ORIGINS = {"R": "Reimers, Gurevych 2019", "Z": "Zhang et al. 2020", "-": ""}

# origin; model; MR CR SUBJ MPQA SST2 TREC MRPC; printed average
_UNSUPERVISED = """
R; GloVe embeddings (avg.); 77.25 78.30 91.17 87.85 80.18 83.00 72.87; 81.52
Z; Skip-thought; 76.50 80.10 93.60 87.10 82.00 92.20 73.00; 83.50
R; BERT-base (avg.); 78.66 86.25 94.37 88.66 84.40 92.80 69.54; 84.94
R; BERT-base ([CLS]); 78.68 84.85 94.21 88.23 84.13 91.40 71.13; 84.66
Z; IS-BERT-base; 81.09 87.18 94.96 88.75 85.96 88.64 74.24; 85.83
-; SimCSE-BERT-base; 81.18 86.46 94.45 88.88 85.50 89.80 74.43; 85.81
-; SimCSE-BERT-base w/ MLM; 82.92 87.23 95.71 88.73 86.81 87.01 78.07; 86.64
-; SimCSE-RoBERTa-base; 81.04 87.74 93.28 86.94 86.60 84.60 73.68; 84.84
-; SimCSE-RoBERTa-base w/ MLM; 83.37 87.76 95.05 87.16 89.02 90.80 75.13; 86.90
-; SimCSE-RoBERTa-large; 82.74 87.87 93.66 88.22 88.58 92.00 69.68; 86.11
-; SimCSE-RoBERTa-large w/ MLM; 84.66 88.56 95.43 87.50 89.46 95.00 72.41; 87.57
"""
_SUPERVISED = """
R; InferSent-GloVe; 81.57 86.54 92.50 90.38 84.18 88.20 75.77; 85.59
R; Universal Sentence Encoder; 80.09 85.19 93.98 86.70 86.38 93.20 70.14; 85.10
R; SBERT-base; 83.64 89.43 94.39 89.86 88.96 89.60 76.00; 87.41
-; SimCSE-BERT-base; 82.69 89.25 94.81 89.59 87.31 88.40 73.51; 86.51
-; SimCSE-BERT-base w/ MLM; 82.68 88.88 94.52 89.82 88.41 87.60 76.12; 86.86
-; SRoBERTa-base; 84.91 90.83 92.56 88.75 90.50 88.60 78.14; 87.76
-; SimCSE-RoBERTa-base; 84.92 92.00 94.11 89.82 91.27 88.80 75.65; 88.08
-; SimCSE-RoBERTa-base w/ MLM; 85.08 91.76 94.02 89.72 92.31 91.20 76.52; 88.66
-; SimCSE-RoBERTa-large; 88.12 92.37 95.11 90.49 92.75 91.80 76.64; 89.61
-; SimCSE-RoBERTa-large w/ MLM; 88.45 92.53 95.19 90.58 93.30 93.80 77.74; 90.23
"""
# training; model; MR CR SUBJ MPQA SST2 TREC MRPC SICK-E; no average is printed, - is not given
_BASELINES = """
supervised; InferSent1 (GloVe); 81.1 86.3 92.4 90.2 84.6 88.2 76.2 86.1
supervised; InferSent2 (fastText); 79.7 84.2 92.7 89.4 84.3 90.8 76.0 86.3
unsupervised; SkipThought; 79.4 83.1 93.7 89.3 82.9 88.4 - 79.5
unsupervised; fastText-BoV; 78.2 80.2 91.8 88.0 82.3 83.4 74.4 78.9
"""


def _simcse(text: str, training: Literal["unsupervised", "supervised"]) -> list[Published]:
    rows = []
    for line in text.strip().splitlines():
        origin, model, scores, average = (field.strip() for field in line.split(";"))
        values = dict(zip(TRANSFER, map(float, scores.split()), strict=True))
        rows.append(
            Published(
                model, training, values, float(average), None, _SIMCSE, _ORIGINS[origin], PROTOCOLS
            )
        )
    return rows


def _baselines(text: str) -> list[Published]:
    rows = []
    for line in text.strip().splitlines():
        training, model, scores = (field.strip() for field in line.split(";"))
        given = zip((*TRANSFER, "SICKEntailment"), scores.split(), strict=True)
        values = {task: float(score) for task, score in given if score != "-"}
        kind: Literal["unsupervised", "supervised"] = (
            "supervised" if training == "supervised" else "unsupervised"
        )
        rows.append(Published(model, kind, values, None, None, _INFERSENT, "", PROTOCOLS))
    return rows


TABLE_E1 = (*_simcse(_UNSUPERVISED, "unsupervised"), *_simcse(_SUPERVISED, "supervised"))
"""Transfer accuracies: comparable with results under protocol senteval."""
TABLE_INFERSENT = tuple(_baselines(_BASELINES))
"""The baselines of SentEval's authors, to one decimal."""
