"""An encoder of ours is a model that mteb takes: by its protocol, its own checks and its scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pytest

import theodolite as th
from theodolite.engine.encoders import load
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import package
from theodolite.engine.mteb.model import Model

PAIRS = [
    ("a dog runs on the grass", "a puppy plays in the meadow", 4.5),
    ("a dog runs on the grass", "the stock market fell", 0.2),
    ("she reads a book", "a woman is reading", 4.0),
    ("he plays the guitar", "a man cooks rice", 1.0),
    ("the train was late", "the railway was delayed", 3.5),
]


def similarity_task() -> Any:
    """A task of mteb's own class with a handful of pairs in memory."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    class Few(AbsTaskSTS):
        metadata = TaskMetadata(
            name="Few",
            description="A few pairs.",
            type="STS",
            eval_langs=["eng-Latn"],
            main_score="cosine_spearman",
            dataset={"path": "none", "revision": "1"},
        )

    left, right, gold = zip(*PAIRS, strict=True)
    table = {"sentence1": list(left), "sentence2": list(right), "score": list(gold)}
    task = Few()
    task.dataset, task.data_loaded = DatasetDict({"test": Dataset.from_dict(table)}), True
    return task


def run(model: Any, cache: Any = None) -> Any:
    """The one result of mteb's own run."""
    (found,) = mteb.evaluate(
        model, similarity_task(), cache=cache, show_progress_bar=False
    ).task_results
    return found


def test_mteb_takes_our_encoder_as_a_model() -> None:
    """`mteb.evaluate` accepts it, and gives what the cosines of its vectors give."""
    from scipy.stats import spearmanr

    left, right, gold = zip(*PAIRS, strict=True)
    a, b = (load("wordllama").encode(list(side)).astype(float) for side in (left, right))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    score = run(th.mteb("wordllama")).get_score()
    assert score == pytest.approx(spearmanr(gold, cosines).statistic, abs=1e-6)


def test_a_model_is_told_apart_by_the_fingerprint_of_its_encoder() -> None:
    """The name has a slash, as mteb wants it, and the revision changes with the spec."""
    plain, other = th.mteb("random:16"), th.mteb("random:32")
    assert plain.mteb_model_meta.name == "theodolite/random:16"
    assert plain.mteb_model_meta.revision == load("random:16").fingerprint
    assert plain.mteb_model_meta.revision != other.mteb_model_meta.revision
    assert isinstance(plain, mteb.EncoderProtocol)


def test_its_own_cache_of_results_answers_only_the_same_encoder(tmp_path: Path) -> None:
    """Run twice, mteb measures once; another encoder is measured anew."""
    cache = mteb.ResultCache(tmp_path)
    for spec, encoded in (("random:16", True), ("random:16", False), ("random:32", True)):
        seen: list[int] = []
        run(Model(load(spec), seen.append), cache)
        assert bool(seen) == encoded


def test_progress_adds_up_over_calls_and_may_stop_it() -> None:
    """Each call of mteb's goes on counting, and what the listener raises comes out."""
    seen: list[int] = []
    run(Model(load("random:16"), seen.append))
    assert seen == sorted(seen)
    assert seen[-1] == 2 * len(PAIRS)

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Model(load("random:16"), stop))


def test_single_vectors_have_a_similarity_too() -> None:
    """Summarization asks for one of two vectors of one dimension."""
    one, other = np.arange(8.0), np.ones(8)
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert float(th.mteb("random:8").similarity(one, other)) == pytest.approx(expected, abs=1e-6)


def test_without_mteb_a_person_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they are where another line of versions is installed, or one that lacks what is asked."""
    monkeypatch.setattr(package, "version", lambda: None)
    with pytest.raises(UserError, match=r"pip install 'theodolite\[mteb\]'"):
        th.mteb("random:8")
    monkeypatch.setattr(package, "version", lambda: "9.0.1")
    with pytest.raises(UserError, match=r"mteb 9\.0\.1 is installed.*theodolite\[mteb\]"):
        th.mteb("random:8")
    monkeypatch.setattr(package, "version", lambda: "2.99.0")
    with pytest.raises(UserError, match=r"mteb 2\.99\.0 has no abstasks\.AbsTaskTelepathy"):
        package.lazy_import("abstasks.AbsTaskTelepathy")
    assert "2.99.0" in package.caution()[0]
