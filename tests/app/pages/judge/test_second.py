"""A model as a second judge of a session: consent, its marks, what becomes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.app.pages.judge.test_service import PAIR, STARTER, by_label
from tests.fakes.openai import (
    FakeOpenAI,
    chat,
    cut,
    grade,
    half,
    hang_up,
    held,
    status,
    talking,
)
from tests.fakes.workers import do_units, work_off
from theodolite.app import endpoints
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.judge import command, report, second, service
from theodolite.app.workspace import Workspace
from theodolite.engine.endpoints import KEY
from theodolite.engine.errors import UserError

AWAY = "api:https://api.invalid/v1#m"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> Iterator[FakeOpenAI]:
    """A model that finds relevant what has the query's label, and no waiting to ask again."""
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setattr("theodolite.engine.endpoints.FIRST_WAIT", 0.0)
    data = workspace.catalog.load(STARTER)
    labels = dict(zip(data.sentences, data.labels, strict=True))  # type: ignore[union-attr]
    with FakeOpenAI() as fake:
        fake.judge = lambda query, document: grade(3 * (labels[query] == labels[document]))
        yield fake


def begun(workspace: Workspace, server: FakeOpenAI, draw: int = 6) -> str:
    """A session with that model."""
    expected = service.spec(STARTER, PAIR, draw=draw, second=f"api:{server.url}#fake")
    return service.begin(workspace, expected)


def marked(workspace: Workspace, session: str) -> dict[str, object]:
    """The status after its job."""
    job = second.job_of(service.opened(workspace, session))
    (outcome,) = do_units(workspace, job)
    assert outcome.failure is None
    standing = second.status(service.opened(workspace, session))
    assert standing is not None
    return standing


def test_it_marks_the_pool_once(workspace: Workspace, server: FakeOpenAI) -> None:
    """Every document with its query, those that count most first; another session asks the rest."""
    session = begun(workspace, server)
    found = service.opened(workspace, session)
    assert second.sending(found).texts == len(found.pool.keys) and server.requests == []
    run = second.ask(workspace, session)
    assert work_off(workspace, run)["state"] == "done"
    standing = second.status(service.opened(workspace, session))
    assert standing and (standing["marked"], standing["unmarked"], standing["left"]) == (
        len(found.pool.keys),
        0,
        0,
    )
    pool = found.pool
    assert sorted(server.judged) == sorted(
        (pool.queries[query], pool.documents[document]) for query, document in pool.keys
    )
    assert second.ask(workspace, session) == ""
    expected = service.spec(STARTER, PAIR, draw=6, k=6, second=f"api:{server.url}#fake")
    other = service.begin(workspace, expected)
    known = (
        len(service.opened(workspace, other).pool.keys)
        - second.sending(service.opened(workspace, other)).texts
    )
    assert known > 0
    marked(workspace, other)
    assert len(server.judged) == len(set(server.judged))


def test_a_good_one_narrows_the_interval(workspace: Workspace, server: FakeOpenAI) -> None:
    """Fewer marks are enough; both intervals are told, and how far it agrees with the person."""
    plain = service.begin(workspace, service.spec(STARTER, PAIR, draw=25))
    session = begun(workspace, server, 25)
    marked(workspace, session)
    right = by_label(workspace)
    assert service.play(workspace, session, right) < 0.9 * service.play(workspace, plain, right)
    standing = report.status(service.opened(workspace, session))
    (pair,) = standing["pairs"]
    alone = pair["without_second"]
    assert pair["verdict"] == PAIR[0]
    assert pair["high"] - pair["low"] < alone["high"] - alone["low"]
    agreed = standing["second"]["agreement"]
    assert (agreed["documents"], agreed["share"], agreed["kappa"]) == (standing["marks"], 1.0, 1.0)
    assert "agrees with the person in 100 %" in " ".join(second.in_words(standing["second"]))


def test_marks_that_come_meanwhile_count_from_then_on(
    workspace: Workspace, server: FakeOpenAI
) -> None:
    """What was drawn before is read as it was: no mark changes an observation of the past."""
    session = begun(workspace, server, 10)
    service.play(workspace, session, by_label(workspace), most=5)
    before = service.opened(workspace, session).estimates[0].path
    marked(workspace, session)
    now = service.opened(workspace, session)
    assert now.estimates[0].path == pytest.approx(before) and now.draws[5].seen == 0
    service.play(workspace, session, by_label(workspace), most=5)
    after = service.opened(workspace, session)
    assert after.draws[0].seen == 0 < after.draws[6].seen


