"""Trained tasks: what is measured, in which order it is told, and what cannot be measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.encoders import HashEncoder, NaNEncoder
from theodolite.engine import evaluate
from theodolite.engine.classifiers.setting import SolverSetting
from theodolite.engine.datasets import LabelledPairs, LabelledSentences
from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.engine.progress import nobody
from theodolite.engine.results import Result
from theodolite.engine.tasks import relatedness, transfer

QUICK = SolverSetting(
    "columns", folds=3, batch=8, passes=100, max_passes=200
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
    assert found.scores[0].score == pytest.approx(90.0)
    assert (found.scores[0].split, found.scores[0].n) == ("test", 20)


def test_nested_folds_tell_every_sentence_once() -> None:
    """Without splits each sentence is judged by the classifier that has not seen it."""
    data = replace(questions(90), splits=[])
    vectors = separated(data.labels)
    vectors[5] = vectors[6]
    found = transfer.measure(data, vectors, QUICK, 1111, nobody)
    assert np.flatnonzero(~found.examples["correct"]).tolist() == [5]
    assert found.scores[0].score == pytest.approx(100 * 89 / 90, abs=0.02)
    assert found.details["fits"] == 3 * 4 * 3 + 3 * 4
    assert (found.scores[0].split, len(found.details["fold_test"])) == ("all", 3)


def test_pairs_are_judged_by_their_difference_and_product() -> None:
    """The features are symmetric: with the sides swapped the numbers are the same."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(90, 6)).astype(np.float32)
    left, right = np.arange(0, 90), random.permutation(90)
    same = ["yes" if a @ b > 0 else "no" for a, b in zip(vectors, vectors[right], strict=True)]
    splits = ["train"] * 50 + ["dev"] * 20 + ["test"] * 20
    names = [f"s{i}" for i in range(90)]
    data = LabelledPairs("pairs", names, left, right, same, splits)
    swapped = LabelledPairs("pairs", names, right, left, same, splits)
    one, other = (transfer.measure(d, vectors, QUICK, 1, nobody) for d in (data, swapped))
    assert one.scores == other.scores
    assert one.scores[0].score > 60


def test_word_content_is_linear_whatever_is_asked_for() -> None:
    """As in the reference: a hidden layer changes other tasks, not this one."""
    random = np.random.default_rng(0)
    labels = [str(i % 4) for i in range(120)]
    vectors = separated(labels) / 20 + random.normal(size=(120, 4)).astype(np.float32)
    splits = ["train"] * 60 + ["dev"] * 30 + ["test"] * 30
    for name, equal in (("WordContent", True), ("Tense", False)):
        data = LabelledSentences(name, [f"s {i}" for i in range(120)], labels, splits)
        plain, hidden = (
            transfer.measure(data, vectors, setting, 1, nobody).examples["correct"]
            for setting in (QUICK, replace(QUICK, hidden=8))
        )
        assert (plain == hidden).all() == equal


@pytest.mark.parametrize(
    ("labels", "splits", "says"),
    [
        (["x"] * 30, ["train", "dev", "test"] * 10, "single label, 'x'"),
        (["x"] * 26 + ["y"] * 4, [], "4 training examples of 'y', fewer than the 10 folds"),
        (["x"] * 18 + ["y"] * 4 + ["x"] * 8, ["train"] * 22 + ["test"] * 8, "fewer than the 10"),
        (["x", "y", "z"] * 10, [], "leaves 27 examples to learn from, 9 of the most frequent"),
        (["x", "y"] * 14 + ["x", "z"], ["train", "dev"] * 14 + ["test"] * 2, "the label 'y'"),
        (["x", "y"] * 15, ["train"] * 20 + ["dev"] * 10, "has the splits train, dev"),
        (["x", "y"] * 15, ["train"] * 20 + ["extra"] * 10, "has the splits train, extra"),
    ],
)
def test_what_cannot_be_measured_is_said(labels: list[str], splits: list[str], says: str) -> None:
    """One class, too few examples, unknown labels, missing and strange splits."""
    data = LabelledSentences("mine", [f"s {i}" for i in range(30)], labels, splits)
    with pytest.raises(UserError) as caught:
        transfer.measure(data, np.ones((30, 4), np.float32), SolverSetting("columns"), 1, nobody)
    assert says in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("choose_znorm", [False, True])
def test_the_smallest_set_that_folds_leave_something_of(choose_znorm: bool) -> None:
    """Of 30, twenty are left to learn from, and one of them is the 5 %; of 28 none would be."""
    setting = replace(QUICK, choose_znorm=choose_znorm)
    labels = ["x", "y"] * 15
    data = LabelledSentences("mine", [f"s {i}" for i in range(30)], labels, [])
    found = transfer.measure(data, separated(labels), setting, 1, nobody)
    assert found.scores[0].score == 100
    with pytest.raises(UserError, match="leaves 18 examples"):
        transfer.measure(
            replace(data, sentences=data.sentences[:28], labels=labels[:28]),
            separated(labels[:28]),
            setting,
            1,
            nobody,
        )


def test_relatedness_needs_splits_and_different_vectors() -> None:
    """A year of STS has no dev split; a constant encoder gives no correlation to select by."""
    part = PairPart(("a", "b c", "d"), ("e", "f", "g h"), np.array([1.0, 3.0, 5.0]))
    year = ScoredPairs("STS13", {"FNWN": part}, "subsets")
    with pytest.raises(UserError, match="no train"):
        relatedness.measure(year, np.ones((6, 4), np.float32), "pearson", 1, nobody)
    whole = ScoredPairs("mine", dict.fromkeys(("train", "dev", "test"), part), "splits")
    with pytest.raises(UserError, match="same score"):
        relatedness.measure(whole, np.ones((18, 4), np.float32), "pearson", 1, nobody)


