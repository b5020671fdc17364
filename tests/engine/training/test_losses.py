"""Losses, distillation and mined negatives: equal to those of sentence-transformers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, mine_hard_negatives
from sentence_transformers.sentence_transformer import losses as theirs, modules
from sklearn.linear_model import Ridge
from transformers import AutoModel

from tests.engine.encoders.models import close
from tests.errors import refused
from tests.fakes.runs import TinyCatalog, distinct, sentences, tiny_spec
from theodolite.engine.datasets.types import (
    LabelledPairs,
    LabelledSentences,
    PairPart,
    Retrieval,
    ScoredPairs,
    Triplets,
)
from theodolite.engine.encoders import load
from theodolite.engine.train import batches, train
from theodolite.engine.training import static
from theodolite.engine.training.examples import open_examples
from theodolite.engine.training.losses import LOSSES
from theodolite.engine.training.mining import Mining, mine

N = 8
WORDS = distinct(7, 3 * N)
A, B, C = WORDS[:N], WORDS[N : 2 * N], WORDS[2 * N :]
GRADES = np.linspace(0.0, 5.0, N)
DATA = {
    "pairs": Triplets("pairs", A, B, C),
    "triplets": Triplets("triplets", A, B, C),
    "sentences": LabelledSentences("sentences", A, ["x"] * N),
    "scored": ScoredPairs("scored", {"all": PairPart(A, B, GRADES)}, "subsets", (0.0, 5.0)),
    "labelled-pairs": LabelledPairs(
        "labelled-pairs", [*A, *B], np.arange(N), np.arange(N, 2 * N), ["0", "1"] * 4, [""] * N
    ),
    "judged": Retrieval(
        name="judged",
        queries=dict(zip("abc", A, strict=False)),
        documents={"1": "one", "2": "two"},
        judgements={
            "train": {"a": {"1": 1, "2": 2, "gone": 1}, "b": {"1": 0, "2": 1}},
            "test": {"c": {"1": 1}},
        },
    ),
    "labelled": LabelledSentences("labelled", [*A, *B], ["a"] * N + ["b"] * N),
}


class Data(TinyCatalog):
    """The data sets above."""

    def load(self, name):
        return DATA.get(name) or super().load(name)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A small encoder, from one update of masked language modelling: no normalisation after it."""
    folder = tmp_path_factory.mktemp("base")
    out = str(folder / "base")
    list(train(tiny_spec(folder, "mlm", out=out, pooling="avg", steps=1, dev=None), Data()))
    return out


def run(folder, base, loss, **changes):
    """Events of a training on the data that a loss needs, its whole batch at once."""
    settings = {
        "base": f"dir:{base}",
        "train": LOSSES[loss].data if loss in LOSSES else "pairs",
        "loss": loss,
        "batch_size": 2 * N,
        "steps": 1,
        "dropout": 0.0,
        "guide": f"dir:{base}?pooling=max" if loss in LOSSES and LOSSES[loss].guide else None,
        "max_length": 32,
        "dev": None,
    }
    return list(train(tiny_spec(folder, "st", **settings | changes), Data()))


def loss_of(events):
    """Of the one update."""
    (value,) = [event.loss for event in events if event.kind == "stepped"]
    return value


