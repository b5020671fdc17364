"""Sessions of judging, played by a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.errors import refused
from tests.fakes.command_line import objects
from tests.fakes.command_line import theodolite as run_verb
from tests.fakes.openai import FakeOpenAI, hang_up, saying
from tests.fakes.workers import do_units, work_off
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.judge import report, service
from theodolite.app.pages.judge.job import JudgeJob, preparing
from theodolite.app.pages.judge.service import JudgeSpec, Question
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.evaluate import evaluate

STARTER, PAIR = "starter-topics", ("wordllama", "random:256")


def by_label(workspace: Workspace) -> Callable[[Question], str]:
    """A judge who finds relevant what has the query's label."""
    data = workspace.catalog.load(STARTER)
    labels = dict(zip(data.sentences, data.labels, strict=True))  # type: ignore[union-attr]

    def answer(asked: Question) -> str:
        ((text,),) = asked.texts
        return "relevant" if labels[text] == labels[asked.query] else "not"

    return answer


@pytest.fixture
def session(workspace: Workspace) -> str:
    """Two encoders on the starter set."""
    return service.begin(workspace, service.spec(STARTER, PAIR, draw=40, seed=1))


def status(workspace: Workspace, session: str) -> dict[str, Any]:
    return report.status(service.opened(workspace, session))


def test_a_scripted_judge_separates_two_encoders(workspace: Workspace, session: str) -> None:
    """With fewer marks than there are documents, and rightly; each mark narrows the interval."""
    made = service.play(workspace, session, by_label(workspace))
    found = status(workspace, session)
    (pair,), (one,) = found["pairs"], service.opened(workspace, session).estimates
    assert found["enough"] and pair["verdict"] == "wordllama" and pair["low"] > 0
    assert made == found["marks"] and found["judges"] == {"script": made}
    assert made < 0.6 * (made + found["left"])
    assert len(one.path) == made + 1 and (one.path[1:, 0] != one.path[:-1, 0]).all()
    widths = one.path[:, 2] - one.path[:, 1]
    assert (widths[1:] <= widths[:-1]).all() and widths[-1] < widths[0]


def test_undo_asks_the_same_again(workspace: Workspace, session: str) -> None:
    """What was drawn stays drawn, or taking marks back would choose what is judged."""
    first = service.question(workspace, session)
    second = service.mark(workspace, session, "relevant")
    assert first and second and first != second
    assert service.undo(workspace, session) == first
    assert service.mark(workspace, session, "not") == second
    assert service.opened(workspace, session).marks == {0: {"me": 0.0}}
    service.undo(workspace, session)
    with refused("missing"):
        service.undo(workspace, session)


def test_a_second_press_marks_nothing_else(workspace: Workspace, session: str) -> None:
    """A page tells which question it marks: what was marked before stays as it is."""
    assert service.question(workspace, session)
    for answer in ("relevant", "not"):
        service.mark(workspace, session, answer, position=0)
    assert service.opened(workspace, session).marks == {0: {"me": 1.0}}


def test_a_session_goes_on_where_it_was(workspace: Workspace, session: str) -> None:
    """Another process, or the same after a kill, shows the same question."""
    service.play(workspace, session, by_label(workspace), judge="me", most=5)
    other = Workspace(workspace.store.folder)
    assert service.question(other, session) == service.question(workspace, session)
    assert status(other, session) == status(workspace, session)
    other.close()


def test_several_judges(workspace: Workspace, session: str) -> None:
    """All are asked the same; their agreement is told, and what they disagree on is settled."""
    right = by_label(workspace)

    def contrary(asked: Question) -> str:
        judgement = right(asked)
        return judgement if asked.position else {"relevant": "not", "not": "relevant"}[judgement]

    service.play(workspace, session, right, "a", most=10)
    service.play(workspace, session, contrary, "b", most=10)
    found, now = service.opened(workspace, session), status(workspace, session)
    assert now["judges"] == {"a": 10, "b": 10} and now["marks"] == 10
    assert now["disagreements"] == [0] and 0 < now["alpha"] < 1 and len(now["warnings"]) == 1
    assert sum(map(len, report.judged(found).values())) == 9  # one is left out until it is settled
    assert found.values[0] == 0.5
    for mark in ("relevant", "not"):
        service.settle(workspace, session, 0, mark)
    found = service.opened(workspace, session)
    assert found.values[0] == 0.0 and report.disagreements(found) == []


def test_a_judge_who_always_says_yes(workspace: Workspace) -> None:
    """Is told so, and separates nothing: both return as many documents."""
    session = service.begin(workspace, service.spec(STARTER, PAIR, draw=8))
    made = service.play(workspace, session, lambda asked: "relevant")
    found = status(workspace, session)
    assert found["pairs"][0]["verdict"] == "alike"
    assert [str(made) in text for text in found["warnings"]] == [True]


