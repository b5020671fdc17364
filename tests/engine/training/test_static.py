"""Smaller and static: what is distilled, against what the definitions say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import Ridge
from transformers import AutoModel

from tests.errors import refused
from tests.fakes.runs import TinyCatalog, distinct, sentences, tiny_spec
from theodolite.engine.encoders import load
from theodolite.engine.train import train
from theodolite.engine.training import static


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A small encoder with a vocabulary of its own."""
    folder = tmp_path_factory.mktemp("base")
    out = str(folder / "base")
    list(train(tiny_spec(folder, "mlm", out=out, pooling="avg", steps=1, dev=None), TinyCatalog()))
    return f"dir:{out}"


def run(folder, base, **changes):
    """Events of a distillation."""
    settings = {"base": base, "train": str(sentences(folder)), "dims": 8, "dev": "graded"}
    return list(train(tiny_spec(folder, "static", **settings | changes), TinyCatalog()))


def test_a_static_encoder_is_the_mean_of_its_tokens(tmp_path, base):
    """It loads in both libraries, is scored beside its teacher, and once made it stays."""
    events = run(tmp_path, base, name="quick")
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
    said = json.loads((tmp_path / "encoder" / "theodolite.json").read_text("utf-8"))
    assert said["spec"]["objective"] == "static"
    assert "StaticEmbedding" in (tmp_path / "encoder" / "modules.json").read_text("utf-8")
    assert run(tmp_path, base, name="quick")[-1].encoder == over.encoder
    again = run(tmp_path, base, out=str(tmp_path / "again"))[-1].encoder
    np.testing.assert_array_equal(load(again).encode(texts), vectors[:4])


def test_the_regression_is_that_of_scikit_learn(monkeypatch):
    """Ridge without an intercept, on what the first three steps leave; no text, no change."""
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 12)), rng.normal(size=(40, 3))
    monkeypatch.setattr(static, "ITERATIONS", 60)
    oracle = Ridge(alpha=static.RIDGE, fit_intercept=False, solver="cholesky").fit(x, y)
    np.testing.assert_allclose(static._ridge(x, y), oracle.coef_.T, atol=1e-6)
    assert not static._ridge(x, np.zeros((40, 3))).any()


def test_layers_are_dropped_and_the_rest_goes_on(tmp_path, base):
    """Evenly spaced ones stay, with the base's weights; the smaller model learns from the whole."""
    settings = {"train": str(sentences(tmp_path)), "loss": "MSELoss", "guide": base, "dev": None}
    spec = tiny_spec(tmp_path, "st", base=base, layers=1, steps=1, learning_rate=1e-9, **settings)
    over = list(train(spec, TinyCatalog()))[-1]
    small, whole = (AutoModel.from_pretrained(name) for name in (over.out, base[4:]))
    assert len(small.encoder.layer) == small.config.num_hidden_layers == 1
    ours, theirs = (model.encoder.layer[0].output.dense.weight for model in (small, whole))
    np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-6)
    assert load(over.encoder).dim == load(base).dim


@pytest.mark.parametrize(
    ("objective", "changes", "code", "named"),
    [
        ("static", {"dims": 4096}, "too-large", "4096"),
        ("static", {"base": "wordllama"}, "wrong-kind", "wordllama"),
        ("static", {"base": "words:20"}, "wrong-kind", "words:20"),
        ("static", {"base": "new:layers=1"}, "conflict", "random"),
        ("static", {"processes": 2}, "conflict", "one process"),
        ("unsup", {"layers": 99}, "too-large", "99"),
        ("st", {"loss": "MSELoss", "guide": "random:7"}, "mismatch", "7 dimensions"),
    ],
)
def test_what_cannot_be_distilled_is_refused(tmp_path, base, objective, changes, code, named):
    settings = {"base": base, "train": str(sentences(tmp_path)), "dev": None}
    with refused(code, named):
        list(train(tiny_spec(tmp_path, objective, **settings | changes), TinyCatalog()))
    assert not (tmp_path / "encoder").exists()