def directly(base, loss, matryoshka=()):
    """The value of their loss on the same batch, by their model."""
    model, options, need = SentenceTransformer(base, device="cpu").eval(), {}, LOSSES[loss]
    guide = SentenceTransformer(base, device="cpu").eval()
    guide[1].pooling_mode = "max"
    texts, labels = [A, B, C] if need.negatives or need.data == "triplets" else [A, B], None
    said = [guide.encode(side, convert_to_tensor=True) for side in texts]
    match need.guide, need.data:
        case "guide", _:
            options["guide"] = guide
        case "vectors", _:
            texts, labels = [A], said[0].clone()
        case _, "sentences":
            first = [A[i] for i in next(batches([N], 2 * N, 1, 42))]
            texts = [first, [first[0], *first[2:], first[0]]]
            labels = torch.tensor([1.0] + [0.0] * 7)
        case "margin" | "scores", _:
            partner, negative = ((said[0] * side).sum(1) for side in said[1:])
            margin = need.guide == "margin"
            labels = partner - negative if margin else torch.stack([partner, negative], 1)
        case _, "scored":
            labels = torch.tensor(GRADES / 5.0).float()
        case _, "labelled-pairs":
            labels = torch.tensor([0, 1] * 4)
        case _, "labelled":
            texts, labels = [[*A, *B]], torch.tensor([0] * N + [1] * N)
    made = getattr(theirs, loss)(model, **options)
    if matryoshka:
        made = theirs.MatryoshkaLoss(model, made, list(matryoshka))
    found = made([model.preprocess(side) for side in texts], labels)
    return (sum(found.values()) if isinstance(found, dict) else found).item()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_equals_theirs(tmp_path, base, loss):
    expected = pytest.approx(directly(base, loss), rel=1e-5, abs=1e-6)
    assert 0 < loss_of(run(tmp_path, base, loss)) == expected


@pytest.mark.parametrize("loss", ["TripletLoss", "BatchAllTripletLoss"])
def test_a_base_that_normalises_goes_on_to(tmp_path, base, loss):
    """The loss sees vectors of unit length, and so do those who use the encoder."""
    whole = SentenceTransformer(base, device="cpu")
    whole.append(modules.Normalize())
    whole.save(folder := str(tmp_path / "unit"))
    events = run(tmp_path, folder, loss)
    assert loss_of(events) == pytest.approx(directly(folder, loss), rel=1e-5, abs=1e-6)
    vectors, made = load(events[-1].encoder).encode(A), SentenceTransformer(events[-1].out)
    close(np.linalg.norm(vectors, axis=1), 1.0)
    close(made.encode(A), vectors)


@pytest.mark.parametrize("loss", ["CoSENTLoss", "MultipleNegativesRankingLoss", "GISTEmbedLoss"])
def test_matryoshka_goes_around_any(tmp_path, base, loss):
    value = loss_of(run(tmp_path, base, loss, matryoshka="8, 4"))
    assert value == pytest.approx(directly(base, loss, (8, 4)), rel=1e-5)


@pytest.mark.parametrize("loss", ["CachedGISTEmbedLoss", "CoSENTLoss", "ContrastiveTensionLoss"])
def test_micro_batches_leave_the_weights_as_they_are(tmp_path, base, loss):
    """Whatever the loss; the curve begins with the base, at step 0."""
    ends = []
    for size in (None, 3):
        out = tmp_path / str(size)
        settings = {"micro_batch": size, "steps": 3, "dev": "graded", "out": str(out)}
        looks = [e for e in run(tmp_path, base, loss, **settings) if e.kind == "looked"]
        assert looks[0].step == 0 and looks[0].score is not None
        ends.append(load(f"dir:{out}").encode(A))
    close(*ends)
    assert np.abs(ends[0] - load(f"dir:{base}").encode(A)).max() > 1e-3


def distilled(folder, base, /, objective="static", **changes):
    """Events of a training of a smaller or static encoder on plain sentences."""
    settings = {"base": f"dir:{base}", "train": str(sentences(folder)), "dev": "graded"}
    return list(train(tiny_spec(folder, objective, **settings | changes), Data()))


