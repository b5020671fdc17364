"""The jobs page: runs as they are, and what a person can do about them."""

import pytest
from playwright.sync_api import expect

from tests.ui.steps import HOSTILE, Held, says, served, stays_text
from theodolite.app.workspace import Workspace


@pytest.fixture
def run(workspace):
    """A run that stands at one of two parts, with markup in its title and log."""
    runs = workspace.store.runs
    run_id = runs.create("evaluate", {"encoders": [], "tasks": []}, title=HOSTILE)
    runs.start(run_id, runs.get(run_id)["attempt"], "local-0", ["first part", "second part"])
    runs.end_unit(run_id, 0, 1.5)
    workspace.store.logs.folder.mkdir(exist_ok=True)
    workspace.store.logs.path(run_id).write_text(f"reading\n{HOSTILE}\n", encoding="utf-8")
    yield run_id
    runs.cancel(run_id)


def test_a_run_is_followed_to_its_end_and_removed(visit, workspace, run):
    """Nothing is pressed: progress, log and what went wrong come by themselves; text stays text.

    Whoever stands on a button with the keyboard still does when the page has moved on.
    """
    page = visit.open(f"jobs?run={run}")
    first, runs = page.locator(".t-runs li.t-open"), workspace.store.runs
    says(page.get_by_role("log"), HOSTILE)
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    stays_text(page)
    visit.fits()
    first.locator("[data-act=cancel]").focus()
    runs.end_unit(run, 1, 0.5, "No space is left.")
    says(first, "1 of 2 done, 1 failed")
    assert page.evaluate("document.activeElement.dataset.act") == "cancel"
    runs.finish(run, runs.get(run)["attempt"], "done", "", "No space is left.")
    says(first, "partly failed", "No space is left.")
    first.get_by_text("Remove").click()
    expect(page.get_by_label("Run", exact=True)).to_have_count(0)
    assert run not in runs.ids()


def test_runs_are_cancelled_retried_and_moved_to_the_front(visit, workspace, run):
    """The state follows, what is done stays done; there is something to overtake, or no button."""
    page = visit.open(f"jobs?run={run}")
    mine, runs = page.locator(".t-runs li.t-open"), workspace.store.runs
    mine.locator("[data-act=cancel]").press("Enter")
    says(mine, "cancelled")
    expect(mine.locator("[data-act=retry]")).not_to_be_focused()  # who presses it again
    mine.locator("[data-act=retry]").click()
    says(mine, "queued")
    assert (runs.get(run)["state"], runs.get(run)["done"]) == ("queued", 1)
    other = runs.create("evaluate", {"encoders": ["b"], "tasks": []}, "b")
    page.get_by_role("button", name="Run b next").click()
    says(page.locator("body"), "has priority -1")
    assert runs.get(other)["priority"] == -1
    runs.cancel(run)
    expect(page.get_by_text("Run next")).to_have_count(0)
    runs.cancel(other)


def test_nobody_looks_again_before_the_page_is_filled(visit, run):
    """An answer to that which came late would empty the page."""
    held = Held(visit.page, "*/queue/join*")
    visit.page.clock.install()
    with visit.page.expect_request("**/queue/join*"):
        page = visit.open(f"jobs?run={run}")
    page.clock.run_for("01:00")  # many times the time after which it looks again
    assert len(held.requests) == 1
    held.let_go()
    page.clock.resume()
    says(page.locator(".t-runs li.t-open"), "1 of 2 done")
    page.close()  # its clock would stay with it


def test_a_store_that_is_removed_meanwhile_is_said(visitor, tmp_path):
    """By an open page by itself, once, and by everything that is pressed; put back, all is well."""
    made = Workspace(tmp_path / "store")
    run = made.store.runs.create("evaluate", {"encoders": [], "tasks": []}, title="waits")
    with served(made) as address:
        page = visitor(address).open("jobs")
        says(page.locator(".t-runs li"), "waits")
        made.store.folder.rename(tmp_path / "away")
        expect(page.get_by_text("was removed or replaced")).to_be_visible()
        page.locator("[data-act=cancel]").click()
        expect(page.get_by_role("alert").filter(has_text="Put it back")).to_be_visible()
        (tmp_path / "away").rename(made.store.folder)
        assert made.store.runs.get(run)["state"] == "queued"


def test_the_workers_stand_beside_the_jobs(visit, workspace, run, monkeypatch):
    """Who is at the run, as text; a worker that comes is seen without a reload."""
    page = visit.open("workers")
    says(page.locator("#workers"), "No worker is running")
    workspace.store.workers.beat("local-0")
    says(page.locator("#workers"), "local-0", HOSTILE)
    stays_text(page)
    monkeypatch.setenv("THEODOLITE_FLEET", "postgresql://lab@127.0.0.1:1/fleet")
    page.get_by_role("link", name="Jobs", exact=True).last.click()
    says(page.locator(".t-status"), "here; those of the fleet are on Workers")