def test_preferences(workspace: Workspace) -> None:
    """A judge who prefers wordllama's lists, on whichever side they are."""
    wanted = service.spec(STARTER, PAIR, draw=60, mode="preference", seed=3)
    session = service.begin(workspace, wanted)
    pool, sides = service.opened(workspace, session).pool, set()

    def answer(question: Question) -> str:
        ranking = pool.rankings["wordllama"][pool.queries.index(question.query)]
        on_the_left = question.texts[0] == tuple(pool.documents[i] for i in ranking)
        sides.add(on_the_left)
        return "left" if on_the_left else "right"

    made = service.play(workspace, session, answer)
    (pair,) = status(workspace, session)["pairs"]
    assert pair["verdict"] == "wordllama" and made < 30 and sides == {True, False}
    with refused("unsupported"):
        report.judged(service.opened(workspace, session))


def test_a_session_becomes_a_data_set(workspace: Workspace, session: str, tmp_path: Path) -> None:
    """In BEIR's layout with TREC's qrels; a task on the judged documents alone."""
    made = service.play(workspace, session, by_label(workspace), most=40)
    report.write(service.opened(workspace, session), tmp_path)
    qrels = (tmp_path / report.QRELS).read_text().splitlines()
    assert len(qrels) == made and {len(row.split()) for row in qrels} == {4}
    name = report.keep(workspace, session, "judged")
    data: Any = workspace.catalog.load(name)
    judged = data.judgements["test"]
    assert sum(map(len, judged.values())) == made
    assert data.candidates == {query: tuple(at) for query, at in judged.items()}
    (result,) = evaluate(workspace.load("random:256"), [name], data=workspace.catalog)
    assert result.error is None


def test_what_nobody_judged_is_told(workspace: Workspace, session: str) -> None:
    """Of another encoder: how much is unjudged, which is neither right nor wrong."""
    service.play(workspace, session, by_label(workspace), most=30)
    found = service.opened(workspace, session)
    row = report.unjudged(found, workspace, "random:64")
    assert row["returned"] == 5 * len(report.judged(found)) and row["unjudged"] > 0
    assert row["unjudged"] + row["relevant"] + row["not_relevant"] == row["returned"]


@pytest.mark.parametrize(
    ("encoders", "given", "code", "named"),
    [
        (["wordllama"], {}, "invalid", "not 1"),
        (["wordllama", "wordllama"], {}, "invalid", "not 1"),
        (PAIR, {"k": 0}, "invalid", "top 0"),
        (PAIR, {"k": 51}, "invalid", "top 51"),
        (PAIR, {"draw": 0}, "invalid", "0 queries"),
        (PAIR, {"draw": 1001}, "invalid", "1001 queries"),
        (PAIR, {"mode": "stars"}, "invalid", "'stars'"),
        (PAIR, {"measure": "stars"}, "invalid", "'stars'"),
        (PAIR, {"margin": -1}, "invalid", "-1"),
        (PAIR, {"margin": 101}, "invalid", "101"),
        (PAIR, {"mode": "preference", "second": "api:https://a.invalid/v1#m"}, "conflict", ""),
    ],
)
def test_bad_settings(
    encoders: Sequence[str], given: dict[str, Any], code: Any, named: str
) -> None:
    with refused(code, named):
        service.spec(STARTER, encoders, **given)


def test_bad_input(workspace: Workspace, session: str, tmp_path: Path) -> None:
    for code, named, answer, more in (
        ("invalid", "maybe", "maybe", {}),
        ("unknown", 99, "not", {"position": 99}),
        ("invalid", "' '", "not", {"judge": " "}),
        ("invalid", "long", "not", {"judge": "long" * 21}),
    ):
        with refused(code, named):
            service.mark(workspace, session, answer, **more)
    with refused("no-result"):
        report.write(service.opened(workspace, session), tmp_path)
    two = lines(workspace, "two", ["A boat.", "The sea."])
    for plan in (
        JudgeSpec(STARTER, ("random:256", "random:256 | normalise"), draw=5),
        service.spec(two, PAIR),
        service.spec(lines(workspace, "one", ["a"]), PAIR),
    ):
        with refused("too-few"):
            service.begin(workspace, plan)


def test_fewer_documents_than_are_asked_for(workspace: Workspace) -> None:
    """Lists are as long as the collection."""
    three = lines(workspace, "three", ["A boat.", "The sea.", "A house."])
    session = service.begin(workspace, service.spec(three, PAIR, queries=["boat by the sea"], k=50))
    service.play(workspace, session, lambda asked: "relevant")
    assert service.opened(workspace, session).enough


def lines(workspace: Workspace, name: str, texts: Sequence[str]) -> str:
    """A collection of one's own."""
    mapping = {"kind": "sentences", "columns": {"text": "text"}, "header": True}
    content = "\n".join(["text", *texts]).encode()
    workspace.store.uploads.add(name, "sentences", content, mapping=mapping, filename="own.csv")
    return f"upload:{name}"


