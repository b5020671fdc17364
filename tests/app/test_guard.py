"""The app against pages of others, strangers and nonsense, spoken to as they speak: over HTTP.

What a browser makes of the answers is in tests/ui/test_foreign_pages.py.
"""

from __future__ import annotations

import io
import json
import random
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from PIL import Image

from app import ui
from app.guard.bodies import MOST_BYTES, whole_characters
from app.guard.login import FREE_BY_ADDRESS, FREE_BY_NAME, LONGEST_WAIT, Login, visitor
from app.workspace import Workspace

LISTED = "random:16"
LOGIN = ("ada", "lovelace")
FOREIGN = [
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},  # another port of localhost
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
]
SIGNS = ("Traceback", 'File "', "site-packages")
NONSENSE: list[Any] = [
    None, {}, {"act": "open"}, {"id": "x"}, {"act": 7, "id": ["a"]}, {"act": None, "id": None},
    {"act": "again", "id": "x"}, {"act": "again", "id": "a\nb\nc"}, {"act": "again", "id": "-1"},
    {"act": "again", "id": "9" * 40}, {"act": "remove", "id": {"a": 1}}, {"result": "one"},
    {"result": -1}, {"result": 10**30}, {"act": "open", "id": "x" * 100_000}, [], "act", 3, True,
]  # fmt: skip
"""What no page sends with an event."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A person's own, with one encoder."""
    made = Workspace(tmp_path_factory.mktemp("guard") / "store")
    made.add_encoder(LISTED)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(workspace: Workspace) -> Iterator[httpx.Client]:
    """Somebody without a browser, and the app without a login."""
    demo = ui.launch(workspace, open_browser=False, block=False)
    with httpx.Client(base_url=demo.local_url, timeout=30) as made:
        yield made
    demo.close()


@pytest.fixture(scope="module")
def stranger(workspace: Workspace) -> Iterator[httpx.Client]:
    """The same before a login that nobody gave."""
    demo = ui.launch(workspace, open_browser=False, block=False, auth=LOGIN)
    with httpx.Client(base_url=demo.local_url, timeout=30) as made:
        yield made
    demo.close()


def sent(client: httpx.Client, events: list[tuple[dict[str, Any], list[Any], Any]]) -> list[str]:
    """Send events with their values and data at once, as one tab, and return what each comes to."""
    session, waiting, said = uuid.uuid4().hex, set(), []
    for event, values, about in events:
        body = {"fn_index": event["id"], "data": values, "event_data": about,
                "session_hash": session}  # fmt: skip
        # httpx itself would not send half a character.
        answer = client.post("/gradio_api/queue/join", content=json.dumps(body),
                             headers={"Content-Type": "application/json"})  # fmt: skip
        if answer.is_success:
            waiting.add(answer.json()["event_id"])
        else:
            assert answer.status_code < 500
            said.append(answer.text)
    with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as lines:
        for line in lines.iter_lines():
            if not waiting:
                break
            if "process_completed" in line:
                waiting.discard(json.loads(line[5:])["event_id"])
                said.append(line)
    return said


def config(client: httpx.Client) -> dict[str, Any]:
    """What Gradio tells its page."""
    return dict(client.get("/config").raise_for_status().json())


def handlers(client: httpx.Client) -> list[tuple[dict[str, Any], list[Any]]]:
    """Every event that is answered in Python, with the values that its controls begin with."""
    told, empty = config(client), {"textbox": "", "radio": "", "state": "", "checkboxgroup": []}
    values = {c["id"]: c["props"].get("value") or empty.get(c["type"]) for c in told["components"]}
    return [
        (event, [values[number] for number in event["inputs"]])
        for event in told["dependencies"]
        if event["backend_fn"]
    ]


# Pages of others


@pytest.mark.parametrize("page", ["", "search", "map"])
def test_no_page_of_others_can_frame_ours(client: httpx.Client, page: str) -> None:
    """Neither a browser of today nor an older one shows a page of ours inside another's."""
    headers = client.get(f"/{page}").headers
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_page_of_others_can_store_nothing(client: httpx.Client, headers: dict[str, str]) -> None:
    """An upload without a preflight, which a browser would send."""
    files = {"files": ("a.csv", b"text\nstored by others\n")}
    answer = client.post("/gradio_api/upload", files=files, headers=headers)
    assert answer.status_code == 403


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
@pytest.mark.parametrize("path", ["/config", "/gradio_api/queue/data?session_hash=x", "/"])
def test_a_page_of_others_reads_nothing(
    client: httpx.Client, headers: dict[str, str], path: str
) -> None:
    """No answer, and no header that would let its script have one."""
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_of_others_is_not_told_what_it_may_do(client: httpx.Client) -> None:
    """The question that a browser asks first is not answered with yes."""
    asked = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "content-type"}  # fmt: skip
    answer = client.options("/gradio_api/queue/join", headers=asked)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("name", ["theodolite.example", "10.0.0.7:8000"])
