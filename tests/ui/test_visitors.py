"""A read-only app: visitors look, and nothing is offered that would change or run anything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import served
from theodolite.app.workspace import Workspace


@pytest.fixture(scope="module")
def showcase(workspace) -> Iterator[str]:
    """The same store, served read-only."""
    run = workspace.store.runs.create(
        "evaluate", {"encoders": [], "tasks": [], "n": 1}, title="A run"
    )
    looking = Workspace(workspace.store.folder, read_only=True)
    with served(looking) as address:
        yield address
    looking.close()
    workspace.store.runs.cancel(run)


def test_encoders_can_be_looked_at_only(visitor, showcase):
    """The list is there; adding, removing and checking are not."""
    page = visitor(showcase).open("encoders")
    expect(page.get_by_role("list", name="Encoders")).to_contain_text("random:256")
    assert page.locator("[data-act], #spec, #add").count() == 0


def test_runs_can_be_looked_at_only(visitor, showcase):
    """A run opens; it is not cancelled or retried from here."""
    page = visitor(showcase).open("jobs")
    expect(page.locator(".t-runs li").first).to_contain_text("A run")
    assert page.locator("[data-act=cancel], [data-act=retry]").count() == 0
