"""Sessions of judging, played by a script; and a model as a second judge: consent, its marks."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.openai import (
    FakeOpenAI,
    cut,
    grade,
    half,
    hang_up,
    held,
    status as answers_with,
    talking,
)
from tests.fakes.uploads import collection
from tests.fakes.workers import do_units, work_off
from theodolite.app import endpoints
from theodolite.app.examples import make
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.judge import export, session as judging
from theodolite.app.pages.judge.answer import board_of
from theodolite.app.pages.judge.job import (
    AT_ONCE,
    MAX_REFUSED,
    JudgeJob,
    SecondJudgeJob,
    ask_second,
    run_of,
)
from theodolite.app.pages.judge.session import JudgeSpec, Question, open_session
from theodolite.app.vectors import vectors
from theodolite.app.workspace import Workspace
from theodolite.engine.evaluate import evaluate

STARTER, PAIR = "starter-topics", ("wordllama", "random:256")
AWAY = "api:https://api.invalid/v1#m"


def by_label(workspace: Workspace) -> Callable[[Question], str]:
    """A judge who finds relevant what has the query's label."""
    return make.by_label(workspace, STARTER)


@pytest.fixture
def workspace(workspace: Workspace, starter: Workspace) -> Workspace:
    """The same, with the vectors of the starter set, which are computed once for all tests."""
    for encoder in PAIR:
        vectors(starter, encoder, STARTER)
    shutil.copytree(starter.store.folder / "vectors", workspace.store.folder / "vectors")
    return workspace


@pytest.fixture
def session(workspace: Workspace) -> str:
    """Two encoders on the starter set."""
    return judging.begin(workspace, JudgeSpec(STARTER, PAIR, draw=40, seed=1))


def status(workspace: Workspace, session: str) -> dict:
    return board_of(open_session(workspace, session))


def test_a_scripted_judge_separates_two_encoders(workspace: Workspace, session: str) -> None:
    """With fewer marks than there are documents, and rightly; each mark narrows the interval."""
    made = judging.play(workspace, session, by_label(workspace))
    found = status(workspace, session)
    (pair,), (one,) = found["pairs"], open_session(workspace, session).estimates
    assert found["enough"] and pair["verdict"] == "wordllama" and pair["low"] > 0
    assert made == found["marks"] < 0.6 * (made + found["left"])
    assert found["judges"] == {"script": made}
    assert len(one.path) == made + 1 and (one.path[1:, 0] != one.path[:-1, 0]).all()
    widths = one.path[:, 2] - one.path[:, 1]
    assert (widths[1:] <= widths[:-1]).all() and widths[-1] < widths[0]


def test_undo_asks_the_same_again(workspace: Workspace, session: str) -> None:
    """What was drawn stays drawn, or taking marks back would choose what is judged."""
    first = judging.ask(workspace, session)
    second = judging.mark(workspace, session, "relevant")
    assert first and second and first != second
    assert judging.mark(workspace, session, "undo") == first
    for answer in ("not", "relevant"):  # a page tells which it marks: a second press is no mark
        assert judging.mark(workspace, session, answer, position=0) == second
    assert open_session(workspace, session).marks == {0: {"me": 0.0}}
    judging.mark(workspace, session, "undo")
    with refused("missing"):
        judging.mark(workspace, session, "undo")


def test_a_session_goes_on_where_it_was(workspace: Workspace, session: str) -> None:
    """Another process, or the same after a kill, shows the same question; visitors only look."""
    judging.play(workspace, session, by_label(workspace), judge="me", most=5)
    other = Workspace(workspace.store.folder)
    assert judging.ask(other, session) == judging.ask(workspace, session)
    assert status(other, session) == status(workspace, session)
    other.read_only = True
    for attempt in (
        lambda: judging.mark(other, session, "not"),
        lambda: judging.mark(other, session, "undo"),
        lambda: judging.ask(other, session),
        lambda: judging.settle(other, session, 0, "not"),
        lambda: judging.remove(other, session),
        lambda: judging.begin(other, JudgeSpec(STARTER, PAIR)),
        lambda: export.keep(other, session),
    ):
        with refused("denied"):
            attempt()
    assert status(other, session)["marks"] == 5


