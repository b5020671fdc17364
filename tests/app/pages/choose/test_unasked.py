"""Documents without queries: a newcomer's folder in, ten marks, a sheet."""

import re
from pathlib import Path
from typing import Any

import pytest

import theodolite as th
from tests.errors import refused
from tests.fakes.folder import files
from tests.fakes.openai import FakeOpenAI, status, talking
from theodolite.app.blocks import Links
from theodolite.app.pages.choose.answer import Decision
from theodolite.app.pages.data import service
from theodolite.app.pages.judge import session as judging
from theodolite.app.pages.judge.answer import judgement
from theodolite.app.pages.judge.session import JudgeSpec, Question, open_session
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Retrieval

DOCS = Path(__file__).parents[4] / "docs"
RANKERS = "bm25, wordllama, fuse(bm25,wordllama)"


def sections(folder: Path, many: int = 50) -> Path:
    """This project's own documentation, a file for each heading."""
    parts = [
        (f"{file.stem}-{i:02}.md", part)
        for file in sorted(DOCS.glob("*.md"))
        for i, part in enumerate(re.split(r"(?m)^(?=## )", file.read_text(encoding="utf-8")))
        if 400 < len(part) < 5_000
    ]
    return files(folder, dict(parts[:many]))


def chosen(workspace: Workspace, given: Path | str, **options: Any) -> Decision:
    options = {"rankers": RANKERS, "chunks": "whole"} | options
    return th.choose(given, workspace=workspace, **options)


def judge_of(workspace: Workspace, collection: str) -> Any:
    """A person who wants the document that a query was made from."""
    data = workspace.catalog.load(collection)
    assert isinstance(data, Retrieval)
    right = {
        data.queries[key]: {data.documents[name] for name in found}
        for key, found in data.judgements["test"].items()
    }

    def answer(question: Question) -> str:
        return "relevant" if question.texts[0][0] in right[question.query] else "not"

    return answer


def test_a_newcomer_s_walk(workspace: Workspace, tmp_path: Path) -> None:
    """Fifty Markdown files, no queries, ten marks, a sheet: by rule, and then judged."""
    decision = chosen(workspace, sections(tmp_path / "guide"))
    sheet, task = decision.sheet, "upload:guide|queries:rule"
    assert sheet["task"] == task and sheet["by_rule"] and sheet["judged"] is None
    assert sum(one["n"] for one in sheet["kinds"]) == sheet["n"] > 90
    assert decision.notes()[0] == (
        f"By rule, {sheet['best']['encoder']} comes first: nobody has judged that yet."
    )
    assert sheet["warnings"][0]["code"] == "by_rule" and "XQuAD" in sheet["warnings"][0]["message"]
    link = next(b for b in decision.blocks() if isinstance(b, Links)).links[0]
    asked = link.query
    assert link.page == "judge" and asked["in"] == task and "bm25" in asked["encoder"]
    spec = JudgeSpec(collection=task, encoders=asked["encoder"], draw=60)
    session = judging.begin(workspace, spec)
    assert open_session(workspace, session).is_by_rule
    said = " ".join(judgement(workspace, session, names=True).notes())
    assert "asked these queries" in said
    for many, has in ((9, False), (1, True)):
        judging.play(workspace, session, judge_of(workspace, task), most=many)
        marked = chosen(workspace, "upload:guide").sheet["judged"]
        assert (marked is not None) is has
    assert marked["marks"] == 10 and marked["queries"] == 60 and not marked["own"]
    (pair,) = marked["pairs"]
    true = difference(workspace, session, judge_of(workspace, task))
    assert pair["low"] <= true <= pair["high"] and pair["high"] - pair["low"] < 100
    notes = chosen(workspace, "upload:guide").notes()
    assert notes[0].endswith(("by 10 marks.", "apart.")) and notes[1].startswith("Judged: ")
    assert any("not which queries are asked" in note for note in notes)


def difference(workspace: Workspace, session: str, judge: Any) -> float:
    """What all marks would say, in points."""
    state = open_session(workspace, session)
    marks = [
        judge(Question(0, state.queries[q], ((state.documents[d],),))) == "relevant"
        for q, d in state.keys
    ]
    return float(100 * state.units.weights[:, 0] @ marks)


