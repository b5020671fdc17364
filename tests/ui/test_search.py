"""The page Search: columns of neighbours, shared hits marked, large sets in the background."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import expect

from tests.ui.steps import HOSTILE, address_of, box, bring, says, stays_text, write

TWO = "search?encoder=random:256&encoder=random:64&in=starter-pairs"


def test_each_encoder_has_its_nearest_by_cosine(visit, workspace):
    """The first hit and its cosine are those of plain NumPy; a hit that both have is marked.

    Focus on one is seen on its twin.
    """
    query = "The train is late"
    page = visit.open(f"{TWO}&q={query}&k=20")
    columns = page.locator(".t-column")
    expect(columns.locator("li")).to_have_count(40)
    sentences, _ = workspace.catalog.sentences("starter-pairs")
    for column, name in enumerate(("random:256", "random:64")):
        encoder = workspace.load(name)
        rows, mine = encoder.encode(sentences), encoder.encode([query])[0]
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(mine)
        cosines = rows @ mine / np.where(lengths == 0, 1, lengths)
        first = columns.nth(column).locator("li").first
        says(first, sentences[int(cosines.argmax())], f"{cosines.max():.3f}")
    shared = columns.first.locator("li[tabindex]").first
    letter = shared.locator(".t-mark").inner_text()
    says(shared, "random:64")
    shared.focus()
    expect(page.locator("li.t-lit .t-mark")).to_have_text([letter, letter])
    visit.fits("search")
    page = visit.open("search?encoder=random:256&k=2&q=rain&q=bread")
    expect(page.locator(".t-hits h2")).to_have_text(["rain", "bread"])
    page.get_by_role("button", name="More controls").click()
    page.locator("#pick").click()
    # Not always the first: another order of its words is the same to a bag of words.
    says(columns.first, "the query itself")
    page.keyboard.press("Escape")
    page.locator(".t-column header button").click()
    page.locator("#encoders").get_by_label("random:64", exact=True).check()
    expect(page.locator(".t-column header")).to_have_count(2)


def test_the_page_opens_with_a_query_and_what_ships_as_its_answer(visit):
    """Said to be so; the address stays plain. Asked again it is an answer of now."""
    page = visit.open("search")
    column = page.locator(".t-column", has=page.locator("header", has_text="random:256"))
    expect(column.locator("li")).to_have_count(10)
    says(column.locator("header"), "shipped example")
    assert "q=" not in page.url
    page.locator("#search-button").click()
    says(column.locator("header"), re.compile(r"\d (s|ms|µs)"))
    box(page, "query").click()
    page.keyboard.insert_text("long " * 20_000)
    page.locator("#search-button").click()
    says(page.get_by_role("alert"), "too much for one page")


def test_uploads_stay_text_and_large_ones_are_encoded_in_the_background(visit, workspace, tmp_path):
    """Search queues a run and shows it; once it is done the hits appear by themselves."""
    boats = bring(workspace, tmp_path, "boats", ["A boat at sea.", HOSTILE, "A train."])
    page = visit.open(f"search?encoder=random:256&in={boats}")
    column = page.locator(".t-column")
    expect(column.locator("li").first).to_be_visible()
    write(page, "query", HOSTILE)
    says(column.locator("li").first, HOSTILE, "the query itself")
    stays_text(page)
    many = bring(workspace, tmp_path, "many", [f"number {i} of many" for i in range(600)])
    page = visit.open(f"search?encoder=random:256&in={many}&q=number+7")
    says(column, "600 sentences")
    assert not [r for r in workspace.store.runs.list() if r["spec"].get("dataset") == many]
    page.locator("#search-button").click()
    says(column, "waiting for its turn")
    (run,) = [r for r in workspace.store.runs.list() if r["spec"].get("dataset") == many]
    workspace.store.runs.start(run["id"], 1, "local-0", ["many"])
    workspace.load("random:256").encode(workspace.catalog.sentences(many)[0])
    workspace.store.runs.finish(run["id"], 1, "done")
    says(column.locator("li").first, "number 7")
    for name in ("boats", "many"):
        workspace.store.uploads.remove(name)


def test_words_patterns_and_marks_in_the_box(visit):
    """Words are marked where they stand; signs in the box say how it is meant."""
    page = visit.open("search?by=words&q=%22on the%22&k=2")
    mark = page.locator("#hits mark").first
    expect(mark).to_have_text("on the", ignore_case=True)
    expect(page.locator("#encoders")).to_be_hidden()
    page = visit.open("search?encoder=random:256&k=2")
    expect(page.locator(".t-column li").first).to_be_visible()
    for text, found in (('"on the"', "on the"), ("/^Who .*[?]$/", "Who ")):
        write(page, "query", text)
        expect(mark).to_contain_text(found, ignore_case=True)


def test_by_example_and_above_a_cosine(visit):
    """`similar to this` asks by example; what no sentence reaches is said."""
    page = visit.open("search?encoder=random:256&in=starter-pairs&q=The train is late&k=4")
    hits = page.locator("#hits li")
    text = hits.first.locator("p").inner_text()
    hits.first.get_by_role("link", name="similar to this").click()
    expect(page.locator("#hits h2")).to_have_text("Like 1 example")
    expect(hits).to_have_count(4)
    assert text not in page.locator("#hits li p").all_inner_texts()
    hits.nth(1).get_by_role("link", name="less like this").click()
    expect(page.locator("#hits h2")).to_have_text("Like 1 example, unlike 1 example")
    expect(page.locator("#unlike")).to_be_visible()
    page = visit.open("search?encoder=random:256&q=rain&k=5")
    page.get_by_role("button", name="More controls").click()
    write(page, "least", "0.999")
    says(page.locator("#hits"), "None has a cosine of 0.999")
    address_of(page, "least=0.999")
