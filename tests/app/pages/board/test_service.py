"""The order of encoders on a suite: what is missing, what is filtered, what is never mixed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app import formats
from app.pages.board import lengths, ranks, service, views
from app.pages.board.service import BoardSpec
from app.workspace import Workspace
from engine.errors import UserError
from engine.protocols import is_package
from tests.fakes.measured import put
from tests.fakes.results import invent

A, B, C = "random:32", "random:96", "wordllama"


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    """Two encoders with three tasks of two types, and one that was not measured on the third."""
    for name, scores in ((A, (80.0, 70.0, 50.0)), (B, (82.0, 60.0, 50.0)), (C, (90.0, 90.0))):
        for task, score in zip(("MR", "CR", "STS12"), scores, strict=False):
            put(workspace.store, name, task, score,
                "simcse-2021" if task == "STS12" else "senteval")  # fmt: skip
    workspace.store.encoders.add(A, {"dim": 32, "parameters": 5_000_000, "licence": "mit"})
    workspace.store.encoders.add(B, {"dim": 96, "parameters": 50_000_000, "max_tokens": 512})
    return workspace


def test_means_and_points_by_hand(measured: Workspace) -> None:
    """C has the highest scores and misses a task: its mean stands behind, over 2 of 3.

    Points, n = 3: on MR C 2, B 1; on CR C 2, A 1; on STS12 A and B share ranks 1 and 2: 1.5 each.
    """
    rows = {row["encoder"]: row for row in service.board(measured).rows()}
    assert list(rows) == [A, B, C]
    assert [rows[name]["mean"] for name in rows] == pytest.approx([200 / 3, 64.0, 90.0])
    assert [rows[name]["tasks"] for name in rows] == [3, 3, 2]
    assert [rows[name]["borda"] for name in rows] == [2.5, 2.5, 4.0]
    assert [rows[name]["rank"] for name in rows] == [2, 2, 1]
    assert rows[A]["types"] == {"Transfer": {"mean": 75.0, "tasks": 2},
                                "STS": {"mean": 50.0, "tasks": 1}}  # fmt: skip
    assert rows[A]["mean_by_type"] == 62.5 and rows[C]["mean_by_type"] is None
    assert rows[C]["scores"]["STS12"] is None


def test_filters(measured: Workspace) -> None:
    """By what is known of an encoder, and by type of task; what is not known does not fit."""

    def names(**asked: Any) -> list[str]:
        return sorted(service.board(measured, BoardSpec(**asked)).encoders)

    assert names(most_parameters=10) == [A]
    assert names(most_dimensions=96) == [A, B]
    assert names(least_tokens=512) == [B]
    assert names(licences=("mit",)) == [A]
    assert names(types=("STS",)) == [A, B]
    assert service.board(measured, BoardSpec(most_parameters=10)).left_out == 2
    with pytest.raises(UserError, match="None of 3 encoders is known to match"):
        names(licences=("gpl",))
    with pytest.raises(UserError, match="no suite 'mine'"):
        names(suite="mine")
    with pytest.raises(UserError, match="No evaluated task"):
        names(types=("Clustering",))


def test_a_suite_has_its_own_tasks_in_its_own_order(measured: Workspace) -> None:
    """STS12 is not of the transfer suite."""
    found = service.board(measured, BoardSpec("transfer"))
    assert [column.task for column in found.columns] == ["MR", "CR"]
    assert found.encoders[0] == C and found.complete == [C, A, B]


def test_what_mteb_measured_is_never_mixed_with_ours(measured: Workspace) -> None:
    """Its tasks and scores stay out until its protocol is asked for, or where nothing else is."""
    put(measured.store, A, "STS12", 99.0, "mteb-2.26.24")
    put(measured.store, A, "Banking77", 77.0, "mteb-2.26.24")
    ours = service.board(measured)
    assert "Banking77" not in {column.task for column in ours.columns}
    assert {column.protocol for column in ours.columns} == {"senteval", "simcse-2021"}
    theirs = service.board(measured, BoardSpec(protocol="mteb-2.26.24"))
    assert {c.task for c in theirs.columns} == {"STS12", "Banking77"}
    assert theirs.mean.tolist() == [88.0]
    assert is_package("mteb-2.26.24") and not is_package("mteb-v2")


def test_an_upload_and_another_seed(workspace: Workspace) -> None:
    """A task whose data is gone is shown; the protocol's own seed counts before another."""
    put(workspace.store, A, "upload:gone", 40.0, "simcse-2021")
    put(workspace.store, A, "MR", 70.0, seed=1111)
    put(workspace.store, A, "MR", 75.0, seed=1112)
    found = service.board(workspace)
    assert found.rows()[0]["scores"] == {"MR": 70.0, "upload:gone": 40.0}