def write_folder(root: Path) -> Path:
    """A SentEval folder with one good task and several bad ones."""
    binary, probing = root / "downstream" / "MR", root / "probing"
    small = root / "downstream" / "CR"
    for folder in (binary, probing, small):
        folder.mkdir(parents=True)
    for sign in ("pos", "neg"):
        (binary / f"rt-polarity.{sign}").write_text(
            "".join(f"{sign} sentence {i}\n" for i in range(30))
        )
        (small / f"custrev.{sign}").write_text(f"{sign} one\n{sign} two\n")
    (probing / "past_present.txt").write_text("tr\tPAST\ta b\nva\tPAST\tc\nxx\tPRES\td\n")
    (probing / "tree_depth.txt").write_text("tr\t5\ta b\ntr\t6\tb\nva\t5\tc\nte\t9\td\n")
    return root


def test_a_bad_task_is_a_result_and_the_others_go_on(tmp_path: Path) -> None:
    """Each says what is wrong, where; the good task between them is measured."""
    names = ["CR", "Tense", "MR", "Depth", "STS12", "STSBenchmark"]
    results: dict[str, Result] = {
        r.task: r
        for r in evaluate(HashEncoder(), names, protocol="senteval", data=write_folder(tmp_path))
    }
    assert list(results) == names
    errors = {name: r.error for name, r in results.items() if r.error}
    assert list(errors) == ["CR", "Tense", "Depth", "STS12", "STSBenchmark"]
    assert "2 training examples" in errors["CR"]
    assert "probing/past_present.txt, line 3 begins with 'xx'" in errors["Tense"]
    assert "the label '9'" in errors["Depth"]
    assert "does not say how to score STS12" in errors["STS12"]
    assert results["MR"].main.n == 60
    assert results["MR"].protocol == "senteval"


@pytest.mark.parametrize("protocol", ["senteval", "pitfalls", "pitfalls-mlp"])
def test_progress_goes_on_while_classifiers_are_trained(tmp_path: Path, protocol: str) -> None:
    """Encoding is the first half; no share is less than the one before, and the last one is all."""
    progress: list[tuple[int, int]] = []
    (result,) = evaluate(
        HashEncoder(),
        "MR",
        protocol=protocol,
        data=write_folder(tmp_path),
        progress=lambda *at: progress.append(at),
    )
    assert result.error is None
    shares = [done / total for done, total in progress]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert {0.5} < set(shares), "the end of encoding"
    assert len({share for share in shares if share > 0.5}) > 5


def test_both_options_of_normalising_are_scores(tmp_path: Path) -> None:
    """Test and dev of either, and of the chosen as the numbers of the task."""
    (result,) = evaluate(HashEncoder(), "MR", protocol="pitfalls", data=write_folder(tmp_path))
    scores = {(s.split, s.aggregation): s for s in result.scores}
    assert set(scores) == {
        (split, option) for split in ("all", "dev") for option in (None, "plain", "z-normalised")
    }
    chosen = "z-normalised" if result.details["znorm"] else "plain"
    for split in ("all", "dev"):
        assert scores[split, None].score == scores[split, chosen].score
    assert [s for s in result.scores if s.main] == [scores["all", None]]
    assert scores["dev", "plain"].n < scores["all", "plain"].n == 60


def test_vectors_with_nan_are_refused_and_zeros_are_not(tmp_path: Path) -> None:
    """NaN would spoil a classifier unseen; a zero vector is what a sentence of unknown words is."""
    root = write_folder(tmp_path)
    (nan,) = evaluate(NaNEncoder(), ["MR"], protocol="senteval", data=root)
    assert "NaN" in str(nan.error)
    found = transfer.measure(questions(), np.zeros((60, 4), np.float32), QUICK, 1111, nobody)
    assert 0 < found.scores[0].score < 60


def test_the_seed_moves_the_folds_of_train_and_not_the_nested_ones(tmp_path: Path) -> None:
    """Nested folds are always those of seed 1111, as in the reference: another quirk kept."""
    from theodolite.engine.classifiers import validation
    from theodolite.engine.classifiers.features import Features

    labels = np.arange(60) % 2
    features = Features(np.zeros((60, 2), np.float32), np.arange(60))
    made = {}
    for seed in (1111, 7):
        trainer = validation.FoldTrainer(features, labels, QUICK, seed, nobody)
        seen: list[list[int]] = []
        trainer.solve = lambda fits, then=0, seen=seen: _record(fits, seen)  # type: ignore[method-assign]
        validation.nested(trainer)
        validation.folds(trainer, np.arange(50), np.arange(50, 60))
        made[seed] = seen
    nested_fits = 3 * 4 * 3 + 3 * 4
    assert made[7][:nested_fits] == made[1111][:nested_fits]
    assert made[7][nested_fits:] != made[1111][nested_fits:]


def _record(fits: list, seen: list[list[int]]) -> list:
    """Note the training rows of every fit and answer at random."""
    from theodolite.engine.classifiers.setting import Fitted

    seen += [fit.train.tolist() for fit in fits]
    return [Fitted(0.5, 1, np.zeros(0 if f.test is None else len(f.test), int)) for f in fits]
