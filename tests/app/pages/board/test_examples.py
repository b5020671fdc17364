"""What a difference between two encoders is made of, example by example."""

from __future__ import annotations

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.results import invent
from theodolite.app.pages.board import examples, service, views
from theodolite.app.pages.board.examples import disagreement, opening, quality
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine.stats.bootstrap import Sample

A, B = "random:32", "random:96"


def test_right_and_wrong_by_hand(workspace: Workspace) -> None:
    """A is right where B is wrong twice, B once; without the data there are numbers, no texts."""
    for name, right in ((A, [1, 1, 0, 1]), (B, [1, 0, 1, 0])):
        invent(workspace, name, "MR", 0.5, n=4, right=np.array(right, bool))
    board = service.board(workspace)
    found = disagreement(workspace, board, "MR", A, B)
    assert (found.ahead, found.behind, found.of, found.graded) == (2, 1, 4, False)
    assert [one.place for one in found.examples] == [2, 4] and found.examples[0].texts == ()
    assert "number 2:" in views.examples(found)
    assert opening(board, "", "", "") == ("MR", A, B) == opening(board, "MR", "gone", B)
    assert opening(board, "MR", B, B) == ("MR", B, A)
    with refused("invalid", "MR"):
        disagreement(workspace, board, "MR", A, A)


def test_how_right_a_graded_pair_is() -> None:
    """By ranks 1, 2, 3 against 1, 3, 2: the last two are a place of three off."""
    sample = Sample(np.array([0.1, 0.5, 0.9]), np.array([0.0, 5.0, 4.0]))
    assert quality(sample).tolist() == pytest.approx([1.0, 2 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("task", "data"),
    [
        ("StarterSTS", "starter-pairs"),
        ("StarterTopics", "starter-topics"),
        ("StarterSearch", "starter-topics"),
    ],
)
def test_examples_have_their_texts(workspace: Workspace, task: str, data: str) -> None:
    """In the order of the values: what the classifier got right is where its label says so."""
    for name in (A, B):
        assert evaluated(workspace, name, task)["error"] is None
    found = disagreement(workspace, service.board(workspace), task, A, B).examples
    texts = set(workspace.catalog.load(data).sentences)
    assert 0 < len(found) <= examples.MAX_EXAMPLES
    assert all(one.texts and one.label and set(one.texts) <= texts for one in found)
