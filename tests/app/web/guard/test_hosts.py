"""Under which names the app answers, and on which addresses it listens."""

from __future__ import annotations

import socket

import httpx
import pytest

from tests.app.web.guard.conftest import LISTED
from theodolite.app import serve, ui
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

FOREIGN = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7860", "a@localhost"]
needs_ipv6 = pytest.mark.skipif(not socket.has_ipv6, reason="IPv6 is missing")


@pytest.mark.parametrize("root_path", [None, "/theodolite"])
def test_without_a_login_other_names_are_refused(
    workspace: Workspace, root_path: str | None
) -> None:
    """A name that another site points here, behind a proxy and without one."""
    demo = ui.launch(
        workspace,
        open_browser=False,
        block=False,
        root_path=root_path,
        allow_hosts=["lab.example.org", "*.site.example"],
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{demo.server_port}") as client:
            for name in FOREIGN:
                for method, path in (("GET", "/search"), ("POST", "/gradio_api/upload")):
                    answer = client.request(method, path, headers={"Host": name})
                    assert answer.status_code == 400, name
            for name in (
                "localhost",
                "127.0.0.1:80",
                "[::1]:7860",
                "lab.example.org",
                "LAB.example.org:443",
                "a.site.example",
            ):
                assert client.get("/healthz", headers={"Host": name}).is_success, name
    finally:
        demo.close()


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
        page = httpx.get(f"http://[::1]:{demo.server_port}/search?encoder={LISTED}")
        assert page.is_success
    finally:
        demo.close()