@pytest.mark.parametrize(
    "trouble",
    [
        status(429, Retry_After="0"),
        status(500),
        half,
        cut,
        hang_up,
        talking("maybe"),
        talking(None),
    ],
    ids=["429", "500", "half", "cut", "hung up", "nonsense", "nothing"],
)
def test_what_passes_leaves_no_trace(
    workspace: Workspace, server: FakeOpenAI, trouble: object
) -> None:
    """It is asked again, and every document gets its mark."""
    session = begun(workspace, server)
    server.next = [trouble]  # type: ignore[list-item]
    standing = marked(workspace, session)
    assert (standing["unmarked"], standing["left"]) == (0, 0)
    assert len(server.requests) == int(str(standing["marked"])) + 1


def test_what_cannot_be_read_counts_as_unmarked(workspace: Workspace, server: FakeOpenAI) -> None:
    """After one more try, and is not asked a third time; nor is what the model refuses."""
    session = begun(workspace, server)
    pool = service.opened(workspace, session).pool
    strange, refused = pool.documents[pool.keys[0][1]], pool.documents[pool.keys[-1][1]]
    usual = server.judge
    server.judge = lambda query, text: "well ..." if text == strange else usual(query, text)
    standing = marked(workspace, session)
    requests = [document for _, document in server.judged]
    times = sum(pool.documents[document] == strange for _, document in pool.keys)
    assert standing["unmarked"] == times and requests.count(strange) == 2 * times
    assert refused != strange
    assert second.left(service.opened(workspace, session)) == []
    assert "could not be read" in " ".join(second.in_words(standing))
    service.play(workspace, session, by_label(workspace))
    assert report.status(service.opened(workspace, session))["second"]["unmarked"] == times


def test_one_that_refuses_all_fails_at_once(workspace: Workspace, server: FakeOpenAI) -> None:
    """With the server's words, after a few; one that refuses some has those unmarked."""
    session = begun(workspace, server)
    server.next = [status(400, "no such parameter")] * 500
    (outcome,) = do_units(workspace, second.job_of(service.opened(workspace, session)))
    assert isinstance(outcome.failure, UserError) and "no such parameter" in str(outcome.failure)
    requests_before = len(server.requests)
    assert requests_before <= second.MAX_REFUSED + 2 * second.AT_ONCE
    server.next = [status(400, "too long")]
    standing = marked(workspace, session)
    assert (standing["unmarked"], standing["left"]) == (1, 0)


def test_an_endpoint_that_vanishes_keeps_what_it_said(
    workspace: Workspace, server: FakeOpenAI
) -> None:
    """The run fails with a reason; asked again it goes on, and nothing is asked twice."""
    session = begun(workspace, server)
    keys = len(service.opened(workspace, session).pool.keys)
    answered = threading.Event()
    usual, count = server.judge, iter(range(1000))

    def judge(query: str, document: str) -> str:
        if next(count) == 7:
            server.next = [status(404, "gone")] * 500
            answered.set()
        return usual(query, document)

    server.judge = judge
    (outcome,) = do_units(workspace, second.job_of(service.opened(workspace, session)))
    assert isinstance(outcome.failure, UserError) and "gone" in outcome.failure.message
    standing = second.status(service.opened(workspace, session))
    assert standing and 0 < standing["marked"] < keys
    before = standing["marked"]
    server.next, server.requests = [], []
    standing = marked(workspace, session)
    assert standing["marked"] == keys and len(server.requests) == keys - before


def test_a_kill_loses_no_answer(workspace: Workspace, server: FakeOpenAI) -> None:
    """Killed while the server is slow: what was answered is there, and only the rest is asked."""
    session = begun(workspace, server)
    begins = [threading.Event() for _ in range(second.AT_ONCE)]
    over, count = threading.Event(), iter(range(1000))
    usual = server.judge

    def judge(query: str, document: str) -> str:
        if next(count) == 8:
            server.next = [held(over, begun) for begun in begins]
        return usual(query, document)

    server.judge = judge
    code = (
        "import sys; from pathlib import Path; from theodolite.app.workspace import Workspace\n"
        "from theodolite.app.pages.judge import second, service\n"
        "from tests.fakes.workers import do_units\n"
        "here = Workspace(Path(sys.argv[1]))\n"
        "do_units(here, second.job_of(service.opened(here, sys.argv[2])))"
    )
    root = Path(__file__).parents[4]
    line = [sys.executable, "-c", code, str(workspace.store.folder), session]
    with subprocess.Popen(line, cwd=root) as process:
        assert all(begun.wait(60) for begun in begins)
        os.kill(process.pid, signal.SIGKILL)
    over.set()
    keys = len(service.opened(workspace, session).pool.keys)
    standing = second.status(service.opened(workspace, session))
    assert standing and 0 < standing["marked"] < keys
    before = int(standing["marked"])
    server.next, server.requests = [], []
    standing = marked(workspace, session)
    assert standing["marked"] == keys and len(server.requests) == keys - before


