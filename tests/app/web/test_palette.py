"""What the palette offers and what the rail counts, as the browser is told."""

from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from theodolite.app.pages.encoders import service as encoders
from theodolite.app.ui import PAGES, RAIL
from theodolite.app.web import palette
from theodolite.app.workspace import Workspace


def told(workspace: Workspace, name: str) -> Any:
    """The answer to the browser."""
    app = Starlette(routes=[*palette.routes(workspace, RAIL)])
    return TestClient(app).get(f"/theodolite/{name}.json").json()


def test_places_of_every_kind_lead_to_their_page(workspace: Workspace) -> None:
    """Pages first; names are quoted in their addresses."""
    encoders.add(workspace, "random:64 | normalise")
    run = workspace.store.runs.create("evaluate", {}, title="STS <b>")
    found = told(workspace, "places")
    links = {(place["kind"], place["title"]): place["href"] for place in found}
    assert [place["kind"] for place in found][: len(PAGES)] == ["page"] * len(PAGES)
    assert links["page", "Home"] == "./"
    assert links["page", "Decode: Arithmetic"] == "./arithmetic"
    assert (
        links["encoder", "random:64 | normalise"] == "./encoders?encoder=random%3A64+%7C+normalise"
    )
    assert links["data set", "starter-topics"] == "./data?set=starter-topics"
    assert links["task", "StarterSTS"] == "./compare?task=StarterSTS"
    assert links["run", "STS <b>"] == f"./jobs?run={run}"


def test_visitors_are_told_of_nothing_that_is_not_listed(workspace: Workspace) -> None:
    """The palette of a read-only workspace names the same places as its pages list."""
    looking = Workspace(workspace.store.folder, read_only=True)
    kinds = {
        "encoder": set(looking.store.encoders.names()),
        "data set": set(looking.catalog.names()),
    }
    found = told(looking, "places")
    looking.close()
    for kind, listed in kinds.items():
        assert {place["title"] for place in found if place["kind"] == kind} == listed
