"""What a page or a notebook hands out, opened by somebody without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import theodolite as th
from tests.fakes.results import invent
from tests.ui.conftest import NARROW
from tests.ui.steps import rows_saved, saved, says

LOCAL = ("file:", "blob:", "data:")


@pytest.fixture
def alone(browser: Browser) -> Iterator[Page]:
    """A dark phone without a network, that forgives nothing."""
    context = browser.new_context(
        viewport={"width": NARROW[0], "height": NARROW[1]}, color_scheme="dark", offline=True
    )
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: "GL Driver Message" in said.text or wrong.append(said.text))
    page.on("request", lambda asked: asked.url.startswith(LOCAL) or wrong.append(asked.url))
    yield page
    context.close()
    assert not wrong


def handed_out(page: Page, folder: Path) -> str:
    """The address of the file that the page's button gives."""
    file = saved(page, page.get_by_role("button", name="Report"))
    return file.rename(folder / "report.html").as_uri()


def test_a_comparison_is_handed_out_and_opens_from_a_disk(visitor, site, alone, tmp_path) -> None:
    """Chart and table as on the page, its numbers as a file; nothing is asked for."""
    page = visitor(site).open("compare?encoder=random:256&encoder=random:64")
    expect(page.locator(".t-compare")).to_be_visible()
    alone.goto(handed_out(page, tmp_path))
    expect(alone).to_have_title("Comparison of random:256 and random:64 · Theodolite")
    expect(alone.locator("body")).to_have_class("dark t-window")
    expect(alone.locator(".js-plotly-plot .plot-container").first).to_be_visible()
    says(alone.locator(".t-compare"), "StarterSTS")
    assert alone.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    rows = rows_saved(alone, alone.get_by_role("button", name="comparison.csv"))
    assert {row["encoder"] for row in rows} == {"random:256", "random:64"}


def test_a_map_is_handed_out_and_is_the_map_of_the_page(visitor, site, alone, tmp_path) -> None:
    """Points, names, true neighbours, words and the selection as a table, out of one file."""
    page = visitor(site).open("map?encoder=minilm&in=starter-topics")
    says(page.locator(".t-map-said"), "2,040 points")
    alone.goto(handed_out(page, tmp_path))
    says(alone.locator(".t-map-said"), "2,040 points")
    assert alone.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    stage = alone.locator(".t-map-over")
    stage.focus()
    stage.press("n")
    stage.press("Enter")
    card = alone.get_by_role("region", name="The open point")
    says(card, "Of its 15 nearest in the full space")
    expect(card.locator("tbody tr")).to_have_count(15)
    alone.get_by_label("Find", exact=True).fill("harbour")
    alone.get_by_label("Find", exact=True).press("Enter")
    alone.get_by_role("button", name="Select what was found").click()
    chosen = alone.get_by_role("region", name="Selected", exact=True)
    rows = rows_saved(alone, chosen.get_by_role("button", name="CSV"))
    assert rows and all("harbour" in row["sentence"].lower() for row in rows)


# Answers in a notebook: drawn in a frame that asks nobody for anything and may do nothing.


def test_a_comparison_and_hits_show_themselves_offline(browser: Browser, tmp_path: Path) -> None:
    """Chart and table as on the page, as high as they are; hostile text stays text."""
    place = th.Workspace(tmp_path / "store")
    for name, accuracy in (("random:8", 0.9), ("random:4", 0.6)):
        invent(place, name, "MR", accuracy)
    hostile = "<img src=x onerror=\"document.title='hit'\">"
    answers = (
        th.compare(["random:8", "random:4"], workspace=place),
        th.search("a dog", ["a dog", hostile], th.load("random:16"), k=2),
    )
    notebook = "".join(f"<div>{answer._repr_html_()}</div>" for answer in answers)
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{notebook}", encoding="utf-8")
    page = browser.new_page()
    requests: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    compared, hits = page.frame_locator("iframe").nth(0), page.frame_locator("iframe").nth(1)
    expect(compared.locator(".t-compare")).to_contain_text("worse")
    expect(compared.locator(".js-plotly-plot .plot-container").first).to_be_visible()
    expect(hits.locator("li")).to_have_count(2)
    expect(hits.locator("li").last).to_contain_text("<img src=x")
    expect(hits.locator("li button, li img")).to_have_count(0)
    expect(page.locator("iframe").first).not_to_have_css("height", "320px")
    page.close()
    assert not wrong
    assert {url.split(":")[0] for url in requests} <= {"file", "about", "blob", "data"}
