"""The page Data: what is there, and how a file of one's own gets in."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of
from tests.ui.conftest import NARROW, WIDE, served
from theodolite.app.workspace import Workspace

HOSTILE = "<img src=x onerror=alert(1)>"
CSV = f"""s1,s2,score,note
A cat sits.,{HOSTILE},1.5,a
Rain falls.,It is raining.,4.8,b
Bread is baked.,The oven bakes bread.,4.1,c
"""


@pytest.fixture
def file(tmp_path, workspace):
    """A table of graded pairs with markup in a cell; whatever it became is removed again."""
    path = tmp_path / "graded.csv"
    path.write_text(CSV, encoding="utf-8")
    yield path
    workspace.store.uploads.remove("graded")


@pytest.fixture
def form(visit, file):
    """The page with the file chosen and looked at."""
    page = visit.open("data")
    page.wait_for_selector(".t-sets li")
    page.get_by_role("button", name="Bring data").click()
    page.set_input_files("#upload input[type=file]", file)
    page.wait_for_selector("#look table")
    return page


def test_the_starter_set_is_labelled_as_ours_and_shows_its_rubric(visit):
    """Where it comes from stands above it; the rubric can be read."""
    page = visit.open("data?set=starter-pairs")
    expect(page.locator("#datasets")).to_contain_text("written for this app")
    page.get_by_text("The rubric it was written and graded by").click()
    expect(page.get_by_label("Rubric")).to_contain_text("Same meaning")
    expect(page.locator("#preview tbody tr")).to_have_count(20)


def test_find_narrows_the_list_and_stays_in_the_address(visit):
    """Of the two starter sets one holds topics."""
    page = visit.open("data")
    lines = page.locator("#datasets li").locator("visible=true")
    expect(lines).to_have_count(2)
    page.locator("#find input").fill("topics")
    expect(lines).to_have_count(1)
    address_of(page, "find=topics")
    page.locator("#find input").fill("nothing of this kind")
    expect(page.get_by_role("heading", name="No data set matches")).to_be_visible()
    page = visit.open("data?find=topics")
    expect(page.locator("#datasets li").locator("visible=true")).to_have_count(1)


def test_a_file_becomes_a_data_set_and_its_text_stays_text(form, workspace):
    """Columns are guessed, the preview opens, markup is shown and not run."""
    expect(form.locator("#role-score input")).to_have_value("score")
    form.locator("#take-in").click()
    expect(form.locator("#preview")).to_contain_text(HOSTILE)
    assert form.locator("main img, #preview img").count() == 0
    data = workspace.catalog.load("upload:graded")
    assert data.parts["all"].gold.tolist() == [1.5, 4.8, 4.1]
    address_of(form, "set=upload")


def test_files_named_by_their_splits_become_one_data_set(visit, workspace, tmp_path):
    """By the columns that are chosen."""
    files = [tmp_path / "mine-train.csv", tmp_path / "mine-test.csv"]
    for path in files:
        path.write_text("text,topic,label\nA ship sails.,sea,x\nA hill is green.,land,y\n")
    page = visit.open("data")
    page.wait_for_selector(".t-sets li")
    page.get_by_role("button", name="Bring data").click()
    page.set_input_files("#upload input[type=file]", files)
    page.wait_for_selector("#look table")
    expect(page.locator("#role-label input")).to_have_value("label")
    page.locator("#role-label input").click()
    page.get_by_role("option", name="topic").click()
    page.locator("#upload-name input").fill("graded")
    page.locator("#take-in").click()
    expect(page.locator("#preview")).to_contain_text("upload:graded")
    data = workspace.catalog.load("upload:graded")
    assert (data.labels, data.splits) == (["sea", "land"] * 2, ["train"] * 2 + ["test"] * 2)
    workspace.store.uploads.remove("graded")


def test_a_wrong_mapping_is_explained_and_loses_nothing(form):
    """Triplets need other columns: the file, its rows and the name are still there."""
    form.locator("#kind").get_by_label("Triplets").check()
    expect(form.locator("#role-anchor")).to_be_visible()
    form.locator("#take-in").click()
    expect(form.get_by_role("alert")).to_contain_text("no column for 'anchor'")
    expect(form.locator("#look tbody tr")).to_have_count(3)
    expect(form.locator("#upload-name input")).to_have_value("graded")
    form.locator("#kind").get_by_label("Scored pairs").check()
    form.locator("#take-in").click()
    expect(form.locator("#preview")).to_contain_text("upload:graded")


def test_an_upload_is_removed_only_when_asked_twice(form, workspace):
    """The first press asks, the second removes."""
    form.locator("#take-in").click()
    form.get_by_role("button", name="Remove upload:graded").click()
    assert workspace.store.uploads.get("graded") is not None
    form.get_by_role("button", name="Remove upload:graded permanently").click()
    expect(form.locator("body")).to_contain_text("upload:graded was removed")
    assert workspace.store.uploads.get("graded") is None


def test_a_set_that_is_not_there_is_said_calmly(visit):
    """An old link still shows the list."""
    page = visit.open("data?set=starter-pears")
    expect(page.get_by_role("alert")).to_contain_text("Did you mean starter-pairs")
    expect(page.locator(".t-sets li").first).to_be_visible()


def test_what_is_wrong_with_a_name_of_the_hub_stays_said(visit):
    """Nothing was named: the list stays, and the message with it."""
    page = visit.open("data")
    page.wait_for_selector(".t-sets li")
    page.get_by_role("button", name="Bring data").click()
    page.get_by_role("button", name="Read a file from the Hugging Face hub").click()
    page.locator("#hub-read").click()
    expect(page.get_by_role("alert")).to_contain_text("No data set given")
    expect(page.locator("#datasets li")).to_have_count(2)


def test_the_panel_of_the_rest_opens_and_closes_by_key(visit):
    """What is in it is there while it is closed; Escape closes it and gives the focus back."""
    page = visit.open("data")
    button, inside = page.get_by_role("button", name="Bring data"), page.locator("#bring")
    expect(inside).to_be_attached()
    expect(inside).to_be_hidden()
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(inside).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(inside).to_be_hidden()
    expect(button).to_be_focused()


def test_on_a_phone_the_panel_is_a_sheet(visitor, site):
    """At the lower edge, as wide as the window; a press beside it closes it."""
    visit = visitor(site, size=NARROW)
    page = visit.open("data")
    page.get_by_role("button", name="Bring data").click()
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
        "0 of 41 tasks are here; 41 to fetch, about 1.72 GB of text", timeout=120_000
    )
    expect(card.locator("tbody tr")).to_have_count(41)
    address_of(page, "suite=MTEB")
    card.get_by_role("button", name="Fetch the data of mteb:BIOSSES of").click()
    expect(page.locator("#following")).to_contain_text("Fetch 1 task of MTEB(eng, v2)")
    assert "fetch" in [run["kind"] for run in workspace.store.runs.list(("queued",))]
    page.locator("#find input").fill("legal retrieval")
    expect(page.locator("#suites li").locator("visible=true").first).to_contain_text("Law")
    card.get_by_role("button", name="Close the suite").click()
    expect(card.locator("table")).to_have_count(0)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Address of an app over a data folder with long names and a family."""
    root = tmp_path_factory.mktemp("full")
    for name in ("emotion", "irony", "offensive"):
        (root / "mteb" / "classification" / f"tweeteval_{name}").mkdir(parents=True)
    (root / "mteb" / "classification" / "banking77").mkdir()
    (root / "unlabelled").mkdir()
    (root / "unlabelled" / f"{'long_' * 16}name.txt").write_text("Rain falls.\n" * 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEODOLITE_DATA", str(root))
        made = Workspace(tmp_path_factory.mktemp("full-store") / "store")
    with served(made) as address:
        yield address
    made.close()


@pytest.mark.parametrize("size", [WIDE, (1024, 768), NARROW], ids=["wide", "middle", "narrow"])
def test_long_names_fit_and_families_are_folded(visitor, full, size):
    """Nothing sticks out of its line; three sets of one benchmark are one line; sizes are there."""
    visit = visitor(full, size=size)
    page = visit.open("data")
    lines = page.get_by_role("list", name="Data folder").get_by_role("listitem")
    expect(lines).to_have_count(3)
    family = lines.filter(has_text="tweeteval")
    expect(family.get_by_role("button")).to_have_text(["emotion", "irony", "offensive"])
    expect(lines.filter(has_text="long_")).to_contain_text("sentences, 1.2 kB")
    assert not visit.scrolls_sideways()
    out = """(lines) => lines.flatMap((line) => [...line.querySelectorAll("*")].filter((node) =>
        node.getBoundingClientRect().right > line.getBoundingClientRect().right + 1))"""
    assert lines.evaluate_all(out) == []
