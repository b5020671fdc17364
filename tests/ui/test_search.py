"""The page Search: columns of neighbours, shared hits marked, large sets in the background."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of

HOSTILE = "<img src=x onerror=alert(1)> a boat"
TWO = "search?encoder=random:256&encoder=random:64&in=starter-pairs"


@pytest.fixture
def boats(workspace, tmp_path):
    """A small collection with markup in it."""
    from theodolite.app.pages.data.service import keep
    from theodolite.engine.datasets.tables import preview

    file = tmp_path / "boats.txt"
    file.write_text(f"A boat at sea.\n{HOSTILE}\nA train in the rain.\n", encoding="utf-8")
    mapping = preview(file, file.name).mapping
    yield keep(workspace, file, file.name, "boats", mapping)["name"]
    workspace.store.uploads.remove("boats")


def test_each_encoder_has_its_nearest_by_cosine(visit, workspace):
    """The first hit and its cosine are those of plain NumPy."""
    query = "rain tomorrow"
    page = visit.open(f"{TWO}&q={query}&k=3")
    expect(page.locator(".t-column li")).to_have_count(6, timeout=20_000)
    sentences, _ = workspace.catalog.sentences("starter-pairs")
    for column, name in enumerate(("random:256", "random:64")):
        encoder = workspace.load(name)
        rows, mine = encoder.encode(sentences), encoder.encode([query])[0]
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(mine)
        cosines = rows @ mine / np.where(lengths == 0, 1, lengths)
        first = page.locator(".t-column").nth(column).locator("li").first
        expect(first).to_contain_text(sentences[int(cosines.argmax())])
        expect(first).to_contain_text(f"{cosines.max():.3f}")


def test_a_shared_hit_has_one_letter_and_lights_up_in_both(visit):
    """Focus on one is seen on its twin; the rank in the other column is named."""
    page = visit.open(f"{TWO}&q=The train is late&k=20")
    shared = page.locator(".t-column").first.locator("li[tabindex]").first
    letter = shared.locator(".t-mark").inner_text()
    expect(shared).to_contain_text("random:64")
    shared.focus()
    expect(page.locator("li.t-lit")).to_have_count(2)
    assert page.locator("li.t-lit .t-mark").all_inner_texts() == [letter, letter]


def test_several_queries_stand_one_under_another(visit):
    """One a line, each with its own columns."""
    page = visit.open("search?encoder=random:256&k=2&q=rain&q=bread")
    expect(page.locator(".t-hits h2")).to_have_text(["rain", "bread"])


def test_text_of_an_upload_stays_text(visit, boats):
    """Markup in a collection and in the query is shown, not run."""
    page = visit.open(f"search?encoder=random:256&in=upload:{boats}")
    page.wait_for_selector(".t-column li")
    page.locator("#query textarea, #query input").first.fill(HOSTILE)
    page.locator("#search-button").click()
    expect(page.locator(".t-column li").first).to_contain_text(HOSTILE)
    expect(page.locator(".t-column li").first).to_contain_text("the query itself")
    assert page.locator("#hits img").count() == 0


def test_a_large_collection_is_encoded_in_the_background(visit, workspace, tmp_path):
    """Search queues a run and shows it; once it is done the hits appear by themselves."""
    from theodolite.app.pages.data.service import keep
    from theodolite.engine.datasets.tables import preview

    file = tmp_path / "many.txt"
    file.write_text("".join(f"number {i} of many\n" for i in range(600)), encoding="utf-8")
    keep(workspace, file, file.name, "many", preview(file, file.name).mapping)
    page = visit.open("search?encoder=random:256&in=upload:many&q=number+7")
    expect(page.locator(".t-column")).to_contain_text("600 sentences")
    assert not [r for r in workspace.store.runs.list() if r["kind"] == "encode"]
    page.locator("#search-button").click()
    expect(page.locator(".t-column")).to_contain_text("waiting for its turn")
    run = next(r for r in workspace.store.runs.list() if r["kind"] == "encode")
    workspace.store.runs.start(run["id"], 1, "local-0", ["many"])
    workspace.load("random:256").encode(workspace.catalog.sentences("upload:many")[0])
    workspace.store.runs.finish(run["id"], 1, "done")
    expect(page.locator(".t-column li").first).to_contain_text("number 7")
    workspace.store.uploads.remove("many")


def test_the_page_opens_with_a_query_and_what_ships_as_its_answer(visit):
    """Said to be so; the address stays plain. Asked again it is an answer of now."""
    page = visit.open("search")
    column = page.locator(".t-column", has=page.locator("header", has_text="random:256"))
    expect(column.locator("li")).to_have_count(10)
    expect(column.locator("header")).to_contain_text("shipped example")
    assert "q=" not in page.url
    page.locator("#search-button").click()
    expect(column.locator("header")).to_contain_text(re.compile(r"\d (s|ms|µs)"))
    expect(column.locator("li")).to_have_count(10)


def test_picking_one_from_the_collection_searches_at_once(visit):
    """For encoders whose answers do not ship the first query is asked now."""
    page = visit.open(TWO)
    expect(page.locator(".t-column li")).to_have_count(20)
    expect(page.locator("#hits")).not_to_contain_text("shipped example")
    page.get_by_role("button", name="More controls").click()
    page.locator("#pick").click()
    # Not always the first: another order of its words is the same to a bag of words.
    expect(page.locator(".t-column").first).to_contain_text("the query itself")


def test_an_endless_query_is_refused_calmly(visit):
    """A hundred thousand pasted characters: the box takes some, the page says what it can do."""
    page = visit.open("search?encoder=random:256")
    page.wait_for_selector(".t-column li")
    page.locator("#query textarea, #query input").first.click()
    page.keyboard.insert_text("long " * 20_000)
    page.locator("#search-button").click()
    expect(page.get_by_role("alert")).to_contain_text("too much for one page")


def test_words_are_marked_where_they_stand(visit, workspace):
    """One column, no encoders; the number found is that of all."""
    page = visit.open("search?mode=words&q=%22on the%22&k=2")
    expect(page.locator("#hits mark").first).to_have_text("on the", ignore_case=True)
    sentences, _ = workspace.catalog.sentences("starter-topics")
    total = sum(bool(re.search(r"\bon the\b", s.lower())) for s in sentences)
    expect(page.locator(".t-note")).to_contain_text(f"{total} found")
    expect(page.locator("#encoders")).to_be_hidden()


def test_a_pattern_that_would_hang_is_stopped(visit, monkeypatch):
    """The page says so and goes on answering."""
    with monkeypatch.context() as impatient:
        impatient.setattr("theodolite.engine.search.regex.SECONDS", 0.5)
        page = visit.open("search?mode=pattern&q=(.*.*.*)*~")
        expect(page.get_by_role("alert")).to_contain_text("stopped")
    page.locator("#query textarea, #query input").first.fill("^Who .*[?]$")
    page.locator("#search-button").click()
    expect(page.locator("#hits mark").first).to_contain_text("Who ")


def test_by_example_from_a_hit(visit):
    """`more like this` asks by example; the examples are not among the hits."""
    page = visit.open("search?encoder=random:256&in=starter-pairs&q=The train is late&k=4")
    first = page.locator("#hits li").first
    text = first.locator("p").inner_text()
    first.get_by_role("link", name="more like this").click()
    expect(page.locator("#hits h2")).to_have_text("Like 1 example")
    expect(page.locator("#hits li")).to_have_count(4)
    assert text not in page.locator("#hits li p").all_inner_texts()
    page.locator("#hits li").nth(1).get_by_role("link", name="less like this").click()
    expect(page.locator("#hits h2")).to_have_text("Like 1 example, unlike 1 example")
    expect(page.locator("#unlike")).to_be_visible()


def test_least_cosine_and_label(visit, workspace):
    """Both stand in the address; a minimum cosine that nothing reaches is said."""
    data = workspace.catalog.load("starter-topics")
    label = data.labels[0]
    page = visit.open(f"search?encoder=random:256&q=rain&k=5&only=label: {label}")
    expect(page.locator("#hits li")).to_have_count(5)
    mine = {s for s, own in zip(data.sentences, data.labels, strict=True) if own == label}
    assert set(page.locator("#hits li p").all_inner_texts()) <= mine
    page.get_by_role("button", name="More controls").click()
    box = page.locator("#least input")
    box.fill("0.999")
    box.press("Enter")
    expect(page.locator("#hits")).to_contain_text("None has a cosine of 0.999")
    address_of(page, "least=0.999")


def test_the_ways_of_searching_by_keyboard(visit):
    """The arrow keys change what the page asks for."""
    page = visit.open("search?encoder=random:256")
    page.wait_for_selector(".t-column li")
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("Meaning").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#unlike")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#encoders")).to_be_hidden()
    expect(page.locator("#query")).to_contain_text("Words")


def test_marks_in_the_box_say_how_it_is_meant(visit):
    """Quotes for words, slashes for a pattern; the control stays as it is."""
    page = visit.open("search?encoder=random:256&k=2")
    page.wait_for_selector(".t-column li")
    box = page.locator("#query textarea, #query input").first
    for text, found in (('"on the"', "on the"), ("/^Who .*[?]$/", "Who ")):
        box.fill(text)
        box.press("Enter")
        expect(page.locator("#hits mark").first).to_contain_text(found, ignore_case=True)


def test_the_head_of_a_column_opens_the_choice_of_encoders(visit):
    """And another encoder is asked at once."""
    page = visit.open("search?encoder=random:256&in=starter-pairs&k=2")
    page.locator(".t-column header button").click()
    page.locator("#encoders").get_by_label("random:64", exact=True).check()
    expect(page.locator(".t-column header")).to_have_count(2)
    expect(page.locator(".t-column li")).to_have_count(4)
