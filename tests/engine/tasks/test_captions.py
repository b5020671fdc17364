"""Caption-image retrieval as a task: scores, examples, and what cannot be measured."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes import folder
from tests.fakes.encoders import HashEncoder
from theodolite.engine import evaluate
from theodolite.engine.datasets import CaptionPart, Captions, Catalog
from theodolite.engine.errors import Code
from theodolite.engine.progress import nobody
from theodolite.engine.stats.bootstrap import bootstrap, main_sample
from theodolite.engine.tasks import Measurement, captions


def part(n: int, seed: int) -> CaptionPart:
    """Images whose captions name them."""
    images = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)
    return CaptionPart(tuple(f"photo {seed} {i} {k}" for i in range(n) for k in range(5)), images)


def dataset(train: int = 30, dev: int = 12, test: int = 14) -> Captions:
    """A small COCO."""
    sizes = {"train": train, "dev": dev, "test": test}
    return Captions("COCO", {name: part(n, i) for i, (name, n) in enumerate(sizes.items())})


def seen(data: Captions, noise: float) -> np.ndarray:
    """Vectors of captions that show their image."""
    images = np.concatenate([p.images for p in data.parts.values()])
    random = np.random.default_rng(5).normal(size=(5 * len(images), 6))
    return (np.repeat(images, 5, axis=0) + noise * random).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def narrow() -> Iterator[None]:
    """A space of 50 dimensions in place of 1000, which takes seconds to train."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("theodolite.engine.classifiers.ranking.DIM", 50)
        yield


@pytest.fixture(scope="module")
def measured() -> Measurement:
    """What is found of vectors that show their image."""
    data = dataset()
    return captions.measure(data, seen(data, 0.8), 1111, nobody)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features beside captions."""
    root = tmp_path_factory.mktemp("data")
    for stem, p in zip(("train", "valid", "test"), dataset().parts.values(), strict=True):
        five = json.dumps(np.reshape(p.captions, (-1, 5)).tolist())
        folder.files(root, {f"downstream/COCO/{stem}.json": five})
        np.save(root / f"downstream/COCO/{stem}.npy", p.images)
    return root


def test_the_main_score_is_the_mean_of_six_recalls(measured: Measurement) -> None:
    """And of the examples, so that encoders can be compared image by image."""
    examples, details = measured.examples, measured.details
    scores = {(s.split, s.metric): s for s in measured.scores}
    (main,) = (s for s in measured.scores if s.main)
    recalls = []
    for side, rank in (("image_to_text", "caption_rank"), ("text_to_image", "image_rank")):
        ranks = examples[rank]
        assert ranks.min() >= 1
        for k in (1, 5, 10):
            recalls.append(scores["test", f"{side}_recall_at_{k}"].score)
            assert recalls[-1] == pytest.approx(100 * np.mean(ranks <= k))
        median = scores["test", f"{side}_median_rank"]
        assert (median.score, median.unit) == (np.floor(np.median(ranks)), "rank")
    assert main.score == pytest.approx(np.mean(recalls))
    assert 20 < main.score < 99
    assert main.score == pytest.approx(100 * examples["recall"].mean())
    counts = [scores["test", "text_to_image_recall_at_1"].n, scores["dev", "mean_recall"].n]
    assert [main.n, *counts] == [14, 70, 12]
    draws = bootstrap(main_sample(examples, details), resamples=200)
    assert draws.mean() == pytest.approx(main.score, abs=3)
    # Fewer images than five folds compare with no published score, and a note says so.
    assert details["fold_images"] == [14] and "14 images" in details["notes"][0]


@pytest.mark.parametrize(
    ("data", "code", "named"),
    [
        (dataset(train=25), "too-few", ["25 training images", "26"]),
        (dataset(dev=0), "missing", ["in dev."]),
        (Captions("COCO", {"train": part(30, 1)}), "missing", ["dev and test"]),
    ],
)
def test_what_cannot_be_measured_is_said(data: Captions, code: Code, named: list[str]) -> None:
    """Too few to draw contrasts from, and splits that are not there."""
    with refused(code, "COCO", *named):
        captions.measure(data, np.ones((len(data.sentences), 4), np.float32), 1, nobody)


def test_the_smallest_data_and_equal_vectors_are_measured() -> None:
    """One image to tell from none is always told; a collapsed encoder is no error."""
    data = dataset(26, 1, 1)
    found = captions.measure(data, np.ones((len(data.sentences), 4), np.float32), 1, nobody)
    assert found.scores[0].score == 100.0


def test_evaluation_end_to_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name and in the suite, under every protocol of SentEval and no other."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    catalog = Catalog(root)
    (result,) = evaluate(HashEncoder(), "senteval", data=catalog)
    assert (result.error, result.protocol, result.main.metric) == (None, "senteval", "mean_recall")
    assert result.data_hash == catalog.load("COCO").hash
    (exact,) = evaluate(HashEncoder(), result.task, protocol="senteval-exact", data=catalog)
    assert exact.main.score == result.main.score, "no setting of a classifier touches it"


def test_progress_can_stop_the_training(root: Path) -> None:
    """Not only the encoding, which is the first half."""

    def stop(done: int, total: int) -> None:
        if 0.5 < done / total < 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(evaluate(HashEncoder(), "ImageCaptionRetrieval", data=Catalog(root), progress=stop))


def test_the_door_returns_the_dictionary_of_senteval(root: Path, measured: Measurement) -> None:
    """Recalls and median of either direction; dev is the sum of six, as in the original."""
    import theodolite.engine.senteval as senteval

    data = dataset()
    vectors = dict(zip(data.sentences, seen(data, 0.8), strict=True))

    def batcher(params: object, batch: list[list[str]]) -> np.ndarray:
        return np.array([vectors[" ".join(tokens)] for tokens in batch])

    params = {"task_path": str(root), "classifier": {"nhid": 0}}
    results = senteval.engine.SE(params, batcher).eval(["ImageCaptionRetrieval"])
    found = results["ImageCaptionRetrieval"]
    assert set(found) == {"devacc", "acc", "ndev", "ntest"}
    assert (found["ndev"], found["ntest"]) == (60, 70)
    assert 100 < found["devacc"] <= 600
    assert found["devacc"] == pytest.approx(6 * measured.scores[-1].score)
    to_text, to_image = found["acc"]
    assert np.mean([*to_text[:3], *to_image[:3]]) == pytest.approx(measured.scores[0].score)
    assert to_text[3] == np.floor(np.median(measured.examples["caption_rank"]))