def test_under_a_name_of_ones_own_no_other_origin_is_allowed(
    stranger: httpx.Client, name: str
) -> None:
    """Gradio allows every one of them there, with the login; to our own nothing needs allowing."""
    for origin in ("https://evil.example", f"https://{name}"):
        answer = stranger.get("/", headers={"Host": name, "Origin": origin})
        assert not [header for header in answer.headers if header.startswith("access-control")]


@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "{origin}"}, {"Sec-Fetch-Site": "none"}],
    ids=str,
)
def test_our_own_pages_and_programs_are_answered(
    client: httpx.Client, headers: dict[str, str]
) -> None:
    """A page of ours in a browser of today, in an older one, and a script."""
    origin = str(client.base_url).rstrip("/")
    mine = {name: value.format(origin=origin) for name, value in headers.items()}
    assert client.get("/config", headers=mine).is_success
    files = {"files": ("a.csv", b"text\na\n")}
    assert client.post("/gradio_api/upload", files=files, headers=mine).is_success


def test_others_can_link_to_a_page_and_to_nothing_else(client: httpx.Client) -> None:
    """A click on their page opens ours; it does not sign out, fetch a file or hold a line."""
    click = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
             "Sec-Fetch-Dest": "document"}  # fmt: skip
    assert client.get("/compare", headers=click).is_success
    for path in ("/logout", "/config", "/gradio_api/heartbeat/x"):
        assert client.get(path, headers=click).status_code == 403


# Links that name what is not listed

UNLISTED = [
    "search?q=rain&encoder=dir:/etc", "search?q=rain&encoder=hf:owner/name&encoder=random:16",
    "map?encoder=words:/etc/passwd", "compare?encoder=random:16&encoder=random:17",
    "decode?q=rain&encoder=hf:owner/name", "encoders?spec=dir:/home",
    "spaces?encoder=random:16&encoder=random:16|whiten:hub:a/b@main/c.csv", "train?base=dir:/m",
    "train?train=/etc/passwd", "train-decoder?encoder=random:16&train=/home/a.txt",
    "diagnose?encoder=vectors:/tmp/v.npz", "data?set=hub:owner/name@main/file.csv",
    "search?q=rain&in=hub:owner/name@main/file.csv", "geometry?data=hub:a/b@main/c.csv",
    "distributions?task=hub:a/b@main/c.csv", "evaluate?encoder=random:16&task=MR,hub:a/b@main/c",
    "curate?in=starter-topics&against=hub:a/b@main/c.csv", "interpolate?a=x&b=y&encoder=dir:/x",
    "arithmetic?x=a&encoder=hf:a/b", "fair-play?encoder=hf:a/b", "geometry?encoder=hf:a/b",
    "distributions?encoder=hf:a/b", "curate?encoder=hf:a/b", "train-decoder?base=hf:a/b",
    "?encoder=dir:/etc", "compare?baseline=dir:/etc", "jobs?a-name-that-no-page-has-yet=dir:/etc",
]  # fmt: skip
OPENED = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}


@pytest.mark.parametrize("link", UNLISTED)
def test_a_link_to_what_is_not_listed_asks_first(client: httpx.Client, link: str) -> None:
    """However the link came: from a page of others, by mail, into the address bar."""
    for headers in ({}, OPENED, OPENED | {"Sec-Fetch-Site": "cross-site"}):
        said = client.get(f"/{link}", headers=headers).raise_for_status().text
        assert "Load what this link names?" in said
        assert "window.gradio_config" not in said
    clicked = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
    assert "window.gradio_config" in client.get(f"/{link}", headers=clicked).text


@pytest.mark.parametrize(
    "link",
    ["", "search?q=hf:owner/name&q=dir:/x&encoder=random:16", "arithmetic?let=a&x=dir:/x",
     "compare?encoder=minilm",
     "map?encoder=nonsense", "train?train=starter&base=minilm", "data?set=starter-topics",
     "train-decoder?train=starter-pairs", "evaluate?task=MR,STS13&starter=StarterSTS"],
)  # fmt: skip
def test_a_link_to_what_is_listed_opens(client: httpx.Client, link: str) -> None:
    """Also one to what cannot be read at all, of which nothing can be loaded."""
    assert "window.gradio_config" in client.get(f"/{link}", headers=OPENED).text


