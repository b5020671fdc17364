"""Trained tasks, captions of images too: what is measured, in which order, and what cannot be."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes import folder
from tests.fakes.encoders import HashEncoder
from theodolite.engine import evaluate, senteval
from theodolite.engine.classifiers import validation
from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import Fitted, SolverSetting
from theodolite.engine.datasets import (
    CaptionPart,
    Captions,
    Catalog,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    ScoredPairs,
)
from theodolite.engine.progress import nobody
from theodolite.engine.results import Score
from theodolite.engine.stats.bootstrap import bootstrap, main_sample
from theodolite.engine.tasks import Measurement, captions, relatedness, transfer

QUICK = SolverSetting(
    "columns", folds=3, batch=8, passes=50, max_passes=100
)  # small sets need passes


def separated(labels: list[str], width: int = 4) -> np.ndarray:
    """Vectors from which the label can be read."""
    _, number = np.unique(np.array(labels), return_inverse=True)
    return np.eye(width, dtype=np.float32)[number] * 20


def questions(n: int = 60) -> LabelledSentences:
    """Sentences of different lengths with three labels, train and test."""
    labels = [("a", "b", "c")[i % 3] for i in range(n)]
    sentences = [" ".join(["word"] * (1 + i * 7 % 5)) + f" {i}" for i in range(n)]
    return LabelledSentences("questions", sentences, labels, ["train"] * 40 + ["test"] * (n - 40))


def test_examples_are_told_in_the_order_of_the_data_set() -> None:
    """Samples are sorted for training; the two test sentences with a lying vector are found."""
    data = questions()
    vectors = separated(data.labels)
    vectors[[43, 57]] = vectors[[44, 58]]
    found = transfer.measure(data, vectors, QUICK, 1111, nobody)
    assert np.flatnonzero(~found.examples["correct"]).tolist() == [3, 17]
    assert found.scores[0] == Score("test", None, "accuracy", pytest.approx(90.0), 20, main=True)
    zeros = transfer.measure(data, np.zeros((60, 4), np.float32), QUICK, 1111, nobody)
    assert 0 < zeros.scores[0].score < 60, "a zero vector is what a sentence of unknown words is"


def test_nested_folds_tell_every_sentence_once() -> None:
    """Without splits each sentence is judged by the classifier that has not seen it."""
    data = replace(questions(90), splits=[])
    vectors = separated(data.labels)
    vectors[5] = vectors[6]
    found = transfer.measure(data, vectors, QUICK, 1111, nobody)
    assert np.flatnonzero(~found.examples["correct"]).tolist() == [5]
    assert found.scores[0] == Score(
        "all", None, "accuracy", pytest.approx(100 * 89 / 90, abs=0.02), 90, main=True
    )
    assert (found.details["fits"], len(found.details["fold_test"])) == (3 * 4 * 3 + 3 * 4, 3)


def test_the_examples_of_up_to_a_hundred_classes_are_counted() -> None:
    """Of more, only how many classes there are."""
    quick = replace(QUICK, max_passes=1, passes=1)
    for n, told in ((100, dict.fromkeys(sorted(map(str, range(100))), 1)), (101, {"classes": 101})):
        labels, splits = [str(i) for i in range(n)] * 3, ["train", "dev", "test"]
        data = LabelledSentences("x", labels, labels, [s for s in splits for _ in range(n)])
        found = transfer.measure(data, np.zeros((3 * n, 1), np.float32), quick, 1, nobody)
        assert found.details["labels"] == told


def test_word_content_is_linear_whatever_is_asked_for(rng: np.random.Generator) -> None:
    """As in the reference: a hidden layer changes other tasks, not this one."""
    labels = [str(i % 4) for i in range(120)]
    vectors = separated(labels) / 20 + rng.normal(size=(120, 4)).astype(np.float32)
    splits = ["train"] * 60 + ["dev"] * 30 + ["test"] * 30
    for name, equal in (("WordContent", True), ("Tense", False)):
        data = LabelledSentences(name, [f"s {i}" for i in range(120)], labels, splits)
        plain, hidden = (
            transfer.measure(data, vectors, setting, 1, nobody).examples["correct"]
            for setting in (QUICK, replace(QUICK, hidden=8))
        )
        assert (plain == hidden).all() == equal


@pytest.mark.parametrize(
    ("labels", "splits", "code", "named"),
    [
        (["x"] * 30, ["train", "dev", "test"] * 10, "too-few", ["'x'"]),
        (["x"] * 26 + ["y"] * 4, [], "too-few", ["4 training", "'y'", "10 folds"]),
        (
            ["x"] * 18 + ["y"] * 4 + ["x"] * 8,
            ["train"] * 22 + ["test"] * 8,
            "too-few",
            ["4 training", "'y'", "10 folds"],
        ),
        (["x", "y", "z"] * 10, [], "too-few", ["27 examples", "9 of", "20"]),
        (["x", "y"] * 14 + ["x", "z"], ["train", "dev"] * 14 + ["test"] * 2, "mismatch", ["'y'"]),
        (["x", "y"] * 15, ["train"] * 20 + ["dev"] * 10, "invalid", ["train, dev"]),
        (["x", "y"] * 15, ["train"] * 20 + ["extra"] * 10, "invalid", ["train, extra"]),
    ],
)
def test_what_cannot_be_measured_is_said(
    labels: list[str], splits: list[str], code: str, named: list[str]
) -> None:
    """One class, too few examples, unknown labels, missing and strange splits."""
    data = LabelledSentences("mine", [f"s {i}" for i in range(30)], labels, splits)
    with refused(code, "mine", *named):
        transfer.measure(data, np.ones((30, 4), np.float32), SolverSetting("columns"), 1, nobody)


@pytest.mark.parametrize("choose_znorm", [False, True])
def test_the_smallest_set_that_folds_leave_something_of(choose_znorm: bool) -> None:
    """Of 30, twenty are left to learn from, and one of them is the 5 %; of 28 none would be."""
    setting, labels = replace(QUICK, choose_znorm=choose_znorm), ["x", "y"] * 15
    data, fewer = (
        LabelledSentences("mine", [f"s {i}" for i in range(n)], labels[:n]) for n in (30, 28)
    )
    assert transfer.measure(data, separated(labels), setting, 1, nobody).scores[0].score == 100
    with refused("too-few", "18 examples"):
        transfer.measure(fewer, separated(labels[:28]), setting, 1, nobody)


def test_relatedness_needs_splits_and_different_vectors() -> None:
    """A year of STS has no dev split; a constant encoder gives no correlation to select by."""
    part = PairPart(("a", "b c", "d"), ("e", "f", "g h"), np.array([1.0, 3.0, 5.0]))
    whole = ScoredPairs("mine", dict.fromkeys(("train", "dev", "test"), part), "splits")
    for data, code, named in (
        (ScoredPairs("STS13", {"FNWN": part}, "subsets"), "missing", ("STS13", "train")),
        (replace(whole, parts_are="subsets"), "missing", ("mine", "splits")),
        (whole, "failed", ("mine",)),
    ):
        with refused(code, *named):
            vectors = np.ones((len(data.sentences), 4), np.float32)
            relatedness.measure(data, vectors, "pearson", 1, nobody)


@pytest.mark.parametrize("protocol", ["senteval", "pitfalls", "pitfalls-mlp"])
def test_progress_goes_on_while_classifiers_are_trained(tmp_path: Path, protocol: str) -> None:
    """Encoding is the first half; no share is less than the one before, and the last one is all."""
    progress: list[tuple[int, int]] = []
    (result,) = evaluate(
        HashEncoder(),
        "MR",
        protocol=protocol,
        data=folder.write(tmp_path),
        progress=lambda *at: progress.append(at),
    )
    assert (result.error, result.main.n, result.protocol) == (None, 80, protocol)
    shares = [done / total for done, total in progress]
    assert shares == sorted(shares) and (shares[0], shares[-1]) == (0, 1)
    assert 0.5 in shares, "the end of encoding"
    assert len({share for share in shares if share > 0.5}) > 5


def test_the_seed_moves_the_folds_of_train_and_not_the_nested_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nested folds are always those of seed 1111, as in the reference: another quirk kept."""
    solved = Mock(
        side_effect=lambda fits, then=0: [
            Fitted(0.5, 1, np.zeros(0 if fit.test is None else len(fit.test), int)) for fit in fits
        ]
    )
    monkeypatch.setattr(validation.FoldTrainer, "solve", solved)
    features = Features(np.zeros((60, 2), np.float32), np.arange(60))
    for seed in (1111, 7):
        trainer = validation.FoldTrainer(features, np.arange(60) % 2, QUICK, seed, nobody)
        validation.cross_validate(trainer)
        validation.folds(trainer, np.arange(50), np.arange(50, 60))
    seen = [fit.train.tolist() for call in solved.call_args_list for fit in call.args[0]]
    nested, half = 3 * 4 * 3 + 3 * 4, len(seen) // 2
    assert seen[half:][:nested] == seen[:nested]
    assert seen[half + nested :] != seen[nested:half]


