"""The page Choose: a file of one's own in, a decision sheet out."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.app.pages.choose.test_service import topics, written
from tests.fakes.costs import keep
from tests.fakes.stores import starter_store
from tests.fakes.workers import work_off
from tests.ui.conftest import NARROW, served
from tests.ui.steps import address_of, run_in_address, saved, says, write
from tests.ui.test_first_look import HIGHEST_ON_A_PHONE
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog

COSTS = {"minilm": 9.0, "wordllama": 0.2, "random:256": 0.1, "random:16": 0.1}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store with the encoders that ship, whose costs are known."""
    made = starter_store(tmp_path_factory.mktemp("bench"))
    for name, ms in COSTS.items():
        keep(made, name, latency_ms=[ms])
        encoders.add(made, name)
    yield made
    made.close()


@pytest.fixture(scope="module")
def address(bench: Workspace) -> Iterator[str]:
    """Of an app over it."""
    with served(bench) as found:
        yield found


def bring(page, file: Path) -> None:
    """Give the page a file, once it has its answer."""
    expect(page.locator("#plan")).not_to_be_empty()
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Your file").click()
    chosen.value.set_files(file)


def asked_and_done(page, bench: Workspace) -> None:
    """Press Choose, have the run done as a worker would, and see the sheet."""
    page.locator("#choose").click()
    expect(page.locator("#following")).to_contain_text("queued")
    assert work_off(bench, run_in_address(page))["state"] == "done"


def test_a_sheet_that_ships_shows_what_one_will_get(visitor, address):
    """Before anything was asked: who is best, the front, the numbers; on a phone at the top."""
    visit = visitor(address)
    page = visit.open("choose")
    says(page.locator("#sheet h2"), "minilm is best")
    says(page.locator("#sheet"), "An example")
    expect(page.locator("#front .main-svg").first).to_be_visible()
    says(page.locator("#front-finding h2"), "minilm scores 25.38 points more")
    says(page.locator("#numbers table").first, "wordllama")
    says(page.locator("#command pre"), "theodolite choose starter-topics")
    visit.fits("choose")
    page = visitor(address, size=NARROW).open("choose")
    expect(page.locator("#sheet h2").first).to_be_visible()
    places = ("#encoders", "#choose", "#sheet h2")
    tops = [page.locator(place).first.bounding_box()["y"] for place in places]
    assert tops == sorted(tops) and tops[-1] < HIGHEST_ON_A_PHONE


def test_a_file_becomes_a_decision(visitor, address, bench, tmp_path):
    """Brought, its columns asked for, queued, done, read, saved; and there again at its address."""
    visit = visitor(address)
    page = visit.open("choose?encoder=wordllama&encoder=random:16")
    rows = [
        (f"P{i % 3}", line, f"{line} {line}", label) for i, (line, label) in enumerate(topics(30))
    ]
    file = written(tmp_path / "products.csv", rows, ("product", "title", "body", "label"))
    bring(page, file)
    alert, plan, sheet = page.get_by_role("alert"), page.locator("#plan"), page.locator("#sheet")
    says(alert, "body and title could each be the text")
    page.get_by_role("button", name="Limits and columns").click()
    columns = page.locator("#own-columns").get_by_role("textbox")
    columns.fill("text=heading,label=label")
    columns.press("Enter")
    says(alert, "has no column 'heading'")
    columns.fill("text=title,label=label")
    columns.press("Enter")
    says(plan, "120 examples, 4 labels", "Columns used: text = title and label = label.")
    write(page, "margin", "15")
    says(page.locator("#command pre"), "--margin 15")
    asked_and_done(page, bench)
    says(sheet.locator("h2"), "wordllama is best")
    says(sheet, "Decision sheet for upload:products", "shown to lose less than 15 points")
    says(page.locator("#numbers"), "differ most")
    visit.fits("choose-sheet")
    markdown = saved(page, page.get_by_role("button", name="Markdown")).read_text("utf-8")
    assert "wordllama is best" in markdown
    again = visitor(address).open(address_of(page, "data="))
    says(again.locator("#sheet h2"), "wordllama is best")


def test_without_labels_the_way_leads_to_judging(visitor, address, bench, tmp_path):
    """Nothing is called best; what can be said is said. A file that says nothing is refused."""
    page = visitor(address).open("choose?encoder=wordllama&encoder=random:16")
    bring(page, written(tmp_path / "same.csv", [(line, "same") for line, _ in topics(10)]))
    says(page.get_by_role("alert"), "nothing to tell apart")
    file = written(tmp_path / "plain.csv", [(line,) for line, _ in topics(20)], ("text",))
    bring(page, file)
    says(page.locator("#plan"), "No labels")
    asked_and_done(page, bench)
    says(page.locator("#sheet h2"), "Undecided")
    says(page.locator("#sheet"), "nearest neighbours")
    expect(page.locator("#sheet a", has_text="Judge")).to_have_attribute(
        "href", re.compile(r"^\./judge\?in=upload%3Aplain&encoder=wordllama")
    )


@pytest.mark.data
@pytest.mark.parametrize(
    "names",
    [
        ("wordllama", "random:256"),
        pytest.param(("minilm", "wordllama", "random:256"), marks=pytest.mark.long),
    ],
    ids=["quick", "all"],
)
def test_a_newcomer_with_banking77(visitor, address, bench, data_root, tmp_path, names):
    """Its test set with 300 labels kept: the sheet is right about who is best on all of them."""
    data = Catalog(data_root).load("banking77")
    rows = [row for row in zip(data.sentences, data.labels, data.splits, strict=True)]
    rows = [(text, label) for text, label, split in rows if split == "test"]
    kept = set(random.Random(0).sample(range(len(rows)), 300))
    file = tmp_path / "banking.csv"
    with file.open("w", newline="", encoding="utf-8") as opened:
        write = csv.writer(opened)
        write.writerow(("text", "label"))
        write.writerows((t, label if i in kept else "") for i, (t, label) in enumerate(rows))
    visit = visitor(address)
    page = visit.open("choose?" + "&".join(f"encoder={name}" for name in names))
    bring(page, file)
    expect(page.locator("#plan")).to_contain_text("300 examples")
    expect(page.locator("#plan")).to_contain_text("2,780 rows without a label are left out")
    expect(page.locator("#sheet")).to_contain_text("No decision yet")
    asked_and_done(page, bench)
    expect(page.locator("#sheet")).to_contain_text("Decision sheet for upload:banking")
    expect(page.locator("#sheet h2")).to_contain_text(f"{names[0]} is best")
    expect(page.locator("#sheet")).to_contain_text("Random words (random:256) score")
    visit.picture(f"choose-banking-{len(names)}")