def test_ranks_with_their_intervals(workspace: Workspace) -> None:
    """One far behind is always third; two close together tie."""
    for task in ("MR", "CR", "SUBJ"):
        for name, accuracy in ((A, 0.80), (B, 0.795), (C, 0.50)):
            invent(workspace, name, task, accuracy)
    found = service.board(workspace)
    ranked = ranks.ranking(workspace, found)
    assert ranked is not None
    rows = {row["encoder"]: row for row in found.rows(ranked)}
    assert (rows[C]["rank_low"], rows[C]["rank_high"]) == (3, 3)
    assert rows[A]["tie_group"] == rows[B]["tie_group"] == "a" != rows[C]["tie_group"]
    assert rows[A]["rank_low"] == 1 and rows[A]["rank_high"] == 2


def test_tasks_by_the_length_of_their_texts(workspace: Workspace) -> None:
    """In characters or words, by the mean of distinct texts; without texts it is left out."""
    for task in ("StarterTopics", "StarterSearch", "MR"):
        invent(workspace, A, task, 0.8, protocol="starter-1")
    texts, _ = workspace.catalog.sentences("starter-topics")
    mean = sum(map(len, texts)) / len(texts)
    words = sum(len(text.split()) for text in texts) / len(texts)
    for _ in range(2):  # as read, and as kept
        assert lengths.measured(workspace, "starter-topics") == pytest.approx((mean, words))
    spec = service.BoardSpec(least_characters=mean - 1, most_characters=mean + 1)
    found = service.board(workspace, spec)
    assert [column.task for column in found.columns] == ["StarterTopics", "StarterSearch"]
    spec = service.BoardSpec(least_words=words - 1, most_words=words + 1)
    assert len(service.board(workspace, spec).columns) == 2
    for spec in (BoardSpec(least_characters=mean + 1), BoardSpec(most_words=words - 1)):
        with pytest.raises(UserError, match="type, language and length"):
            service.board(workspace, spec)


def test_what_a_model_was_trained_on(measured: Workspace) -> None:
    """By the names on its card; where it names none, nothing is claimed."""
    measured.store.encoders.add(A, {"trained_on": ["embedding-data/sts-12", "s2orc"]})
    measured.store.encoders.add(B, {"trained_on": ["s2orc"]})
    board = service.board(measured)
    seen = service.trained_on(measured, board)
    assert seen == {A: {"STS12": "its files"}, B: {}, C: None}
    assert [row["trained_on"] for row in board.rows(None, seen)] == [
        None if seen[name] is None else list(seen[name] or ()) for name in board.encoders
    ]
    drawn = json.loads(views.table(board, None, trained=seen))
    place = [head[0] for head in drawn["heads"]].index("Trained on") - 1
    cells = {row[0]: row[2][place][0] for row in drawn["rows"]}
    assert (cells[A], cells[B], cells[C]) == ("1 of 3", "0 of 3", formats.MISSING)


def test_published_rows_are_references(measured: Workspace) -> None:
    """They stand below beside the protocol that they are of, and change no number."""
    found = service.board(measured, BoardSpec("transfer"))
    drawn = json.loads(views.table(found, None))
    published = [row for row in drawn["rows"] if row[1].startswith("published")]
    assert published and drawn["rows"][: len(found.encoders)] == json.loads(
        views.table(found, None, published=False)
    )["rows"]  # fmt: skip
    simcse = next(row for row in published if row[0] == "SimCSE-BERT-base")
    texts = [cell[0] for cell in simcse[2]]
    assert texts == ["", formats.score((81.18 + 86.46) / 2), "", "", "81.18", "86.46"]


def test_nothing_is_measured(workspace: Workspace) -> None:
    """It says what to do."""
    with pytest.raises(UserError, match="No task of the suite all has been evaluated"):
        service.board(workspace)
