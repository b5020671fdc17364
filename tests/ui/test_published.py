"""Sheets, judgements, curves, decoded sentences and Search in a frozen workbench."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.fakes import reported
from tests.ui.steps import saved, says, stays_text
from theodolite.app.pages.judge import report
from theodolite.app.pages.judge import service as judging
from theodolite.app.pages.search import service
from theodolite.app.publish import choice, folder, site
from theodolite.app.workspace import Workspace

PATHS = {
    "choose": ("#sheet", "Decision sheet for upload:topics"),
    "judge": ("#judging", "10 of at most 20 marks on"),
    "runs": ("#runs", "60 updates"),
    "decode": ("#told", "He drinks coffee in the morning."),
    "interpolate": ("#walk", "of the way"),
    "arithmetic": ("#told", "Is the shop closed?"),
}
"""Page -> where it says what."""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store with a decision, a session, a training, and an encoder that has a decoder."""
    root = tmp_path_factory.mktemp("answered")
    with reported.answered(root, "random:64", "wordllama") as made:
        yield made


@pytest.fixture(scope="module")
def frozen(answered: Workspace, web) -> str:
    """Address of all of it, frozen."""
    root, address = web
    names = [*reported.PAIR, "random:64", "wordllama"]
    chosen = choice.choose(answered, names, data=["starter-topics"])
    folder.write(root / "answers", site.freeze(answered, chosen).files)
    return f"{address}/answers"


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_is_shown(visitor, frozen, path):
    """With nothing sticking out, and hostile texts as texts."""
    visit = visitor(frozen)
    page = visit.open(path)
    place, words = PATHS[path]
    says(page.locator(place), words)
    expect(page.locator("#t-main .t-button, #t-main [data-act]")).to_have_count(0)
    visit.fits(f"answers-{path}")
    assert "hit" not in page.title()
    stays_text(page)


def test_judgements_sheets_and_curves_are_those_of_their_pages(visitor, frozen, answered):
    session = answered.store.judgements.list()[0]["id"]
    (pair,) = report.board(judging.opened(answered, session))["pairs"]
    page = visitor(frozen).open("judge")
    found = page.get_by_label("What the marks say")
    says(found, *(f"{abs(pair[side]):.2f}" for side in ("low", "high")))
    page.goto(f"{frozen}/choose")
    expect(page.locator("#front .main-svg").first).to_be_visible()
    sheet = saved(page, page.get_by_role("button", name="Markdown"))
    assert "upload:topics" in sheet.read_text()
    page.goto(f"{frozen}/runs")
    expect(page.locator("#chart-score .main-svg").first).to_be_visible()
    says(page.locator("#noted"), "<img src=x")


def test_another_example_of_decoding_is_chosen(visitor, frozen):
    """Its sentences come with it, and the address leads to it again."""
    page = visitor(frozen).open("arithmetic")
    page.locator(".t-views select").select_option(label="Negation")
    expect(page.locator("#t-main")).to_contain_text("I do not like this film.")
    page.reload()
    expect(page.locator(".t-views select option:checked")).to_have_text("Negation")
    expect(page.locator("#t-main")).to_contain_text("b = I like this film.")
    page.goto(f"{frozen}/interpolate")
    page.get_by_role("slider").press("End")
    expect(page.locator("#walk")).to_contain_text("100 % of the way")


# Search in a searchable workbench: new sentences found in the browser, from a plain web server.

COLLECTION = "starter-topics"
ALIVE, DEAD = ("wordllama", "random:64"), "random:16 | dims:8,random,0"
QUERY = "Doctors say that bread is good for a cold."


@pytest.fixture(scope="module")
def searchable(workspace, web):
    """Address of the page Search among published ones."""
    root, address = web
    chosen = choice.choose(workspace, (*ALIVE, DEAD), data=[COLLECTION])
    folder.write(root / "found", site.freeze(workspace, chosen, ["search"]).files)
    return f"{address}/found"


def found(page, encoder):
    """Sentences in an encoder's column, once they are there."""
    column = page.locator("#search .t-column", has=page.get_by_text(encoder, exact=True))
    expect(column.locator("li")).to_have_count(10)
    return column.locator("li p").all_inner_texts()


def live(workspace, encoder, query):
    """What the live page finds."""
    return [hit.sentence for hit in service.nearest(workspace, encoder, COLLECTION, [query], 10)[0]]


def test_a_new_sentence_is_found_without_a_server(visitor, workspace, searchable):
    """As the live page finds it; what needs Python says so, and has the neighbours of sentences."""
    visit, requests = visitor(searchable), []
    visit.listen("request", lambda request: requests.append(request.url))
    page = visit.open("search")
    opened = [found(page, name) for name in (*ALIVE, DEAD)]
    first = opened[0][0]
    assert opened == [live(workspace, name, first) for name in (*ALIVE, DEAD)]
    # What it opens with is there before any vector is.
    assert not [url for url in requests if re.search("/(vectors|encoders|texts)/", url)]
    visit.fits("frozen-search")
    box = page.get_by_role("searchbox", name="Query")
    box.fill(QUERY)
    box.press("Enter")
    expect(page.locator("#search .t-notice")).to_contain_text("It needs Python")
    for name in ALIVE:
        there = live(workspace, name, QUERY)
        assert len(set(found(page, name)) & set(there)) >= 9
        assert found(page, name)[0] == there[0]
    assert "q=Doctors" in page.url
    page.locator("#search li a").first.click()
    near = found(page, DEAD)
    assert near == live(workspace, DEAD, near[0])
    page.reload()
    assert found(page, DEAD) == near
