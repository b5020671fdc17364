"""Addresses, calls and events that no page makes: no inside of the app comes out.

Spoken over HTTP, for a browser would not send them. Over a thousand of them are drawn anew from a
seed: paths and addresses go to the app as a server would hand them on, also those that no client
could send; events and uploads go over HTTP. Meanwhile no file outside may be opened.
"""

import asyncio
import itertools
import json
import os
import random
import sys
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest

from tests.app.web.guard.conftest import LISTED
from tests.fakes.started import serving
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.web.guard.limits import whole_characters
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

SECRET = "the-secret-of-the-house"  # noqa: S105 - what nobody may read
NONSENSE = [
    None,
    {},
    {"act": "open"},
    {"id": "x"},
    {"act": 7, "id": ["a"]},
    {"act": None, "id": None},
    {"act": "again", "id": "x"},
    {"act": "again", "id": "a\nb\nc"},
    {"act": "again", "id": "-1"},
    {"act": "again", "id": "9" * 40},
    {"act": "remove", "id": {"a": 1}},
    {"result": "one"},
    {"result": -1},
    {"result": 10**30},
    {"act": "open", "id": "x" * 100_000},
    [],
    "act",
    3,
    True,
]
"""What no page sends with an event."""


def sent(client: httpx.Client, events: list[tuple], tab: str = "") -> list[str]:
    """Send events with their values and data at once, as one tab, and return what each comes to."""
    session, waiting, seen = tab or uuid.uuid4().hex, set(), []
    for event, values, about in events:
        body = {
            "fn_index": event["id"],
            "data": values,
            "event_data": about,
            "session_hash": session,
        }
        # httpx itself would not send half a character.
        answer = client.post(
            "gradio_api/queue/join",
            content=json.dumps(body),
            headers={"Content-Type": "application/json"},
        )
        if answer.is_success:
            waiting.add(answer.json()["event_id"])
        else:
            assert answer.status_code < 500
            seen.append(answer.text)
    with client.stream("GET", "gradio_api/queue/data", params={"session_hash": session}) as lines:
        for line in lines.iter_lines():
            if not waiting:
                break
            if "process_completed" in line:
                waiting.discard(json.loads(line[5:])["event_id"])
                seen.append(line)
    return seen


@cache
def config(client: httpx.Client) -> dict:
    """What Gradio tells its page; it stays as it is."""
    return dict(client.get("config").raise_for_status().json())


def unset(component: dict):
    """What the browser sends of a control that the page has not filled; a radio has a choice."""
    if component["type"] == "radio":
        return component["props"]["choices"][0][1] if component["props"]["choices"] else ""
    return {"textbox": "", "state": "", "checkboxgroup": []}.get(component["type"])


def handlers(client: httpx.Client, *kinds: str, about=None) -> list[tuple]:
    """Events answered in Python, with the values that their controls begin with, and data.

    All of them, or those of some kinds.
    """
    page_config = config(client)
    values = {c["id"]: c["props"].get("value") or unset(c) for c in page_config["components"]}
    return [
        (event, [values[number] for number in event["inputs"]], about)
        for event in page_config["dependencies"]
        if event["backend_fn"] and (not kinds or any(kind in kinds for _, kind in event["targets"]))
    ]


def calm(text: str) -> bool:
    """Whether an answer keeps the inside to itself."""
    signs = ("Traceback", 'File "', "site-packages", "root:", "SQLite format", SECRET)
    return not any(sign in text for sign in signs)


