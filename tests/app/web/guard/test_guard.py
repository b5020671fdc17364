"""The app against pages of others, strangers and nonsense, spoken to as they speak: over HTTP.

What a browser makes of the answers is in tests/ui/test_foreign_pages.py.
"""

import os
import re
import socket
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

from tests.app.web.guard.conftest import ALLOWED, LISTED
from tests.app.web.guard.test_nonsense import handlers, sent
from tests.fakes.started import launched, serving
from theodolite.app import serve
from theodolite.app.components import modules
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreGone

LOGIN = ("ada", "lovelace")
FOREIGN = [
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},  # another port of localhost
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
]


@pytest.fixture(scope="module")
def stranger(workspace: Workspace) -> Iterator[httpx.Client]:
    """The same before a login that nobody gave."""
    with launched(workspace, auth=LOGIN) as made:
        yield made


# Tabs


def test_a_tab_that_has_left_is_no_error(
    client: httpx.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    """What was still to be said to it is not; the terminal shows no traceback for that."""
    assert '"session_not_found":true' in client.get("/gradio_api/queue/data?session_hash=gone").text
    assert client.get("/healthz").status_code == 200
    assert "Traceback" not in capfd.readouterr().err


# Pages that open


def test_a_page_that_opens_is_noted_for_evaluations(
    client: httpx.Client, workspace: Workspace
) -> None:
    """They step aside then; not for files, nor for what a page of others asks."""
    visited = workspace.store.folder / "visited"
    visited.touch()
    os.utime(visited, (0, 0))
    client.get("/theodolite/mark.svg").raise_for_status()
    assert client.get("/search", headers=FOREIGN[0]).status_code == 403
    assert workspace.store.visits.seconds_since() > 1000
    client.get("/search").raise_for_status()
    assert workspace.store.visits.seconds_since() < 30


# Pages of others


@pytest.mark.parametrize("page", ["", "search", "map"])
def test_no_page_of_others_can_frame_ours(client: httpx.Client, page: str) -> None:
    """Neither a browser of today nor an older one shows a page of ours inside another's."""
    headers = client.get(f"/{page}").headers
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/config"),
        ("GET", "/gradio_api/queue/data?session_hash=x"),
        ("GET", "/"),
        ("POST", "/gradio_api/upload"),  # without a preflight, which a browser would send
    ],
)
def test_a_page_of_others_reads_and_stores_nothing(
    client: httpx.Client, headers: dict[str, str], method: str, path: str
) -> None:
    """No answer, and no header that would let its script have one."""
    files = {"files": ("a.csv", b"text\nstored by others\n")} if method == "POST" else None
    answer = client.request(method, path, headers=headers, files=files)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_of_others_is_not_told_what_it_may_do(client: httpx.Client) -> None:
    """The question that a browser asks first is not answered with yes."""
    fields = {
        "Origin": "http://localhost:1",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    answer = client.options("/gradio_api/queue/join", headers=fields)
    assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers


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
    click = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    assert client.get("/compare", headers=click).is_success
    for path in ("/logout", "/config", "/gradio_api/heartbeat/x"):
        assert client.get(path, headers=click).status_code == 403


# Links that name what is not listed

UNLISTED = [
    "search?q=rain&encoder=dir:/etc",
    "search?q=rain&encoder=hf:owner/name&encoder=random:16",
    "map?encoder=words:/etc/passwd",
    "compare?encoder=random:16&encoder=random:17",
    "decode?q=rain&encoder=hf:owner/name",
    "encoders?spec=dir:/home",
    "spaces?encoder=random:16&encoder=random:16|whiten:hub:a/b@main/c.csv",
    "train?base=dir:/m",
    "train?train=/etc/passwd",
    "train-decoder?encoder=random:16&train=/home/a.txt",
    "diagnose?encoder=vectors:/tmp/v.npz",
    "data?set=hub:owner/name@main/file.csv",
    "search?q=rain&in=hub:owner/name@main/file.csv",
    "geometry?data=hub:a/b@main/c.csv",
    "distributions?task=hub:a/b@main/c.csv",
    "evaluate?encoder=random:16&task=MR,hub:a/b@main/c",
    "curate?in=starter-topics&against=hub:a/b@main/c.csv",
    "interpolate?a=x&b=y&encoder=dir:/x",
    "arithmetic?x=a&encoder=hf:a/b",
    "fair-play?encoder=hf:a/b",
    "geometry?encoder=hf:a/b",
    "distributions?encoder=hf:a/b",
    "curate?encoder=hf:a/b",
    "train-decoder?base=hf:a/b",
    "?encoder=dir:/etc",
    "compare?baseline=dir:/etc",
    "jobs?a-name-that-no-page-has-yet=dir:/etc",
]
OPENED = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}


