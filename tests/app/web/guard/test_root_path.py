"""Behind a proxy that serves the app below a folder of its site: by hand, and by a real nginx."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.web.guard.test_nonsense import handlers, sent
from theodolite.app import ui
from theodolite.app.components import modules
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
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
    demo = ui.launch(
        workspace, open_browser=False, block=False, root_path=BELOW, allow_hosts=["example.org"]
    )
    yield int(demo.server_port)
    demo.close()


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
    assert answer.status_code == 503
    assert "secret" not in answer.text


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


@contextlib.contextmanager
def nginx_before(port: int) -> Iterator[list[str]]:
    """Addresses of the app behind nginx: one that strips the folder, one that passes it on."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    ports = _free_ports(2)
    addresses = [f"http://127.0.0.1:{number}{BELOW}" for number in ports]
    with tempfile.TemporaryDirectory() as folder:
        text = NGINX.format(folder=folder, below=BELOW, app=port, strips=ports[0], keeps=ports[1])
        settings = Path(folder) / "nginx.conf"
        settings.write_text(text)
        server = subprocess.Popen([nginx, "-p", folder, "-c", settings])
        try:
            for number in ports:
                _wait_for(number)
            yield addresses
        finally:
            server.terminate()
            server.wait(10)


def _wait_for(port: int) -> None:
    """Until somebody listens."""
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="module")
def proxied(port: int) -> Iterator[list[str]]:
    """The app behind nginx."""
    with nginx_before(port) as addresses:
        yield addresses


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
        opened = [
            (event, values, None)
            for event, values in handlers(client)
            if any(kind == "load" for _, kind in event["targets"])
        ]
        assert all('"success":true' in text for text in sent(client, opened))
        foreign = {"Origin": "https://evil.example"}
        assert client.get("config", headers=foreign).status_code == 403
