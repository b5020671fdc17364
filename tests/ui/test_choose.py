"""The page Choose: a file of one's own in, a decision sheet out."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.app.pages.choose.test_answer import topics, written
from tests.fakes.stores import put_cost
from tests.ui.steps import address_of, done, saved, says
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog

TWO = "choose?encoder=wordllama&encoder=random:16"


@pytest.fixture(scope="module")
def desk(desk: Workspace) -> Workspace:
    """The encoders that ship, with costs that are known."""
    for name, ms in {"minilm": 9.0, "wordllama": 0.2, "random:256": 0.1, "random:16": 0.1}.items():
        put_cost(desk, name, latency_ms=[ms])
        desk.store.encoders.add(name)
    return desk


def bring(page, file: Path) -> None:
    """Give the page a file, whose first rows are shown."""
    expect(page.locator("#sheet")).not_to_be_empty()
    page.get_by_role("button", name="File, limits").click()
    page.locator("#upload input[type=file]").set_input_files(file)
    says(page.locator("#look"), file.name)


def test_a_file_becomes_a_decision(visitor, place, desk, tmp_path):
    """Its columns are seen and changed, it is decided, read, saved; and there at its address."""
    visit = visitor(place)
    page = visit.open(TWO)
    rows = [(line, f"{line} {line}", label) for line, label in topics(30)]
    bring(page, written(tmp_path / "products.csv", rows, ("title", "body", "label")))
    says(page.locator("#look"), "could each be the text")
    page.locator("#role-text input").fill("body")
    page.locator("#role-text input").press("Enter")
    page.locator("#take-in").click()
    says(page.locator("#sheet"), "120 examples, 4 labels", "text = body and label = label")
    done(page, desk, "#choose")
    says(page.locator("#sheet"), "wordllama is best", "sheet for upload:products", "text = body")
    visit.fits()
    sheet = saved(page.get_by_role("button", name="Markdown"))
    assert "wordllama is best" in sheet.read_text("utf-8")
    page = visitor(place).open(address_of(page, "data="))
    says(page.locator("#sheet h2").first, "wordllama is best")


@pytest.mark.long
@pytest.mark.data
def test_a_newcomer_with_banking77(visitor, place, desk, data_root, tmp_path):
    """Its test set with 300 labels kept: the sheet is right about who is best on all of them."""
    data = Catalog(data_root).load("banking77")
    rows = zip(data.sentences, data.labels, data.splits, strict=True)
    rows = [(text, label) for text, label, split in rows if split == "test"]
    kept = set(random.Random(0).sample(range(len(rows)), 300))
    rows = [(text, label if i in kept else "") for i, (text, label) in enumerate(rows)]
    page = visitor(place).open("choose?encoder=minilm&encoder=wordllama&encoder=random:256")
    bring(page, written(tmp_path / "banking.csv", rows))
    page.locator("#take-in").click()
    says(page.locator("#sheet"), "300 examples", "2,780 rows without a label are left out")
    done(page, desk, "#choose")
    says(page.locator("#sheet"), "for upload:banking", "minilm is best", "(random:256) score")