@pytest.mark.parametrize(
    ("made", "changes", "code", "named"),
    [
        (run, {"loss": "CoSENTLoss", "train": "triplets"}, "wrong-kind", "pairs with a score"),
        (run, {"loss": "ContrastiveLoss", "train": "scored"}, "wrong-kind", "label 1"),
        (run, {"loss": "TripletLoss", "train": "scored"}, "wrong-kind", "triplets"),
        (
            run,
            {"loss": "BatchAllTripletLoss", "train": "sentences"},
            "too-few",
            "same score or label",
        ),
        (run, {"loss": "CoSENTLoss", "train": "pairs.csv"}, "wrong-kind", "data add"),
        (run, {"loss": "GISTEmbedLoss", "guide": None}, "missing", "guide"),
        (run, {"loss": "CoSENTLoss", "guide": "minilm"}, "conflict", "CoSENTLoss"),
        (run, {"loss": "MSELoss", "guide": "random:7"}, "mismatch", "7 dimensions"),
        (run, {"loss": "CoSENTLoss", "matryoshka": "9999"}, "too-large", "9999"),
        (run, {"loss": "CoSENTLoss", "matryoshka": "8;4"}, "invalid", "8;4"),
        (run, {"loss": "MSELoss", "matryoshka": "8"}, "conflict", "one length"),
        (run, {"loss": "CoSENTLoss", "processes": 2}, "unsupported", "one process"),
        (run, {"loss": "ContrastiveTensionLoss", "processes": 2}, "unsupported", "one process"),
        (run, {"loss": "NoLoss", "guide": None, "train": "pairs"}, "invalid", "NoLoss"),
        (distilled, {"dims": 4096}, "too-large", "4096"),
        (distilled, {"base": "wordllama"}, "wrong-kind", "wordllama"),
        (distilled, {"base": "words:20"}, "wrong-kind", "words:20"),
        (distilled, {"base": "new:layers=1"}, "conflict", "random"),
        (distilled, {"processes": 2}, "conflict", "one process"),
        (distilled, {"objective": "unsup", "layers": 99}, "too-large", "99"),
    ],
)
def test_what_cannot_be_used_is_said_before_it_starts(tmp_path, base, made, changes, code, named):
    """By a loss, or as the base of a smaller or static encoder."""
    with refused(code, named):
        made(tmp_path, base, **changes)
    assert not (tmp_path / "encoder").exists()


def test_labels_and_judgements_become_pairs(tmp_path):
    """Of each sentence as many that have its label as have not, the same ones again.

    Queries with their relevant documents, of the training split alone.
    """
    judged = list(open_examples("judged", "sup", Data(), folder=tmp_path))
    assert judged == [(A[0], "one"), (A[0], "two"), (A[1], "two")]
    made = [
        list(open_examples("labelled", "st", Data(), loss="ContrastiveLoss", folder=tmp_path))
        for _ in range(2)
    ]
    label = dict(zip([*A, *B], "a" * N + "b" * N, strict=True))
    assert made[0] == made[1] and len(made[0]) == 2 * N * 2 * 10
    assert all(a != b and (label[a] == label[b]) == (mark == "1") for a, b, mark in made[0])
    assert sum(mark == "1" for *_, mark in made[0]) == len(made[0]) / 2


def test_labels_of_pairs_may_be_words(tmp_path, monkeypatch):
    """Those that the task knows; a pair that is neither is left out."""
    words = ["Yes", "no", "neutral", "entailment", "contradiction", "1", "0", "duplicate"]
    pairs = replace(DATA["labelled-pairs"], name="worded", labels=words)
    monkeypatch.setitem(DATA, "worded", pairs)
    made = open_examples("worded", "st", Data(), loss="ContrastiveLoss", folder=tmp_path)
    assert [mark for *_, mark in made] == ["1", "0", "1", "0", "1", "0", "1"]
    monkeypatch.setitem(DATA, "worded", replace(pairs, labels=["maybe", *words[1:]]))
    with refused("wrong-kind", "or yes or no"):
        open_examples("worded", "st", Data(), loss="ContrastiveLoss", folder=tmp_path)


# --- smaller and static encoders ---


