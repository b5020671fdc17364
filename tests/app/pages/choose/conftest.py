"""A store in which encoders have costs, so that no process is started to measure them."""

from __future__ import annotations

import pytest

from tests.fakes.costs import keep
from theodolite.app.workspace import Workspace

MILLISECONDS = {"wordllama": 2.0, "random:16": 0.5, "random:64": 1.0, "random:256": 1.0}
"""Random words take next to nothing, wordllama a little."""


@pytest.fixture
def ready(workspace: Workspace) -> Workspace:
    for name, ms in MILLISECONDS.items():
        keep(workspace, name, latency_ms=[ms], dim=256 if name == "wordllama" else 16)
    return workspace
