"""The page Data: what is there, and how files of one's own get in, and on to the board."""

import re

import openpyxl
import pytest
from playwright.sync_api import Page, expect

from tests.fakes.uploads import beir, collection
from tests.ui.steps import HOSTILE, NARROW, WIDE, address_of, says, stays_text, write

STICKING_OUT = """(lines) => lines.flatMap((line) => [...line.querySelectorAll("*")].filter(
    (node) => node.getBoundingClientRect().right > line.getBoundingClientRect().right + 1))"""
BOX = "#upload input[type=file]"
CSV = f"""s1,s2,score,note <xss-probe>
A cat sits.,{HOSTILE},1.5,a
Rain falls.,It is raining.,4.8,b
Bread is baked.,The oven bakes bread.,4.1,c
"""


def bringing(page: Page) -> Page:
    """The page, once it can be brought files."""
    page.wait_for_selector("#datasets tbody tr")
    page.get_by_role("button", name="Bring data").click()
    return page


def test_what_is_there_fits_is_found_and_read(visit, workspace, tmp_path):
    """Nothing sticks out of its line; Find narrows the list; the rubric of ours can be read."""
    collection(workspace, tmp_path, "long_" * 15, ["Rain falls."])
    page = visit.open("data?set=starter-pears")
    lines = page.locator("#datasets tbody tr").locator("visible=true")
    says(page.get_by_role("alert"), "Did you mean starter-pairs")
    expect(lines.filter(has_text="long_")).to_be_visible()
    for width, height in (NARROW, (1024, 768), WIDE):
        page.set_viewport_size({"width": width, "height": height})
        assert not visit.scrolls_sideways()
        assert lines.evaluate_all(STICKING_OUT) == []
    write(page, "find", "nothing of this kind")
    expect(page.get_by_role("heading", name="No data set matches")).to_be_visible()
    write(page, "find", "pairs")
    expect(lines).to_have_count(1)
    lines.get_by_role("button").first.press("Enter")
    expect(page.locator("#preview section").first).to_be_focused()
    page.get_by_text("The rubric it was written and graded by").click()
    says(page.locator("#preview pre"), "Same meaning")
    expect(page.locator("#preview tbody tr")).to_have_count(20)


def test_a_file_becomes_a_data_set_and_is_removed_again(visit, workspace, tmp_path):
    """Columns are guessed; a wrong mapping loses nothing; markup is shown; removing asks twice."""
    file = tmp_path / "graded.csv"
    file.write_text(CSV, encoding="utf-8")
    page = bringing(visit.open("data"))
    page.set_input_files(BOX, file)
    expect(page.locator("#role-score input")).to_have_value("score")
    says(page.locator("#look"), "<xss-probe>", HOSTILE)
    stays_text(page)
    page.locator("#kind").get_by_label("Triplets").check()
    expect(page.locator("#role-anchor")).to_be_visible()
    page.locator("#take-in").click()
    says(page.get_by_role("alert"), "no column for 'anchor'")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    page.locator("#kind").get_by_label("Scored pairs").check()
    page.locator("#take-in").click()
    says(page.locator("#preview"), "upload:graded", HOSTILE)
    bringing(page).set_input_files(BOX, file)  # the same once more
    page.locator("#take-in").click()
    expect(page.locator("#take-in")).to_be_hidden()
    expect(page.locator("#more.t-open")).to_have_count(0)
    page.evaluate("history.back()")  # not off the page
    expect(page.locator("#preview section")).to_have_count(0)
    assert address_of(page) == "data"
    page.evaluate("history.forward()")
    says(page.locator("#preview"), "upload:graded", HOSTILE)
    stays_text(page)
    assert workspace.catalog.load("upload:graded").parts["all"].gold.tolist() == [1.5, 4.8, 4.1]
    page.locator("#preview summary").click()
    page.get_by_role("button", name="Remove upload:graded permanently").click()
    says(page.locator("body"), "upload:graded was removed")
    assert workspace.store.uploads.get("graded") is None


def test_a_sheet_is_chosen_and_a_column_without_text_is_said(visit, tmp_path):
    """Also where the first one cannot be read; which one was stands in the box."""
    (book := openpyxl.Workbook()).active.append(["Read me"])
    sheet = book.create_sheet("Rows")
    for number in range(9):
        sheet.append([number / 7])
    book.save(tmp_path / "mine.xlsx")
    page = bringing(visit.open("data"))
    page.set_input_files(BOX, tmp_path / "mine.xlsx")
    box = page.locator("#sheet input")
    says(page.get_by_role("alert"), "no row")
    expect(box).to_have_value("Sheet")
    box.click()
    page.get_by_role("option", name="Rows").click()
    says(page.locator("#look"), "9 rows", "No column looks like the text")


def test_the_panel_of_the_rest_opens_and_closes(visit):
    """Escape closes it and gives the focus back; on a phone it is a sheet at the lower edge."""
    page = visit.open("data")
    button, inside = page.get_by_role("button", name="Bring data"), page.locator("#bring")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(inside).to_be_visible()
    about = page.locator("#datasets td:nth-child(2)").first
    assert about.bounding_box()["width"] > 200, "it is read beside the panel"
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.get_by_role("button", name="Read a file from the Hugging Face hub").click()
    page.locator("#hub-read").click()
    says(page.get_by_role("alert"), "No data set given")
    page.keyboard.press("Escape")
    expect(inside).to_be_hidden()
    expect(button).to_be_focused()

    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    button.click()
    expect(inside).to_be_visible()
    box = page.locator("#more").bounding_box()
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, NARROW[0], NARROW[1])
    page.mouse.click(200, 100)
    expect(inside).to_be_hidden()


@pytest.mark.long
def test_a_suite_of_mtebs_is_looked_at_and_fetched_by_a_run(visit, workspace):
    pytest.importorskip("mteb")
    page = visit.open("data")
    # Lists the suites, or opens the one where they are listed: the one pressed last is shown.
    page.get_by_role("button", name=re.compile(r"List MTEB|Preview MTEB\(eng, v2")).first.click()
    page.get_by_role("button", name="Preview MTEB(eng, v2)").click()
    card = page.locator("#preview")
    says(card, "0 of 41 tasks are here; 41 to fetch, about 1.72 GB of text")
    card.get_by_role("button", name="Fetch the data of mteb:BIOSSES of").click()
    says(page.locator("#following"), "Fetch 1 task of MTEB(eng, v2)")
    assert workspace.store.runs.list(("queued",), kinds=["fetch"])


def test_the_files_of_beir_become_a_task(visit, tmp_path):
    """What they hold is said, and where it can be evaluated on."""
    corpus, queries, judged = beir(tmp_path / "mine")
    page = bringing(visit.open("data"))
    # No dialog chooses files of two folders at once: one is missing at first, and is added.
    page.set_input_files(BOX, [corpus, queries])
    says(page.get_by_role("alert"), "no file of judgements")
    with page.expect_file_chooser() as chosen:
        page.locator("#upload button").first.click()
    chosen.value.set_files(judged)
    says(page.locator("#look"), "3 files of queries and documents")
    page.locator("#upload-name input").fill("mine")
    page.locator("#take-in").click()
    says(page.locator("#preview h2"), "upload:mine")
    expect(page.locator("#more")).to_be_hidden()
    expect(page.get_by_role("link", name="Evaluate on it")).to_have_attribute(
        "href", re.compile("task=mine|task=upload")
    )
