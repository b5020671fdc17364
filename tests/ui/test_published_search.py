"""Search in a frozen workbench: new sentences found in the browser, from a plain web server."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import LOOKS
from theodolite.app.pages.search import service
from theodolite.app.publish import choice, folder, site

COLLECTION = "starter-topics"
ALIVE, DEAD = ("wordllama", "random:64"), "random:16 | dims:8,random,0"
QUERY = "Doctors say that bread is good for a cold."


@pytest.fixture(scope="module")
def frozen(workspace, web):
    """Address of the page among published ones."""
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


def test_a_new_sentence_is_found_without_a_server(visitor, workspace, frozen):
    """As the live page finds it; what needs Python says so, and has the neighbours of sentences."""
    page = visitor(frozen).open("search")
    opened = [found(page, name) for name in (*ALIVE, DEAD)]
    first = opened[0][0]
    assert opened == [live(workspace, name, first) for name in (*ALIVE, DEAD)]
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


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_it_fits_its_window(visitor, frozen, size, dark):
    """And what it opens with is there before any vector is."""
    visit = visitor(frozen, dark=dark, size=size)
    requests = []
    visit.listen("request", lambda request: requests.append(request.url))
    page = visit.open("search")
    found(page, ALIVE[0])
    visit.picture(f"frozen-search-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()
    assert not [url for url in requests if re.search("/(vectors|encoders|texts)/", url)]
