"""Hard negatives: those that sentence-transformers finds."""

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers.util import mine_hard_negatives

from tests.errors import refused
from tests.fakes.runs import distinct
from theodolite.engine.training.mining import Mining, mine

TEXTS = distinct(11, 90)
PAIRS = [*zip(TEXTS[:20], TEXTS[20:40], strict=True), *zip(TEXTS[:5], TEXTS[40:45], strict=True)]
DOCUMENTS = TEXTS[45:]
RNG = np.random.default_rng(3)
VECTORS = {text: RNG.normal(size=8).astype(np.float32) for text in TEXTS}


class Vectors:
    """An encoder for both libraries: a table of vectors."""

    name, dim, fingerprint, warnings, device = "table", 8, "table", (), "cpu"

    def encode(self, sentences, *_, **__):
        rows = np.stack([VECTORS[sentence] for sentence in sentences])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    encode_query = encode_document = encode

    def similarity(self, a, b):
        return self._tensor(a) @ self._tensor(b).T

    def similarity_pairwise(self, a, b):
        return (self._tensor(a) * self._tensor(b)).sum(1)

    @staticmethod
    def _tensor(rows):
        import torch

        return torch.as_tensor(rows)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"negatives": 2, "range_max": 60}, {}),
        ({"negatives": 3, "range_min": 2, "range_max": 9}, {}),
        ({"negatives": 3, "range_max": 30, "margin": 0.1}, {"absolute_margin": 0.1}),
        ({"negatives": 1, "range_max": 60, "relative_margin": 0.3}, {}),
        (
            {"negatives": 4, "range_max": 60, "max_score": 0.4, "margin": -0.9},
            {"absolute_margin": -0.9},
        ),
    ],
)
def test_negatives_are_those_of_sentence_transformers(ours, theirs):
    options = {name: value for name, value in ours.items() if name not in ("margin", "negatives")}
    table = Dataset.from_dict(
        dict(zip(("anchor", "positive"), zip(*PAIRS, strict=True), strict=True))
    )
    wanted = mine_hard_negatives(
        table,
        Vectors(),
        corpus=DOCUMENTS,
        num_negatives=ours["negatives"],
        output_scores=True,
        verbose=False,
        **options,
        **theirs,
    )
    made = list(mine(PAIRS, DOCUMENTS, Vectors(), Mining(**ours)))
    assert made and len(made) == len(wanted)
    rows = {(one.anchor, one.positive, one.negative): one for one in made}
    for row in wanted:
        one = rows[row["anchor"], row["positive"], row["negative"]]
        scores = one.positive_score, one.negative_score
        np.testing.assert_allclose(scores, row["scores"], atol=1e-6)


@pytest.mark.parametrize(
    "wrong", [{"negatives": 0}, {"range_min": -1}, {"range_min": 5, "range_max": 6}]
)
def test_ranks_that_hold_no_negative_are_refused(wrong):
    with refused("invalid", "do not fit"):
        Mining(**wrong)
