"""The order of encoders on a suite: what is missing, what is filtered, what is never mixed."""

from typing import Any

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.measured import put
from tests.fakes.results import invent, invent_all
from theodolite.app.blocks import Grid
from theodolite.app.pages.board import examples, standings
from theodolite.app.pages.board.answer import BOARD, BoardAnswer
from theodolite.app.pages.board.examples import disagreement, opening, quality
from theodolite.app.pages.board.standings import BoardSpec
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine.stats.bootstrap import Sample

A, B, C = "random:32", "random:96", "wordllama"


def answers(workspace: Workspace, **values: Any) -> list[BoardAnswer]:
    """All that is shown of a board, one after the other."""
    return list(BOARD.answer(workspace, BoardSpec(**values), lambda job: True))


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    """Two encoders with three tasks of two types, and one that was not measured on the third."""
    for name in (A, B):
        put(workspace.store, name, "STS12", 50.0, "simcse-2021")
    for name, mr, cr in ((A, 80.0, 70.0), (B, 82.0, 60.0), (C, 90.0, 90.0)):
        put(workspace.store, name, "MR", mr)
        put(workspace.store, name, "CR", cr)
    workspace.store.encoders.add(A, {"dim": 32, "parameters": 5_000_000, "licence": "mit"})
    workspace.store.encoders.add(B, {"dim": 96, "parameters": 50_000_000, "max_tokens": 512})
    return workspace


def test_means_and_points_by_hand(measured: Workspace) -> None:
    """All share MR and CR, so STS12 counts for nobody.

    Points, n = 3: on MR C 2, B 1; on CR C 2, A 1.
    """
    board = standings.board(measured)
    rows = {row["encoder"]: row for row in answers(measured)[-1].rows()}
    assert board.shared == ("MR", "CR") and list(rows) == [C, A, B]
    expected = {
        "mean": [90.0, 75.0, 71.0],
        "mean_over": [2, 2, 2],
        "tasks": [2, 3, 3],
        "of": [3, 3, 3],
        "borda": [4.0, 1.0, 1.0],
        "rank": [1, 2, 2],
        "mean_by_type": [90.0, 75.0, 71.0],
    }
    assert {key: [row[key] for row in rows.values()] for key in expected} == expected
    assert rows[A]["types"] == {"Transfer": {"mean": 75.0, "tasks": 2}}
    assert rows[C]["scores"]["STS12"] is None
    suite = standings.board(measured, BoardSpec("transfer"))
    assert [column.task for column in suite.columns] == ["MR", "CR"]
    assert suite.encoders == list(suite.quality) == [C, A, B]


def test_one_task_only_costs_the_others_nothing(measured: Workspace) -> None:
    """It is listed below, without mean, points and rank."""
    put(measured.store, "random:8", "MR", 99.0)
    board = answers(measured, suite="transfer")[-1]
    assert list(board.standings.quality) == [C, A, B]
    last = board.rows()[-1]
    assert [last[key] for key in ("encoder", "mean", "borda", "rank")] == ["random:8", *[None] * 3]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"most_parameters": 10}, [A]),
        ({"most_dimensions": 96}, [A, B]),
        ({"least_tokens": 512}, [B]),
        ({"licences": ("mit",)}, [A]),
        ({"types": ("STS",)}, [A, B]),
    ],
)
def test_filters(measured: Workspace, asked: dict[str, Any], names: list[str]) -> None:
    """By what is known of an encoder, and by type of task; what is not known does not fit."""
    found = standings.board(measured, BoardSpec(**asked))
    assert sorted(found.encoders) == names
    assert found.left_out == (0 if "types" in asked else 3 - len(names))


@pytest.mark.parametrize(
    ("code", "named", "asked"),
    [
        ("no-result", 3, {"licences": ("gpl",)}),
        ("unknown", "mine", {"suite": "mine"}),
        ("no-result", "", {"types": ("Clustering",)}),
    ],
)
def test_what_nothing_fits_is_refused(
    measured: Workspace, code: Any, named: object, asked: dict[str, Any]
) -> None:
    with refused(code, named):
        standings.board(measured, BoardSpec(**asked))


