"""A folder or a ZIP of documents that a person brings."""

import zipfile
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.app.pages.data import choices, service, sets
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import documents, tables

DOCS = {
    "guide/tea.md": "# Tea\n\nIt is brewed.",
    "faq/tea.md": "# Questions\n\nWhich tea?",
    "page.html": "<p>Coffee<script>x()</script>",
    "picture.png": b"\x89PNG",
    ".git/HEAD.md": "ref",
}


def added(workspace: Workspace, place: Path) -> str:
    with service.bring([place]) as brought:
        mapping = tables.preview(brought.path, brought.path.name).mapping
        name = service.name_for(brought.path.name)
        row = service.keep(workspace, brought.path, brought.path.name, name, mapping, brought.notes)
    assert row["info"]["notes"][0] == "Documents, named by their files: 3 (2 .md, 1 .html)."
    return f"upload:{row['name']}"


def test_a_folder_and_its_zip_are_the_same_documents(workspace: Workspace, tmp_path: Path) -> None:
    """Files of one name in two folders are two documents, and what is hidden is no document."""
    folder = files(tmp_path / "handbook", DOCS)
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        for name in DOCS:
            archive.write(folder / name, f"handbook/{name}") if name[0] != "." else None
    names = [added(workspace, place) for place in (folder, tmp_path / "zipped.zip")]
    assert names == ["upload:handbook", "upload:zipped"]
    (first, second) = (workspace.catalog.load(name) for name in names)
    assert first.hash == second.hash
    assert sorted(first.documents) == ["faq/tea.md", "guide/tea.md", "page.html"]
    (info,) = [one for one in workspace.catalog.list() if one.name == names[0]]
    assert (info.kind, info.task, info.tasks) == ("retrieval", None, ())
    assert next(iter(sets.table(first)[1])) == ("faq/tea.md", "# Questions Which tea?")
    with refused("missing", "no judgements"):
        from theodolite.engine.tasks import retrieval

        retrieval.judged_queries(first)


def test_too_many_documents_are_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_FILES", 2)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in "abc":
            archive.writestr(f"{name}.md", name)
    with refused("too-large", "a.zip"), service.bring([tmp_path / "a.zip"]):
        pass
    monkeypatch.setattr("theodolite.engine.datasets.limits.MAX_BYTES", 3)
    with refused("too-large", "handbook"), service.bring([files(tmp_path / "handbook", DOCS)]):
        pass


def test_chunks_named_in_an_address_stay_chosen(workspace: Workspace) -> None:
    """Of data sets that there are; others give way to the usual one."""
    name = "starter-pairs|chunk:recursive,400"
    chosen, update = choices.filled(workspace, name)
    assert chosen == name and name in update["choices"]
    assert choices.filled(workspace, "nothing|chunk:recursive,400")[0] == choices.DEFAULT
