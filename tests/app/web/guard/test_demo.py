"""A demonstration: what a stranger may ask of it, and nothing kept of what they type."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gradio.state_holder import SessionState
from gradio.utils import get_upload_folder
from starlette.requests import Request

from tests.app.web.guard.conftest import LISTED, Clock
from tests.app.web.guard.test_nonsense import config, handlers, sent
from tests.errors import refused
from tests.fakes.decoders import small_spec
from tests.fakes.started import launched
from tests.store.test_check import held
from theodolite.app import decoders, ui
from theodolite.app.jobs import submit
from theodolite.app.pages.choose import answer as choose
from theodolite.app.pages.choose.sheet import ChooseJob
from theodolite.app.pages.compare import fairness
from theodolite.app.pages.compare.evidence import FairSpec
from theodolite.app.pages.data import service as data, sets
from theodolite.app.pages.diagnose.service import DiagnoseJob
from theodolite.app.pages.encoders import checks, service as encoders
from theodolite.app.pages.evaluate.estimate import estimate
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation, start, welcome
from theodolite.app.pages.geometry import service as geometry
from theodolite.app.pages.overview import answer as overview
from theodolite.app.pages.search import service as retrieval
from theodolite.app.pages.spaces.job import SpacesSpec
from theodolite.app.pages.train.job import SweepJob, TrainDecoderJob, TrainJob
from theodolite.app.publish import choice
from theodolite.app.web.guard.limits import Buckets, Limits, Rate, Refused, Visitors, is_free
from theodolite.app.web.guard.server import Session
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.spec import LISTED_ONLY
from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import TrainSpec

TYPED = "Zebra ukulele heliotrope, said nobody before."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared by the one who serves: an encoder, and a collection encoded by it."""
    made = Workspace(tmp_path_factory.mktemp("demo") / "store")
    encoders.add(made, LISTED)
    made.store.encoders.add("api:http://127.0.0.1:9/v1#model")
    retrieval.nearest(made, LISTED, "starter-pairs", ["a first query"], retrieval.Limits(1))
    made.close()
    return made.store.folder


@pytest.fixture(scope="module")
def demo(store: Path) -> Workspace:
    """What strangers are shown."""
    return Workspace(store, demo=True)


@pytest.fixture(scope="module")
def stranger(demo: Workspace) -> Iterator[httpx.Client]:
    """Somebody without a browser, at an address of their own, to whom time does not pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Visitors.__init__, "__defaults__", (Clock(),))
        with launched(demo, host="0.0.0.0") as made:  # noqa: S104
            made.headers["X-Forwarded-For"] = "10.1.0.1"
            yield made


def test_nothing_is_kept_of_what_is_typed(stranger: httpx.Client, store: Path) -> None:
    """Every page is filled and searches are made: no file is written, none has the words."""
    before, uploads = held(store), set(Path(get_upload_folder()).rglob("*"))
    for text in sent(stranger, handlers(stranger, "load"), "a-tab"):
        assert '"success":false' not in text and "internal error" not in text
    names = {one["id"]: one["props"].get("elem_id") for one in config(stranger)["components"]}
    ((pressed, begun, _),) = (
        one
        for one in handlers(stranger, "click")
        if "search-button" in {names.get(target) for target, _ in one[0]["targets"]}
    )
    typed = {"query": TYPED, "data": "starter-pairs", "encoders": [LISTED], "by": "meaning", "k": 3}
    inputs = zip(pressed["inputs"], begun, strict=True)
    values = [typed.get(names[number], usual) for number, usual in inputs]
    (stream,) = sent(stranger, [(pressed, values, None)], "a-tab")
    assert "t-notice" not in stream and '"success":true' in stream
    assert held(store) == before
    kept = {*store.rglob("*"), *Path(get_upload_folder()).rglob("*")} - uploads
    assert not [path for path in kept if path.is_file() and b"ukulele" in path.read_bytes()]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        *((spec, "not among the encoders here") for spec in ("dir:/etc", "hf:a/b", "random:17")),
        ("minilm", "not among the encoders here"),
        ("api:http://127.0.0.1:9/v1#model", "would be sent"),
    ],
)
def test_no_encoder_is_loaded_that_is_not_listed(demo: Workspace, spec: str, said: str) -> None:
    """Nor one that would be sent what strangers type."""
    with pytest.raises(UserError, match=said):
        demo.load(spec)
    with refused("denied"):
        demo.catalog.load("hub:owner/name@main/file.csv")
    assert geometry.quick(demo, LISTED, "starter-pairs") is None  # nor is anything worked out


@pytest.mark.parametrize("spec", ["", "somebody/model", "folder", "mini"])
def test_visitors_are_offered_the_listed_encoders_alone(
    demo: Workspace, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a page reads what they typed before it asks the workspace."""
    monkeypatch.setattr("theodolite.engine.encoders.spec.NAMES", {demo.store.encoders})
    with pytest.raises(UserError, match=LISTED_ONLY) as caught:
        SpacesSpec([spec, LISTED], "starter-pairs")
    assert "hf:" not in str(caught.value)


