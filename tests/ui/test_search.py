"""The pages Search and Checks: columns of neighbours, tables, large sets in the background."""

import re

from playwright.sync_api import expect

from tests.fakes.uploads import collection
from tests.ui.steps import (
    HOSTILE,
    box,
    done,
    gone_from_address,
    rows_saved,
    says,
    stays_text,
    write,
)
from theodolite.app.pages.search import service


def test_each_encoder_has_its_nearest_by_cosine(visit, workspace):
    """The first hit and its cosine; a hit that both have is marked, and lit as its twin."""
    query, names = "The train is late", ("random:256", "random:64")
    page = visit.open(
        f"search?in=starter-pairs&q={query}&k=20" + "".join(f"&encoder={n}" for n in names)
    )
    columns = page.locator(".t-column")
    expect(columns.locator("li")).to_have_count(40)
    for column, name in enumerate(names):
        ((hit,),) = service.nearest(workspace, name, "starter-pairs", [query], service.Limits(1))
        says(columns.nth(column).locator("li").first, hit.sentence, f"{hit.cosine:.3f}")
    shared = columns.first.locator("li[tabindex]").first
    letter = shared.locator(".t-mark").inner_text()
    shared.focus()
    expect(page.locator("li.t-lit .t-mark")).to_have_text([letter, letter])


def test_the_page_opens_with_what_ships_and_is_asked_again(visit):
    """Said to be so; the address stays plain. A picked query finds itself; encoders come and go.

    One may type at once.
    """
    page = visit.open("search")
    expect(page.locator("#query textarea")).to_be_focused()
    column = page.locator(".t-column", has=page.locator("header", has_text="random:256"))
    says(column.locator("header"), "shipped example")
    assert "q=" not in page.url
    page.locator("#search-button").click()
    says(column.locator("header"), re.compile(r"\d (s|ms|µs)"))
    box(page, "query").click()
    page.keyboard.insert_text("long " * 20_000)
    page.locator("#search-button").click()
    says(page.get_by_role("alert"), "too much for one page")
    page.reload()  # a link does not open with the refusal
    says(column.locator("header"), "shipped example")
    page = visit.open("search?encoder=random:256&k=2&q=rain&q=bread")
    expect(page.locator(".t-hits h2")).to_have_text(["rain", "bread"])
    page.get_by_role("button", name="More controls").click()
    page.locator("#pick").click()
    # Not always the first: another order of its words is the same to a bag of words.
    says(column.first, "the query itself")
    page.keyboard.press("Escape")
    page.locator(".t-column header button").click()
    page.locator("#encoders input").fill("random:64 | normalise")
    page.keyboard.press("Enter")
    expect(page.locator(".t-column header")).to_have_count(2)


def test_uploads_stay_text_and_large_ones_are_encoded_in_the_background(visit, workspace, tmp_path):
    """Search queues a run and shows it; once it is done the hits appear by themselves."""
    boats = collection(workspace, tmp_path, "boats", ["A boat at sea.", HOSTILE, "A train."])
    page = visit.open(f"search?encoder=random:256&in={boats}")
    column = page.locator(".t-column")
    expect(column.locator("li").first).to_be_visible()
    write(page, "query", HOSTILE)
    says(column.locator("li").first, HOSTILE, "the query itself")
    stays_text(page)
    many = collection(workspace, tmp_path, "many", [f"number {i} of many" for i in range(600)])
    page = visit.open(f"search?encoder=random:256&in={many}&q=number+7")
    says(column, "600 sentences")
    page.locator("#search-button").click()
    says(column, "waiting for its turn")
    (run,) = [r for r in workspace.store.runs.list() if r["spec"].get("dataset") == many]
    workspace.store.runs.start(run["id"], 1, "local-0", ["many"])
    workspace.load("random:256").encode(workspace.catalog.sentences(many)[0])
    workspace.store.runs.finish(run["id"], 1, "done")
    says(column.locator("li").first, "number 7")


def test_words_patterns_and_examples(visit):
    """Signs in the box say how it is meant; `similar to this` asks by example."""
    page = visit.open("search?encoder=random:256&k=2")
    hits = page.locator("#hits li")
    expect(hits.first).to_be_visible()
    for text, found in (('"on the"', "on the"), ("/^Who .*[?]$/", "Who ")):
        write(page, "query", text)
        expect(page.locator("#hits mark").first).to_contain_text(found, ignore_case=True)
    write(page, "query", "   ")
    gone_from_address(page, "q=")  # white space is no query to come back to
    page = visit.open("search?encoder=random:256&in=starter-pairs&q=The train is late&k=4")
    text = hits.first.locator("p").inner_text()
    hits.first.get_by_role("link", name="similar to this").click()
    expect(page.locator("#hits h2")).to_have_text("Like 1 example")
    expect(hits).to_have_count(4)
    assert text not in page.locator("#hits li p").all_inner_texts()
    hits.nth(1).get_by_role("link", name="less like this").click()
    expect(page.locator("#hits h2")).to_have_text("Like 1 example, unlike 1 example")


def test_a_collection_is_looked_through(visit, workspace, tmp_path):
    """Duplicates are listed and saved, found on the map; sentences stay text and lead to Search."""
    twins = collection(
        workspace, tmp_path, "twins", ["A cat.", "a cat", "A dog.", "A boat at sea.", HOSTILE]
    )
    page = visit.open(f"curate?job=exact&in={twins}")
    found = page.locator("#found")
    says(found, "not checked yet")
    expect(page.locator("#encoder")).to_be_hidden()
    page.get_by_role("button", name="Run check").click()
    expect(found.locator("tbody tr")).to_have_count(2)
    rows = rows_saved(page.get_by_role("button", name="Download CSV"))
    assert [row["Sentence"] for row in rows] == ["A cat.", "a cat"]
    page = visit.open(f"curate?job=typical&in={twins}&encoder=random:256&many=2")
    says(found, "not checked yet")
    page.get_by_role("button", name="Run check").click()
    expect(found.locator("tbody tr")).to_have_count(4)
    stays_text(page)
    visit.fits()
    found.locator("tbody tr a").first.click()
    says(page.locator("#hits li").first, "the query itself")


def test_a_large_job_is_a_run_that_is_followed_and_found_on_the_map(visit, workspace):
    workspace.store.encoders.add("random:20")
    page = visit.open("curate?job=typical&in=starter-topics&encoder=random:20&many=3")
    says(page.locator("#found"), "not checked yet")
    done(page, workspace, "button:text-is('Run check')")
    expect(page.locator("#found tbody tr")).to_have_count(6)
    page.get_by_role("link", name="on the map").click()
    says(page.locator(".t-map-said"), "6 selected")
