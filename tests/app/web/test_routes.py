"""What is served beside the pages: what the palette offers and the rail counts, the docs."""

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from theodolite.app.pages.encoders import service as encoders
from theodolite.app.ui import PAGES, RAIL
from theodolite.app.web import docs, palette
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


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=docs.routes()))


def test_a_page_is_read_and_links_to_others(client: TestClient) -> None:
    page = client.get("/theodolite/docs/encoders")
    assert "<title>Encoders as text · Theodolite</title>" in page.text
    assert "<table>" in page.text and ".md" not in page.text.replace("README.md", "")
    assert client.get("/theodolite/docs/pages/data").status_code == 200


@pytest.mark.parametrize("name", ["", "x", "../setup", "..%2F..%2FREADME", "encoders.md", "hooks"])
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/theodolite/docs/{name}").status_code == 404


def test_what_a_page_holds_stays_text() -> None:
    shown = docs.html("# A & B\n\n<script>x</script> ![p](p.webp) [more](scores.md#a)\n")
    assert "&lt;script&gt;" in shown and "<img" not in shown and 'href="scores#a"' in shown