def test_what_mteb_measured_is_never_mixed_with_ours(measured: Workspace) -> None:
    """Its tasks and scores stay out until its protocol is asked for, or where nothing else is."""
    for task, score in (("STS12", 99.0), ("Banking77", 77.0)):
        put(measured.store, A, task, score, "mteb-2.26.24")
    ours = standings.board(measured).columns
    assert {column.task for column in ours} == {"MR", "CR", "STS12"}
    assert {column.protocol for column in ours} == {"senteval", "simcse-2021"}
    theirs = standings.board(measured, BoardSpec(protocol="mteb-2.26.24"))
    assert {c.task for c in theirs.columns} == {"STS12", "Banking77"}
    assert theirs.quality == {A: 88.0}


def test_ranks_with_their_intervals(workspace: Workspace) -> None:
    """One far behind is always third; two close together tie."""
    invent_all(workspace, {A: 0.80, B: 0.795, C: 0.50}, ("MR", "CR", "SUBJ"))
    first, last = answers(workspace)
    assert {row["rank_low"] for row in first.rows()} == {None}
    rows = {row["encoder"]: row for row in last.rows()}
    assert len(answers(workspace)) == 1, "they are remembered"
    assert (rows[C]["rank_low"], rows[C]["rank_high"]) == (3, 3)
    assert rows[A]["tie_group"] == rows[B]["tie_group"] == "a" != rows[C]["tie_group"]
    assert (rows[A]["rank_low"], rows[A]["rank_high"]) == (1, 2)


def test_bold_is_the_best_of_all_that_a_column_shows(workspace: Workspace) -> None:
    """Where one that has no rank is better, nothing is bold."""
    invent_all(workspace, {A: 0.80, B: 0.50}, ("MR", "CR"))
    put(workspace.store, C, "CR", 99.0)
    (grid,) = (one for one in answers(workspace)[-1].blocks() if isinstance(one, Grid))
    heads = [head.title for head in grid.heads[1:]]
    bold = {
        name: {h for h, one in zip(heads, row, strict=True) if one.is_best}
        for name, _, row in grid.rows
    }
    assert "MR" in bold[A] and not any("CR" in some for some in bold.values())


def test_filters_are_taken_away_one_by_one(measured: Workspace) -> None:
    """Each leads to the board with the others."""
    spec = BoardSpec(suite="transfer", types=("Transfer", "STS"), most_dimensions=96)
    links = {link.label: link.query for link in spec.filters()}
    suite, most = {"suite": "transfer"}, {"most_dimensions": "96"}
    assert links == {
        "Types of tasks: Transfer": suite | most | {"type": ("STS",)},
        "Types of tasks: STS": suite | most | {"type": ("Transfer",)},
        "Most dimensions: 96": suite | {"type": ("Transfer", "STS")},
    }


def test_what_a_model_was_trained_on(measured: Workspace) -> None:
    """By the names on its card; where it names none, nothing is claimed."""
    measured.store.encoders.add(A, {"trained_on": ["embedding-data/sts-12", "s2orc"]})
    measured.store.encoders.add(B, {"trained_on": ["s2orc"]})
    seen = answers(measured)[-1].trained_on
    assert seen == {A: {"STS12": "its files"}, B: {}, C: None}
    rows = {row["encoder"]: row["trained_on"] for row in answers(measured)[-1].rows()}
    assert rows == {A: ["STS12"], B: [], C: None}


def test_right_and_wrong_by_hand(workspace: Workspace) -> None:
    """A is right where B is wrong twice, B once; without the data there are numbers, no texts."""
    for name, right in ((A, [1, 1, 0, 1]), (B, [1, 0, 1, 0])):
        invent(workspace, name, "MR", 0.5, n=4, right=np.array(right, bool))
    board = standings.board(workspace)
    found = disagreement(workspace, board, "MR", A, B)
    assert (found.ahead, found.behind, found.of, found.graded) == (2, 1, 4, False)
    assert [one.place for one in found.examples] == [2, 4] and found.examples[0].texts == ()
    assert opening(board, "", "", "") == ("MR", A, B) == opening(board, "MR", "gone", B)
    assert opening(board, "MR", B, B) == ("MR", B, A)
    invent(workspace, A, "StarterTopics", 0.5, n=4)  # first on the board, and of one encoder alone
    assert opening(standings.board(workspace), "", "", "") == ("MR", A, B)
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
    found = disagreement(workspace, standings.board(workspace), task, A, B).examples
    texts = set(workspace.catalog.load(data).sentences)
    assert 0 < len(found) <= examples.MAX_EXAMPLES
    assert all(one.texts and one.label and set(one.texts) <= texts for one in found)