@pytest.mark.parametrize("link", UNLISTED)
def test_a_link_to_what_is_not_listed_asks_first(client: httpx.Client, link: str) -> None:
    """However the link came: from a page of others, by mail, into the address bar."""
    for headers in ({}, OPENED, OPENED | {"Sec-Fetch-Site": "cross-site"}):
        expected = client.get(f"/{link}", headers=headers).raise_for_status().text
        assert "Load what this link names?" in expected
        assert "window.gradio_config" not in expected
    clicked = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
    assert "window.gradio_config" in client.get(f"/{link}", headers=clicked).text


@pytest.mark.parametrize(
    "link",
    [
        "",
        "search?q=hf:owner/name&q=dir:/x&encoder=random:16",
        "arithmetic?let=a&x=dir:/x",
        "compare?encoder=minilm",
        "map?encoder=nonsense",
        "train?train=starter&base=minilm",
        "data?set=starter-topics",
        "train-decoder?train=starter-pairs",
        "evaluate?task=MR,STS13&task=StarterSTS",
    ],
)
def test_a_link_to_what_is_listed_opens(client: httpx.Client, link: str) -> None:
    """Also one to what cannot be read at all, of which nothing can be loaded."""
    assert "window.gradio_config" in client.get(f"/{link}", headers=OPENED).text


def test_the_question_shows_what_is_asked_and_both_ways_on(client: httpx.Client) -> None:
    """Text of the link is text; what is listed stays when the rest is left out."""
    bad = 'dir:/a"><script>x</script>'
    expected = client.get(f"/search?q=rain&encoder=random:16&encoder={quote(bad)}").text
    assert "<script>x" not in expected and "&lt;script&gt;" in expected
    assert 'href="./search?q=rain&amp;encoder=random%3A16"' in expected


def test_an_older_browser_on_the_network_gets_on_with_the_click(client: httpx.Client) -> None:
    """Over plain HTTP from another machine it sends no more than whence it came."""
    origin = str(client.base_url)
    link = "/map?encoder=random:99"
    assert "window.gradio_config" in client.get(link, headers={"Referer": origin}).text
    for other in ("http://evil.example/", "http://127.0.0.1:1/", "nonsense://[", ""):
        assert "window.gradio_config" not in client.get(link, headers={"Referer": other}).text


# Addresses without a page


@pytest.mark.parametrize(
    ("path", "title", "link"),
    [
        ("trainings", "Trainings", "./runs"),
        ("maps", "Map", "./map"),
        ("a/serch", "Search", "../search"),
        ("Two%20spaces", "Two spaces", "./spaces"),
        ("zzz<b>", "Home", "./"),
    ],
)
def test_a_mistyped_address_leads_to_the_page_that_was_meant(
    client: httpx.Client, path: str, title: str, link: str
) -> None:
    """Somebody in a browser reads a sentence; a script still gets what Gradio says."""
    typed = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
    answer = client.get(f"/{path}", headers=typed)
    assert answer.status_code == 404 and "<h1>There is no such page</h1>" in answer.text
    assert f'href="{link}">{title}</a>' in answer.text and "<b>" not in answer.text
    assert client.get(f"/{path}").json() == {"detail": "Not Found"}


# Strangers


@pytest.mark.parametrize("path", ["/openapi.json", "/gradio_api/openapi.json", "/docs", "/redoc"])
def test_the_list_of_routes_is_nowhere(client: httpx.Client, path: str) -> None:
    """With or without a login."""
    assert client.get(path).status_code == 404


GUARDED = [
    ("GET", "/gradio_api/heartbeat/x"),
    ("POST", "/gradio_api/cancel"),
    ("GET", "/openapi.json"),
    ("POST", "/gradio_api/reset"),
    ("POST", "/gradio_api/stream/x"),
    ("GET", "/gradio_api/info"),
    ("GET", "/gradio_api/stream/a/b/1/playlist.m3u8"),
    ("GET", "/gradio_api/app_id"),
    ("POST", "/gradio_api/queue/join"),
    ("POST", "/gradio_api/upload"),
    ("GET", "/config"),
    *(("GET", f"/theodolite/map/x/{part}") for part in ("points", "texts?ids=0", "find?text=a")),
    *(("POST", f"/theodolite/map/x/{part}") for part in ("table.csv", "table.parquet", "place")),
    ("GET", f"/{PLOTLY_JS}"),
    ("GET", "/theodolite/mark.svg"),
    ("GET", "/theodolite/places.json"),
    ("GET", "/theodolite/live.json"),
    ("GET", "/gradio_api/file=/etc/hosts"),
    ("GET", "/gradio_api/queue/status"),
    ("POST", "/gradio_api/component_server"),
    ("GET", "/logout"),
    ("GET", "/nothing"),
    ("GET", "//gradio_api/heartbeat/x"),
    ("GET", "/gradio_api/token"),
]


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
    assert 'action="./login"' in stranger.get("/search?encoder=minilm").text
    assert stranger.get("/search/").status_code == 301  # a form there would send to another place


