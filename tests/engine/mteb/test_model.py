"""An encoder of ours is a model that mteb takes: by its protocol, its own checks and its scores."""

from __future__ import annotations

from pathlib import Path

import mteb
import numpy as np
import pytest

import theodolite as th
from tests.errors import refused
from tests.fakes.mteb_tasks import PAIRS, by_mteb, similarity_task
from theodolite.engine.encoders import load
from theodolite.engine.mteb import package
from theodolite.engine.mteb.model import Model


def test_mteb_takes_our_encoder_as_a_model() -> None:
    """`mteb.evaluate` accepts it, and gives what the cosines of its vectors give."""
    from scipy.stats import spearmanr

    left, right, gold = zip(*PAIRS, strict=True)
    a, b = (load("wordllama").encode(list(side)).astype(float) for side in (left, right))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    score = by_mteb(th.mteb("wordllama"), similarity_task()).get_score()
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
        by_mteb(Model(load(spec), seen.append), similarity_task(), cache)
        assert bool(seen) == encoded


def test_progress_adds_up_over_calls_and_may_stop_it() -> None:
    """Each call of mteb's goes on counting, and what the listener raises comes out."""
    seen: list[int] = []
    by_mteb(Model(load("random:16"), seen.append), similarity_task())
    assert seen == sorted(seen)
    assert seen[-1] == 2 * len(PAIRS)

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_mteb(Model(load("random:16"), stop), similarity_task())


def test_single_vectors_have_a_similarity_too() -> None:
    """Summarization asks for one of two vectors of one dimension."""
    one, other = np.arange(8.0), np.ones(8)
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert float(th.mteb("random:8").similarity(one, other)) == pytest.approx(expected, abs=1e-6)


def test_without_mteb_a_person_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they are where another line of versions is installed, or one that lacks what is asked."""
    for version, named in ((None, "theodolite[mteb]"), ("9.0.1", "mteb 9.0.1")):
        monkeypatch.setattr(package, "version", lambda version=version: version)
        with refused("unsupported", named, "pip install"):
            th.mteb("random:8")
    monkeypatch.setattr(package, "version", lambda: "2.99.0")
    with refused("unsupported", "2.99.0", "abstasks.AbsTaskTelepathy"):
        package.lazy_import("abstasks.AbsTaskTelepathy")
    assert "2.99.0" in package.caution()[0]
