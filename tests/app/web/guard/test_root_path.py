"""The names and addresses of the app: its own, and behind a proxy, by hand and by nginx."""

import contextlib
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.web.guard.conftest import LISTED
from tests.app.web.guard.test_nonsense import handlers, sent
from tests.fakes.launched import launched
from tests.waiting import wait_until
from theodolite.app import serve, ui
from theodolite.app.components import modules
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreGone

BELOW = "/tools/theodolite"
NGINX = """
user root; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/1; uwsgi_temp_path {folder}/2; scgi_temp_path {folder}/3;
  proxy_http_version 1.1; proxy_buffering off; client_max_body_size 200m;
  proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Host $http_host;
  proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-For $remote_addr;
  upstream app {{ server 127.0.0.1:{app}; }}
  server {{ listen 127.0.0.1:{strips}; location {below}/ {{ proxy_pass http://app/; }} }}
  server {{ listen 127.0.0.1:{keeps}; location {below}/ {{ proxy_pass http://app; }} }}
}}
"""


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
        assert client.get(f"/{PLOTLY_JS}").is_success
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


def _listens(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    return False


@pytest.fixture(scope="module")
def proxied(port: int) -> Iterator[list[str]]:
    """Addresses of the app behind nginx: one that strips the folder, one that passes it on."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    free = ("127.0.0.1", 0)
    with socket.create_server(free) as one, socket.create_server(free) as other:
        ports = [held.getsockname()[1] for held in (one, other)]
    with tempfile.TemporaryDirectory() as folder:
        text = NGINX.format(folder=folder, below=BELOW, app=port, strips=ports[0], keeps=ports[1])
        settings = Path(folder) / "nginx.conf"
        settings.write_text(text)
        with subprocess.Popen([nginx, "-p", folder, "-c", settings]) as server:
            wait_until(lambda: all(map(_listens, ports)))
            yield [f"http://127.0.0.1:{number}{BELOW}" for number in ports]
            server.terminate()


@pytest.mark.long
@pytest.mark.parametrize("which", [0, 1], ids=["stripped", "passed on"])
def test_nginx_serves_all_of_it(proxied: list[str], which: int, workspace: Workspace) -> None:
    """Pages with their scripts, events, uploads, and our own addresses."""
    address = proxied[which]
    origin = {"Origin": address.removesuffix(BELOW)}
    with httpx.Client(base_url=f"{address}/", headers=origin, timeout=60) as client:
        page = client.get("map").raise_for_status().text
        scripts = re.findall(r'src="\./([^"]+\.js)"', page)
        assert scripts
        assert 'rel="manifest" href="./manifest.json"' in page
        mine = [PLOTLY_JS, "theodolite/mark.svg", "theodolite/places.json", "manifest.json"]
        for path in [*scripts, *mine, *modules.sources()]:
            assert client.get(path).is_success, path
        assert client.get("map/").next_request.url == f"{address}/map"  # type: ignore[union-attr]
        files = {"files": ("a.csv", b"text\na boat\n" * 300_000)}
        assert client.post("gradio_api/upload", files=files).is_success
        assert all('"success":true' in text for text in sent(client, handlers(client, "load")))
        assert client.get("config", headers={"Origin": "https://evil.example"}).status_code == 403


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
