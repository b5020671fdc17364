"""The page Data: what is there, and how a file of one's own gets in."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import NARROW, WIDE, served
from tests.ui.steps import HOSTILE, address_of, says, stays_text, write
from theodolite.app.workspace import Workspace

CSV = f"""s1,s2,score,note
A cat sits.,{HOSTILE},1.5,a
Rain falls.,It is raining.,4.8,b
Bread is baked.,The oven bakes bread.,4.1,c
"""


def choose(page, *files):
    """Have files of one's own looked at."""
    page.wait_for_selector(".t-sets li")
    page.get_by_role("button", name="Bring data").click()
    page.set_input_files("#upload input[type=file]", files)
    page.wait_for_selector("#look table")


def test_what_is_there_is_found_and_read(visit):
    """Find narrows the list; the starter set is said to be ours, and its rubric can be read."""
    page = visit.open("data")
    lines = page.locator("#datasets li").locator("visible=true")
    expect(lines).to_have_count(2)
    write(page, "find", "nothing of this kind")
    expect(page.get_by_role("heading", name="No data set matches")).to_be_visible()
    write(page, "find", "pairs")
    expect(lines).to_have_count(1)
    address_of(page, "find=pairs")
    lines.get_by_role("button").first.click()
    says(page.locator("#datasets"), "written for this app")
    page.get_by_text("The rubric it was written and graded by").click()
    says(page.get_by_label("Rubric"), "Same meaning")
    expect(page.locator("#preview tbody tr")).to_have_count(20)
    page = visit.open("data?set=starter-pears")
    says(page.get_by_role("alert"), "Did you mean starter-pairs")
    expect(lines).to_have_count(2)


def test_a_file_becomes_a_data_set_and_is_removed_again(visit, workspace, tmp_path):
    """Columns are guessed; a wrong mapping loses nothing; markup is shown; removing asks twice."""
    file = tmp_path / "graded.csv"
    file.write_text(CSV, encoding="utf-8")
    page = visit.open("data")
    choose(page, file)
    expect(page.locator("#role-score input")).to_have_value("score")
    page.locator("#kind").get_by_label("Triplets").check()
    expect(page.locator("#role-anchor")).to_be_visible()
    page.locator("#take-in").click()
    says(page.get_by_role("alert"), "no column for 'anchor'")
    page.locator("#kind").get_by_label("Scored pairs").check()
    page.locator("#take-in").click()
    says(page.locator("#preview"), "upload:graded", HOSTILE)
    stays_text(page)
    data = workspace.catalog.load("upload:graded")
    assert data.parts["all"].gold.tolist() == [1.5, 4.8, 4.1]
    address_of(page, "set=upload")
    page.get_by_role("button", name="Remove upload:graded").click()
    assert workspace.store.uploads.get("graded") is not None
    page.get_by_role("button", name="Remove upload:graded permanently").click()
    says(page.locator("body"), "upload:graded was removed")
    assert workspace.store.uploads.get("graded") is None


def test_the_panel_of_the_rest_opens_and_closes(visit, visitor, site):
    """Escape closes it and gives the focus back; on a phone it is a sheet at the lower edge."""
    page = visit.open("data")
    button, inside = page.get_by_role("button", name="Bring data"), page.locator("#bring")
    expect(inside).to_be_attached()
    expect(inside).to_be_hidden()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(inside).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.get_by_role("button", name="Read a file from the Hugging Face hub").click()
    page.locator("#hub-read").click()
    says(page.get_by_role("alert"), "No data set given")
    page.keyboard.press("Escape")
    expect(inside).to_be_hidden()
    expect(button).to_be_focused()

    page = visitor(site, size=NARROW).open("data")
    page.get_by_role("button", name="Bring data").click()
    expect(page.locator("#bring")).to_be_visible()
    box = page.locator("#more").bounding_box()
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, NARROW[0], NARROW[1])
    page.mouse.click(200, 100)
    expect(page.locator("#more")).to_be_hidden()


def test_a_suite_of_mtebs_before_and_while_its_data_are_fetched(visit, workspace):
    """Each task says how large its data are; one that is asked for is a run, here and on Jobs."""
    pytest.importorskip("mteb")
    page = visit.open("data")
    # Lists the suites, or opens one where they are listed: the one pressed last is shown.
    page.locator("#suites").get_by_role("button").first.click()
    page.get_by_role("button", name="Show the tasks of MTEB(eng, v2)").click()
    card = page.locator("#suite")
    expect(card).to_contain_text(  # by then mteb is imported, which a busy machine takes long for
        "0 of 41 tasks are here; 41 to fetch, about 1.72 GB of text"
    )
    expect(card.locator("tbody tr")).to_have_count(41)
    address_of(page, "suite=MTEB")
    card.get_by_role("button", name="Fetch the data of mteb:BIOSSES of").click()
    says(page.locator("#following"), "Fetch 1 task of MTEB(eng, v2)")
    assert "fetch" in [run["kind"] for run in workspace.store.runs.list(("queued",))]
    write(page, "find", "legal retrieval")
    says(page.locator("#suites li").locator("visible=true").first, "Law")
    card.get_by_role("button", name="Close the suite").click()
    expect(card.locator("table")).to_have_count(0)


def test_long_names_fit_and_families_are_folded(visitor, tmp_path, monkeypatch):
    """Nothing sticks out of its line; three sets of one benchmark are one line; sizes are there."""
    for name in ("tweeteval_emotion", "tweeteval_irony", "tweeteval_offensive", "banking77"):
        (tmp_path / "data" / "mteb" / "classification" / name).mkdir(parents=True)
    (tmp_path / "data" / "unlabelled").mkdir()
    file = tmp_path / "data" / "unlabelled" / f"{'long_' * 16}name.txt"
    file.write_text("Rain falls.\n" * 100)
    monkeypatch.setenv("THEODOLITE_DATA", str(tmp_path / "data"))
    made = Workspace(tmp_path / "store")
    out = """(lines) => lines.flatMap((line) => [...line.querySelectorAll("*")].filter((node) =>
        node.getBoundingClientRect().right > line.getBoundingClientRect().right + 1))"""
    with served(made) as address:
        visit = visitor(address)
        page = visit.open("data")
        lines = page.get_by_role("list", name="Data folder").get_by_role("listitem")
        expect(lines).to_have_count(3)
        family = lines.filter(has_text="tweeteval")
        expect(family.get_by_role("button")).to_have_text(["emotion", "irony", "offensive"])
        says(lines.filter(has_text="long_"), "sentences, 1.2 kB")
        for width, height in (WIDE, (1024, 768), NARROW):
            page.set_viewport_size({"width": width, "height": height})
            assert not visit.scrolls_sideways()
            assert lines.evaluate_all(out) == []
    made.close()
