"""The page Evaluate: a plan, a run that is followed, results, errors that can be tried again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

CHOSEN = "evaluate?encoder=random:256&starter=StarterSTS&starter=StarterSearch"


@pytest.fixture
def clean(workspace):
    """Runs that a test queues do not outlive it."""
    yield workspace
    for run in workspace.store.runs.list():
        workspace.store.runs.cancel(run["id"])


def test_the_plan_says_what_is_in_the_store_and_the_command(visit):
    """Two of three are measured; the command line is the same work."""
    page = visit.open(f"{CHOSEN}&starter=StarterTopics&seed=1111")
    expect(page.locator("#plan")).to_contain_text("2 of 3 already in the store")
    expect(page.locator("#plan pre")).to_have_text(
        "theodolite evaluate random:256 --tasks StarterSTS,StarterTopics,StarterSearch --seed 1111"
    )


def test_the_protocol_card_and_table_b1_can_be_read(visit):
    """Every choice that moves a score, and how other papers chose."""
    page = visit.open("evaluate")
    page.locator("summary", has_text="Protocol simcse-2021").click()
    expect(page.locator("#protocols")).to_contain_text("average ranks for ties")
    page.locator("summary", has_text="table B.1").click()
    row = page.locator("#protocols tr", has_text="Conneau et al. 2017")
    expect(row).to_contain_text("yes")


def test_a_spec_is_checked_while_it_is_written(visit, clean):
    """A slip is pointed at; a good one is read back and can be added."""
    page = visit.open("evaluate")
    page.wait_for_selector("#plan p")
    box = page.locator("#spec input")
    box.fill("random:256 | nomalise")
    expect(page.locator("#spec-said")).to_contain_text("Did you mean 'normalise'")
    box.fill("random:32|normalise")
    expect(page.locator("#spec-said")).to_contain_text("random:32 | normalise")
    page.locator("#add-spec").click()
    expect(page.get_by_label("random:32 | normalise")).to_be_checked()
    clean.store.encoders.remove("random:32 | normalise")


def test_a_run_is_started_followed_and_found_again(visit, visitor, site, clean):
    """The address holds the run: another tab shows the same progress, then the result."""
    clean.add_encoder("random:48")
    page = visit.open("evaluate?encoder=random:48&starter=StarterSearch")
    page.wait_for_selector("#plan pre")
    page.locator("#evaluate").click()
    expect(page.locator("#following")).to_contain_text("queued")
    page.wait_for_function("location.search.includes('run=')")
    run_id = page.url.split("run=")[1].split("&")[0]
    runs = clean.store.runs
    assert runs.get(run_id)["spec"]["tasks"] == ["StarterSearch"]

    runs.start(run_id, 1, "local-0", ["StarterSearch"])
    again = visitor(site).open(page.url.removeprefix(f"{site}/"))
    expect(again.locator("#following")).to_contain_text("0 of 1 done")
    assert clean.evaluate_one("random:48", "StarterSearch")["error"] is None
    runs.end_unit(run_id, 0, 0.5)
    runs.finish(run_id, 1, "done")
    for tab in (page, again):
        expect(tab.locator("#following")).to_contain_text("1 of 1 done")
        expect(tab.locator("#results tbody tr")).to_contain_text("random:48")
    clean.store.encoders.remove("random:48")


def test_a_run_can_be_cancelled_and_run_again(visit, clean):
    """The buttons act on the run in the address."""
    run_id = clean.queue_evaluation(["random:64"], ["StarterTopics"])
    page = visit.open(f"evaluate?run={run_id}")
    page.get_by_role("button", name="Cancel this run").click()
    expect(page.locator("#following")).to_contain_text("cancelled")
    page.get_by_role("button", name="Run it again").click()
    expect(page.locator("#following")).to_contain_text("queued")


def test_an_error_is_a_row_that_can_be_tried_again(visit, clean, tmp_path):
    """An encoder whose folder is gone says so and the rest stands."""
    name = clean.add_encoder("random:16")["name"]
    bad = dict(clean.store.results.by_id(clean.evaluate_one(name, "StarterSTS")["id"]))
    bad |= {"encoder": "dir:/nowhere", "fingerprint": "", "data_hash": "", "scores": [],
            "error": "The folder has no <model>.", "hint": "Name another."}  # fmt: skip
    clean.store.encoders.add("dir:/nowhere", {})
    clean.store.results.put({k: v for k, v in bad.items() if k != "examples"}, {})
    page = visit.open("evaluate?encoder=random:256&encoder=dir:/nowhere&starter=StarterSTS")
    row = page.locator("#results tr", has_text="dir:/nowhere")
    expect(row).to_contain_text("The folder has no <model>.")
    row.get_by_role("button").click()
    expect(page.locator("#following")).to_contain_text("dir:/nowhere on StarterSTS")
    for added in ("dir:/nowhere", name):
        clean.store.encoders.remove(added)


def test_nothing_ticked_is_said_calmly(visit):
    """Pressing the button without a task explains itself."""
    page = visit.open("evaluate?encoder=random:256&task=none")
    page.wait_for_selector("#plan p")
    page.locator("#evaluate").click()
    expect(page.get_by_role("alert")).to_contain_text("No task was chosen")