def test_several_judges(workspace: Workspace, session: str) -> None:
    """All are asked the same; their agreement is told, and what they disagree on is settled."""
    right = by_label(workspace)

    def contrary(asked: Question) -> str:
        judgement = right(asked)
        return judgement if asked.position else {"relevant": "not", "not": "relevant"}[judgement]

    judging.play(workspace, session, right, "a", most=10)
    judging.play(workspace, session, contrary, "b", most=10)
    found, now = open_session(workspace, session), status(workspace, session)
    assert now["judges"] == {"a": 10, "b": 10} and now["marks"] == 10
    assert now["disagreements"] == [0] and 0 < now["alpha"] < 1 and len(now["warnings"]) == 1
    assert (
        sum(map(len, export.judgements(found).values())) == 9
    )  # one is left out until it is settled
    assert found.values[0] == 0.5
    for mark in ("relevant", "not"):
        judging.settle(workspace, session, 0, mark)
    found = open_session(workspace, session)
    assert found.values[0] == 0.0 and found.disagreements == []


def test_a_judge_who_always_says_yes(workspace: Workspace) -> None:
    """Separates nothing: both return as many documents, at most all; and is told so, of many."""
    three = lines(workspace, "three", ["A boat.", "The sea.", "A house."])
    few = JudgeSpec(three, PAIR, queries=["boat by the sea"], k=50)
    for wanted in (few, JudgeSpec(STARTER, PAIR, draw=8)):
        session = judging.begin(workspace, wanted)
        made = judging.play(workspace, session, lambda asked: "relevant")
        found = status(workspace, session)
        assert found["enough"] and found["pairs"][0]["verdict"] == "alike"
    assert [str(made) in text for text in found["warnings"]] == [True]


def test_preferences(workspace: Workspace) -> None:
    """A judge who prefers wordllama's lists, on whichever side they are."""
    wanted = JudgeSpec(STARTER, PAIR, draw=60, mode="preference", seed=3)
    session = judging.begin(workspace, wanted)
    begun, sides = open_session(workspace, session), set()

    def answer(question: Question) -> str:
        ranking = begun.rankings["wordllama"][begun.queries.index(question.query)]
        on_the_left = question.texts[0] == tuple(begun.documents[i] for i in ranking)
        sides.add(on_the_left)
        return "left" if on_the_left else "right"

    made = judging.play(workspace, session, answer)
    now = status(workspace, session)
    assert now["pairs"][0]["verdict"] == "wordllama" and made < 30 and sides == {True, False}
    (last,) = {answer(Question(0, now["last"]["query"], now["last"]["texts"]))}
    assert now["last"]["mark"] == judging.MARKS["preference"][last]
    with refused("unsupported"):
        export.judgements(open_session(workspace, session))


def test_a_session_becomes_a_data_set(workspace: Workspace, session: str, tmp_path: Path) -> None:
    """In BEIR's layout with TREC's qrels; a task on the judged documents alone.

    Of another encoder, what is unjudged is neither right nor wrong.
    """
    made = judging.play(workspace, session, by_label(workspace), most=40)
    found = open_session(workspace, session)
    row = export.count_unjudged(workspace, found, "random:64")
    assert row["returned"] == 5 * len(export.judgements(found)) and row["unjudged"] > 0
    assert row["unjudged"] + row["relevant"] + row["not_relevant"] == row["returned"]
    export.write(export.files(found), tmp_path)
    qrels = (tmp_path / export.QRELS).read_text().splitlines()
    assert len(qrels) == made and {len(row.split()) for row in qrels} == {4}
    name = export.keep(workspace, session, "judged")
    data = workspace.catalog.load(name)
    judged = data.judgements["test"]
    assert sum(map(len, judged.values())) == made
    assert data.candidates == {query: tuple(at) for query, at in judged.items()}
    (result,) = evaluate(workspace.load("random:256"), [name], data=workspace.catalog)
    assert result.error is None


@pytest.mark.parametrize(
    ("encoders", "given", "code", "named"),
    [
        (["wordllama"], {}, "invalid", "not 1"),
        (["wordllama", "wordllama"], {}, "invalid", "not 1"),
        (PAIR, {"k": 0}, "invalid", "0"),
        (PAIR, {"k": 51}, "invalid", "51"),
        (PAIR, {"draw": 1001}, "invalid", "1001"),
        (PAIR, {"queries": list(map(str, range(1001)))}, "invalid", "1001"),
        (PAIR, {"mode": "stars"}, "unknown", "'stars'"),
        (PAIR, {"measure": "stars"}, "unknown", "'stars'"),
        (PAIR, {"margin": -1}, "invalid", "-1"),
        (PAIR, {"mode": "preference", "second": AWAY}, "conflict", ""),
    ],
)
def test_bad_settings(encoders: list[str], given: dict, code, named: str) -> None:
    with refused(code, named):
        JudgeSpec(STARTER, encoders, **given)


