"""A model as a second judge of a session: consent, its marks, what becomes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.pages.judge.test_service import PAIR, STARTER, by_label, status
from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.openai import FakeOpenAI, chat, cut, grade, half, hang_up, held, talking
from tests.fakes.openai import status as answers_with
from tests.fakes.workers import do_units, work_off
from theodolite.app import endpoints
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.judge import report, second, service
from theodolite.app.workspace import Workspace
from theodolite.engine.endpoints import KEY
from theodolite.engine.errors import UserError

AWAY = "api:https://api.invalid/v1#m"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> Iterator[FakeOpenAI]:
    """A model that finds relevant what has the query's label, and no waiting to ask again."""
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setattr("theodolite.engine.endpoints.FIRST_WAIT", 0.0)
    data: Any = workspace.catalog.load(STARTER)
    labels = dict(zip(data.sentences, data.labels, strict=True))
    with FakeOpenAI() as fake:
        fake.judge = lambda query, document: grade(3 * (labels[query] == labels[document]))
        yield fake


def begun(workspace: Workspace, server: FakeOpenAI, draw: int = 6, **more: Any) -> str:
    """A session with that model."""
    second_judge = f"api:{server.url}#fake"
    wanted = service.spec(STARTER, PAIR, draw=draw, second=second_judge, **more)
    return service.begin(workspace, wanted)


def outcome(workspace: Workspace, session: str) -> Exception | None:
    """How its job ends here."""
    (found,) = do_units(workspace, second.job_of(service.opened(workspace, session)))
    return found.failure


def progress(workspace: Workspace, session: str) -> Any:
    return second.status(service.opened(workspace, session))


def marked(workspace: Workspace, session: str) -> Any:
    """The status after its job."""
    assert outcome(workspace, session) is None
    return progress(workspace, session)


def test_it_marks_the_pool_once(workspace: Workspace, server: FakeOpenAI) -> None:
    """Every document with its query, those that count most first; another session asks the rest."""
    session = begun(workspace, server)
    found = service.opened(workspace, session)
    pool = found.pool
    assert second.sending(found).texts == len(pool.keys) and server.requests == []
    assert work_off(workspace, second.ask(workspace, session))["state"] == "done"
    now = progress(workspace, session)
    assert (now["marked"], now["unmarked"], now["left"]) == (len(pool.keys), 0, 0)
    assert sorted(server.judged) == sorted(
        (pool.queries[query], pool.documents[document]) for query, document in pool.keys
    )
    assert second.ask(workspace, session) == ""
    other = begun(workspace, server, k=6)
    found = service.opened(workspace, other)
    assert second.sending(found).texts < len(found.pool.keys)
    marked(workspace, other)
    assert len(server.judged) == len(set(server.judged))


def test_a_good_one_narrows_the_interval(workspace: Workspace, server: FakeOpenAI) -> None:
    """Fewer marks are enough; both intervals are told, and how far it agrees with the person."""
    plain = service.begin(workspace, service.spec(STARTER, PAIR, draw=25))
    session = begun(workspace, server, 25)
    marked(workspace, session)
    right = by_label(workspace)
    assert service.play(workspace, session, right) < 0.9 * service.play(workspace, plain, right)
    now = status(workspace, session)
    (pair,), agreed = now["pairs"], now["second"]["agreement"]
    alone = pair["without_second"]
    assert pair["verdict"] == PAIR[0]
    assert pair["high"] - pair["low"] < alone["high"] - alone["low"]
    assert (agreed["documents"], agreed["share"], agreed["kappa"]) == (now["marks"], 1.0, 1.0)


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
    after = service.opened(workspace, session).draws
    assert after[0].seen == 0 < after[6].seen


@pytest.mark.parametrize(
    "trouble",
    [
        answers_with(429, Retry_After="0"),
        answers_with(500),
        half,
        cut,
        hang_up,
        talking("maybe"),
        talking(None),
    ],
    ids=["429", "500", "half", "cut", "hung up", "nonsense", "nothing"],
)
def test_what_passes_leaves_no_trace(
    workspace: Workspace, server: FakeOpenAI, trouble: Any
) -> None:
    """It is asked again, and every document gets its mark."""
    session = begun(workspace, server)
    server.next = [trouble]
    now = marked(workspace, session)
    assert (now["unmarked"], now["left"]) == (0, 0)
    assert len(server.requests) == now["marked"] + 1


def test_what_cannot_be_read_counts_as_unmarked(workspace: Workspace, server: FakeOpenAI) -> None:
    """After one more try, and is not asked a third time."""
    session = begun(workspace, server)
    pool = service.opened(workspace, session).pool
    documents = [pool.documents[document] for _, document in pool.keys]
    strange, usual = documents[0], server.judge
    server.judge = lambda query, text: "well ..." if text == strange else usual(query, text)
    now = marked(workspace, session)
    times = documents.count(strange)
    assert now["unmarked"] == times < len(documents)
    assert [document for _, document in server.judged].count(strange) == 2 * times
    assert second.left(service.opened(workspace, session)) == []
    service.play(workspace, session, by_label(workspace))
    assert status(workspace, session)["second"]["unmarked"] == times


