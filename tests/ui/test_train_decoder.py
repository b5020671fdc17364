"""The pages Train decoder and Diagnose: from the form to a decoder, and what it gives back."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect

from tests.fakes.diagnoses import diagnosis
from tests.fakes.stores import starter_store
from tests.fakes.workers import work_off
from tests.ui.steps import address_of, gone_from_address, rows_saved, says
from theodolite.app import decoders
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.train.service import DecoderTraining
from theodolite.engine.decoding.diagnosis import to_result
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training.events import (
    Encoded,
    Evaluated,
    Noted,
    Started,
    Stepped,
)
from theodolite.store.run_rows import STOP

SPEC = DecoderSpec("random:64", ("starter",), "")
SAMPLES = (
    ("The old dog slept by the fire.", "The dog slept by the old stove."),
    ("<b>Rain</b> fell.", "<i>Rain fell."),
)
QUICK = (
    "train-decoder?encoder=random:32&train=starter&limit=300&held_out=40&width=32&layers=1"
    "&vocabulary=300&epochs=1&batch_tokens=256&device=cpu"
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory, decoder_folder):
    """A store of its own, with a decoder."""
    made = starter_store(tmp_path_factory.mktemp("decoder"))
    encoders.add(made, "random:32")
    decoders.register(made, decoder_folder)
    yield made
    made.close()


def say(desk, run, *events):
    """Store events as the worker does."""
    for event in events:
        data = event.to_dict()
        desk.store.events.add(run, data.pop("kind"), data)


def learn(desk, run, first, last):
    """Twenty updates and a look for each number."""
    for number in range(first, last + 1):
        step = 20 * number
        say(
            desk,
            run,
            Stepped(step, 400, 6 - step / 100, 2e-3, 1.0, 900.0, float(step), 9.0, None),
            Evaluated(step, True, loss=6.5 - step / 100, samples=SAMPLES),
        )


@pytest.fixture
def running(desk):
    """A training that has looked three times and goes on."""
    run = DecoderTraining(desk).queue(SPEC)
    desk.store.runs.start(run, 1, "local-0", ["decoder"])
    say(
        desk,
        run,
        Noted(0, "2,398 different sentences."),
        Encoded(2398, 2398, 0.0),
        Started(0, 400, 1898, 5_300_000, "cpu", "fp32", "0" * 32),
    )
    learn(desk, run, 1, 3)
    yield run
    desk.store.runs.cancel(run)


def test_a_training_is_followed_and_stopped(visitor, place, desk, running):
    """New losses move into the same picture; what it says so far has the differences marked."""
    visit = visitor(place)
    page = visit.open(f"train-decoder?run={running}")
    row, samples = page.locator("#decoders .t-open"), page.locator(".t-samples li")
    expect(page.locator("#curve .scatterlayer .js-line")).to_have_count(2)
    expect(samples.first.locator("ins")).to_have_text("stove")
    expect(samples.first.locator("del")).to_have_text("fire")
    says(samples.nth(1), "<b>Rain</b> fell.")
    says(row, "60 of 400 updates")
    visit.fits("train-decoder")
    page.evaluate("document.querySelector('#curve .main-svg').dataset.mark = 'mine'")
    learn(desk, running, 4, 4)
    says(page.locator("#samples"), "after 80 updates")
    expect(page.locator("#curve .main-svg[data-mark=mine]")).to_have_count(1)
    page.get_by_role("button", name="Stop decoder of random:64 on starter now").click()
    says(row, "stopping")
    assert desk.store.runs.get(running)["asked"] == STOP


def test_the_command_follows_and_a_slip_is_said(visitor, place, desk):
    """A preset of the paper fills the form; what is wrong is said while one types, and at a start.

    A handler is called again only when the server has taken the call before, or the answer to the
    older call may come last: opening the form changes several controls.
    """
    opened, calls = visitor(place), []

    def note(request, happened):
        if "/queue/join" in request.url:
            calls.append((request.post_data_json["fn_index"], happened))

    opened.listen("request", lambda request: note(request, "made"))
    opened.listen("response", lambda response: note(response.request, "taken"))
    before = len(desk.store.runs.list())
    page = opened.open("train-decoder")
    command, said, epochs = (
        page.locator("#command pre"),
        page.locator("#said"),
        page.get_by_label("Epochs"),
    )
    expect(command).to_be_visible()
    page.locator("#preset input").click()
    page.get_by_role("option", name="Vec2Sent, as the paper says").click()
    says(command, "--architecture lstm-mos", "--no-clauses")
    address_of(page, "preset=paper")
    epochs.fill("0")
    says(said, "The epochs cannot be 0")
    page.locator("#start").click()
    says(page.get_by_role("alert"), "The epochs cannot be 0")
    expect(epochs).to_have_value("0")
    assert len(desk.store.runs.list()) == before
    for handler in {handler for handler, _ in calls}:
        course = [happened for found, happened in calls if found == handler]
        assert course == ["made", "taken"] * (len(course) // 2)
    assert len(calls) > 2 * len({handler for handler, _ in calls})  # one of them more than once
    page = opened.open("train-decoder?encoder=nonsense")
    says(said, "Unknown source 'nonsense'")
    expect(command).to_have_count(0)


def test_a_decoder_is_trained_for_real(visitor, place, desk):
    """From the estimate to the page Decode."""
    page = visitor(place).open(QUICK)
    says(page.locator("#command pre"), "--limit 300")
    page.locator("#cost").click()
    says(page.locator("#estimate"), "260")
    page.locator("#start").click()
    row = page.locator("#decoders .t-open")
    says(row, "waiting for its turn")
    assert work_off(desk, desk.store.runs.list()[0]["id"])["state"] == "done"
    expect(page.locator(".t-samples li")).to_have_count(5)
    row.get_by_role("link", name="Decode:").click()
    page.wait_for_url("**/decode?encoder=*")
    expect(page.locator("#encoders input:checked")).to_have_count(1)


def test_a_decoder_is_read_and_removed_by_keyboard(visitor, place, desk, decoder_folder):
    """The address keeps which card; before it is removed it is said what becomes of its files."""
    home = desk.store.decoders.folder / "gone-soon"
    decoders.register(desk, shutil.copytree(decoder_folder, home))
    page = visitor(place).open("train-decoder?card=long-gone")
    read = page.get_by_role("button", name="Read the card of").last
    read.press("Enter")
    says(page.locator("#card h2"), "A decoder for")
    again = visitor(place).open(address_of(page, "card="))
    says(again.locator("#card table").first, "architecture")
    expect(again.locator("#card h2")).to_be_in_viewport()
    read.press("Enter")
    expect(page.locator("#card h2")).to_have_count(0)
    gone_from_address(page, "card=")
    row = page.locator("#installed tr", has_text="gone-soon")
    row.locator("summary").press("Enter")
    says(row.locator("details"), "permanently deleted")
    assert home.exists()
    row.get_by_role("button", name="Delete its files: gone-soon").press("Enter")
    says(page.get_by_role("status").filter(has_text="gone-soon"), "Its files are deleted")
    expect(row).to_have_count(0)
    assert not home.exists()


def test_a_diagnosis_is_shown_and_another_is_made(visitor, place, desk):
    """Figures beside the baselines, by length, samples; a new one takes its place."""
    for encoder, level in (("random:32", 20.0), ("random:64", 40.0)):
        desk.keep_result(to_result(diagnosis(encoder, level), "abc"))
    visit = visitor(place)
    page = visit.open("diagnose")
    figures = page.locator("#figures")
    says(
        figures.locator("tr", has_text="Token F1"),
        *("40.0", "37.5 to 42.5", "32.0", "12.0", "above both"),
    )
    expect(page.locator("#by-length .scatterlayer .js-line")).to_have_count(3)
    expect(page.locator(".t-samples li")).to_have_count(5)
    says(page.locator(".t-samples li").last, "<b>Bold</b> words & more of them")
    visit.fits("diagnose")
    rows = rows_saved(page, page.get_by_role("button", name="All figures as CSV"))
    wanted = ("decoder", "all", "token_f1")
    (main,) = [row for row in rows if (row["giver"], row["length"], row["figure"]) == wanted]
    assert [float(main[name]) for name in ("value", "low", "high")] == [40.0, 37.5, 42.5]

    page = visit.open("diagnose?encoder=random:64")
    expect(page.locator("#command pre")).to_have_text("theodolite diagnose random:64")
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("How many").fill("50")
    says(page.locator("#command pre"), "--sentences 50")
    page.locator("#start").click()
    says(page.locator("#running"), "diagnosis of random:64")
    run = desk.store.runs.list(kinds=["diagnose"])[0]
    assert work_off(desk, run["id"])["state"] == "done"
    says(figures, "Measured on 20 sentences")