def test_a_text_that_is_too_long_is_refused_in_a_sentence(stranger: httpx.Client) -> None:
    """Gradio's page shows what stands under `detail`."""
    body = {"fn_index": 0, "data": ["x" * 5000], "session_hash": "long"}
    answer = stranger.post("/gradio_api/queue/join", json=body)
    assert answer.status_code == 413 and "4,000 characters" in answer.json()["detail"]
    large = stranger.post("/gradio_api/queue/join", content=b"[" * (Limits().body + 1))
    assert large.status_code == 413


def test_who_asks_too_fast_waits_and_nobody_else(stranger: httpx.Client) -> None:
    """And is still told whether the app is well; static files are never counted either."""
    mine = {"X-Forwarded-For": "10.1.0.2"}
    burst = int(Limits().address.burst)
    path = "/theodolite/map/x/points"
    *answers, late = [stranger.get(path, headers=mine) for _ in range(burst + 1)]
    assert [answer.status_code for answer in answers] == [404] * burst
    assert late.status_code == 429 and late.headers["retry-after"] == "1"
    assert "Too many requests" in late.json()["detail"]
    assert stranger.get("/healthz", headers=mine).json() == {"status": "ok"}
    assert all(map(is_free, ("/static/x.js", "/theodolite/js-1/map.js", "/theme.css")))
    assert stranger.get(path).status_code == 404


def test_a_tab_is_remembered_with_what_is_needed(demo: Workspace) -> None:
    """Of Gradio's own record everything else is left empty, and nothing is missing."""
    blocks = ui.build(demo)
    mine, gradios = Session(blocks), SessionState(blocks)
    assert vars(mine).keys() == vars(gradios).keys()
    mine._update_value_in_config(next(iter(blocks.blocks)), TYPED)
    assert not mine.config_values


LIMITS = Limits(address=Rate(3, 0.5), tab=Rate(2, 1), streams=2, all_streams=3)