def test_one_that_refuses_all_fails_at_once(workspace: Workspace, server: FakeOpenAI) -> None:
    """With the server's words, after a few; one that refuses some has those unmarked."""
    session = begun(workspace, server)
    server.next = [answers_with(400, "no such parameter")] * 500
    failure = outcome(workspace, session)
    assert isinstance(failure, UserError) and "no such parameter" in str(failure)
    assert len(server.requests) <= second.MAX_REFUSED + 2 * second.AT_ONCE
    server.next = [answers_with(400, "too long")]
    now = marked(workspace, session)
    assert (now["unmarked"], now["left"]) == (1, 0)


def after(count: int, server: FakeOpenAI, happen: Callable[[], Any]) -> None:
    """Let something happen at a request, which is answered as usual."""
    usual, numbers = server.judge, iter(range(1000))

    def judge(query: str, document: str) -> str:
        if next(numbers) == count:
            happen()
        return usual(query, document)

    server.judge = judge


def check_it_goes_on(workspace: Workspace, server: FakeOpenAI, session: str) -> None:
    """What was answered is kept, and only the rest is asked."""
    keys = len(service.opened(workspace, session).pool.keys)
    before = progress(workspace, session)["marked"]
    assert 0 < before < keys
    server.next, server.requests = [], []
    assert marked(workspace, session)["marked"] == keys
    assert len(server.requests) == keys - before


def test_an_endpoint_that_vanishes_keeps_what_it_said(
    workspace: Workspace, server: FakeOpenAI
) -> None:
    """The run fails with a reason."""
    session = begun(workspace, server)
    after(7, server, lambda: setattr(server, "next", [answers_with(404, "gone")] * 500))
    failure = outcome(workspace, session)
    assert isinstance(failure, UserError) and "gone" in failure.message
    check_it_goes_on(workspace, server, session)


def test_a_kill_loses_no_answer(workspace: Workspace, server: FakeOpenAI) -> None:
    """Killed while the server is slow."""
    session = begun(workspace, server)
    begins = [threading.Event() for _ in range(second.AT_ONCE)]
    over = threading.Event()
    after(8, server, lambda: setattr(server, "next", [held(over, begun) for begun in begins]))
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
    check_it_goes_on(workspace, server, session)


def test_nothing_leaves_unasked(workspace: Workspace) -> None:
    """Not before it is allowed; what is allowed holds as long as a session names it."""
    wanted = service.spec(STARTER, PAIR, draw=4, second=AWAY)
    with refused("denied", "api.invalid", "--send-texts"):
        service.begin(workspace, wanted)
    assert workspace.store.judgements.list() == []
    words, host = second.at_most(workspace, AWAY, wanted)
    assert "40 documents" in words and host == "api.invalid"
    second.consent(workspace, AWAY, send_texts=True)
    session = service.begin(workspace, wanted)
    assert second.at_most(workspace, AWAY, wanted)[1] == ""
    encoders.ensure_listed(workspace, ["random:16"])
    encoders.remove(workspace, "random:16")
    assert endpoints.allowed(workspace.store) == ["https://api.invalid/v1"]
    service.remove(workspace, session)
    assert endpoints.allowed(workspace.store) == []


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
    report.write(found, tmp_path)
    (file,) = report.write_second(found, tmp_path)
    qrels = (tmp_path / report.QRELS).read_text().splitlines()
    assert len(qrels) == made and all(row.endswith(" 0") for row in qrels)
    rows = [json.loads(row) for row in file.read_text().splitlines()]
    assert len(rows) == len(found.pool.keys) and {row["grade"] for row in rows} == {0, 3}
    assert {row["judge"] for row in rows} == {found.spec.second}
    data: Any = workspace.catalog.load(report.keep(workspace, session, "mine"))
    assert sum(map(len, data.judgements["test"].values())) == made


def test_the_verbs(home: Path, workspace: Workspace, server: FakeOpenAI) -> None:
    """Begun with it, marked from here, told with and without it, and exported apart."""

    def ran(*words: str) -> list[dict[str, Any]]:
        return objects(theodolite("judge", *words, "--json"))

    start = ["start", STARTER, "-e", PAIR[0], "-e", PAIR[1], "--draw", "5"]
    session = ran(*start, "--second", f"api:{server.url}#fake")[0]["id"]
    (run,) = workspace.store.runs.list(kinds=["second-judge"])
    assert (run["state"], run["spec"]["session"], server.requests) == ("queued", session, [])
    (result,) = ran("second", session)
    assert (result["marked"], result["left"]) == (len(server.requests), 0)
    ran("mark", session, "relevant")
    (now,) = ran("status", session)
    assert now["second"]["agreement"]["documents"] == 1 and "without_second" in now["pairs"][0]
    assert theodolite("judge", "status", session)
    assert ran("export", session, str(home / "out"))[-1]["file"].endswith(report.SECOND)
    assert "api.invalid" in theodolite("judge", *start, "--second", AWAY, code=2)[-1]
    other = ran(*start)[0]["id"]
    with refused("missing"):
        second.ask(workspace, other)


def test_a_chat_that_is_none(workspace: Workspace, server: FakeOpenAI) -> None:
    """A server whose answers have no choices: all unmarked, and the session is as without it."""
    session = begun(workspace, server)
    server.judge = lambda query, document: chat(None)["object"]
    now = marked(workspace, session)
    assert (now["marked"], now["left"]) == (0, 0)
    service.play(workspace, session, by_label(workspace), most=4)
    (pair,) = status(workspace, session)["pairs"]
    alone = pair["without_second"]
    assert (pair["low"], pair["high"]) == (alone["low"], alone["high"])
