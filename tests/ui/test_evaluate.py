"""The page Evaluate: a plan, a run that is followed, results, errors that can be tried again."""

import re

import pytest
from playwright.sync_api import expect

from tests.fakes import folder
from tests.ui.steps import Held, address_of, run_in_address, says, write
from theodolite.app.jobs.kinds import job_of
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate, queue_evaluation
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.workspace import Workspace


def test_the_plan_the_protocols_and_a_spec_that_is_checked(visit):
    """Two of three are in the store; the command is the same work; nothing ticked is said."""
    page = visit.open(
        "evaluate?encoder=random:256&task=StarterSTS&task=StarterSearch,StarterTopics&seed=1111"
    )
    says(page.locator("#plan"), "2 already stored")
    expect(page.locator("#plan pre")).to_have_text(
        "theodolite evaluate random:256 --tasks StarterSTS,StarterTopics,StarterSearch --seed 1111"
    )
    page.locator("summary", has_text="Protocol simcse-2021").click()
    says(page.locator("#results"), "average ranks for ties")
    write(page, "encoders", "random:256 | nomalise")
    says(page.get_by_role("alert"), "Did you mean 'normalise'")
    page.locator("#encoders .token-remove").last.click()
    write(page, "encoders", "random:32|normalise")
    says(page.locator("#plan pre"), "random:32 | normalise")
    held = Held(page, "*/queue/join*")
    page = visit.open("evaluate?suite=own&" + "&".join(f"encoder=random:{n}" for n in range(8, 20)))
    expect(page.locator("#evaluate")).to_be_disabled()  # until the page has what its address names
    held.let_go()
    expect(page.locator("#encoders .token")).to_have_count(12)
    page.locator("#evaluate").click()
    says(page.get_by_role("alert"), "No task chosen")


def test_a_run_is_started_followed_and_found_again(visit, visitor, site, workspace):
    """The address holds the run: another tab shows the same progress, then the result."""
    workspace.store.encoders.add("random:48")
    page = visit.open("evaluate?encoder=random:48&task=StarterSearch")
    page.wait_for_selector("#plan pre")
    page.locator("#evaluate").click()
    says(page.locator("#following"), "queued")
    run, runs = run_in_address(page), workspace.store.runs
    runs.start(run, 1, "local-0", ["StarterSearch"])
    again = visitor(site).open(address_of(page))
    says(again.locator("#following"), "0 of 1 done")
    assert evaluate_one(workspace, "random:48", "StarterSearch")["error"] is None
    runs.end_unit(run, 0, 0.5)
    runs.finish(run, 1, "done")
    for tab in (page, again):
        says(tab.locator("#following"), "1 of 1 done")
        says(tab.locator("#results tbody tr"), "random:48")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A store beside a small folder of trained tasks, where one has three seeds."""
    made = Workspace(
        tmp_path_factory.mktemp("trained") / "store", folder.write(tmp_path_factory.mktemp("data"))
    )
    made.store.encoders.add("random:32")
    rows = evaluate(made, EvaluateJob(("random:32",), ("SST5",), seeds=3))
    assert [row["error"] for row in rows] == [None] * 3
    return made


def test_suites_bring_their_members_and_protocol_and_seeds_their_spread(visitor, place, desk):
    """Members without files are named and not chosen; what is chosen by hand stays one's own."""
    page = visitor(place).open("evaluate?encoder=random:32")
    command, tasks = page.locator("#plan pre"), page.locator("#tasks")
    expect(command).to_be_visible()
    page.get_by_label("The 7 transfer tasks of SimCSE's table 7").check()
    expect(command).to_have_text("theodolite evaluate random:32 --tasks MR,TREC")
    says(page.locator("#about-suite"), "No files here: CR")
    says(tasks, "TREC · Transfer")
    tasks.locator("input").fill("transfer")
    page.get_by_role("option", name="SST5").click()
    expect(page.get_by_label("My own choice")).to_be_checked()
    says(command, "SST5")
    address_of(page, "task=SST5")
    page.get_by_label("SentEval, the full list").check()
    says(command, "--tasks MR,SST5,TREC --protocol senteval")
    address_of(page, "protocol=senteval", "suite=senteval")
    page.get_by_label("My own choice").check()
    says(command, "--tasks MR,SST5,TREC --protocol senteval")
    expect(page.get_by_label("My own choice")).to_be_checked()

    page = visitor(place).open("evaluate?encoder=random:32&task=SST5,TREC&seeds=3")
    says(page.locator("#plan"), "6 results, 3 already stored", "--seeds 3")
    says(page.locator("#results tbody tr"), re.compile(r"± \d+\.\d\d over 3 seeds"))
    page.locator("#cost").click()
    says(page.locator("#estimate"), "unknown until it runs")


def test_each_part_of_a_run_is_shown(visitor, place, desk):
    """The running one with a bar of its own, a failed one with its error and a way to retry."""
    run, runs = (
        queue_evaluation(desk, ["random:32"], ["MR", "SST5", "TREC"], seed=7, seeds=2),
        desk.store.runs,
    )
    labels = job_of(runs.get(run)).units()
    runs.start(run, 1, "local-0", labels)
    runs.end_unit(run, 0, 12.0)
    runs.end_unit(run, 1, 1.0, "Memory ran out.", "Close other programs.")
    runs.progress(run, 1, 0.4, labels[2])
    page = visitor(place).open(f"evaluate?run={run}")
    units = page.locator("#following-units li")
    says(units.first, "SST5 · random:32 · seed 7", "running")
    bar = page.locator("#following [role=progressbar]").last
    expect(bar).to_have_attribute("aria-valuenow", "40")
    units.filter(has_text="Memory ran out.").get_by_role(
        "button", name="Try MR · random:32 · seed 8 again"
    ).click()
    says(page.locator("body"), "will be available again after this run")
    runs.progress(run, 1, 0.8, labels[2])
    expect(bar).to_have_attribute("aria-valuenow", "80")
    runs.finish(run, 1, "cancelled")
    says(page.locator("#following"), "cancelled")
    runs.retry(run)  # as another tab does
    says(page.locator("#following"), "queued")
    runs.cancel(run)