HOSTILE_PATHS = [
    "/pwa_icon/1",
    "/pwa_icon/99999",
    "/pwa_icon/x",
    "/pwa_icon/-1",
    f"/static/{'a' * 300}",
    f"/assets/{'b' * 5000}",
    f"/static/{'c/' * 3000}",
    "/static/%00",
    f"/svelte/{'d' * 300}",
    f"/gradio_api/file={'e' * 300}",
    f"/gradio_api/file=/{'f/' * 3000}",
    "/gradio_api/file=%00",
    "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/static/../../etc/passwd",
    "/gradio_api/file=https://example.org/x",
    "/gradio_api/file/http:/x",
    "/assets/%ff%fe",
    "/gradio_api/proxy=https://a.hf.space/x",
    "/gradio_api/deep_link",
    "/theodolite/map/../points",
    "/gradio_api/custom_component/a/client/b/c",
    "/search?" + "q=a&" * 2000,
    "/map?encoder=%ff",
    "/search?deep_link=..%2f..%2fetc",
    "/gradio_api/stream/a/b/c/playlist.m3u8",
    "/monitoring/x",
    "/gradio_api/upload_progress?upload_id=" + "u" * 300,
    "/theodolite/map/x/decode?x=nan&y=inf",
    "/gradio_api/call/x/y",
    "/gradio_api/vibe-code",
    "/gradio_api/runs",
]


@pytest.mark.parametrize("path", HOSTILE_PATHS, ids=lambda path: path[:40])
def test_a_hostile_address_is_refused_calmly(client: httpx.Client, path: str) -> None:
    """No error of the server's, no file from outside, nothing of its inside."""
    with client.stream("GET", path) as answer:
        text = next(answer.iter_text(), "") if answer.status_code != 204 else ""
    assert answer.status_code < 500
    assert calm(text)