def test_the_cookie_of_a_login_stays_on_our_site(stranger: httpx.Client) -> None:
    """No other site's page can have a browser send it along; HTTPS keeps it to itself."""
    data = dict(zip(("username", "password"), LOGIN, strict=True))
    with httpx.Client(base_url=stranger.base_url) as fresh:
        answer = fresh.post("/login", data=data, headers={"X-Forwarded-Proto": "https"})
    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2
    for cookie in cookies:
        assert {"samesite=lax", "httponly", "secure"} <= set(cookie.lower().split("; "))
        assert "samesite=none" not in cookie.lower()


# The names and addresses of the app: its own, and behind a proxy.

BELOW = "/tools/theodolite"
FAILED = '"success":false'


@pytest.fixture(scope="module")
def port(workspace: Workspace) -> Iterator[int]:
    """Of the app as the proxy finds it."""
    with launched(workspace, root_path=BELOW, allow_hosts=["example.org", *ALLOWED]) as client:
        yield int(client.base_url.port or 80)


@pytest.mark.parametrize("before", ["", BELOW], ids=["stripped", "passed on"])
def test_the_proxy_may_strip_the_folder_or_pass_it_on(port: int, before: str) -> None:
    """Pages name what they need by addresses below it, and redirects stay there."""
    headers = {"Host": "example.org", "X-Forwarded-Proto": "https"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}{before}", headers=headers) as client:
        page = client.get("/search").raise_for_status().text
        assert f'"root":"https://example.org{BELOW}"' in page.replace(": ", ":")
        assert '<base href="./"' in page
        assert client.get("/search/").headers["location"] == f"{BELOW}/search"
        assert client.get("/healthz").json() == {"status": "ok"}
        scripts = re.findall(r'src="\./([^"]+\.js)"', page)
        for path in [*scripts, PLOTLY_JS, "theodolite/places.json", *modules.sources()]:
            assert client.get(path).is_success, path
        files = {"files": ("a.csv", b"text\na boat\n" * 300_000)}
        assert client.post("gradio_api/upload", files=files).is_success
        loads = handlers(client, "load")[: None if before else 3]
        assert [text for text in sent(client, loads) if FAILED in text] == []
        foreign = client.get("config", headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403 and scripts
    assert httpx.get(f"http://127.0.0.1:{port}/tools/theodolitex/search").status_code == 404


def test_a_store_that_is_gone_is_no_good_health(
    workspace: Workspace, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said to the proxy by its status; nothing of where the store lies."""

    def gone(*_: object) -> None:
        raise StoreGone("The store at /secret/place was removed.")

    monkeypatch.setattr(workspace.store.database, "rows", gone)
    answer = httpx.get(f"http://127.0.0.1:{port}/healthz")
    assert answer.status_code == 503 and "secret" not in answer.text


OTHER_NAMES = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:7860",
    "a@localhost",
]
OWN_NAMES = [
    *("localhost", "127.0.0.1:80", "[::1]:7860"),
    *("lab.example.org", "LAB.example.org:443", "a.site.example"),
]


def test_without_a_login_other_names_are_refused(client: httpx.Client, port: int) -> None:
    """A name that another site points here, behind a proxy and without one."""
    for app in (str(client.base_url), f"http://127.0.0.1:{port}"):
        for name in OTHER_NAMES:
            headers = {"Host": name}
            assert httpx.get(f"{app}/search", headers=headers).status_code == 400, name
            assert httpx.post(f"{app}/gradio_api/upload", headers=headers).status_code == 400, name
        for name in OWN_NAMES:
            assert httpx.get(f"{app}/healthz", headers={"Host": name}).is_success, name


@pytest.mark.parametrize("text", ["https://a.org", "a.org:80", "a b", "", "*", "a/b", "*.*.org"])
def test_what_is_no_name_is_refused(text: str) -> None:
    """Before anything is served."""
    with pytest.raises(UserError, match="not the name of a host"):
        serve.parse_host(text)


@pytest.mark.parametrize("text", ["Lab.example.org", "*.example.org", "theodolite", "[fd00::7]"])
def test_a_name_is_read_in_either_case(text: str) -> None:
    """As names of hosts are."""
    assert serve.parse_host(text) == text.lower()


@pytest.mark.skipif(not socket.has_ipv6, reason="IPv6 is missing")
@pytest.mark.parametrize(("host", "auth"), [("::1", None), ("::", ("ada", "lovelace"))])
def test_it_listens_on_ipv6(workspace: Workspace, host: str, auth: tuple[str, str] | None) -> None:
    """And prints an address that a browser can open."""
    with serving(workspace, host=host, auth=auth) as demo:
        assert demo.local_url == f"http://[{host}]:{demo.server_port}/"
        assert httpx.get(f"http://[::1]:{demo.server_port}/search?encoder={LISTED}").is_success