def request(path: str, address: str = "10.0.0.1", query: str = "") -> Request:
    """What somebody asks."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [],
        "scheme": "http",
        "query_string": query.encode(),
        "client": (address, 1),
        "server": ("x", 80),
    }
    return Request(scope)


def answered(do, *given) -> tuple[int, str, str | None]:
    """How something is refused: status, what is said, when to come again."""
    with pytest.raises(Refused) as error:
        do(*given)
    answer = error.value.answer
    reply = json.loads(bytes(answer.body))["detail"]
    return answer.status_code, reply, answer.headers.get("retry-after")


def test_tokens_come_back_one_after_another() -> None:
    """Never more of them than fit."""
    clock = Clock()
    buckets = Buckets(Rate(2, 0.5), clock)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 2]
    assert buckets.take("b") == 0
    clock.now += 2
    assert [buckets.take("a"), buckets.take("a")] == [0, 2]
    clock.now += 1000
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 2]


def test_a_tab_that_asks_too_much_leaves_its_neighbour_alone() -> None:
    """A script of one page gone wild is not the classroom's fault."""
    visitors = Visitors(LIMITS, Clock())
    join, one, other = request("/gradio_api/queue/join"), b'{"session_hash":"a"}', b'{"data":[]}'
    visitors.check_body(join, one)
    visitors.check_body(join, one)
    assert answered(visitors.check_body, join, one)[0] == 429
    visitors.check_body(join, other)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"data": ["a" * 4001]}, "at most 4,000 characters"),
        ({"a" * 4001: 1}, "at most 4,000 characters"),
        ({"data": [["x"] * 1001]}, "At most 1,000 values"),
        ({"data": [["x"] * 20] * 60}, "At most 1,000 values"),
    ],
    ids=["text", "name", "list", "lists"],
)
def test_texts_and_lists_are_bounded_wherever_they_stand(asked, said: str) -> None:
    """In any value of any event."""
    visitors = Visitors(Limits())
    join = request("/gradio_api/queue/join")
    status, why, _ = answered(visitors.check_body, join, json.dumps(asked).encode())
    assert status == 413
    assert said in why
    visitors.check_body(join, b"[" * 1000)  # no JSON: Gradio's to refuse


def test_an_address_is_bounded() -> None:
    """What it asks, not its path."""
    visitors = Visitors(Limits())
    visitors.admit(request("/search", query="q=" + "a" * 7000))
    assert answered(visitors.admit, request("/search", query="q=" + "a" * 8000))[0] == 414


def test_open_connections_are_counted_until_they_end() -> None:
    """Of an address and of all; others are not held open."""
    visitors = Visitors(LIMITS)
    assert visitors.stream(request("/search")) is None
    ends = [visitors.stream(request("/gradio_api/heartbeat/x")) for _ in range(2)]
    assert answered(visitors.stream, request("/gradio_api/queue/data"))[0] == 429
    assert visitors.stream(request("/gradio_api/queue/data", "10.0.0.2"))
    assert answered(visitors.stream, request("/gradio_api/queue/data", "10.0.0.3"))[0] == 503
    ends[0]()
    assert visitors.stream(request("/gradio_api/queue/data"))


# --- a read-only app against those who leave the page aside and speak to the server themselves ---


