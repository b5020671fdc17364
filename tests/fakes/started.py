"""The app for somebody without a browser: launched here, or started in a folder of its own."""

import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.waiting import wait_until
from theodolite.app import ui
from theodolite.app.pages.board import training_data
from theodolite.app.workspace import Workspace


@contextmanager
def started(
    command: Sequence[str | Path],
    where: Path,
    environment: dict[str, str] | None = None,
) -> Iterator[str]:
    """Address of an app that is started in a folder, once it answers.

    Args:
        command: that starts it; it is to listen on the port that `PORT` names.
        where: the folder; beside it is a home, in which there is nothing.
        environment: more than that, and all that it gets.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {
        name: os.environ[name] for name in ("PATH", "LANG", "OMP_NUM_THREADS") if name in os.environ
    }
    home = where.parent / "home"
    home.mkdir(exist_ok=True)
    with (home / "said").open("w+") as file:
        process = subprocess.Popen(
            command,
            cwd=where,
            stdout=file,
            stderr=file,
            env={**inherited, "HOME": str(home), "PORT": str(port), **(environment or {})},
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: process.poll() is not None or _answers(address))
            assert process.poll() is None, (home / "said").read_text()
            yield address
        finally:
            process.terminate()
            process.wait()


def _answers(address: str) -> bool:
    with suppress(httpx.ConnectError):
        return bool(httpx.get(f"{address}/healthz", timeout=30).json() == {"status": "ok"})
    return False


def steps_of(dockerfile: str) -> list[str]:
    """The steps of a Dockerfile, one a line."""
    lines = dockerfile.replace("\\\n", "").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@contextmanager
def serving(workspace: Workspace, **how):
    """The app, launched here; `how` is for `ui.launch`.

    Its board does not ask mteb about models, which is a process of eight seconds for each store.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_data, "look_up", lambda *_: False)
        demo = ui.launch(workspace, open_browser=False, block=False, **how)
        try:
            yield demo
        finally:
            demo.close()


@contextmanager
def launched(workspace: Workspace, **how) -> Iterator[httpx.Client]:
    """That somebody, and the app launched here."""
    with serving(workspace, **how) as demo:
        with httpx.Client(base_url=f"http://127.0.0.1:{demo.server_port}", timeout=60) as client:
            yield client