def test_the_question_shows_what_is_asked_and_both_ways_on(client: httpx.Client) -> None:
    """Text of the link is text; what is listed stays when the rest is left out."""
    bad = 'dir:/a"><script>x</script>'
    said = client.get(f"/search?q=rain&encoder=random:16&encoder={quote(bad)}").text
    assert "<script>x" not in said
    assert "&lt;script&gt;" in said
    assert 'href="./search?q=rain&amp;encoder=random%3A16"' in said


def test_an_older_browser_on_the_network_gets_on_with_the_click(client: httpx.Client) -> None:
    """Over plain HTTP from another machine it sends no more than whence it came."""
    origin = str(client.base_url)
    link = "/map?encoder=random:99"
    assert "window.gradio_config" in client.get(link, headers={"Referer": origin}).text
    for other in ("http://evil.example/", "http://127.0.0.1:1/", "nonsense://[", ""):
        assert "window.gradio_config" not in client.get(link, headers={"Referer": other}).text


# Strangers


@pytest.mark.parametrize("path", ["/openapi.json", "/gradio_api/openapi.json", "/docs", "/redoc"])
def test_the_list_of_routes_is_nowhere(client: httpx.Client, path: str) -> None:
    """With or without a login."""
    assert client.get(path).status_code == 404


GUARDED = [
    ("GET", "/gradio_api/heartbeat/x"), ("POST", "/gradio_api/cancel"), ("GET", "/openapi.json"),
    ("POST", "/gradio_api/reset"), ("POST", "/gradio_api/stream/x"), ("GET", "/gradio_api/info"),
    ("GET", "/gradio_api/stream/a/b/1/playlist.m3u8"), ("GET", "/gradio_api/app_id"),
    ("POST", "/gradio_api/queue/join"), ("POST", "/gradio_api/upload"), ("GET", "/config"),
    ("GET", "/theodolite/curation/x.csv"), ("GET", "/theodolite/map/x/points"),
    ("POST", "/gradio_api/component_server"), ("GET", "/logout"), ("GET", "/nothing"),
    ("GET", "//gradio_api/heartbeat/x"), ("GET", "/gradio_api/token"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_strangers_are_answered_nowhere(stranger: httpx.Client, method: str, path: str) -> None:
    """Everything but the form for the login wants it, whatever Gradio would say."""
    with stranger.stream(method, f"{str(stranger.base_url).rstrip('/')}{path}") as answer:
        assert answer.status_code in (401, 404)
        assert "content-length" in answer.headers  # nothing is held open


def test_strangers_are_not_told_what_is_listed(stranger: httpx.Client) -> None:
    """They are asked about every encoder; only the starters, which everybody has, go through."""
    for spec in (LISTED, "random:17"):
        assert "Load what this link names?" in stranger.get(f"/search?encoder={spec}").text
    assert "auth_required" in stranger.get("/search?encoder=minilm").text


def test_the_cookie_of_a_login_stays_on_our_site(stranger: httpx.Client) -> None:
    """No other site's page can have a browser send it along; HTTPS keeps it to itself."""
    data = dict(zip(("username", "password"), LOGIN, strict=True))
    with httpx.Client(base_url=stranger.base_url) as fresh:
        answer = fresh.post("/login", data=data, headers={"X-Forwarded-Proto": "https"})
    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2
    for cookie in cookies:
        assert "samesite=lax" in cookie.lower()
        assert "samesite=none" not in cookie.lower()
        assert "httponly" in cookie.lower()
        assert "secure" in cookie.lower()


# Guessing


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


async def tried(login: Login, password: str, address: str = "10.0.0.1", name: str = "ada") -> Any:
    """What a try gets: yes, no, or the seconds to wait."""
    visitor.set(address)
    try:
        return await login.check(name, password)
    except Exception as error:
        assert error.status_code == 429  # type: ignore[attr-defined]
        return int(error.headers["Retry-After"])  # type: ignore[attr-defined]


def test_each_wrong_password_makes_the_next_wait_longer() -> None:
    """Twice as long each time, up to a quarter of an hour; the right one has to wait, too."""
    import asyncio

    async def guess() -> list[int]:
        clock = Clock()
        login, waits = Login(*LOGIN, clock), []
        for _ in range(FREE_BY_ADDRESS):
            assert await tried(login, "wrong") is False
        for _ in range(14):
            waits.append(await tried(login, LOGIN[1]))
            clock.now += waits[-1]
            assert await tried(login, "wrong") is False
        clock.now += LONGEST_WAIT
        assert await tried(login, LOGIN[1]) is True
        assert await tried(login, "wrong") is False  # free ones again
        assert await tried(login, LOGIN[1]) is True
        return waits

    assert asyncio.run(guess()) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, *[900] * 4]


def test_many_addresses_that_guess_at_one_name_are_held_back() -> None:
    """But not one from which the right password came before, nor guesses at another name."""
    import asyncio

    async def guess() -> None:
        login = Login(*LOGIN, Clock())
        assert await tried(login, LOGIN[1], "10.0.0.1") is True
        for number in range(FREE_BY_NAME):
            assert await tried(login, "wrong", f"10.0.1.{number}") is False
        assert await tried(login, LOGIN[1], "10.0.2.1") == 1
        assert await tried(login, LOGIN[1], "10.0.0.1") is True
        assert await tried(login, "wrong", "10.0.2.1", "bob") is False

    asyncio.run(guess())


def test_the_app_answers_guesses_so(workspace: Workspace) -> None:
    """Of a hundred guesses over HTTP five are looked at, and then not even the right one is."""
    demo = ui.launch(workspace, open_browser=False, block=False, auth=LOGIN)
    with httpx.Client(base_url=demo.local_url) as guesser:
        codes = [
            guesser.post("/login", data={"username": "ada", "password": str(n)}).status_code
            for n in range(100)
        ]
        last = guesser.post("/login", data={"username": "ada", "password": "lovelace"})
    demo.close()
    assert codes[:FREE_BY_ADDRESS] == [400] * FREE_BY_ADDRESS
    assert codes.count(400) <= FREE_BY_ADDRESS + 3  # a wait of seconds may have passed
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) >= 1


