"""A published app, started in its folder as a Space or a container would."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx


@contextmanager
def started(
    command: Sequence[str | Path],
    where: Path,
    environment: dict[str, str] | None = None,
    **how: Any,
) -> Iterator[str]:
    """Address of an app that is started in a folder, once it answers.

    Args:
        command: that starts it; it is to listen on the port that `PORT` names.
        where: the folder; beside it is a home, in which there is nothing.
        environment: more than that, and all that it gets.
        **how: as for `Popen`.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    home = where.parent / "home"
    home.mkdir(exist_ok=True)
    with (home / "said").open("w+") as file:
        process = subprocess.Popen(
            command,
            cwd=where,
            stdout=file,
            stderr=file,
            env={**inherited, "HOME": str(home), "PORT": str(port), **(environment or {})},
            **how,
        )
        try:
            answer = None
            while answer is None:
                assert process.poll() is None, (home / "said").read_text()
                try:
                    answer = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30)
                except httpx.ConnectError:
                    time.sleep(0.1)
            assert answer.json() == {"status": "ok"}
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def steps_of(dockerfile: str) -> list[str]:
    """The steps of a Dockerfile, one a line."""
    lines = dockerfile.replace("\\\n", "").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