def test_bad_input(workspace: Workspace, session: str) -> None:
    for code, named, answer, more in (
        ("invalid", "maybe", "maybe", {}),
        ("unknown", 99, "not", {"position": 99}),
        ("invalid", "' '", "not", {"judge": " "}),
        ("invalid", "long", "not", {"judge": "long" * 21}),
    ):
        with refused(code, named):
            judging.mark(workspace, session, answer, **more)
    with refused("no-result"):
        export.files(open_session(workspace, session))
    for plan in (
        JudgeSpec(STARTER, ("random:256", "random:256 | normalise"), draw=5),
        JudgeSpec(lines(workspace, "two", ["A boat.", "The sea."]), PAIR),
        JudgeSpec(lines(workspace, "one", ["a"]), PAIR),
    ):
        with refused("too-few"):
            judging.begin(workspace, plan)


def lines(workspace: Workspace, name: str, texts: list[str]) -> str:
    """A collection of one's own."""
    return collection(workspace, workspace.store.folder.parent, name, list(texts))


def test_queries_of_ones_own(home: Path) -> None:
    """A file, one a line; without any, or without the file, nothing is begun."""
    file = home / "mine.txt"
    start = ["judge", "start", STARTER, "-e", PAIR[0], "-e", PAIR[1], "--json", "--queries"]
    file.write_text("a boat at sea\n\n  a loaf of bread \n", encoding="utf-16")
    (begun,) = objects(theodolite(*start, str(file)))
    (output,) = objects(theodolite("judge", "next", begun["id"], "--json"))
    assert output["query"] in ("a boat at sea", "a loaf of bread")
    file.write_text("\n \n", encoding="utf-8")
    for given in (file, home / "none.txt"):
        assert given.name in theodolite(*start, str(given), code=2)[-1]


def test_a_session_is_begun_by_a_run(workspace: Workspace) -> None:
    """By a worker or here, once: a unit that is done again leaves the same session."""
    job = JudgeJob.of(JudgeSpec(STARTER, PAIR, draw=8, name="mine"))
    assert run_of(workspace, job.session) is None and not job.is_stored(workspace)
    run = queue(workspace, job)
    assert run_of(workspace, job.session) == workspace.store.runs.get(run)
    assert work_off(workspace, run)["state"] == "done"
    question = judging.ask(workspace, job.session)
    do_units(workspace, job)
    assert judging.ask(workspace, job.session) == question
    assert [row["title"] for row in workspace.store.judgements.list()] == ["mine"]
    assert run_of(workspace, job.session) is None and JudgeJob.of(job).session != job.session
    with refused("too-few"):
        queue(workspace, JudgeJob.of(JudgeSpec(lines(workspace, "one", ["a"]), PAIR)))


