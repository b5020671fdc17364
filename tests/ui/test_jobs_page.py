"""The jobs page: runs as they are, and what a person can do about them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import served
from theodolite.app.pages.jobs.page import POLL_SECONDS
from theodolite.app.workspace import Workspace

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
def run(workspace):
    """A run that stands at one of two parts, with markup in its title and log."""
    runs = workspace.store.runs
    run_id = workspace.store.runs.create("evaluate", {"encoders": [], "tasks": []}, title=HOSTILE)
    runs.start(run_id, runs.get(run_id)["attempt"], "local-0", ["first part", "second part"])
    runs.end_unit(run_id, 0, 1.5)
    workspace.store.logs.folder.mkdir(exist_ok=True)
    workspace.store.logs.path(run_id).write_text(f"reading\n{HOSTILE}\n", encoding="utf-8")
    yield run_id
    runs.cancel(run_id)


def test_progress_and_log_are_shown_as_text(visit, run):
    """The address opens the run; markup stays text."""
    page = visit.open(f"jobs?run={run}")
    expect(page.get_by_role("log")).to_contain_text(HOSTILE)
    expect(page.locator(".t-runs li.t-open")).to_contain_text("1 of 2 done")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    assert page.locator("img").count() == 0


def test_a_run_is_cancelled_and_retried(visit, workspace, run):
    """Cancel, then retry: the state follows, what is done stays done."""
    page = visit.open("jobs")
    page.locator("[data-act=cancel]").click()
    expect(page.locator(".t-runs li").first).to_contain_text("cancelled")
    assert workspace.store.runs.get(run)["state"] == "cancelled"
    page.locator("[data-act=retry]").first.click()
    expect(page.locator(".t-runs li").first).to_contain_text("queued")
    assert workspace.store.runs.get(run)["done"] == 1


def test_a_run_that_failed_in_part_says_so_and_can_be_removed(visit, workspace, run):
    """With what went wrong first; removed it leaves the list, and its details close."""
    attempt = workspace.store.runs.get(run)["attempt"]
    workspace.store.runs.end_unit(run, 1, 0.5, "No space is left.")
    page = visit.open(f"jobs?run={run}")
    first = page.locator(".t-runs li.t-open")
    expect(first).to_contain_text("running")
    expect(first.get_by_text("Remove")).to_have_count(0)
    workspace.store.runs.finish(run, attempt, "done", "1 of 2 failed.", "No space is left.")
    expect(first).to_contain_text("partly failed")
    expect(first).to_contain_text("1 of 2 done, 1 failed")
    expect(first).to_contain_text("No space is left.")
    expect(page.get_by_label("Run", exact=True)).to_contain_text("Events and log take")
    first.get_by_text("Remove").click()
    expect(page.get_by_role("status").filter(has_text="Removed")).to_be_visible()
    expect(page.get_by_label("Run", exact=True)).to_have_count(0)
    assert run not in workspace.store.runs.ids()


def test_an_open_page_follows_the_run(visit, workspace, run):
    """Nothing is pressed: the page sees the end by itself."""
    page = visit.open("jobs")
    expect(page.locator(".t-runs li").first).to_contain_text("running")
    attempt = workspace.store.runs.get(run)["attempt"]
    workspace.store.runs.finish(run, attempt, "failed", error="It broke.", hint="Mend it.")
    expect(page.locator(".t-runs li").first).to_contain_text("It broke.")


def test_a_waiting_run_is_moved_to_the_front(visit, workspace, run):
    """The button stands only where there is something to overtake."""
    ids = [workspace.store.runs.create("evaluate", {"encoders": [n], "tasks": []}, n) for n in "ab"]
    page = visit.open("jobs")
    page.get_by_role("button", name="Run b next").click()
    expect(page.get_by_role("status").filter(has_text="Next in the queue")).to_be_visible()
    assert workspace.store.runs.get(ids[1])["priority"] == -1
    workspace.store.runs.cancel(ids[0])
    expect(page.get_by_text("Run next")).to_have_count(0)
    workspace.store.runs.cancel(ids[1])


def test_nobody_looks_again_before_the_page_is_filled(visit, run):
    """An answer to that which came late would empty the page."""
    requests = []
    visit.page.route("**/queue/join*", lambda route: requests.append(route))
    with visit.page.expect_request("**/queue/join*"):
        page = visit.open(f"jobs?run={run}")
    page.wait_for_timeout(2000 * POLL_SECONDS)
    assert len(requests) == 1
    requests[0].continue_()
    expect(page.locator(".t-runs li.t-open")).to_contain_text("1 of 2 done")
    page.unroute("**/queue/join*")


def test_the_focus_outlives_a_change_of_the_list(visit, workspace, run):
    """Whoever stands on a button with the keyboard still does when the page has moved on."""
    page = visit.open("jobs")
    page.locator("[data-act=cancel]").focus()
    workspace.store.runs.end_unit(run, 1, 0.5)
    expect(page.locator(".t-runs li").first).to_contain_text("2 of 2 done")
    assert page.evaluate("document.activeElement.dataset.act") == "cancel"


def test_a_store_that_is_removed_meanwhile_is_said(visitor, tmp_path):
    """By an open page by itself, once, and by everything that is pressed; put back, all is well."""
    made = Workspace(tmp_path / "store")
    run = made.store.runs.create("evaluate", {"encoders": [], "tasks": []}, title="waits")
    with served(made) as address:
        page = visitor(address).open("jobs")
        expect(page.locator(".t-runs li")).to_contain_text("waits")
        made.store.folder.rename(tmp_path / "away")
        expect(page.get_by_text("was removed or replaced")).to_be_visible()
        page.locator("[data-act=cancel]").click()
        expect(page.get_by_role("alert").filter(has_text="Put it back")).to_be_visible()
        (tmp_path / "away").rename(made.store.folder)
        assert made.store.runs.get(run)["state"] == "queued"
    made.close()


def test_of_a_fleet_only_the_workers_here_are_counted(visit, monkeypatch):
    """The others are a click away."""
    monkeypatch.setenv("THEODOLITE_FLEET", "postgresql://lab@127.0.0.1:1/fleet")
    page = visit.open("jobs")
    expect(page.locator(".t-status")).to_contain_text("here; those of the fleet are on Workers")


def test_the_workers_stand_beside_the_jobs(visit, workspace, run):
    """Who is at the run, as text; a worker that comes is seen without a reload."""
    page = visit.open("workers")
    expect(page.locator("#workers")).to_contain_text("No worker is running")
    workspace.store.workers.seen("local-0")
    expect(page.locator("#workers td").first).to_contain_text("local-0")
    expect(page.locator("#workers")).to_contain_text(HOSTILE)
    assert page.locator("#workers img").count() == 0
    page.get_by_role("link", name="Jobs", exact=True).last.click()
    expect(page.locator(".t-runs li").first).to_contain_text(HOSTILE)
