"""A published folder of results, opened on the board: beside one's own, never among them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.errors import refused
from tests.fakes import folder as data_folder
from tests.fakes.command_line import objects, theodolite
from tests.fakes.measured import put
from theodolite.app import exchange, formats, suites
from theodolite.app.blocks import Grid
from theodolite.app.pages.board import standings
from theodolite.app.pages.board.answer import BOARD
from theodolite.app.pages.board.standings import PUBLISHED, BoardSpec, Entry
from theodolite.app.workspace import Workspace

OWN = "random:32"
REVISIONS = ("aaaaaaaa", "cccccccc")


def publish(
    folder: Path, model: str, revision: str, task: str, data: str, **subsets: float
) -> None:
    """A file as mteb writes it."""
    parts = [
        {
            "hf_subset": name.replace("_", "-"),
            "languages": ["eng-Latn"],
            "main_score": score,
            "accuracy": score,
        }
        for name, score in subsets.items()
    ]
    fields = {
        "dataset_revision": data,
        "task_name": task,
        "mteb_version": "2.9.1",
        "scores": {"test": parts},
    }
    data_folder.files(
        folder, {f"{model.replace('/', '__')}/{revision}/{task}.json": json.dumps(fields)}
    )


@pytest.fixture
def opened(workspace: Workspace, tmp_path: Path) -> Workspace:
    """Two tasks measured here; a model published in two revisions, another one on other data."""
    for task, score, kind, part in (
        ("mteb:Banking77Classification", 70.0, "Classification", "default"),
        ("mteb:STS17/en-en", 80.0, "STS", "en-en"),
    ):
        scores = {"test": [{"hf_subset": part, "main_score": score / 100}]}
        own = {"dataset_revision": "d1", "task_name": task, "scores": scores}
        put(workspace.store, OWN, task, score, "mteb-2.26.24", details={"mteb": own, "type": kind})
    for model, revision, task, data, subsets in (
        ("org/model", "aaaaaaaabb", "Banking77Classification", "d1", {"default": 0.9}),
        ("org/model", "aaaaaaaabb", "STS17", "d1", {"en_en": 0.6, "de_de": 0.1}),
        ("org/model", "cccccccc", "Banking77Classification", "d1", {"default": 0.8}),
        ("org/other", "r1", "Banking77Classification", "d2", {"default": 0.5}),
        ("org/other", "r1", "STS17", "d1", {"de_de": 0.4}),
        ("org/none", "r1", "Imdb", "d1", {"default": 0.4}),
    ):
        publish(tmp_path / "results", model, revision, task, data, **subsets)
    exchange.bring(workspace, tmp_path / "results")
    return workspace


def drawn(workspace: Workspace) -> dict[str, Any]:
    """What the page shows: label -> cells."""
    answer = BOARD.last(workspace, BoardSpec(published=True), lambda job: True)
    (grid,) = (block for block in answer.blocks() if isinstance(block, Grid))
    return {f"{name}, {small}" if small else name: cells for name, small, cells in grid.rows}


def rows(workspace: Workspace) -> list[dict[str, Any]]:
    """Those of a board without published ones."""
    return BOARD.last(workspace, BoardSpec(), lambda job: True).rows()


def references(workspace: Workspace, spec: BoardSpec = standings.EVERYTHING) -> list[Entry]:
    """The imported ones beside a board."""
    found = standings.published(workspace, standings.board(workspace, spec))
    return [entry for entry in found if "revision" in entry.facts]


def test_a_published_folder_on_the_board(opened: Workspace) -> None:
    """Each revision is a row of its own; a column takes just the subsets that it is of.

    They change no number of one's own, and can be taken away again.
    """
    shown = {name: [cell.text for cell in cells] for name, cells in drawn(opened).items()}
    none = formats.MISSING
    assert next(iter(shown)) == OWN and len(shown) == 4, "one encoder has no rank"
    first, second = (f"org/model, published, revision {revision}" for revision in REVISIONS)
    assert shown[first] == [*["75.00"] * 2, "", "90.00", "60.00"]
    assert shown[second] == [none, none, "", "80.00", none]
    (with_them,) = rows(opened)
    assert (with_them["encoder"], with_them["mean"]) == (OWN, 75.0)
    opened.store.published.remove([row["id"] for row in opened.store.published.table()])
    assert list(drawn(opened)) == [OWN] and rows(opened) == [with_them]


def test_other_data_are_marked(opened: Workspace) -> None:
    """In the cell, with both revisions; the same data has the last word."""
    other = "org/other, published, revision r1"
    cell = drawn(opened)[other][3]
    assert (cell[0], cell[4]) == ("50.00", "other data") and "d2" in cell[2] and "d1" in cell[2]
    row = opened.store.published.table(
        models=["org/other"], tasks=["mteb:Banking77Classification"]
    )[0]
    again = {"data_revision": "d1", "score": 51.0, "facts": {"parts": [["test", "default", 51.0]]}}
    opened.store.published.put([row | again | {"scores": []}])
    cell = drawn(opened)[other][3]
    assert cell[0] == "51.00" and not any(cell[4:])


def test_beside_tasks_of_other_protocols_they_do_not_stand(opened: Workspace) -> None:
    """STS by SimCSE's choices is another measurement than mteb's."""
    put(opened.store, OWN, "STS12", 60.0, "simcse-2021")
    board = standings.board(opened)
    assert [column.task for column in board.columns] == ["STS12"]
    answer = BOARD.last(opened, BoardSpec(), lambda job: True)
    assert references(opened) == [] and answer.elsewhere == 4
    theirs = standings.board(opened, BoardSpec(protocol=PUBLISHED))
    assert "STS12" not in {column.task for column in theirs.columns}
    assert theirs.encoders == [OWN] and len(references(opened, BoardSpec(protocol=PUBLISHED))) == 4


@pytest.fixture
def only(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Nothing measured; a folder as it is downloaded, with what is known of its model."""
    monkeypatch.setattr(suites, "_HELD", {})
    folder, revision = tmp_path / "results", "aaaaaaaabb"
    publish(folder, "org/model", revision, "Banking77Classification", "d1", default=0.9)
    publish(folder, "org/model", revision, "STS17", "d1", en_en=0.6, de_de=0.1)
    publish(folder, "org/other", "r1", "Banking77Classification", "d1", default=0.7)
    about = {
        "name": "org/model",
        "revision": revision,
        "n_parameters": 22_700_000,
        "embed_dim": 384,
        "max_tokens": 512,
        "license": "mit",
    }
    (folder / "org__model" / revision / "model_meta.json").write_text(json.dumps(about))
    exchange.bring(workspace, folder)
    return workspace