def test_the_verbs_play_a_session(
    home: Path, starter: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script begins, judges line by line, and takes the data set home."""
    answer = by_label(starter)

    def ran(*words: str, given: str = "") -> list[dict]:
        return objects(theodolite("judge", *words, "--json", given=given))

    session = ran("start", STARTER, "-e", PAIR[0], "-e", PAIR[1], "--draw", "30")[0]["id"]
    for _ in range(3):
        (row,) = ran("next", session)
        judgement = answer(Question(0, row["query"], tuple(map(tuple, row["texts"]))))
        ran("mark", session, judgement, "--position", str(row["position"]))
    *asked_too, output = ran("play", session, given="relevant\nn\nu\nnot\n")
    assert [row["position"] for row in asked_too] == [3, 4, 5, 4, 5] and output["marks"] == 5
    assert ran("status", session)[-1] == output and len(ran("list")) == 1
    monkeypatch.setattr("theodolite.app.pages.judge.command.SHOWN", 10)
    shown = theodolite("judge", "play", session, given="m\n")
    cropped, whole = (text for text in shown if text.startswith("   > "))
    assert cropped.startswith(whole[:15]) and "more characters: m" in cropped
    kept = ran("export", session, str(home / "out"), "--as", "mine")[-1]
    assert kept == {"dataset": "upload:mine"}
    assert ran("unjudged", session, "-e", "random:64")[0]["returned"]
    ran("settle", session, "0", "not")
    ran("remove", session)
    assert session in theodolite("judge", "next", session, code=2)[-1]


@pytest.fixture
def server(server: FakeOpenAI, workspace: Workspace) -> FakeOpenAI:
    """A model that finds relevant what has the query's label."""
    data = workspace.catalog.load(STARTER)
    labels = dict(zip(data.sentences, data.labels, strict=True))
    server.judge = lambda query, document: grade(3 * (labels[query] == labels[document]))
    return server


def begun(workspace: Workspace, server: FakeOpenAI, draw: int = 6, **more) -> str:
    """A session with that model."""
    wanted = JudgeSpec(STARTER, PAIR, draw=draw, second=f"api:{server.url}#fake", **more)
    return judging.begin(workspace, wanted)


@pytest.fixture
def seconded(workspace: Workspace, server: FakeOpenAI) -> str:
    """A small one with that model."""
    return begun(workspace, server)


def outcome(workspace: Workspace, session: str) -> Exception | None:
    """How its job ends here."""
    (found,) = do_units(workspace, SecondJudgeJob.of(workspace, session))
    return found.failure


def marked(workspace: Workspace, session: str):
    """The status of the model after its job."""
    assert outcome(workspace, session) is None
    return status(workspace, session)["second"]


def test_it_marks_the_pool_once(workspace: Workspace, server: FakeOpenAI, seconded: str) -> None:
    """Every document with its query, those that count most first; another asks the rest.

    Visitors have nothing sent, not even to this machine.
    """
    found = open_session(workspace, seconded)
    with refused("denied"):
        ask_second(Workspace(workspace.store.folder, read_only=True), seconded)
    (said,) = SecondJudgeJob.of(workspace, seconded).notices(workspace)
    assert f"{len(found.keys)} texts" in said and server.requests == []
    assert work_off(workspace, ask_second(workspace, seconded))["state"] == "done"
    now = status(workspace, seconded)["second"]
    assert (now["marked"], now["unmarked"], now["left"]) == (len(found.keys), 0, 0)
    assert sorted(server.judged) == sorted(
        (found.queries[query], found.documents[document]) for query, document in found.keys
    )
    assert ask_second(workspace, seconded) == ""
    other = open_session(workspace, begun(workspace, server, k=6))
    assert len(other.unasked) < len(other.keys)
    marked(workspace, other.id)
    assert len(server.judged) == len(set(server.judged))


def test_a_good_one_narrows_the_interval(workspace: Workspace, server: FakeOpenAI) -> None:
    """Fewer marks are enough; both intervals are told, and how far it agrees with the person."""
    plain = judging.begin(workspace, JudgeSpec(STARTER, PAIR, draw=15))
    session = begun(workspace, server, 15)
    marked(workspace, session)
    right = by_label(workspace)
    assert judging.play(workspace, session, right) < 0.9 * judging.play(workspace, plain, right)
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
    judging.play(workspace, session, by_label(workspace), most=5)
    before = open_session(workspace, session).estimates[0].path
    marked(workspace, session)
    now = open_session(workspace, session)
    assert now.estimates[0].path == pytest.approx(before) and now.draws[5].seen == 0
    judging.play(workspace, session, by_label(workspace), most=5)
    after = open_session(workspace, session).draws
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
    workspace: Workspace, server: FakeOpenAI, seconded: str, trouble
) -> None:
    """It is asked again, and every document gets its mark."""
    server.next = [trouble]
    now = marked(workspace, seconded)
    assert (now["unmarked"], now["left"], len(server.requests)) == (0, 0, now["marked"] + 1)


def test_what_cannot_be_read_counts_as_unmarked(
    workspace: Workspace, server: FakeOpenAI, seconded: str
) -> None:
    """After one more try, and is not asked a third time."""
    found = open_session(workspace, seconded)
    documents = [found.documents[document] for _, document in found.keys]
    strange, usual = documents[0], server.judge
    server.judge = lambda query, text: "well ..." if text == strange else usual(query, text)
    times = documents.count(strange)
    assert marked(workspace, seconded)["unmarked"] == times < len(documents)
    assert [document for _, document in server.judged].count(strange) == 2 * times
    assert open_session(workspace, seconded).unasked == []


def test_one_that_refuses_all_fails_at_once(
    workspace: Workspace, server: FakeOpenAI, seconded: str
) -> None:
    """With the server's words, after a few; one that refuses some has those unmarked."""
    server.next = [answers_with(400, "no such parameter")] * 500
    assert "no such parameter" in str(outcome(workspace, seconded))
    assert len(server.requests) <= MAX_REFUSED + 2 * AT_ONCE
    server.next = [answers_with(400, "too long")]
    now = marked(workspace, seconded)
    assert (now["unmarked"], now["left"]) == (1, 0)


