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
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS, NARROW, served
from tests.ui.test_first_look import HIGHEST_ON_A_PHONE
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog

COSTS = {"minilm": 9.0, "wordllama": 0.2, "random:256": 0.1, "random:16": 0.1}
SLOW = 120_000


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
    run = address_of(page, "run=").split("run=")[1].split("&")[0]
    assert work_off(bench, run)["state"] == "done"


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_a_sheet_that_ships_shows_what_one_will_get(visitor, address, size, dark):
    """Before anything was asked: who is best, the front, the numbers; in every window."""
    visit = visitor(address)
    visit.page.set_viewport_size({"width": size[0], "height": size[1]})
    page = visit.open(f"choose{'?__theme=dark' if dark else ''}")
    expect(page.locator("#sheet h2")).to_contain_text("minilm is best")
    expect(page.locator("#sheet")).to_contain_text("An example")
    expect(page.locator("#front .main-svg").first).to_be_visible()
    expect(page.locator("#front-finding h2")).to_contain_text("minilm scores 25.38 points more")
    expect(page.locator("#numbers table").first).to_contain_text("wordllama")
    expect(page.locator("#command pre")).to_contain_text("theodolite choose starter-topics")
    visit.picture(f"choose-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()


def test_a_file_becomes_a_decision(visitor, address, bench, tmp_path):
    """Brought, planned, queued, done, read, saved; at the same address it is there again."""
    visit = visitor(address)
    page = visit.open("choose?encoder=wordllama&encoder=random:16")
    file = written(tmp_path / "mine.csv", topics(30))
    bring(page, file)
    expect(page.locator("#plan")).to_contain_text("120 examples, 4 labels", timeout=SLOW)
    asked_and_done(page, bench)
    expect(page.locator("#sheet h2")).to_contain_text("wordllama is best", timeout=SLOW)
    expect(page.locator("#sheet")).to_contain_text("Decision sheet for upload:mine")
    expect(page.locator("#numbers")).to_contain_text("differ most")
    visit.picture("choose-sheet")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Markdown").click()
    assert "wordllama is best" in Path(saved.value.path()).read_text("utf-8")
    again = visitor(address).open(address_of(page, "data="))
    expect(again.locator("#sheet h2")).to_contain_text("wordllama is best", timeout=SLOW)


def test_columns_are_asked_for_and_may_be_typed_afterwards(visitor, address, bench, tmp_path):
    """Several could be the text: what they are, and what to type; the file is still there."""
    visit = visitor(address)
    page = visit.open("choose?encoder=wordllama&encoder=random:16")
    rows = [
        (f"P{i % 3}", line, f"{line} {line}", label) for i, (line, label) in enumerate(topics(30))
    ]
    file = written(tmp_path / "products.csv", rows, ("product", "title", "body", "label"))
    bring(page, file)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("body and title could each be the text", timeout=SLOW)
    visit.picture("choose-columns")
    page.get_by_role("button", name="Limits and columns").click()
    columns = page.locator("#own-columns").get_by_role("textbox")
    columns.fill("text=heading,label=label")
    columns.press("Enter")
    expect(alert).to_contain_text("has no column 'heading'", timeout=SLOW)
    columns.fill("text=title,label=label")
    columns.press("Enter")
    plan = page.locator("#plan")
    expect(plan).to_contain_text("Columns used: text = title and label = label.", timeout=SLOW)
    page.locator("#margin input").fill("15")
    page.locator("#margin input").press("Enter")
    expect(page.locator("#command pre")).to_contain_text("--margin 15", timeout=SLOW)
    asked_and_done(page, bench)
    sheet = page.locator("#sheet")
    expect(sheet).to_contain_text("shown to lose less than 15 points", timeout=SLOW)
    expect(sheet).to_contain_text("Columns used: text = title and label = label.")
    visit.picture("choose-margin")


def test_without_labels_the_way_leads_to_judging(visitor, address, bench, tmp_path):
    """Nothing is called best; what can be said is said."""
    page = visitor(address).open("choose?encoder=wordllama&encoder=random:16")
    file = written(tmp_path / "plain.csv", [(line,) for line, _ in topics(20)], ("text",))
    bring(page, file)
    expect(page.locator("#plan")).to_contain_text("No labels", timeout=SLOW)
    asked_and_done(page, bench)
    expect(page.locator("#sheet h2")).to_contain_text("Undecided", timeout=SLOW)
    expect(page.locator("#sheet")).to_contain_text("nearest neighbours")
    expect(page.locator("#sheet a", has_text="Judge")).to_have_attribute(
        "href", re.compile(r"^\./judge\?in=upload%3Aplain&encoder=wordllama")
    )


def test_a_bad_file_is_said_calmly(visitor, address, tmp_path):
    """Labels that are all the same: the page stays, the sentence says what to do."""
    page = visitor(address).open("choose?encoder=random:16")
    file = written(tmp_path / "same.csv", [(line, "same") for line, _ in topics(10)])
    bring(page, file)
    expect(page.get_by_role("alert")).to_contain_text("nothing to tell apart", timeout=SLOW)


@pytest.mark.data
@pytest.mark.long
def test_a_newcomer_without_judgements(visitor, address, bench, data_root, tmp_path):
    """Cranfield's documents in, no labels, so on to Judge, where a script knows its judgements."""
    data = Catalog(data_root).load("cranfield")
    documents = {key: " ".join(text.split()) for key, text in data.documents.items()}
    queries = {key: " ".join(text.split()) for key, text in data.queries.items()}
    (judged,) = data.judgements.values()
    relevant = {
        (queries[key], documents[document])
        for key, grades in judged.items()
        for document, grade in grades.items()
        if grade > 0
    }
    file = written(tmp_path / "cranfield.csv", [(text,) for text in documents.values()], ("text",))
    page = visitor(address).open("choose?encoder=wordllama&encoder=random:256")
    bring(page, file)
    expect(page.locator("#command pre")).to_contain_text("upload:cranfield", timeout=SLOW)
    expect(page.locator("#plan")).to_contain_text("No labels", timeout=SLOW)
    asked_and_done(page, bench)
    page.locator("#sheet a", has_text="Judge by hand").click()
    expect(page.locator(".t-judging")).to_contain_text("The script:", timeout=SLOW)
    page.get_by_role("button", name="More controls").click()
    page.locator("#queries textarea").fill("\n".join(queries.values()))
    page.locator("#start").click()
    expect(page.locator("#following")).to_contain_text("queued", timeout=SLOW)
    run = address_of(page, "run=").split("run=")[1].split("&")[0]
    assert work_off(bench, run)["state"] == "done"
    question, enough = page.locator(".t-judge"), page.locator(".t-judge-enough")
    for number in range(1, 600):
        expect(question).to_have_attribute("aria-label", f"Question {number}", timeout=SLOW)
        if enough.count():
            break
        output = [
            " ".join(question.locator(part).inner_text().split())
            for part in ("h2", ".t-judge-text")
        ]
        page.keyboard.press("j" if tuple(output) in relevant else "k")
    page.get_by_role("button", name="Show which encoder is which").click()
    expect(page.locator(".t-judge-pair")).to_contain_text("wordllama is better than random:256")


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
    expect(page.locator("#plan")).to_contain_text("300 examples", timeout=SLOW)
    expect(page.locator("#plan")).to_contain_text("2,780 rows without a label are left out")
    expect(page.locator("#sheet")).to_contain_text("No decision yet")
    asked_and_done(page, bench)
    expect(page.locator("#sheet")).to_contain_text(
        "Decision sheet for upload:banking", timeout=SLOW
    )
    expect(page.locator("#sheet h2")).to_contain_text(f"{names[0]} is best")
    expect(page.locator("#sheet")).to_contain_text("Random words (random:256) score")
    visit.picture(f"choose-banking-{len(names)}")


def test_on_a_phone_the_sheet_begins_in_the_first_half(visitor, address):
    """What is asked, its button, and the answer right below."""
    page = visitor(address, size=NARROW).open("choose")
    expect(page.locator("#sheet h2").first).to_be_visible()
    places = ("#encoders", "#choose", "#sheet h2")
    tops = [page.locator(place).first.bounding_box()["y"] for place in places]
    assert tops == sorted(tops) and tops[-1] < HIGHEST_ON_A_PHONE
