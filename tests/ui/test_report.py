"""Reports: the file that a page hands out, opened from a disk by somebody without a network."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.conftest import NARROW


@pytest.fixture
def alone(browser: Browser) -> Page:
    """A dark phone without a network, that forgives nothing."""
    context = browser.new_context(
        viewport={"width": NARROW[0], "height": NARROW[1]}, color_scheme="dark", offline=True
    )
    page = context.new_page()
    page.wrong = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.wrong.append(str(error)))  # type: ignore[attr-defined]
    page.on(
        "console",
        lambda message: (
            page.wrong.append(message.text)  # type: ignore[attr-defined]
            if "GL Driver Message" not in message.text
            else None
        ),
    )
    page.on(
        "request",
        lambda asked: (
            page.wrong.append(asked.url)  # type: ignore[attr-defined]
            if not asked.url.startswith(("file:", "blob:", "data:"))
            else None
        ),
    )
    yield page
    context.close()
    assert not page.wrong  # type: ignore[attr-defined]


def handed_out(page: Page, folder: Path) -> Path:
    """The file that the page's button gives."""
    with page.expect_download(timeout=60_000) as saved:
        page.get_by_role("button", name="Report").click()
    file = folder / saved.value.suggested_filename
    saved.value.save_as(file)
    return file


def test_a_comparison_is_handed_out_and_opens_from_a_disk(visitor, site, alone, tmp_path) -> None:
    """Chart and table as on the page, its numbers as a file; nothing is asked for."""
    page = visitor(site).open("compare?encoder=random:256&encoder=random:64")
    expect(page.locator(".t-compare")).to_be_visible()
    alone.goto(handed_out(page, tmp_path).as_uri())
    expect(alone).to_have_title("Comparison of random:256 and random:64 · Theodolite")
    expect(alone.locator("body")).to_have_class("dark t-window")
    expect(alone.locator(".js-plotly-plot .plot-container").first).to_be_visible()
    expect(alone.locator(".t-compare")).to_contain_text("StarterSTS")
    assert alone.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    with alone.expect_download() as saved:
        alone.get_by_role("button", name="comparison.csv").click()
    with saved.value.path().open(newline="", encoding="utf-8") as file:
        assert {row["encoder"] for row in csv.DictReader(file)} == {"random:256", "random:64"}


def test_a_map_is_handed_out_and_is_the_map_of_the_page(visitor, site, alone, tmp_path) -> None:
    """Points, names, true neighbours, words and the selection as a table, out of one file."""
    page = visitor(site).open("map?encoder=minilm&in=starter-topics")
    expect(page.locator(".t-map-said")).to_contain_text("2,040 points")
    alone.goto(handed_out(page, tmp_path).as_uri())
    expect(alone.locator(".t-map-said")).to_contain_text("2,040 points")
    assert alone.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    stage = alone.locator(".t-map-over")
    stage.focus()
    stage.press("n")
    stage.press("Enter")
    card = alone.get_by_role("region", name="The open point")
    expect(card).to_contain_text("Of its 15 nearest in the full space")
    expect(card.locator("tbody tr")).to_have_count(15)
    alone.get_by_label("Find", exact=True).fill("harbour")
    alone.get_by_label("Find", exact=True).press("Enter")
    alone.get_by_role("button", name="Select what was found").click()
    chosen = alone.get_by_role("region", name="Selected", exact=True)
    with alone.expect_download() as saved:
        chosen.get_by_role("button", name="CSV").click()
    with saved.value.path().open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows and all("harbour" in row["sentence"].lower() for row in rows)