def test_an_endpoint_vanishes_while_it_is_asked(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run says so, and goes on from there when it is tried again: nothing is sent twice."""
    monkeypatch.setattr("theodolite.engine.endpoints.FIRST_WAIT", 0.0)
    with FakeOpenAI() as server:
        usual = saying(lambda _: None)
        server.next = [usual, usual, *[hang_up] * 40]
        encoders = ("random:64", f"api:{server.url}#fake?batch=20")
        own = lines(workspace, "fifty", [f"{'word ' * i}{i}" for i in range(50)])
        job = JudgeJob.of(service.spec(own, encoders, queries=["word 7", "word 3"]))
        run = work_off(workspace, queue(workspace, job))
        assert run["state"] == "failed" and "20 of 50 texts came before" in str(run["error"])
        server.next, server.requests = [], []
        assert work_off(workspace, queue(workspace, job))["state"] == "done"
        assert len(server.texts) == 30 + 2
    assert service.question(workspace, job.session)


def test_queries_of_ones_own(home: Path) -> None:
    """A file, one a line; without any, or without the file, nothing is begun."""
    file = home / "mine.txt"
    start = ["judge", "start", STARTER, "-e", PAIR[0], "-e", PAIR[1], "--json", "--queries"]
    file.write_text("a boat at sea\n\n  a loaf of bread \n", encoding="utf-8")
    (begun,) = objects(run_verb(*start, str(file)))
    (output,) = objects(run_verb("judge", "next", begun["id"], "--json"))
    assert output["query"] in ("a boat at sea", "a loaf of bread")
    (run,) = objects(run_verb("jobs", "list", "--json"))
    assert (run["kind"], run["state"]) == ("judge", "done")
    file.write_text("\n \n", encoding="utf-8")
    for given in (file, home / "none.txt"):
        assert given.name in run_verb(*start, str(given), code=2)[-1]


def test_a_session_is_begun_by_a_run(workspace: Workspace) -> None:
    """By a worker or here, once: a unit that is done again leaves the same session."""
    job = JudgeJob.of(service.spec(STARTER, PAIR, draw=8), "mine")
    assert preparing(workspace, job.session) is None and not job.is_stored(workspace)
    run = queue(workspace, JudgeJob.from_spec(json.loads(json.dumps(job.to_spec()))))
    assert preparing(workspace, job.session) == workspace.store.runs.get(run)
    assert work_off(workspace, run)["state"] == "done"
    question = service.question(workspace, job.session)
    shares: list[float] = []
    do_units(workspace, job, shares.append)
    assert service.question(workspace, job.session) == question and shares == sorted(shares)
    assert [row["title"] for row in workspace.store.judgements.list()] == ["mine"]
    assert preparing(workspace, job.session) is None
    assert JudgeJob.of(job.plan).session != job.session
    with refused("too-few"):
        queue(workspace, JudgeJob.of(JudgeSpec("starter-topics", PAIR, draw=0)))


def test_visitors_do_not_mark(workspace: Workspace, session: str) -> None:
    """They change nothing, and see what there is."""
    service.mark(workspace, session, "not")
    visitor = Workspace(workspace.store.folder, read_only=True)
    for tried in (
        lambda: service.mark(visitor, session, "not"),
        lambda: service.undo(visitor, session),
        lambda: service.question(visitor, session),
        lambda: service.settle(visitor, session, 0, "not"),
        lambda: service.remove(visitor, session),
        lambda: service.begin(visitor, service.spec(STARTER, PAIR)),
    ):
        with pytest.raises(UserError, match="Visitors"):
            tried()
    assert status(visitor, session)["marks"] == 1
    visitor.close()


def test_the_verbs_play_a_session(home: Path, starter: Workspace) -> None:
    """A script begins, judges line by line, and takes the data set home."""
    answer = by_label(starter)

    def ran(*words: str, given: str = "") -> list[dict[str, Any]]:
        return objects(run_verb("judge", *words, "--json", given=given))

    (begun,) = ran("start", STARTER, "-e", PAIR[0], "-e", PAIR[1], "--draw", "30")
    session = begun["id"]
    for _ in range(3):
        (row,) = ran("next", session)
        judgement = answer(Question(0, row["query"], tuple(map(tuple, row["texts"]))))
        ran("mark", session, judgement, "--position", str(row["position"]))
    *asked_too, output = ran("play", session, given="relevant\nn\nu\nnot\n")
    assert [row["position"] for row in asked_too] == [3, 4, 5, 4, 5] and output["marks"] == 5
    assert ran("status", session) == [output] and len(ran("list")) == 1
    *_, kept = ran("export", session, str(home / "out"), "--as", "mine")
    assert kept == {"dataset": "upload:mine"}
    assert ran("unjudged", session, "-e", "random:64")[0]["returned"]
    ran("settle", session, "0", "not")
    ran("remove", session)
    assert session in run_verb("judge", "next", session, code=2)[-1]
