"""The documentation is served with the app."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from theodolite.app.web import docs


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
