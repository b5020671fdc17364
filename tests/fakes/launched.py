"""The app, launched for somebody who speaks to it over HTTP without a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from theodolite.app import ui
from theodolite.app.workspace import Workspace


@contextmanager
def launched(workspace: Workspace, **how: Any) -> Iterator[httpx.Client]:
    """That somebody; `how` is for `ui.launch`."""
    demo = ui.launch(workspace, open_browser=False, block=False, **how)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{demo.server_port}", timeout=60) as client:
            yield client
    finally:
        demo.close()