def test_a_published_folder_on_an_empty_board(only: Workspace) -> None:
    """Its tasks are the columns; nobody has a rank, and means are over the task that both have."""
    assert [*standings.protocols_here(only)] == ["", PUBLISHED]
    board, shown = standings.board(only), drawn(only)
    tasks = ["mteb:Banking77Classification", "mteb:STS17"]
    assert [column.task for column in board.columns] == tasks
    first = shown["org/model, published, 22.7M, 384 d, revision aaaaaaaa"]
    assert [cell[0] for cell in first] == ["90.00", "90.00", "90.00", "35.00"]
    other = shown["org/other, published, revision r1"]
    assert (other[0][0], other[3][0]) == ("70.00", formats.MISSING)
    with refused("no-result", "starter"):
        standings.board(only, BoardSpec("starter"))
    listed = objects(theodolite("board", "--json", "--store", str(only.store.folder)))
    found = [(row["encoder"], row["published"], row["tasks"]) for row in listed]
    assert found == [("org/model", True, 2), ("org/other", True, 1)]


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (BoardSpec(most_parameters=30), ["org/model"]),
        (BoardSpec(most_parameters=10), []),
        (BoardSpec(licences=("mit",)), ["org/model"]),
        (BoardSpec(languages=("eng",)), ["org/model", "org/other"]),
    ],
)
def test_published_models_are_filtered_by_what_their_folder_says(
    only: Workspace, spec: BoardSpec, shown: list[str]
) -> None:
    """As encoders of one's own are: what is not known does not fit."""
    assert [one.name for one in references(only, spec)] == shown


def test_a_suite_of_mtebs_on_the_board(only: Workspace) -> None:
    """It takes of a task the subset that it names; with mteb asked once, types are known."""
    board = standings.board(only)
    assert set(board.types) == {"MTEB"} and standings.look_up(only, board)
    board = standings.board(only)
    assert board.types == ["Classification", "STS"] and not standings.look_up(only, board)
    suite = standings.board(only, BoardSpec("MTEB(eng, v2)"))
    assert [c.task for c in suite.columns] == ["mteb:Banking77Classification", "mteb:STS17/en-en"]
    (first, _) = references(only, BoardSpec("MTEB(eng, v2)"))
    assert first.scores["mteb:STS17/en-en"] == pytest.approx(60.0)
    with refused("unknown", "MTEB(xyz, v2)"):
        standings.board(only, BoardSpec("MTEB(xyz, v2)"))


def test_the_hubs_list_names_the_data_of_the_hub(workspace: Workspace, tmp_path: Path) -> None:
    """Where a task of mteb's own says where its data lie; else the task stands for itself."""
    own = {"hub_dataset": "mteb/banking77"}
    put(workspace.store, OWN, "mteb:Banking77Classification", 70.0, "mteb-2.26.24", details=own)
    put(workspace.store, OWN, "MR", 60.0)
    (file,) = exchange.export(workspace, tmp_path, "yaml", workspace.store.results.table())
    assert "id: mteb/banking77" in file.read_text() and "id: MR" in file.read_text()