def test_marks_on_queries_of_ones_own_are_predicted_too(
    workspace: Workspace, tmp_path: Path
) -> None:
    """From where the set-ups place known items, chunks included; Judge alone uses them as well."""
    sheet = chosen(workspace, sections(tmp_path / "guide"), chunks="sentences,300").sheet
    queries = ("how are vectors cached", "which metric of retrieval", "how to add a new page")
    pair = ["bm25|chunk:sentences,300", "wordllama|chunk:sentences,300"]
    spec = JudgeSpec(collection=sheet["task"], encoders=pair, queries=queries)
    session = judging.begin(workspace, spec)
    state = open_session(workspace, session)
    assert state.is_by_rule and state.is_own and state.spec.encoders == tuple(pair)
    assert state.units.expected is not None and len(set(state.units.cells.tolist())) > 1
    judging.play(workspace, session, lambda question: "relevant", most=12)
    notes = chosen(workspace, "upload:guide", chunks="sentences,300").notes()
    assert any("12 marks on 3 queries of your own" in note for note in notes)
    plain = judging.begin(workspace, JudgeSpec("upload:guide", pair, queries))
    assert not open_session(workspace, plain).is_by_rule


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["One document about kettles and tea."], "one document"),
        (["Kettles and tea."] * 3, "the same one"),
        (["?!", "...", "--"], "few words"),
    ],
)
def test_folders_that_cannot_be_ranked(
    workspace: Workspace, tmp_path: Path, texts: list[str], said: str
) -> None:
    named = {f"{i}.md": text for i, text in enumerate(texts)}
    with refused("too-few", said):
        chosen(workspace, files(tmp_path / "few", named))


def wrote(workspace: Workspace, server: FakeOpenAI, name: str = "asked", **more: Any) -> Any:
    """Have the server write five queries, and return what it was told before."""
    given = {"model": f"api:{server.url}#fake", "n": 5, "send_texts": False} | more
    told: list[str] = []
    row = service.write_queries(
        workspace, "upload:guide", name=name, tell=told.append, move=lambda *at: None, **given
    )
    return row, told


def test_a_language_model_may_write_queries(
    workspace: Workspace, tmp_path: Path, server: FakeOpenAI
) -> None:
    """Beside those by rule, for which they are no better: nobody asked them."""
    chosen(workspace, sections(tmp_path / "guide", 12))
    row, told = wrote(workspace, server)
    assert len(server.requests) == 5 and "5 texts" in told[0] and "127.0.0.1" in told[0]
    assert "queries for 5 of 5 documents" in row["info"]["notes"][0]
    sheet = chosen(workspace, "upload:asked").sheet
    assert sheet["task"] == "upload:asked|queries:rule" and sheet["by_rule"]
    kinds = {one["kind"]: one["n"] for one in sheet["kinds"]}
    assert kinds["written"] == 5 and {"known", "cloze"} < kinds.keys()
    data: Any = workspace.catalog.load("upload:asked")
    for key, query in data.queries.items():
        document = key.removeprefix("written:")
        assert data.judgements["test"][key] == {document: 1}
        assert query == " ".join(data.documents[document].split()[:5])
    assert "language model" in sheet["warnings"][0]["message"]


def test_what_was_written_before_a_fault_is_kept(
    workspace: Workspace, tmp_path: Path, server: FakeOpenAI
) -> None:
    chosen(workspace, sections(tmp_path / "guide", 12))
    server.next = [talking('{"query": "tea?"}'), status(401, "no more")]
    row, _ = wrote(workspace, server, n=12)
    many = len(workspace.catalog.load("upload:asked").queries)  # type: ignore[union-attr]
    assert 1 <= many < 12 and "no more" in " ".join(row["info"]["notes"])
    away = {"model": "api:https://models.example/v1#m", "name": "other"}
    for server.next, more, code, named in (
        ([], {}, "conflict", ("asked",)),
        ([], away, "denied", ("5 texts", "models.example", "--send-texts")),
        ([talking("hm")] * 5, {"name": "other"}, "unreachable", ("no query", "5")),
        ([status(404, "no model")] * 5, {"name": "other"}, "unreachable", ("no model",)),
    ):
        with refused(code, *named):
            wrote(workspace, server, **more)
    assert workspace.store.uploads.get("other") is None
