"""Over a thousand malformed requests, drawn anew from a seed: nothing of the inside comes out.

Paths and addresses go to the app as a server would hand them on, also those that no client could
send; events and uploads go over HTTP. Meanwhile no file outside may be opened.
"""

import asyncio
import itertools
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.web.guard.test_nonsense import SIGNS, handlers, sent
from theodolite.app import ui
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

SECRET = "the-secret-of-the-house"  # noqa: S105 - what nobody may read
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
    store = Workspace(made / "store")
    encoders.add(store, "random:16")
    store.close()
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

    def hear(event: str, args: tuple[Any, ...]) -> None:
        if watching and event == "open" and isinstance(args[0], str):
            found.add(args[0])

    sys.addaudithook(hear)  # for as long as the process lives
    yield found
    watching.clear()


@pytest.fixture(scope="module", params=["own", "demo"])
def running(house: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The app: a person's own, and a demonstration for strangers."""
    workspace = Workspace(house / "store", demo=request.param == "demo")
    demo = ui.launch(workspace, open_browser=False, block=False)
    yield demo
    demo.close()
    workspace.close()


@pytest.fixture
def client(running: Any) -> Iterator[httpx.Client]:
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


async def asked(app: Any, method: str, path: str, query: bytes, number: int) -> tuple[int, str]:
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
    seen: list[bytes] = []
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        seen.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(seen).decode("utf-8", "replace")


def calm(text: str) -> bool:
    """Whether an answer keeps the inside to itself."""
    return not any(sign in text for sign in (*SIGNS, SECRET, "root:x:", "SQLite format"))


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


def test_paths_and_addresses(running: Any, targets: list[str], opened: set[str]) -> None:
    """Six hundred: each is refused or answered calmly, and none leads to a file outside."""
    every = list(requests_of(random.Random(2026), targets))

    async def ask() -> list[tuple[int, str]]:
        return [await asked(running.app, *one, number) for number, one in enumerate(every)]

    answers = asyncio.run(ask())
    assert len(answers) == PATHS + QUERIES
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
    workspace.close()
    assert not [path for path in opened if path.endswith(("secret.txt", "link.txt", "passwd"))]


def test_events(client: httpx.Client, running: Any, targets: list[str], opened: set[str]) -> None:
    """With values of any kind for controls of every kind."""
    drawn = random.Random(2028)
    kinds: list[Callable[[], Any]] = [
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
    fns = handlers(client)
    events = [
        (event, [drawn.choice(kinds)() for _ in event["inputs"]], drawn.choice(abouts))
        for event, *_ in (drawn.choice(fns) for _ in range(EVENTS))
    ]
    for start in range(0, EVENTS, 30):  # a tab may ask sixty times at once
        for text in sent(client, events[start : start + 30]):
            assert calm(text)
    assert not [path for path in opened if path.endswith(("link.txt", "passwd"))]
    assert client.get("healthz").is_success


def test_bodies_and_uploads(
    client: httpx.Client, running: Any, house: Path, targets: list[str]
) -> None:
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
        answer = client.post(path, content=body, headers={"Content-Type": kind})
        assert answer.status_code < 500, (path, body[:80])
        assert calm(answer.text)
    after = {path for path in house.rglob("*") if not path.name.startswith("theodolite.db")}
    assert after == before
    assert client.get("healthz").is_success
