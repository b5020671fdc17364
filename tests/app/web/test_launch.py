"""The launch: whom it lets in, and what it says when it cannot."""

import socket

import httpx
import pytest

from theodolite.app import ui
from theodolite.engine.errors import UserError


def test_a_port_in_use_is_an_error_that_names_a_free_one(workspace):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"Port {port} ") as error:
            ui.launch(workspace, port=port, open_browser=False, block=False)
    assert "--port" in error.value.hint


def test_two_apps_that_start_at_once_find_two_ports(workspace, monkeypatch):
    """The port that was free when we looked is taken by the time we listen: another one serves."""
    build, taken = ui.build, socket.socket()

    def while_another_is_faster(workspace):
        port = next(p for p in range(ui.DEFAULT_PORT, 65536) if ui._is_free("127.0.0.1", p))
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        return build(workspace)

    monkeypatch.setattr(ui, "build", while_another_is_faster)
    demo = ui.launch(workspace, open_browser=False, block=False)
    with taken:
        assert demo.server_port != taken.getsockname()[1]
        assert httpx.get(f"{demo.local_url}config").is_success
    demo.close()


@pytest.mark.parametrize("options", [{"host": "0.0.0.0"}, {"share": True}], ids=str)  # noqa: S104
def test_strangers_need_a_password(workspace, options):
    """No address beyond this machine and no public link without one."""
    with pytest.raises(UserError, match="password"):
        ui.launch(workspace, open_browser=False, block=False, **options)