# Nonsense


@pytest.mark.parametrize("size", [192, 512])
def test_the_app_can_be_installed(client: httpx.Client, size: int) -> None:
    """Its manifest names icons that are there, of the size they claim."""
    icons = client.get("/manifest.json").raise_for_status().json()["icons"]
    (icon,) = [icon for icon in icons if icon["sizes"] == f"{size}x{size}"]
    answer = client.get(icon["src"].removeprefix(".")).raise_for_status()
    assert answer.headers["content-type"] == icon["type"] == "image/png"
    assert Image.open(io.BytesIO(answer.content)).size == (size, size)


HOSTILE_PATHS = [
    "/pwa_icon/1", "/pwa_icon/99999", "/pwa_icon/x", "/pwa_icon/-1",
    f"/static/{'a' * 300}", f"/assets/{'b' * 5000}", f"/static/{'c/' * 3000}", "/static/%00",
    f"/svelte/{'d' * 300}", f"/gradio_api/file={'e' * 300}", f"/gradio_api/file=/{'f/' * 3000}",
    "/gradio_api/file=%00", "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd", "/static/../../etc/passwd",
    "/gradio_api/file=https://example.org/x", "/gradio_api/file/http:/x", "/assets/%ff%fe",
    "/gradio_api/proxy=https://a.hf.space/x", "/gradio_api/deep_link", "/theodolite/map/../points",
    "/gradio_api/custom_component/a/client/b/c", "/search?" + "q=a&" * 2000, "/map?encoder=%ff",
    "/search?deep_link=..%2f..%2fetc", "/gradio_api/stream/a/b/c/playlist.m3u8", "/monitoring/x",
    "/gradio_api/upload_progress?upload_id=" + "u" * 300, "/theodolite/map/x/decode?x=nan&y=inf",
    "/gradio_api/call/x/y", "/gradio_api/vibe-code", "/gradio_api/runs",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE_PATHS, ids=lambda path: path[:40])
def test_a_hostile_address_is_refused_calmly(client: httpx.Client, path: str) -> None:
    """No error of the server's, no file from outside, nothing of its inside."""
    with client.stream("GET", path) as answer:
        said = next(answer.iter_text(), "") if answer.status_code != 204 else ""
    assert answer.status_code < 500
    assert "root:" not in said
    assert not any(sign in said for sign in SIGNS)