BODIES = [
    ("queue/join", {"fn_index": 10**6, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": -1, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": None, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": 0, "data": "x", "session_hash": 7}),
    ("queue/join", {"fn_index": 0, "data": [], "session_hash": None}),
    ("queue/join", []),
    ("queue/join", None),
    ("queue/join", "x"),
    ("run/predict", {"fn_index": 10**6, "data": []}),
    ("run/nothing", {"data": []}),
    ("api/nothing", {"data": [1]}),
    ("call/nothing", {"data": []}),
    ("call/v2/nothing", {"a": 1}),
    ("cancel", {"session_hash": "a", "fn_index": 1}),
    ("cancel", {"session_hash": "a", "fn_index": 10**9, "event_id": "x"}),
    ("component_server", {"session_hash": "a", "component_id": 10**9, "fn_name": "x", "data": 1}),
    ("component_server", {"session_hash": "a", "component_id": 1, "fn_name": "__init__"}),
    ("component_server", []),
    ("stream/x", {"data": []}),
    ("stream/x/close", {}),
    ("reset", {}),
    ("vibe-edit/", {"prompt": "x"}),
    ("run-history/connect", {}),
    ("process_recording", {}),
]


@pytest.mark.parametrize(("path", "body"), BODIES, ids=str)
def test_a_call_of_what_is_not_there_is_refused_calmly(
    client: httpx.Client, path: str, body
) -> None:
    """A function, component or stream that does not exist is no error of the server's."""
    answer = client.post(f"/gradio_api/{path}", json=body)
    assert answer.status_code < 500
    assert calm(answer.text)


@pytest.mark.parametrize("about", NONSENSE, ids=lambda about: json.dumps(about)[:40])
def test_every_part_of_a_page_stands_nonsense(
    client: httpx.Client, workspace: Workspace, about
) -> None:
    """Each event of ours says what is wrong with it, as the sender's doing, and changes nothing."""
    events = handlers(client, "act", "select", about=about)
    output = sent(client, events)
    assert len(output) == len(events) >= 12
    for text in output:
        assert "internal error" not in text and '"success":false' not in text
        assert calm(text)
    assert set(workspace.store.encoders.names()) <= {LISTED, *encoders.STARTERS}
    assert workspace.store.runs.list() == []


@pytest.mark.parametrize(
    ("body", "mended"),
    [
        (r"\ud83d\ude00", r"\ud83d\ude00"),
        (r"a\ud83db", r"a\ufffdb"),
        (r"\uDE00", r"\ufffd"),
        (r"\\ud83d", r"\\ud83d"),
        (r"\\\ud83d", r"\\\ufffd"),
        (r"\u00e9", r"\u00e9"),
        (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
    ],
)
def test_halves_of_characters_are_told_from_whole_ones(body: str, mended: str) -> None:
    """An escaped backslash before a `u` names no character."""
    assert whole_characters(body.encode()).decode() == mended


def test_every_control_stands_null(
    client: httpx.Client, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every handler of every page, with null for each of its values: none raises."""
    events = [(event, [None] * len(values), None) for event, values, _ in handlers(client)]
    assert [text for text in sent(client, events) if "internal error" in text] == []
    assert not [record for record in caplog.records if record.exc_info]
    assert "Traceback" not in capfd.readouterr().err


def test_a_choice_that_is_none_is_a_line_in_the_log(
    client: httpx.Client, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A visitor cannot fill the disk with tracebacks; the page says what to do."""
    kinds = {c["id"]: c["type"] for c in config(client)["components"]}
    wrong = {"radio": "no such", "number": "x", "checkbox": 7, "checkboxgroup": 3, "dropdown": {}}
    events = [
        (event, [wrong.get(kinds[number]) for number in event["inputs"]], None)
        for event, *_ in handlers(client)
        if {kinds[number] for number in event["inputs"]} & wrong.keys()
    ]
    output = sent(client, events[:40])
    assert len(output) == 40
    assert [text for text in output if "Load the page again" not in text] == []
    assert [text for text in output if not calm(text)] == []
    lines = [record.getMessage() for record in caplog.records if "no page sends" in record.message]
    assert len(lines) == 40
    assert max(map(len, lines)) < 300
    assert not [record for record in caplog.records if record.exc_info]
    assert "Traceback" not in capfd.readouterr().err


PATHS, QUERIES, SPECS, EVENTS, BODIES = 400, 200, 250, 120, 120
CONTENT_TYPES = ("application/json", "text/plain", "nonsense")
CALLS = ("upload", "queue/join", "component_server", "cancel", "run/x")
ADDRESSES = itertools.count()
BEGINNINGS = (
    "/",
    "/static/",
    "/assets/",
    "/svelte/",
    "/gradio_api/file=",
    "/gradio_api/file/",
    "/theodolite/map/",
    "/theodolite/publish/",
    "/theodolite/js-0/",
    "/pwa_icon/",
    "/gradio_api/heartbeat/../",
    "/gradio_api/stream/",
    "/gradio_api/custom_component/",
    "/gradio_api/upload_progress/",
    "/theodolite/",
    "/search/",
    "/gradio_api/queue/",
)
STEPS = (
    "../",
    "..%2f",
    "%2e%2e/",
    "%252e%252e%252f",
    "..\\",
    "....//",
    "/./",
    "//",
    "%c0%ae/",
    "..;/",
    "\x00",
    "%00",
    "\ufffd",
    "\u202e",
    " ",
    "a" * 300,
    "\r\nSet-Cookie: a=b\r\n",
    "~",
    "*",
    "file:///",
    "\\\\host\\share\\",
    "C:\\",
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, a secret beside it, and links to that within."""
    made = tmp_path_factory.mktemp("house")
    (made / "secret.txt").write_text(f"{SECRET}\n")
    encoders.add(Workspace(made / "store"), "random:16")
    for place in ("uploads", "derived", "vectors"):
        (made / "store" / place).mkdir(exist_ok=True)
        (made / "store" / place / "link.txt").symlink_to(made / "secret.txt")
        (made / "store" / place / "out").symlink_to(made)
    return made


@pytest.fixture(scope="module")
def opened() -> Iterator[set[str]]:
    """Paths that this process opens, as far as the interpreter tells."""
    found: set[str] = set()
    watching = [True]

    def hear(event: str, args: tuple) -> None:
        if watching and event == "open" and isinstance(args[0], str):
            found.add(args[0])

    sys.addaudithook(hear)  # for as long as the process lives
    yield found
    watching.clear()


@pytest.fixture(scope="module", params=["own", "demo"])
def running(house: Path, request: pytest.FixtureRequest):
    """The app: a person's own, and a demonstration for strangers."""
    with serving(Workspace(house / "store", demo=request.param == "demo")) as demo:
        yield demo


@pytest.fixture
def caller(running) -> Iterator[httpx.Client]:
    """Somebody without a browser, each time from another address."""
    headers = {"X-Forwarded-For": f"10.2.{next(ADDRESSES) % 256}.1"}
    with httpx.Client(base_url=running.local_url, timeout=60, headers=headers) as made:
        yield made


@pytest.fixture
def targets(house: Path) -> list[str]:
    """Where the secret can be reached, were paths opened, and what everybody tries."""
    store = house / "store"
    relative = os.path.relpath(house / "secret.txt", Path.cwd())
    return [
        str(house / "secret.txt"),
        str(store / "uploads" / "link.txt"),
        relative,
        str(store / "derived" / "out" / "secret.txt"),
        str(store / "theodolite.db"),
        "link.txt",
        "out/secret.txt",
        "etc/passwd",
        "/etc/passwd",
        "proc/self/environ",
        "secret.txt",
    ]


def mutated(drawn: random.Random, targets: list[str]) -> str:
    """A path that nobody should follow."""
    steps = "".join(drawn.choices(STEPS, k=drawn.randrange(7)))
    target = drawn.choice(targets)
    if drawn.random() < 0.3:
        target = "".join(f"%{ord(c):02x}" if drawn.random() < 0.5 else c for c in target)
    end = drawn.choice(("", "", "\x00.png", "%00", "/", "?", "/" + "b" * 5000, ".csv", "/points"))
    return f"{steps}{target}{end}"


async def asked(app, method: str, path: str, query: bytes, number: int) -> tuple[int, str]:
    """Status and text of an answer to a request as a server hands it on."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "scheme": "http",
        "raw_path": path.encode("utf-8", "replace"),
        "root_path": "",
        "http_version": "1.1",
        "headers": [(b"host", b"127.0.0.1")],
        "client": (f"10.3.{number % 250}.1", 1),
        "server": ("127.0.0.1", 80),
        "asgi": {"version": "3.0"},
    }
    messages: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        messages.append(message)

    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in messages)
    return messages[0]["status"], body.decode("utf-8", "replace")


def requests_of(drawn: random.Random, targets: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Method, path, query."""
    for _ in range(PATHS):
        method = drawn.choice(("GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"))
        yield method, drawn.choice(BEGINNINGS) + mutated(drawn, targets), b""
    names = (
        "id",
        "ids",
        "x",
        "y",
        "text",
        "pattern",
        "encoder",
        "set",
        "in",
        "q",
        "run",
        "view",
        "deep_link",
        "__theme",
        "session_hash",
        "result",
        "spec",
        "task",
    )
    places = (
        "/",
        "/search",
        "/map",
        "/compare",
        "/data",
        "/jobs",
        "/theodolite/live.json",
        f"/theodolite/map/{'0' * 32}/point",
        f"/theodolite/map/{'0' * 32}/find",
        "/theodolite/places.json",
    )
    for _ in range(QUERIES):
        pairs = (f"{drawn.choice(names)}={mutated(drawn, targets)}" for _ in range(4))
        yield "GET", drawn.choice(places), "&".join(pairs).encode("utf-8", "replace")


def test_paths_and_addresses(running, targets: list[str], opened: set[str]) -> None:
    """Six hundred: each is refused or answered calmly, and none leads to a file outside."""
    every = list(requests_of(random.Random(2026), targets))

    async def ask() -> list[tuple[int, str]]:
        return [await asked(running.app, *one, number) for number, one in enumerate(every)]

    answers = asyncio.run(ask())
    for (_, path, _), (status, text) in zip(every, answers, strict=True):
        assert 200 <= status < 500, (status, path)
        assert calm(text), path
    assert not [path for path in opened if path.endswith(("secret.txt", "link.txt", "passwd"))]


def test_specs(house: Path, targets: list[str], opened: set[str]) -> None:
    """None is loaded by strangers; what is wrong is said in a sentence."""
    drawn = random.Random(2027)
    kinds = (
        "dir:",
        "words:",
        "vectors:",
        "hf:",
        "api:",
        "random:",
        "minilm",
        "gem:",
        "mteb:",
        "",
        "nonsense:",
    )
    ends = (
        "",
        "|whiten:hub:a/b@c/d",
        "|drop:-1,x",
        "?pooling=",
        "+",
        "|||",
        "?a=b&a=b",
        "@task",
        "|center:" + "x" * 3000,
        "#",
        "|normalise" * 200,
    )
    workspace = Workspace(house / "store", demo=True)
    for _ in range(SPECS):
        spec = drawn.choice(kinds) + mutated(drawn, targets) + drawn.choice(ends)
        with pytest.raises(UserError) as error:
            workspace.load(spec)
        assert calm(str(error.value))
        with pytest.raises(UserError):
            workspace.catalog.load(spec)
    assert not [path for path in opened if path.endswith(("secret.txt", "link.txt", "passwd"))]


def test_events(caller: httpx.Client, running, targets: list[str], opened: set[str]) -> None:
    """With values of any kind for controls of every kind."""
    drawn = random.Random(2028)
    kinds = [
        lambda: mutated(drawn, targets),
        lambda: {"path": drawn.choice(targets)},
        lambda: None,
        lambda: {"path": drawn.choice(targets), "meta": {"_type": "gradio.FileData"}},
        lambda: [mutated(drawn, targets)] * 3,
        lambda: drawn.uniform(-1e308, 1e308),
        lambda: {},
        lambda: "\ud800",
        lambda: {"__type__": "update", "value": 1},
        lambda: [[[[]]]],
        lambda: f"dir:{drawn.choice(targets)}",
        lambda: "x" * 3000,
        lambda: -(2**70),
        lambda: drawn.choice(("", True, -1, 1e300, "hub:a/b@main/c.csv")),
        lambda: drawn.choice(([], ["a", None])),
    ]
    abouts = (None, {"act": "open", "id": "../../secret.txt"}, {"id": ["a"]}, [], "x", 7)
    fns = handlers(caller)
    events = [
        (event, [drawn.choice(kinds)() for _ in event["inputs"]], drawn.choice(abouts))
        for event, *_ in (drawn.choice(fns) for _ in range(EVENTS))
    ]
    for start in range(0, EVENTS, 30):  # a tab may ask sixty times at once
        assert [text for text in sent(caller, events[start : start + 30]) if not calm(text)] == []
    assert not [path for path in opened if path.endswith(("link.txt", "passwd"))]
    assert caller.get("healthz").is_success


def test_bodies_and_uploads(caller: httpx.Client, running, house: Path, targets: list[str]) -> None:
    """Files whose names lead elsewhere, and bodies that are not what they claim."""
    drawn = random.Random(2029)
    before = {path for path in house.rglob("*") if not path.name.startswith("theodolite.db")}
    for _ in range(BODIES):
        name = mutated(drawn, targets).replace("\r", "").replace("\n", "").replace('"', "")
        head = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        whole = f"{head}{drawn.random()}\r\n--x--\r\n".encode("utf-8", "replace")
        body = drawn.choice(
            (
                whole,
                whole,
                whole[: drawn.randrange(len(whole))],
                drawn.randbytes(drawn.randrange(300)),
                json.dumps({"fn_index": [name], "data": name}).encode(),
            )
        )
        kind = drawn.choice(("multipart/form-data; boundary=x",) * 3 + CONTENT_TYPES)
        path = drawn.choice(("login", *map("gradio_api/{}".format, CALLS)))
        answer = caller.post(path, content=body, headers={"Content-Type": kind})
        assert answer.status_code < 500, (path, body[:80])
        assert calm(answer.text)
    after = {path for path in house.rglob("*") if not path.name.startswith("theodolite.db")}
    assert after == before
    assert caller.get("healthz").is_success
