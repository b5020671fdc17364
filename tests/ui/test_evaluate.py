"""The page Evaluate: a plan, a run that is followed, results, errors that can be tried again."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.fakes import folder
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS, served
from theodolite.app.jobs.kinds import job_of
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.pages.evaluate.service import evaluate
from theodolite.app.workspace import Workspace

CHOSEN = "evaluate?encoder=random:256&starter=StarterSTS&starter=StarterSearch"


@pytest.fixture
def clean(workspace):
    """Runs that a test queues do not outlive it."""
    yield workspace
    for run in workspace.store.runs.list():
        workspace.store.runs.cancel(run["id"])


def test_the_plan_says_what_is_in_the_store_and_the_command(visit):
    """Two of three are evaluated; the command line is the same work."""
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
    encoders.add(clean, "random:48")
    page = visit.open("evaluate?encoder=random:48&starter=StarterSearch")
    page.wait_for_selector("#plan pre")
    page.locator("#evaluate").click()
    expect(page.locator("#following")).to_contain_text("queued")
    run_id = address_of(page, "run=").split("run=")[1].split("&")[0]
    runs = clean.store.runs
    assert runs.get(run_id)["spec"]["tasks"] == ["StarterSearch"]

    runs.start(run_id, 1, "local-0", ["StarterSearch"])
    again = visitor(site).open(address_of(page))
    expect(again.locator("#following")).to_contain_text("0 of 1 done")
    assert evaluated(clean, "random:48", "StarterSearch")["error"] is None
    runs.end_unit(run_id, 0, 0.5)
    runs.finish(run_id, 1, "done")
    for tab in (page, again):
        expect(tab.locator("#following")).to_contain_text("1 of 1 done")
        expect(tab.locator("#results tbody tr")).to_contain_text("random:48")
    clean.store.encoders.remove("random:48")


def test_a_run_can_be_cancelled_and_run_again(visit, clean):
    """The buttons act on the run in the address."""
    run_id = queue_evaluation(clean, ["random:64"], ["StarterTopics"])
    page = visit.open(f"evaluate?run={run_id}")
    page.locator("#following").get_by_role("button", name="Cancel").click()
    expect(page.locator("#following")).to_contain_text("cancelled")
    page.locator("#following").get_by_role("button", name="Retry").click()
    expect(page.locator("#following")).to_contain_text("queued")


def test_an_error_is_a_row_that_can_be_tried_again(visit, clean, tmp_path):
    """An encoder whose folder is gone says so and the rest stands."""
    name = encoders.add(clean, "random:16")["name"]
    bad = dict(clean.store.results.by_id(evaluated(clean, name, "StarterSTS")["id"]))
    bad |= {
        "encoder": "dir:/nowhere",
        "fingerprint": "",
        "data_hash": "",
        "scores": [],
        "error": "The folder has no <model>.",
        "hint": "Name another.",
    }
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
    expect(page.get_by_role("alert")).to_contain_text("No task chosen")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A store beside a small folder of trained tasks, where one has three seeds."""
    made = Workspace(
        tmp_path_factory.mktemp("trained") / "store",
        folder.write(tmp_path_factory.mktemp("data")),
    )
    encoders.add(made, "random:32")
    rows = evaluate(made, EvaluateJob(("random:32",), ("SST5",), seeds=3))
    assert [row["error"] for row in rows] == [None] * 3
    yield made
    for run in made.store.runs.list():
        made.store.runs.cancel(run["id"])
    made.close()


@pytest.fixture(scope="module")
def trained_site(trained):
    """Address of an app over it."""
    with served(trained) as address:
        yield address


def test_a_suite_ticks_its_members(visitor, trained_site):
    """Members without files are shown and not ticked; the command names the others."""
    page = visitor(trained_site).open("evaluate?encoder=random:32")
    page.wait_for_selector("#plan pre")
    page.get_by_label("Transfer, the seven of SimCSE's table 7").check()
    expect(page.locator("#plan pre")).to_have_text("theodolite evaluate random:32 --tasks MR,TREC")
    expect(page.locator("#members li", has_text="CR")).to_contain_text("no files")
    page.locator("#single button").first.click()
    expect(page.locator("#tasks-transfer").get_by_label("TREC")).to_be_checked()
    expect(page.locator("#tasks-transfer").get_by_label("SST5")).not_to_be_checked()
    page.locator("#tasks-transfer").get_by_label("SST5").check()
    expect(page.get_by_label("My own choice")).to_be_checked()
    address_of(page, "transfer=SST5")


