"""The names and addresses of the app: its own, and behind a proxy."""

import re
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.app.web.guard.conftest import LISTED
from tests.app.web.guard.test_nonsense import handlers, sent
from tests.fakes.launched import launched
from theodolite.app import serve, ui
from theodolite.app.components import modules
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreGone

BELOW = "/tools/theodolite"
FAILED = '"success":false'


@pytest.fixture(scope="module")
def port(workspace: Workspace) -> Iterator[int]:
    """Of the app as the proxy finds it."""
    with launched(workspace, root_path=BELOW, allow_hosts=["example.org"]) as client:
        yield int(client.base_url.port or 80)


@pytest.mark.parametrize("before", ["", BELOW], ids=["stripped", "passed on"])
def test_the_proxy_may_strip_the_folder_or_pass_it_on(port: int, before: str) -> None:
    """Pages name what they need by addresses below it, and redirects stay there."""
    headers = {"Host": "example.org", "X-Forwarded-Proto": "https"}
    url = f"http://127.0.0.1:{port}{before}"
    with httpx.Client(base_url=url, headers=headers) as client:
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
        assert [text for text in sent(client, handlers(client, "load")) if FAILED in text] == []
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


FOREIGN = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7860", "a@localhost"]
OWN = [
    *("localhost", "127.0.0.1:80", "[::1]:7860"),
    *("lab.example.org", "LAB.example.org:443", "a.site.example"),
]
needs_ipv6 = pytest.mark.skipif(not socket.has_ipv6, reason="IPv6 is missing")


@pytest.mark.parametrize("root_path", [None, "/theodolite"])
def test_without_a_login_other_names_are_refused(
    workspace: Workspace, root_path: str | None
) -> None:
    """A name that another site points here, behind a proxy and without one."""
    allowed = ["lab.example.org", "*.site.example"]
    with launched(workspace, root_path=root_path, allow_hosts=allowed) as client:
        for name in FOREIGN:
            headers = {"Host": name}
            assert client.get("/search", headers=headers).status_code == 400, name
            assert client.post("/gradio_api/upload", headers=headers).status_code == 400, name
        for name in OWN:
            assert client.get("/healthz", headers={"Host": name}).is_success, name


@pytest.mark.parametrize("text", ["https://a.org", "a.org:80", "a b", "", "*", "a/b", "*.*.org"])
def test_what_is_no_name_is_refused(text: str) -> None:
    """Before anything is served."""
    with pytest.raises(UserError, match="not the name of a host"):
        serve.parse_host(text)


@pytest.mark.parametrize("text", ["Lab.example.org", "*.example.org", "theodolite", "[fd00::7]"])
def test_a_name_is_read_in_either_case(text: str) -> None:
    """As names of hosts are."""
    assert serve.parse_host(text) == text.lower()


@needs_ipv6
@pytest.mark.parametrize(("host", "auth"), [("::1", None), ("::", ("ada", "lovelace"))])
def test_it_listens_on_ipv6(workspace: Workspace, host: str, auth: tuple[str, str] | None) -> None:
    """And prints an address that a browser can open."""
    demo = ui.launch(workspace, host=host, open_browser=False, block=False, auth=auth)
    try:
        assert demo.local_url == f"http://[{host}]:{demo.server_port}/"
        assert httpx.get(f"http://[::1]:{demo.server_port}/search?encoder={LISTED}").is_success
    finally:
        demo.close()