def test_a_static_encoder_is_the_mean_of_its_tokens(tmp_path, base):
    """It loads in both libraries, is scored beside its teacher, and once made it stays."""
    events = distilled(tmp_path, base, dims=8, name="quick")
    begun, *_, over = events
    assert begun.kind == "started" and [e.step for e in events if e.kind == "looked"] == [0, 1]
    assert over.base_score is not None and over.best_score is not None
    made, theirs = load(over.encoder), SentenceTransformer(over.out, device="cpu")
    texts = distinct(5, 4)
    vectors = made.encode([*texts, ""])
    assert vectors.shape == (5, 8) and not vectors[-1].any() and np.ptp(vectors[:4]) > 0
    np.testing.assert_allclose(vectors, theirs.encode([*texts, ""]), atol=1e-6)
    table = theirs[0].embedding.weight.detach().numpy()
    ids = theirs[0].tokenizer.encode(texts[0], add_special_tokens=False).ids
    np.testing.assert_allclose(vectors[0], table[ids].mean(axis=0), atol=1e-6)
    assert distilled(tmp_path, base, dims=8, name="quick")[-1].encoder == over.encoder
    again = distilled(tmp_path, base, dims=8, out=str(tmp_path / "again"))[-1].encoder
    np.testing.assert_array_equal(load(again).encode(texts), vectors[:4])


def test_the_regression_is_that_of_scikit_learn(monkeypatch, rng):
    """Ridge without an intercept, on what the first three steps leave; no text, no change."""
    x, y = rng.random((40, 12)), rng.normal(size=(40, 3))
    monkeypatch.setattr(static, "ITERATIONS", 60)
    oracle = Ridge(alpha=static.RIDGE, fit_intercept=False, solver="cholesky").fit(x, y)
    np.testing.assert_allclose(static._ridge(x, y), oracle.coef_.T, atol=1e-6)
    assert not static._ridge(x, np.zeros((40, 3))).any()


def test_layers_are_dropped_and_the_rest_goes_on(tmp_path, base):
    """Evenly spaced ones stay, with the base's weights; the smaller model learns from the whole."""
    whole = f"dir:{base}"
    settings = {"loss": "MSELoss", "guide": whole, "dev": None, "steps": 1, "learning_rate": 1e-9}
    *_, over = distilled(tmp_path, base, "st", layers=1, **settings)
    small, large = (AutoModel.from_pretrained(name) for name in (over.out, base))
    assert len(small.encoder.layer) == small.config.num_hidden_layers == 1
    ours, theirs = (model.encoder.layer[0].output.dense.weight for model in (small, large))
    np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-6)
    assert load(over.encoder).dim == load(whole).dim


# --- mined negatives ---


TEXTS = distinct(11, 90)
PAIRS = [*zip(TEXTS[:20], TEXTS[20:40], strict=True), *zip(TEXTS[:5], TEXTS[40:45], strict=True)]
OTHERS = TEXTS[45:]


@pytest.fixture(scope="module")
def static_folder(tmp_path_factory, base):
    """A model of random vectors of words, which differ more than those of a fresh transformer."""
    torch.manual_seed(0)
    words = modules.StaticEmbedding(SentenceTransformer(base).tokenizer, embedding_dim=8)
    folder = str(tmp_path_factory.mktemp("static"))
    SentenceTransformer(modules=[words, modules.Normalize()], device="cpu").save(folder)
    return folder


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
def test_negatives_are_those_of_sentence_transformers(static_folder, ours, theirs):
    options = {name: value for name, value in ours.items() if name not in ("margin", "negatives")}
    table = Dataset.from_dict(
        dict(zip(("anchor", "positive"), zip(*PAIRS, strict=True), strict=True))
    )
    wanted = mine_hard_negatives(
        table,
        SentenceTransformer(static_folder, device="cpu"),
        corpus=OTHERS,
        num_negatives=ours["negatives"],
        output_scores=True,
        verbose=False,
        **options,
        **theirs,
    )
    made = list(mine(PAIRS, OTHERS, load(f"dir:{static_folder}"), Mining(**ours)))
    assert made and len(made) == len(wanted)
    assert {
        (one.anchor, one.positive, one.negative): (one.positive_score, one.negative_score)
        for one in made
    } == {
        (row["anchor"], row["positive"], row["negative"]): pytest.approx(row["scores"], abs=1e-6)
        for row in wanted
    }


@pytest.mark.parametrize(
    "wrong", [{"negatives": 0}, {"range_min": -1}, {"range_min": 5, "range_max": 6}]
)
def test_ranks_that_hold_no_negative_are_refused(wrong):
    with refused("invalid", "do not fit"):
        Mining(**wrong)
