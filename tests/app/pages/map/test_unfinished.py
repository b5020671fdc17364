"""A map while it is laid out: where its points are by now, for whoever looks on."""

from __future__ import annotations

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.app.pages.map.conftest import ENCODER
from theodolite.app.pages.map.job import MapJob
from theodolite.app.pages.map.routes import routes
from theodolite.engine.space import projection


def test_points_are_seen_while_they_move_and_not_after(workspace, monkeypatch) -> None:
    """Over HTTP, as many as the map has; nothing is left when it is made."""
    monkeypatch.setattr(projection, "_WATCHED_EVERY", 0.0)
    job = MapJob.of(ENCODER, "starter-topics")
    address = f"/theodolite/map/{job.key(workspace)}/unfinished"
    browser = TestClient(Starlette(routes=routes(workspace)))
    assert browser.get(address).status_code == 204
    seen = []

    def look(share: float) -> None:
        answer = browser.get(address)
        if answer.status_code == 200 and len(seen) < 3:
            assert answer.headers["cache-control"] == "no-store"
            seen.append(np.frombuffer(answer.content, "<f4").reshape(-1, 2))

    made = job.make(workspace, look)
    assert [points.shape for points in seen] == [made.points.shape] * 3
    assert not np.array_equal(seen[0], seen[1])
    assert browser.get(address).status_code == 204
    assert list(workspace.store.projections.folder.glob("*.tmp")) == []


def test_work_that_is_given_up_leaves_nothing(workspace, monkeypatch) -> None:
    """A run that is cancelled here."""
    monkeypatch.setattr(projection, "_WATCHED_EVERY", 0.0)
    job = MapJob.of(ENCODER, "starter-topics", seed=1)

    def stop(share: float) -> None:
        if workspace.store.projections.unfinished(job.key(workspace)):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.make(workspace, stop)
    assert list(workspace.store.projections.folder.glob("*.tmp")) == []


def test_no_path_is_opened_by_what_is_no_key(workspace) -> None:
    """A key has 32 hexadecimal digits."""
    assert workspace.store.projections.unfinished("../../etc/passwd") is None
