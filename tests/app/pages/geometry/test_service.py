"""Geometry of spaces: what is measured, kept and said."""

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.workers import do_units
from theodolite.app.pages.geometry import sections, service as geometry
from theodolite.app.pages.geometry.answer import GeometrySpec, answer as ask
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import LabelledPairs, PairPart, ScoredPairs, Sentences


def pairs(**parts: tuple[str, str, float]) -> ScoredPairs:
    """One pair a part."""
    made = {n: PairPart((a,), (b,), np.array([g])) for n, (a, b, g) in parts.items()}
    return ScoredPairs("mine", made, "splits")


def test_both_sides_are_taken_and_duplicates_kept() -> None:
    """Four occurrences of three sentences; a split alone has its own."""
    data = pairs(dev=("a", "b", 4.0), test=("b", "c", 5.0))
    both, alone = geometry.take(data), geometry.take(data, "test")
    assert [both.sentences[i] for i in both.rows] == ["a", "b", "b", "c"]
    assert (both.left.tolist(), both.right.tolist()) == ([0, 1], [1, 2])
    assert [both.info["parts"][i] for i in both.part] == ["dev", "test"]
    assert (alone.sentences, alone.gold.tolist()) == (["b", "c"], [5.0])
    assert alone.info["parts"] == ["test"]


def test_labelled_pairs_and_plain_sentences() -> None:
    """Labels come along; a plain collection has no pairs."""
    data = LabelledPairs.of("mine", ["a", "a"], ["b", "c"], ["yes", "no"], ["dev", "test"])
    taken = geometry.take(data, "test")
    assert (taken.sentences, taken.info["labels"]) == (["a", "c"], ["no"])
    plain = geometry.take(Sentences("mine", ["x", "y", "x"]))
    assert (plain.rows.tolist(), len(plain.left)) == ([0, 1, 0], 0)


def test_more_than_can_be_paired_are_drawn() -> None:
    """It is said, and the same ones every time."""
    data = Sentences("mine", [str(i) for i in range(50)])
    first, second = (geometry.take(data, most=20) for _ in range(2))
    assert first.info["drawn"] and len(set(first.rows.tolist())) == 20
    assert first.rows.tolist() == second.rows.tolist() and not geometry.take(data).info["drawn"]


def test_what_is_wrong_with_the_data_is_said_once(starter: Workspace) -> None:
    """And not again for each encoder."""
    asked = GeometrySpec(["random:16", "random:17", "nonsense"], "nope")
    (answer,) = ask(starter, asked, lambda _: False)
    said = [str(one.error) for one in answer.failures]
    assert len(said) == 2 and "'nope'" in said[0] and "'nonsense'" in said[1]


def test_what_a_chart_does_not_tell_apart_is_first_together() -> None:
    points = {"a": (0.2, -3.681), "b": (0.3, -3.682), "c": (0.4, -3.1)}
    finding, *_ = sections.space(points, "pairs", "all", "mine")
    assert "a keeps" in finding.text and "a and b spread" in finding.text


def test_bad_questions_are_refused() -> None:
    with refused("unknown", "train", "dev"):
        geometry.take(pairs(dev=("a", "b", 1.0), test=("a", "c", 1.0)), "train")
    with refused("too-few", "1 sentence"):
        geometry.take(Sentences("mine", ["x"]))


def test_it_is_measured_once(starter: Workspace) -> None:
    """Found again with the same numbers, and listed for the chart of all encoders."""
    measured = geometry.measure(starter, "random:32", "starter-pairs")
    again = geometry.stored(starter, "random:32", "starter-pairs")
    assert again is not None and again.info == measured.info
    np.testing.assert_array_equal(again.singular, measured.singular)
    assert geometry.stored(starter, "random:33", "starter-pairs") is None
    do_units(starter, geometry.GeometryJob(("random:16",), "starter-pairs"))
    found = geometry.everyone(starter, "starter-pairs", "all")
    assert set(found) == {"random:32", "random:16"} and found["random:32"] == measured.info


def test_a_threshold_is_judged_on_the_split_it_was_not_chosen_on() -> None:
    """On dev 0.5 is best by hand; on test it gets three of four right; from 9 on nothing is."""
    info = {"labels": [], "scale": [0.0, 5.0], "parts": ["dev", "test"]}
    cosine = np.array([0.2, 0.4, 0.6, 0.8, 0.1, 0.6, 0.7, 0.9])
    gold = np.array([0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 5.0, 5.0])
    part = np.repeat([0, 1], 4)
    made = geometry.Geometry("mine", info, np.ones(1), np.ones(1), cosine, gold, part)
    _, chart, _ = sections.thresholds([made], 4.0, None)
    *_, last = chart.rows
    assert last[2:4] == [pytest.approx(0.5), 0.75]
    assert len(sections.thresholds([made], 9.0, None)) == 1