def after(count: int, server: FakeOpenAI, happen) -> None:
    """Let something happen at a request, which is answered as usual."""
    usual, numbers = server.judge, iter(range(1000))

    def judge(query: str, document: str) -> str:
        if next(numbers) == count:
            happen()
        return usual(query, document)

    server.judge = judge


def check_it_goes_on(workspace: Workspace, server: FakeOpenAI, session: str) -> None:
    """What was answered is kept, and only the rest is asked."""
    keys = len(open_session(workspace, session).keys)
    before = status(workspace, session)["second"]["marked"]
    assert 0 < before < keys
    server.next, server.requests = [], []
    assert marked(workspace, session)["marked"] == keys
    assert len(server.requests) == keys - before


def test_an_endpoint_that_vanishes_keeps_what_it_said(
    workspace: Workspace, server: FakeOpenAI, seconded: str
) -> None:
    """The run fails with a reason."""
    after(7, server, lambda: setattr(server, "next", [answers_with(404, "gone")] * 500))
    assert "gone" in str(outcome(workspace, seconded))
    check_it_goes_on(workspace, server, seconded)


def test_a_kill_loses_no_answer(workspace: Workspace, server: FakeOpenAI, seconded: str) -> None:
    """Killed while the server is slow."""
    begins = [threading.Event() for _ in range(AT_ONCE)]
    over = threading.Event()
    after(8, server, lambda: setattr(server, "next", [held(over, begun) for begun in begins]))
    code = (
        "import sys; from pathlib import Path; from theodolite.app.workspace import Workspace\n"
        "from theodolite.app.pages.judge.job import SecondJudgeJob\n"
        "from tests.fakes.workers import do_units\n"
        "here = Workspace(Path(sys.argv[1]))\n"
        "do_units(here, SecondJudgeJob.of(here, sys.argv[2]))"
    )
    line = [sys.executable, "-c", code, str(workspace.store.folder), seconded]
    with subprocess.Popen(line, cwd=Path(__file__).parents[4]) as process:
        assert all(begun.wait(60) for begun in begins)
        process.kill()
    over.set()
    check_it_goes_on(workspace, server, seconded)


def test_nothing_leaves_unasked(workspace: Workspace) -> None:
    """Not before it is allowed; what is allowed holds as long as a session names it."""
    wanted = JudgeSpec(STARTER, PAIR, draw=4, second=AWAY)
    with refused("denied", "api.invalid", "--send-texts"):
        judging.begin(workspace, wanted)
    assert workspace.store.judgements.list() == []
    (said,) = JudgeJob.of(wanted).notices(workspace)
    assert "40 documents" in said and "api.invalid" in said
    judging.check_allowed(workspace, AWAY, allow=True)
    session = judging.begin(workspace, wanted)
    encoders.ensure_listed(workspace, ["random:16"])
    encoders.remove(workspace, "random:16")
    assert endpoints.allowed_urls(workspace.store) == ["https://api.invalid/v1"]
    judging.remove(workspace, session)
    assert endpoints.allowed_urls(workspace.store) == []


def test_the_verbs_of_a_second_judge(home: Path, workspace: Workspace, server: FakeOpenAI) -> None:
    """Begun with it, marked from here, and exported apart.

    Qrels and the data set hold what the person marked; the model has a file of its own.
    """

    def ran(*words: str) -> list[dict]:
        return objects(theodolite("judge", *words, "--json"))

    start = ["start", STARTER, "-e", PAIR[0], "-e", PAIR[1], "--draw", "5"]
    session = ran(*start, "--second", f"api:{server.url}#fake")[0]["id"]
    (run,) = workspace.store.runs.list(kinds=["second-judge"])
    assert (run["state"], run["spec"]["session"], server.requests) == ("queued", session, [])
    (result,) = ran("second", session)
    assert (result["marked"], result["left"]) == (len(server.requests), 0)
    ran("mark", session, "not")
    files = {Path(row["file"]).name: row["file"] for row in ran("export", session, str(home))}
    rows = objects(Path(files[export.SECOND]).read_text().splitlines())
    assert len(rows) == result["marked"] and {row["grade"] for row in rows} == {0, 3}
    qrels = Path(files[export.QRELS]).read_text()
    assert qrels.count("\n") == 1 and qrels.endswith(" 0\n")
    data = workspace.catalog.load(export.keep(workspace, session, "mine"))
    assert sum(map(len, data.judgements["test"].values())) == 1
    with refused("missing"):
        ask_second(workspace, ran(*start)[0]["id"])