BODIES: list[tuple[str, Any]] = [
    ("queue/join", {"fn_index": 10**6, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": -1, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": None, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": 0, "data": "x", "session_hash": 7}),
    ("queue/join", {"fn_index": 0, "data": [], "session_hash": None}),
    ("queue/join", []), ("queue/join", None), ("queue/join", "x"),
    ("run/predict", {"fn_index": 10**6, "data": []}), ("run/nothing", {"data": []}),
    ("api/nothing", {"data": [1]}), ("call/nothing", {"data": []}),
    ("call/v2/nothing", {"a": 1}), ("cancel", {"session_hash": "a", "fn_index": 1}),
    ("cancel", {"session_hash": "a", "fn_index": 10**9, "event_id": "x"}),
    ("component_server", {"session_hash": "a", "component_id": 10**9, "fn_name": "x", "data": 1}),
    ("component_server", {"session_hash": "a", "component_id": 1, "fn_name": "__init__"}),
    ("component_server", []), ("stream/x", {"data": []}), ("stream/x/close", {}),
    ("reset", {}), ("vibe-edit/", {"prompt": "x"}), ("run-history/connect", {}),
    ("process_recording", {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body"), BODIES, ids=str)
def test_a_call_of_what_is_not_there_is_refused_calmly(
    client: httpx.Client, path: str, body: Any
) -> None:
    """A function, component or stream that does not exist is no error of the server's."""
    answer = client.post(f"/gradio_api/{path}", json=body)
    assert answer.status_code < 500
    assert not any(sign in answer.text for sign in SIGNS)


def test_calls_of_random_bytes_are_refused_calmly(client: httpx.Client) -> None:
    """Sixty bodies that are not what they claim to be."""
    drawn = random.Random(15)
    kinds = ("application/json", "multipart/form-data; boundary=x", "text/plain", "nonsense")
    for number in range(60):
        path = drawn.choice(("queue/join", "upload", "component_server", "cancel", "run/x"))
        answer = client.post(
            f"/gradio_api/{path}", content=drawn.randbytes(drawn.randrange(200)),
            headers={"Content-Type": kinds[number % len(kinds)]},
        )  # fmt: skip
        assert answer.status_code < 500, (path, number)
        assert not any(sign in answer.text for sign in SIGNS)


@pytest.mark.parametrize("about", NONSENSE, ids=lambda about: json.dumps(about)[:40])
def test_every_part_of_a_page_stands_nonsense(
    client: httpx.Client, workspace: Workspace, about: Any
) -> None:
    """Each event of ours says what is wrong with it, as the sender's doing, and changes nothing."""
    events = [
        (event, values, about) for event, values in handlers(client)
        if any(target[1] in ("act", "select") for target in event["targets"])
    ]  # fmt: skip
    said = sent(client, events)
    assert len(said) == len(events) >= 12
    for text in said:
        assert "not your fault" not in text
        assert '"success":false' not in text
        assert not any(sign in text for sign in SIGNS)
    assert [row["name"] for row in workspace.store.encoders.list()] == [LISTED]
    assert workspace.store.runs.list() == []


@pytest.mark.parametrize(
    ("body", "mended"),
    [(r"\ud83d\ude00", r"\ud83d\ude00"), (r"a\ud83db", r"a\ufffdb"), (r"\uDE00", r"\ufffd"),
     (r"\\ud83d", r"\\ud83d"), (r"\\\ud83d", r"\\\ufffd"), (r"\u00e9", r"\u00e9"),
     (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00")],
)  # fmt: skip
def test_halves_of_characters_are_told_from_whole_ones(body: str, mended: str) -> None:
    """An escaped backslash before a `u` names no character."""
    assert whole_characters(body.encode()).decode() == mended


def test_a_call_has_an_end(client: httpx.Client) -> None:
    """More than any page sends is not even read to the end."""
    answer = client.post("/gradio_api/queue/join", content=b"[" * (MOST_BYTES + 1))
    assert answer.status_code == 413


def test_every_control_stands_nonsense(client: httpx.Client) -> None:
    """Sixty events of any kind with values that no control has: no inside of the app comes out."""
    drawn = random.Random(29)
    values = (None, "", "x" * 3000, -1, 1e300, [], ["a", None], {}, {"path": "/etc/passwd"}, True,
              "dir:/etc", "hub:a/b@main/c.csv", "\ud800")  # fmt: skip
    events = [
        (event, [drawn.choice(values) for _ in event["inputs"]], None)
        for event, _ in drawn.sample(handlers(client), 60)
    ]
    for text in sent(client, events):
        assert not any(sign in text for sign in SIGNS)
        assert "root:" not in text
