"""Which texts of a task stand in training data: what is compared, kept and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.workers import do_units
from theodolite.app.pages.board import leaks, leaks_page
from theodolite.app.pages.board.leaks import LeakJob
from theodolite.app.pages.data import service as data
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import Mapping


@pytest.fixture
def seen(workspace: Workspace, tmp_path: Path) -> str:
    """An upload with two texts of a starter task: one nearly the same, one in its test split."""
    pairs = workspace.catalog.load("starter-pairs").sentences
    file = tmp_path / "seen.csv"
    rows = [
        (f"{pairs[0]} !", "train"),
        (f"{pairs[2]}, yes", "train"),
        (pairs[4], "test"),
        ("Nothing of that kind was ever said.", "train"),
    ]
    file.write_text(
        "sentence,label,split\n" + "".join(f'"{text}",a,{split}\n' for text, split in rows)
    )
    mapping = Mapping("labels", {"text": "sentence", "label": "label", "split": "split"})
    data.keep(workspace, file, file.name, "seen", mapping)
    return "upload:seen"


def test_what_was_seen_is_found_and_kept(workspace: Workspace, seen: str) -> None:
    """In the training split alone, by a job; asked again nothing is read."""
    job = LeakJob.of(["StarterSTS", "StarterTopics"], [seen])
    assert leaks.found(workspace, job) == {
        ("StarterSTS", seen): None,
        ("StarterTopics", seen): None,
    }
    do_units(workspace, job)
    assert job.is_stored(workspace) and leaks.run_look(workspace, job) == ""
    first, second = leaks.ordered(leaks.found(workspace, job).values())
    assert (first.task, first.same, first.nearly, first.trained) == ("StarterSTS", 1, 1, 3)
    assert second.share == 0 and second.examples == ()
    assert first.examples[0][0] + " !" == first.examples[0][1] and first.examples[0][3]
    assert first.row()["share"] == 2 / first.tested
    html = leaks_page.finding([first, second], "minilm", "")
    assert "1 of 2 tasks" in html and "minilm" in html and "nearly" not in html
    assert seen in leaks_page.examples([first, second])
    assert "Jaccard" in leaks_page.table([first, second])


def test_what_an_encoder_was_trained_on(workspace: Workspace) -> None:
    """Where nothing is named, or none of it is here, that is said and nothing is looked for."""
    workspace.store.encoders.add("random:8", {"trained_on": ["snli", "starter-pairs"]})
    names = leaks.known(workspace, "random:8")
    there = leaks.here(workspace, names)
    assert there == {"starter-pairs": ["starter-pairs"]}
    assert "Available here: starter-pairs" in leaks.summary("random:8", names, there)
    assert leaks.known(workspace, "random:16") is None
    assert "Neither the files" in leaks.summary("random:16", None, {})
    for tasks, sets in ((["StarterSTS"], []), ([], ["nli"])):
        with refused("missing"):
            LeakJob.of(tasks, sets)


def test_documents_are_looked_for_beside_queries(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a line of their own; of a large corpus only what answers a query."""
    pairs = workspace.catalog.load("starter-pairs").sentences
    file = tmp_path / "asked.csv"
    rows = [
        ("What is said?", pairs[0], 1),
        ("What is said?", f"{pairs[2]}, yes", 0),
        ("Who says so?", "Nobody whom anybody ever heard of.", 1),
    ]
    file.write_text("query,document,grade\n" + "".join(f'{q},"{d}",{g}\n' for q, d, g in rows))
    columns = {name: name for name in ("query", "document", "grade")}
    data.keep(workspace, file, file.name, "asked", Mapping("retrieval", columns))
    job = LeakJob.of(["upload:asked"], ["starter-pairs"])
    do_units(workspace, job)
    queries, texts = (
        leaks.found(workspace, job)[name, "starter-pairs"]
        for name in ("upload:asked", "upload:asked, documents")
    )
    assert queries is not None and (queries.tested, queries.share) == (2, 0.0)
    assert texts is not None and (texts.tested, texts.same, texts.nearly) == (3, 1, 1)
    assert texts.row()["part"] == "documents"
    assert "upload:asked, documents" in leaks_page.table([texts])
    monkeypatch.setattr(leaks, "MAX_CHARACTERS", 10)
    assert leaks.documents(workspace, "upload:asked") == [pairs[0], rows[2][1]]
