"""The page Curate: tables, what they lead to, and runs for what takes long."""

from __future__ import annotations

import csv
import io

import httpx
import pytest
from playwright.sync_api import expect

from tests.fakes.workers import work_off
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS
from theodolite.app.pages.curate import service as curations
from theodolite.app.pages.data import service as uploads
from theodolite.app.pages.encoders import service as encoders

LINES = "A cat.\na cat\nA dog.\nA boat at sea.\n<img src=x onerror=alert(1)> a bird\n"


@pytest.fixture(scope="module")
def lines(workspace, tmp_path_factory):
    """Five lines, two of them the same but for case and full stop."""
    file = tmp_path_factory.mktemp("curate") / "lines.txt"
    file.write_text(LINES, encoding="utf-8")
    uploads.keep(workspace, file, file.name, "twins", uploads.mapping_of(file, None, None))
    yield "upload:twins"
    workspace.store.uploads.remove("twins")


def test_duplicates_are_looked_for_and_listed(visit, site, lines):
    """At once for a small collection; the CSV holds the same rows."""
    page = visit.open(f"curate?job=exact&in={lines}")
    expect(page.locator("#found")).to_contain_text("not checked yet")
    expect(page.locator("#encoder")).to_be_hidden()
    page.locator("#look").click()
    expect(page.locator("#found tbody tr")).to_have_count(2)
    expect(page.locator("#found h2")).to_contain_text("1 group of duplicates among 5 sentences")
    link = page.get_by_role("link", name="as CSV").get_attribute("href")
    rows = list(csv.DictReader(io.StringIO(httpx.get(f"{site}/{link.removeprefix('./')}").text)))
    assert [row["sentence"] for row in rows] == ["A cat.", "a cat"]
    ways = page.get_by_role("link", name="on the map").get_attribute("href")
    assert "ids=0%2C1" in ways


def test_a_table_that_is_not_there_is_404(site):
    """Whatever the key looks like."""
    for key in ("0" * 32, "..%2Fx", "x"):
        assert httpx.get(f"{site}/theodolite/curation/{key}.csv").status_code == 404


def test_sentences_stay_text_and_lead_to_search(visit, lines):
    """Markup is shown; the link beside a sentence searches for it."""
    page = visit.open(f"curate?job=typical&in={lines}&encoder=random:256&many=2")
    page.wait_for_selector("#found .t-empty")
    page.locator("#look").click()
    expect(page.locator("#found tbody tr")).to_have_count(4)
    assert page.locator("#found img").count() == 0
    page.locator("#found tbody tr a").first.click()
    expect(page.locator("#hits li").first).to_contain_text("the query itself")


def test_only_what_matters_to_a_job_is_shown(visit):
    """Leaks ask for what was seen, outliers for how many."""
    page = visit.open("curate")
    page.get_by_label("Leaks").check()
    expect(page.locator("#against")).to_be_visible()
    page.get_by_label("Near duplicates").check()
    expect(page.locator("#against")).to_be_hidden()
    address_of(page, "job=near")
    page.get_by_role("button", name="More controls").click()
    expect(page.locator("#least")).to_be_visible()
    expect(page.locator("#many")).to_be_hidden()


def test_it_opens_with_an_answer_that_ships(visitor, place):
    """What lies alone in the starter set, by MiniLM; its CSV holds all of it."""
    page = visitor(place).open("curate")
    expect(page.locator("#found h2")).to_contain_text("2,040 sentences")
    expect(page.locator("#found")).to_contain_text("Good comments explain why, not what.")
    link = page.get_by_role("link", name="as CSV").get_attribute("href")
    text = httpx.get(f"{place}/{link.removeprefix('./')}").text
    assert len(list(csv.DictReader(io.StringIO(text)))) == 100


def test_a_collection_against_itself_is_refused_calmly(visit):
    """With what to choose instead."""
    page = visit.open("curate?job=leaks&encoder=random:256")
    expect(page.get_by_role("alert")).to_contain_text("two different parts")


def test_a_large_job_is_a_run_that_is_followed(visit, workspace):
    """Queued by the button, its table there when it is done."""
    encoders.add(workspace, "random:20")
    page = visit.open("curate?job=outliers&in=starter-topics&encoder=random:20&many=5")
    page.wait_for_selector("#found .t-empty")
    page.locator("#look").click()
    expect(page.locator("#following")).to_contain_text("waiting for its turn")
    run = next(r for r in workspace.store.runs.list() if r["kind"] == "curate")
    work_off(workspace, run["id"])
    expect(page.locator("#found tbody tr")).to_have_count(5)
    workspace.store.encoders.remove("random:20")


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_it_fits(visitor, site, workspace, dark, size):
    """Light and dark, wide and narrow."""
    wanted = curations.spec("near", "starter-pairs", encoder="random:64", threshold=0.97)
    curations.answer(workspace, wanted)
    visit = visitor(site, dark=dark, size=size)
    page = visit.open("curate?job=near&in=starter-pairs&encoder=random:64&least=0.97")
    expect(page.locator("#found tbody tr").first).to_be_visible()
    assert not visit.scrolls_sideways()
    visit.picture(f"curate-{size[0]}-{'dark' if dark else 'light'}")


def test_what_was_found_is_selected_on_the_map(visit, workspace):
    """The two ends of `typical`, as the map's own count says."""
    wanted = curations.spec("typical", "starter-topics", encoder="random:256", many=3)
    curations.answer(workspace, wanted)
    page = visit.open("curate?job=typical&encoder=random:256&many=3")
    page.get_by_role("link", name="on the map").click()
    expect(page.locator("#map")).to_contain_text("6 selected", timeout=60_000)
