"""The launch: what it loads, whom it lets in, and what it says when it cannot."""

from __future__ import annotations

import socket
import subprocess
import sys

import httpx
import pytest

from theodolite.app import ui
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

HEAVY = (
    "torch",
    "umap",
    "faiss",
    "sklearn",
    "scipy",
    "transformers",
    "sentence_transformers",
    "plotly",
    "dbos",
)


def test_importing_the_app_imports_nothing_that_computes():
    """The page is up before torch is needed."""
    code = f"import sys, app.ui; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_a_port_in_use_is_an_error_that_names_a_free_one(tmp_path):
    """The next free port is suggested, not taken unasked."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        workspace = Workspace(tmp_path / "store")
        with pytest.raises(UserError, match=f"Port {port} is in use") as error:
            ui.launch(workspace, port=port, open_browser=False, block=False)
        workspace.close()
    assert "--port" in error.value.hint


def test_two_apps_that_start_at_once_find_two_ports(tmp_path, monkeypatch):
    """The port that was free when we looked is taken by the time we listen: another one serves."""
    build, taken = ui.build, socket.socket()

    def while_another_is_faster(workspace):
        port = next(p for p in range(ui.DEFAULT_PORT, 65536) if ui._is_free("127.0.0.1", p))
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        return build(workspace)

    monkeypatch.setattr(ui, "build", while_another_is_faster)
    workspace = Workspace(tmp_path / "store")
    demo = ui.launch(workspace, open_browser=False, block=False)
    with taken:
        assert demo.server_port != taken.getsockname()[1]
        assert httpx.get(f"{demo.local_url}config").is_success
    demo.close()
    workspace.close()


@pytest.mark.parametrize("options", [{"host": "0.0.0.0"}, {"share": True}], ids=str)  # noqa: S104
def test_strangers_need_a_password(tmp_path, options):
    """No address beyond this machine and no public link without one."""
    workspace = Workspace(tmp_path / "store")
    with pytest.raises(UserError, match="password"):
        ui.launch(workspace, open_browser=False, block=False, **options)
    workspace.close()


def test_a_host_name_of_others_is_not_answered(site):
    """A page elsewhere may have its name point to this machine: its browser gets nothing."""
    assert httpx.get(f"{site}/config").status_code == 200
    assert httpx.get(f"{site}/config", headers={"Host": "evil.example"}).status_code == 400
    assert httpx.get(f"{site}/config", headers={"Host": "localhost:80"}).status_code == 200


def test_our_routes_stand_behind_the_same_login(tmp_path):
    """401 without a login, the file with one; Gradio does not guard routes it is given."""
    workspace = Workspace(tmp_path / "store", read_only=True)
    demo = ui.launch(workspace, open_browser=False, block=False, auth=("ada", "lovelace"))
    try:
        with httpx.Client(base_url=demo.local_url) as client:
            ours = ("/theodolite/mark.svg", "/theodolite/places.json", "/theodolite/live.json")
            for path in (f"/{PLOTLY_JS}", *ours, "/config"):
                assert client.get(path).status_code == 401
            assert client.post(
                "/login", data={"username": "ada", "password": "lovelace"}
            ).is_success
            answer = client.get(f"/{PLOTLY_JS}")
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
    finally:
        demo.close()
        workspace.close()


def test_no_event_is_offered_to_programs(site):
    """Programs have the command line and Python; the pages' events are their own."""
    info = httpx.get(f"{site}/gradio_api/info").json()
    assert info["named_endpoints"] == {}
    assert info["unnamed_endpoints"] == {}


def test_files_beside_the_store_are_not_served(site):
    """Neither the machine's files nor those of the project."""
    for path in ("/etc/passwd", "pyproject.toml"):
        assert httpx.get(f"{site}/gradio_api/file={path}").status_code in (403, 404)
