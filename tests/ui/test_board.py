"""The page Board: an order of encoders, by tasks, types or languages, that the address keeps."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.app.pages.board.test_published import publish
from tests.fakes.results import invent
from tests.fakes.stores import starter_store
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS, served
from theodolite.app import exchange

ACCURACIES = {"random:256": 0.86, "random:64": 0.85, "wordllama": 0.60}


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app over two encoders close together, one far behind, and one task missing."""
    made = starter_store(tmp_path_factory.mktemp("board"))
    for name, accuracy in ACCURACIES.items():
        for task in ("MR", "CR", "SUBJ"):
            invent(made, name, task, accuracy, dim=256 if name == "random:256" else 64)
    invent(made, "random:32", "MR", 0.9)
    with served(made) as address:
        yield address
    made.close()


def test_the_order_and_what_it_is_worth(visitor, invented):
    """Means over the shared tasks come first, with their rank intervals and 'k of n'."""
    page = visitor(invented).open("board?suite=transfer")
    expect(page.locator("#headline h2")).to_contain_text("random:256 leads 3 encoders over 3 tasks")
    rows = page.locator("#board tbody tr:not(.t-gap)")
    expect(rows.nth(0)).to_contain_text("3 of 3")
    expect(rows.nth(0).locator("td").first).to_contain_text("1 to 2")
    expect(rows.nth(2)).to_contain_text("wordllama")
    expect(rows.nth(3).locator("td").nth(1)).to_have_text("–")
    page.get_by_role("button", name="Mean (task)").click()
    expect(rows.first.locator("th")).to_contain_text("published")  # a reference, for the eye alone
    expect(rows.first.locator("td").first).to_have_text("")


def test_filters_are_in_the_address(visitor, invented):
    """A copied link shows the same; published rows can be left out."""
    page = visitor(invented).open("board?suite=transfer&most_dimensions=64")
    expect(page.locator("#headline")).to_contain_text("1 encoder left out by the filters")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Published rows").uncheck()
    expect(page.locator("#board table")).to_have_attribute("aria-rowcount", "4")
    page.keyboard.press("Escape")
    page.get_by_label("Types", exact=True).check()
    expect(page.locator("#board thead")).to_contain_text("Transfer")
    expect(page).to_have_url(re.compile("columns=types"))
    other = visitor(invented).open(address_of(page))
    expect(other.locator("#board table")).to_have_attribute("aria-rowcount", "4")
    expect(other.locator("#board thead")).to_contain_text("Transfer")


def test_the_table_can_be_taken_away(visitor, invented):
    """As CSV, with over how many tasks each mean is."""
    page = visitor(invented).open("board?suite=transfer&published=false")
    expect(page.locator("#board tbody td").first).to_contain_text("1 to 2")
    with page.expect_download() as saved:
        page.locator("#board").get_by_role("button", name="Download CSV").click()
    rows = list(csv.DictReader(saved.value.path().read_text(encoding="utf-8").splitlines()))
    assert [row["Encoder"] for row in rows][:2] == ["random:256", "random:64"]
    assert rows[0]["Mean (task): over"] == "3 of 3" and rows[3]["CR"] == ""


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_it_fits_every_window(visitor, invented, size, dark):
    """The table scrolls inside its frame."""
    visit = visitor(invented, dark=dark, size=size)
    page = visit.open("board")
    expect(page.locator("#board tbody td").first).to_be_visible()
    visit.picture(f"board-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()


def test_the_examples_on_which_two_encoders_part(visitor, invented):
    """A score that is pressed chooses its task and encoder; the address keeps the three."""
    page = visitor(invented).open("board?suite=transfer&published=false")
    expect(page.locator("#apart")).to_contain_text("random:256 is right on")
    row = page.locator("#board tbody tr", has_text="wordllama")
    row.get_by_role("button").nth(1).click()
    expect(page.locator("#apart")).to_contain_text("of CR that random:64 gets wrong")
    expect(page).to_have_url(re.compile("task=CR.*better=wordllama.*worse=random"))
    other = visitor(invented).open(address_of(page))
    expect(other.locator("#apart")).to_contain_text("wordllama is right on")


def test_cost_says_what_to_do_first(visitor, invented):
    """No results yet: a button measures, an example of another machine stands there."""
    page = visitor(invented).open("cost?suite=transfer")
    expect(page.locator("#headline")).to_contain_text("An example, measured on")
    expect(page.get_by_role("button", name="Measure the cost of 4")).to_be_visible()


def test_data_sets_that_are_alike_stand_together(visitor, invented):
    """The topics of the starter set at once, with every pair as a table."""
    page = visitor(invented).open("similarity?encoder=random:64")
    expect(page.locator("#headline")).to_contain_text("are the most similar")
    expect(page.locator("#headline")).to_contain_text("100 sentences of each")
    page.get_by_text("Numbers as a table").click()
    expect(page.locator("#matrix tbody tr").first).to_be_visible()
    page = visitor(invented).open("similarity?encoder=random:64&of=all")
    expect(page.get_by_role("button", name="Compare 2 of them")).to_be_visible()


def test_leaks_say_what_is_known_of_the_training_data(visitor, invented):
    """Nothing is, of random vectors; with a training set named there is something to look for."""
    page = visitor(invented).open("leaks?encoder=random:64")
    expect(page.locator("#headline")).to_contain_text("Neither the files of random:64 nor MTEB")
    page = visitor(invented).open("leaks?encoder=random:64&in=starter-topics")
    expect(
        page.get_by_role("button", name=re.compile("Search for .* in 1 training set"))
    ).to_be_visible()


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an app over nothing but what others published of two models."""
    folder = tmp_path_factory.mktemp("published")
    for model, score in (("org/one", 0.7), ("org/other", 0.6)):
        for task in ("STS17", "Banking77Classification")[: 2 if model == "org/one" else 1]:
            publish(folder, model, "r1", task, "d1", default=score)
    made = starter_store(tmp_path_factory.mktemp("imported"))
    exchange.bring(made, folder)
    with served(made) as address:
        yield address
    made.close()


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_what_others_published_stands_on_an_empty_board(visitor, imported, size, dark):
    """Its tasks are the columns; nobody has a rank, and there are no examples to part on."""
    visit = visitor(imported, dark=dark, size=size)
    page = visit.open("board")
    expect(page.locator("#headline h2")).to_contain_text("2 published models on 2 tasks")
    rows = page.locator("#board tbody tr:not(.t-gap)")
    expect(rows).to_have_count(2)
    for place in range(2):  # over the task that both have
        expect(rows.nth(place)).to_contain_text("1 of 2")
    expect(page.locator("#board thead")).not_to_contain_text("Borda")
    expect(page.get_by_role("heading", name="Where two encoders part")).to_be_hidden()
    visit.picture(f"board-published-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()
