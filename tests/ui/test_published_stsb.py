"""A frozen workbench of STS-B with three encoders, from a plain web server.

`test_publish.py` opens that of the starter set in the same way, in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.publish import choice, folder, site
from theodolite.app.workspace import Workspace

pytestmark = [pytest.mark.data, pytest.mark.long]
ENCODERS = ("random:256", "random:64", "wordllama")
TASK = "STSBenchmark"
PATHS = {
    "": "#scores tbody tr",
    "compare": "#comparison tbody tr",
    "board": "#board tbody tr",
    "fair-play": "#seeds h2",
    "search": "#search .t-column li",
    "map": ".t-map-said",
    "spaces": "#left-map .t-map-said",
    "distributions": "#readings li",
    "decode": "#told .t-column",
    "interpolate": "#walk",
    "arithmetic": "#told tbody tr",
}
"""Every page that has something of it -> what is there once it says something. Geometry is measured
before it is published where the sentences are many."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, data_root: Path) -> Iterator[Workspace]:
    """A store with three encoders evaluated."""
    made = Workspace(tmp_path_factory.mktemp("stsb") / "store", data_root)
    for name in ENCODERS:
        encoders.add(made, name)
        assert evaluated(made, name, TASK)["error"] is None
    yield made
    made.close()


@pytest.fixture(scope="module")
def frozen(kept: Workspace, web) -> str:
    """Its address."""
    root, address = web
    made = site.freeze(kept, choice.choose(kept, ENCODERS, TASK))
    folder.write(root / "stsb", made.files)
    written = {name[:-10].rstrip("/") for name in made.files if name.endswith("index.html")}
    assert written == set(PATHS)
    return f"{address}/stsb"


@pytest.mark.parametrize("path", PATHS)
def test_every_page_opens(visitor, frozen, path):
    """Without an error in its console or a request to another host, which the visit holds."""
    visit = visitor(frozen)
    page = visit.open(path)
    expect(page.locator(PATHS[path]).first).to_be_visible()
    visit.fits(f"stsb-{path or 'overview'}")


def test_the_scores_and_texts_are_those_of_stsb(visitor, frozen, kept):
    """A score of the store stands in the table, a sentence of the data set is found."""
    (row,) = kept.store.results.table(encoders=["wordllama"])
    page = visitor(frozen).open("compare")
    expect(page.locator("#comparison")).to_contain_text(f"{row['score']:.2f}")
    page.goto(f"{frozen}/search")
    text = page.locator("#search .t-column li p").first.inner_text()
    assert text in kept.catalog.load(TASK).sentences