LOGIN = ("reader", "secret")
TRAINING = TrainSpec("unsup", "minilm", "starter", "out")


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The workspace of the one who serves, with a run that waits."""
    made = Workspace(tmp_path_factory.mktemp("visitors") / "store")
    encoders.add(made, LISTED)
    queue_evaluation(made, [LISTED], ["StarterSTS"])
    return made


@pytest.fixture(scope="module")
def looking(owner: Workspace) -> Workspace:
    """The same store as visitors have it."""
    return Workspace(owner.store.folder, read_only=True)


@pytest.fixture(scope="module")
def visitor(looking: Workspace) -> Iterator[httpx.Client]:
    """Someone who is signed in to the read-only app and has no browser."""
    with launched(looking, auth=LOGIN) as client:
        client.post("/login", data=dict(zip(("username", "password"), LOGIN, strict=True)))
        yield client


@pytest.mark.parametrize("act", ["remove", "audit", "cancel", "retry", "again"])
def test_a_forged_act_changes_nothing(visitor: httpx.Client, owner: Workspace, act: str) -> None:
    """Every list and panel is sent an act it did not offer; those of runs say why they refuse."""
    (run,) = owner.store.runs.list()
    named = LISTED if act in ("remove", "audit") else run["id"]
    forged = handlers(visitor, "act", about={"act": act, "id": named})
    answers = sent(visitor, [(event, [""] * len(data), about) for event, data, about in forged])
    assert owner.store.runs.list() == [run] and owner.store.encoders.names() == [LISTED]
    if act in ("cancel", "retry"):
        assert sum("change nothing" in text for text in answers) >= 6  # one of each panel


def test_nothing_is_added_or_started(looking: Workspace, tmp_path: Path) -> None:
    """Not by the services either, whoever asks them."""
    fair = fairness.FAIR.last(looking, FairSpec(), lambda job: False)
    for change in (
        lambda: encoders.add(looking, "random:17"),
        lambda: queue_evaluation(looking, [LISTED], ["StarterSTS"]),
        lambda: overview.remove(looking, []),
        lambda: data.remove(looking, "upload:x"),
        lambda: start(looking, EvaluateJob((LISTED,), ("StarterSTS",))),
        lambda: next(estimate(looking, EvaluateJob((LISTED,), ("StarterSTS",)))),
        lambda: fairness.evaluate(looking, fair, "size"),
        lambda: encoders.remove(looking, LISTED),
        lambda: checks.check_poolings(looking, LISTED),
        lambda: checks.AUDIT.last(looking, checks.AuditSpec(LISTED), lambda job: False),
        lambda: checks.COVERAGE.last(looking, checks.CoverageSpec(LISTED), lambda job: False),
        lambda: submit.queue(looking, TrainJob.of(looking, TRAINING)),
        lambda: submit.queue(looking, SweepJob.of(looking, TRAINING, [("a", {})])),
        lambda: submit.queue(looking, TrainDecoderJob(small_spec(tmp_path / "out"))),
        lambda: submit.queue(looking, DiagnoseJob(LISTED, "out", "text", 10)),
        lambda: decoders.remove(looking, "out"),
        lambda: choice.choose(looking),
    ):
        with refused("denied"):
            change()


def test_visitors_are_not_led_to_a_sheet_that_they_cannot_make(
    owner: Workspace, looking: Workspace
) -> None:
    """From a data set; nor does its plan promise what is not done."""
    found = [
        {
            link.page
            for links in sets.preview(one, "starter-topics").blocks[2:3]
            for link in links.links
        }
        for one in (owner, looking)
    ]
    assert found[0] - found[1] == {"choose"}
    plans = [
        choose.plan(one, ChooseJob("starter-topics", ("random:17",))) for one in (owner, looking)
    ]
    assert len(plans[0]) == len(plans[1]) + 1


def test_the_one_who_serves_is_welcomed(tmp_path: Path) -> None:
    """The first runs of a new store are queued even where visitors can start none."""
    assert welcome(Workspace(tmp_path / "store", read_only=True))


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "{store}/theodolite.db",
        "README.md",
        "pyproject.toml",
        "..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_file_of_the_machine_is_served(
    visitor: httpx.Client, owner: Workspace, path: str
) -> None:
    """Not even to those who are signed in."""
    place = path.format(store=owner.store.folder)
    assert visitor.get(f"/gradio_api/file={place}").status_code in (403, 404)


def test_a_browser_asks_for_little(visitor: httpx.Client) -> None:
    """A page is compressed; a file whose name changes with its content is asked for once."""
    page = visitor.get("/search", headers={"accept-encoding": "gzip"})
    assert int(page.headers["content-length"]) < len(page.content) / 3
    for asset in set(re.findall(r"/assets/[\w./-]+[.](?:js|css)", page.text)):
        assert "immutable" in visitor.get(asset).raise_for_status().headers["cache-control"]
    assert "cache-control" not in visitor.get("/assets/gone-00000000.js").headers


def test_a_login_opens_no_more_than_the_pages(visitor: httpx.Client, owner: Workspace) -> None:
    """No function of ours can be called by its name, nothing uploaded, no evaluation slowed."""
    files = {"files": ("a.csv", b"text\na\n")}
    assert visitor.post("/gradio_api/upload", files=files).status_code == 403
    visitor.get("/search").raise_for_status()
    assert owner.store.visits.seconds_since() == math.inf
    assert "immutable" in visitor.get(f"/{PLOTLY_JS}").raise_for_status().headers["cache-control"]
    expected = {"named_endpoints": {}, "unnamed_endpoints": {}}
    assert visitor.get("/gradio_api/info").json() == expected