def test_nothing_leaves_unasked(workspace: Workspace) -> None:
    """Not before it is allowed; what is allowed holds as long as a session names it."""
    wanted = service.spec(STARTER, PAIR, draw=4, second=AWAY)
    with pytest.raises(UserError, match=r"api\.invalid would receive documents") as caught:
        service.begin(workspace, wanted)
    assert "--send-texts" in caught.value.hint and workspace.store.judgements.list() == []
    words, host = second.at_most(workspace, AWAY, wanted)
    assert "Up to 40 documents" in words and host == "api.invalid"
    second.consent(workspace, AWAY, send_texts=True)
    session = service.begin(workspace, wanted)
    assert second.at_most(workspace, AWAY, wanted)[1] == ""
    encoders.ensure_listed(workspace, ["random:16"])
    encoders.remove(workspace, "random:16")
    assert endpoints.allowed(workspace.store) == ["https://api.invalid/v1"]
    service.remove(workspace, session)
    assert endpoints.allowed(workspace.store) == []
    with pytest.raises(UserError, match="does not compare lists"):
        service.spec(STARTER, PAIR, mode="preference", second=AWAY)


def test_visitors_have_nothing_sent(workspace: Workspace, server: FakeOpenAI) -> None:
    """Not even to this machine."""
    session = begun(workspace, server)
    visitor = Workspace(workspace.store.folder, read_only=True)
    with pytest.raises(UserError, match="Visitors"):
        second.ask(visitor, session)
    visitor.close()
    assert server.requests == []


def test_its_marks_are_never_the_persons(
    workspace: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """Qrels and the data set hold what the person marked; the model has a file of its own."""
    session = begun(workspace, server)
    marked(workspace, session)
    made = service.play(workspace, session, lambda asked: "not", most=9)
    found = service.opened(workspace, session)
    files = [*report.write(found, tmp_path), *report.write_second(found, tmp_path)]
    assert files[-1].name == report.SECOND
    qrels = (tmp_path / report.QRELS).read_text().splitlines()
    assert len(qrels) == made and all(row.endswith(" 0") for row in qrels)
    rows = [json.loads(row) for row in files[-1].read_text().splitlines()]
    assert len(rows) == len(found.pool.keys) and {row["grade"] for row in rows} == {0, 3}
    assert {row["judge"] for row in rows} == {found.spec.second}
    data = workspace.catalog.load(report.keep(workspace, session, "mine"))
    assert sum(len(at) for at in data.judgements["test"].values()) == made  # type: ignore[union-attr]


def test_the_verbs(home: Path, workspace: Workspace, server: FakeOpenAI) -> None:
    """Begun with it, marked from here, told with and without it, and exported apart."""
    runner = CliRunner()

    def ran(*words: str) -> tuple[list[dict[str, object]], str]:
        done = runner.invoke(command.judge_verbs, [*words, "--json"])
        assert done.exit_code == 0, done.output
        return [json.loads(row) for row in done.stdout.splitlines()], done.stderr

    model = f"api:{server.url}#fake"
    pair = ["-e", PAIR[0], "-e", PAIR[1], "--draw", "5"]
    ((row,), output) = ran("start", STARTER, *pair, "--second", model)
    session = str(row["id"])
    assert "Up to 50 documents, each with its query" in output and server.requests == []
    (run,) = workspace.store.runs.list(kinds=["second-judge"])
    assert run["state"] == "queued" and run["spec"]["session"] == session
    ((result,), output) = ran("second", session)
    assert (
        "127.0.0.1" in output and result["marked"] == len(server.requests) and result["left"] == 0
    )
    ran("mark", session, "relevant")
    ((now,), _) = ran("status", session)
    assert now["second"]["agreement"]["documents"] == 1  # type: ignore[index]
    assert "without_second" in now["pairs"][0]  # type: ignore[index]
    plain = runner.invoke(command.judge_verbs, ["status", session]).output
    assert "The same without the second judge" in plain and "It has marked" in plain
    files, _ = ran("export", session, str(home / "out"))
    assert str(files[-1]["file"]).endswith(report.SECOND)
    refused = runner.invoke(command.judge_verbs, ["start", STARTER, *pair, "--second", AWAY])
    assert refused.exit_code == 2 and "Nothing leaves this machine" in refused.stderr
    ((other,), _) = ran("start", STARTER, *pair)
    refused = runner.invoke(command.judge_verbs, ["second", str(other["id"])])
    assert refused.exit_code == 2 and "no second judge" in refused.stderr


def test_a_chat_that_is_none(workspace: Workspace, server: FakeOpenAI) -> None:
    """A server whose answers have no choices: all unmarked, and the session is as without it."""
    session = begun(workspace, server)
    server.judge = lambda query, document: chat(None)["object"]
    standing = marked(workspace, session)
    assert standing["marked"] == 0 and standing["left"] == 0
    service.play(workspace, session, by_label(workspace), most=4)
    (pair,) = report.status(service.opened(workspace, session))["pairs"]
    alone = pair["without_second"]
    assert (pair["low"], pair["high"]) == (alone["low"], alone["high"])