def test_the_full_list_has_its_own_protocol(visitor, trained_site):
    """There STS-B is the trained regressor; the protocol is in the address and in the command."""
    page = visitor(trained_site).open("evaluate?encoder=random:32")
    page.wait_for_selector("#plan pre")
    page.get_by_label("SentEval, the full list").check()
    expect(page.locator("#plan pre")).to_have_text(
        "theodolite evaluate random:32 --tasks MR,SST5,TREC --protocol senteval"
    )
    again = visitor(trained_site).open(address_of(page, "protocol=senteval"))
    expect(again.locator("#protocol input")).to_have_value("senteval")
    again.locator("summary", has_text="Protocol senteval").click()
    expect(again.locator("#protocols")).to_contain_text("weight decay")


def test_tasks_that_a_protocol_does_not_cover_are_left_out(visitor, trained_site):
    """The page says which, and neither the command nor the run has them."""
    address = "evaluate?encoder=random:32&starter=StarterSTS&transfer=MR&protocol=senteval"
    page = visitor(trained_site).open(address)
    expect(page.locator("#plan")).to_contain_text("senteval does not say how to score StarterSTS")
    expect(page.locator("#plan pre")).to_have_text(
        "theodolite evaluate random:32 --tasks MR --protocol senteval"
    )


def test_several_seeds_show_their_spread(visitor, trained_site, trained):
    """On Evaluate and in the card of the overview: the score of the first seed, and the spread."""
    rows = trained.store.results.table(tasks=["SST5"])
    deviation = np.std([row["score"] for row in rows], ddof=1)
    expected = f"± {deviation:.2f} over 3 seeds"
    address = "evaluate?encoder=random:32&transfer=SST5&transfer=TREC&seeds=3"
    page = visitor(trained_site).open(address)
    expect(page.locator("#plan")).to_contain_text("6 results, 3 of 6 already in the store")
    expect(page.locator("#plan pre")).to_contain_text("--seeds 3")
    row = page.locator("#results tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(expected)
    expect(row).to_contain_text(f"{rows[0]['score']:.2f}")
    other = visitor(trained_site).open(f"?result={rows[0]['id']}")
    expect(other.locator("#result")).to_contain_text(expected)
    with other.expect_download() as download:
        other.get_by_role("button", name="Download CSV").click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        (line,) = [row for row in csv.DictReader(file) if row["encoder"] == "random:32"]
    assert line["SST5: spread"] == expected


def test_each_part_of_a_run_is_shown(visitor, trained_site, trained):
    """The running one with a bar of its own, a failed one with its error and a way to retry."""
    run = queue_evaluation(trained, ["random:32"], ["MR", "SST5", "TREC"], seed=7, seeds=2)
    runs = trained.store.runs
    labels = job_of(runs.get(run)).units()
    runs.start(run, 1, "local-0", labels)
    runs.end_unit(run, 0, 12.0)
    runs.end_unit(run, 1, 1.0, "Memory ran out.", "Close other programs.")
    runs.progress(run, 1, 0.4, labels[2])
    page = visitor(trained_site).open(f"evaluate?run={run}")
    units = page.locator("#following-units li")
    expect(units).to_have_count(6)
    expect(units.first).to_contain_text("SST5 · random:32 · seed 7")
    expect(units.first).to_contain_text("running")
    bar = page.locator("#following [role=progressbar]").last
    expect(bar).to_have_attribute("aria-valuenow", "40")
    failed = units.filter(has_text="Memory ran out.")
    failed.get_by_role("button", name="Try MR · random:32 · seed 8 again").click()
    message = page.get_by_role("status").filter(has_text="will be available again after this run")
    expect(message).to_be_visible()
    runs.progress(run, 1, 0.8, labels[2])
    expect(bar).to_have_attribute("aria-valuenow", "80")
    expect(message).to_be_visible()  # looking at the run again leaves it there
    newest = runs.list()[0]["spec"]
    assert (newest["tasks"], newest["seed"], newest["seeds"]) == (["MR"], 8, 1)


def test_the_cost_is_estimated_before_the_run(visitor, trained_site, trained):
    """A table that says that it guesses; nothing is queued by it."""
    before = len(trained.store.runs.list())
    page = visitor(trained_site).open("evaluate?encoder=random:32&transfer=SST5&seed=9")
    page.wait_for_selector("#plan pre")
    page.locator("#cost").click()
    expect(page.locator("#estimate table")).to_contain_text("random:32")
    expect(page.locator("#estimate")).to_contain_text("mostly within a factor of two")
    assert len(trained.store.runs.list()) == before


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_many_tasks_fit_the_page(visitor, trained_site, dark, size):
    """Laptop and phone, light and dark; the page does not scroll sideways."""
    seen = visitor(trained_site, dark=dark, size=size)
    page = seen.open("evaluate?suite=all&encoder=random:32&seeds=3")
    page.wait_for_selector("#plan pre")
    page.locator("#single button").first.click()
    seen.picture(f"evaluate-{size[0]}")
    assert not seen.scrolls_sideways()