def test_pairs_are_judged_by_their_difference_and_product(rng: np.random.Generator) -> None:
    """The features are symmetric: with the sides swapped the numbers are the same."""
    vectors = rng.normal(size=(90, 6)).astype(np.float32)
    left, right = np.arange(0, 90), rng.permutation(90)
    same = ["yes" if a @ b > 0 else "no" for a, b in zip(vectors, vectors[right], strict=True)]
    splits = ["train"] * 50 + ["dev"] * 20 + ["test"] * 20
    data = LabelledPairs("pairs", [f"s{i}" for i in range(90)], left, right, same, splits)
    swapped = replace(data, left=right, right=left)
    one, other = (transfer.measure(d, vectors, QUICK, 1, nobody) for d in (data, swapped))
    assert one.scores == other.scores
    assert one.scores[0].score > 60


# --- caption-image retrieval ---


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
    return captions.measure(dataset(), seen(dataset(), 0.8), 1111, nobody)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features beside captions."""
    parts = zip(("train", "valid", "test"), dataset().parts.values(), strict=True)
    files = {
        f"downstream/COCO/{stem}.{ending}": content
        for stem, p in parts
        for ending, content in (
            ("json", json.dumps(np.reshape(p.captions, (-1, 5)).tolist()).encode()),
            ("npy", folder.npy(p.images)),
        )
    }
    return folder.files(tmp_path_factory.mktemp("data"), files)


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
    assert 20 < main.score < 99
    assert [np.mean(recalls), 100 * examples["recall"].mean()] == pytest.approx([main.score] * 2)
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
def test_what_captions_cannot_be_measured_is_said(
    data: Captions, code: str, named: list[str]
) -> None:
    """Too few to draw contrasts from, and splits that are not there."""
    with refused(code, "COCO", *named):
        captions.measure(data, np.ones((len(data.sentences), 4), np.float32), 1, nobody)
    # In the smallest data one image is always told from none; a collapsed encoder is no error.
    data = dataset(26, 1, 1)
    found = captions.measure(data, np.ones((len(data.sentences), 4), np.float32), 1, nobody)
    assert found.scores[0].score == 100.0


@pytest.mark.usefixtures("no_folder")
def test_evaluation_end_to_end(root: Path) -> None:
    """By its name and in the suite, under every protocol of SentEval and no other."""
    catalog = Catalog(root)
    (result,) = evaluate(HashEncoder(), "senteval", data=catalog)
    assert (result.error, result.protocol, result.main.metric) == (None, "senteval", "mean_recall")
    assert result.data_hash == catalog.load("COCO").hash
    (exact,) = evaluate(HashEncoder(), result.task, protocol="senteval-exact", data=catalog)
    assert exact.main.score == result.main.score, "no setting of a classifier touches it"

    def stop(done: int, total: int) -> None:
        """Not only the encoding, which is the first half."""
        if 0.5 < done / total < 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(evaluate(HashEncoder(), "ImageCaptionRetrieval", data=catalog, progress=stop))


def test_the_door_returns_the_dictionary_of_senteval(root: Path, measured: Measurement) -> None:
    """Recalls and median of either direction; dev is the sum of six, as in the original."""
    vectors = dict(zip(dataset().sentences, seen(dataset(), 0.8), strict=True))

    def batcher(params: object, batch: list[list[str]]) -> np.ndarray:
        return np.array([vectors[" ".join(tokens)] for tokens in batch])

    params = {"task_path": str(root), "classifier": {"nhid": 0}}
    results = senteval.engine.SE(params, batcher).eval(["ImageCaptionRetrieval"])
    found = results["ImageCaptionRetrieval"]
    to_text, to_image = found.pop("acc")
    dev = pytest.approx(6 * measured.scores[-1].score)
    assert found == {"devacc": dev, "ndev": 60, "ntest": 70}
    assert 100 < found["devacc"] <= 600
    assert np.mean([*to_text[:3], *to_image[:3]]) == pytest.approx(measured.scores[0].score)
    assert to_text[3] == np.floor(np.median(measured.examples["caption_rank"]))
