"""A read-only app: visitors look, and nothing is offered that would change or run anything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import served
from tests.ui.steps import says
from theodolite.app.pages.judge import service as judging
from theodolite.app.workspace import Workspace

ACTS = "[data-act=stop], [data-act=cancel], [data-act=retry], [data-act=remove]"


@pytest.fixture(scope="module")
def shown(workspace) -> Iterator[tuple[str, str]]:
    """The same store, served read-only, and a session of judgements in it."""
    run = workspace.store.runs.create(
        "evaluate", {"encoders": [], "tasks": [], "n": 1}, title="A run"
    )
    wanted = judging.spec("starter-topics", ["random:256", "random:64"], draw=5)
    session = judging.begin(workspace, wanted)
    judging.mark(workspace, session, "relevant")
    looking = Workspace(workspace.store.folder, read_only=True)
    with served(looking) as address:
        yield address, session
    looking.close()
    judging.remove(workspace, session)
    workspace.store.runs.cancel(run)


@pytest.mark.parametrize(
    ("path", "place", "seen", "gone"),
    [
        ("encoders", ".t-encoders", "random:256", "[data-act], #spec, #add"),
        ("jobs", ".t-runs li", "A run", ACTS),
        ("judge?session=", ".t-judge", "The last mark: relevant", ".t-judge [data-act]"),
        ("train", "#command pre", "theodolite train", "#start, #cost, #upload, #file, #sweep"),
        ("train-decoder", "#command pre", "theodolite", "#start, #cost, #installed summary"),
        ("runs", "#runs", "ships as an example", f"{ACTS}, #ablations, .t-verbs a"),
        ("compare", "h1", "Compare", "button:text('Publish')"),
    ],
)
def test_they_look_and_touch_nothing(visitor, shown, path, place, seen, gone):
    address, session = shown
    page = visitor(address).open(f"{path}{session}" if path.endswith("=") else path)
    says(page.locator(place).first, seen)
    expect(page.locator(gone).locator("visible=true")).to_have_count(0)
    fields = {"address": "compare", "mask": "none", "texts": True}
    assert page.request.post(f"{address}/theodolite/publish", data=fields).status in (404, 405)
