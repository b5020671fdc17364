"""The pages Train decoder and Diagnose: from the form to a decoder, and what it gives back."""

from __future__ import annotations

import csv
import shutil

import pytest
from playwright.sync_api import expect

from tests.fakes.diagnoses import diagnosis
from tests.fakes.stores import starter_store
from tests.fakes.workers import work_off
from tests.ui.addresses import address_of, gone_from_address
from tests.ui.conftest import LOOKS
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


@pytest.fixture
def page(visitor, place):
    """The form as it opens."""
    opened = visitor(place).open("train-decoder")
    expect(opened.locator("#command pre")).to_be_visible()
    return opened


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_a_training_is_followed(visitor, place, running, size, dark):
    """Its losses, and what it says so far with the differences marked."""
    visit = visitor(place, size=size, dark=dark)
    page = visit.open(f"train-decoder?run={running}")
    expect(page.locator("#curve .scatterlayer .js-line")).to_have_count(2)
    sample = page.locator(".t-samples li").first
    expect(sample.locator("ins")).to_have_text("stove")
    expect(sample.locator("del")).to_have_text("fire")
    expect(page.locator(".t-samples li").nth(1)).to_contain_text("<b>Rain</b> fell.")
    expect(page.locator("#decoders .t-open")).to_contain_text("60 of 400 updates")
    expect(page.locator("#said")).to_contain_text("It takes")
    expect(page.locator("#installed tr", has_text="random:64")).to_contain_text("a Transformer")
    visit.picture(f"train-decoder-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()


def test_it_grows_while_one_looks(visitor, place, desk, running):
    """New losses move into the same picture, and the samples change."""
    page = visitor(place).open(f"train-decoder?run={running}")
    expect(page.locator("#samples")).to_contain_text("after 60 updates")
    expect(page.locator("#curve .scatterlayer .js-line")).to_have_count(2)
    page.evaluate("document.querySelector('#curve .main-svg').dataset.mark = 'mine'")
    learn(desk, running, 4, 4)
    expect(page.locator("#samples")).to_contain_text("after 80 updates")
    assert page.evaluate("document.querySelector('#curve .main-svg').dataset.mark") == "mine"


def test_an_encoder_that_cannot_be_read_is_said_beside_the_form(visitor, place):
    """Before anything is started; there is no command for it."""
    page = visitor(place).open("train-decoder?encoder=nonsense")
    expect(page.locator("#said")).to_contain_text("Unknown source 'nonsense'")
    expect(page.locator("#command pre")).to_have_count(0)


def test_it_is_stopped_and_keeps_the_best(visitor, place, desk, running):
    """The word reaches the run."""
    page = visitor(place).open(f"train-decoder?run={running}")
    page.get_by_role("button", name="Stop decoder of random:64 on starter now").click()
    expect(page.locator("#decoders .t-open")).to_contain_text("stopping")
    assert desk.store.runs.get(running)["asked"] == STOP


def test_the_command_follows_and_the_address_keeps_it(page, visitor, place):
    """The preset is then one's own; another tab shows the same."""
    page.get_by_label("Max words").fill("9")
    page.get_by_label("Cut longer sentences").uncheck()
    command = page.locator("#command pre")
    expect(command).to_contain_text("--words 9")
    expect(command).to_contain_text("--no-clauses")
    expect(page.locator("#preset input")).to_have_value("My own settings")
    shown = address_of(page, "words=9", "clauses=false")
    output = command.inner_text()
    again = visitor(place).open(shown)
    expect(again.locator("#command pre")).to_have_text(output)


def test_a_preset_of_the_paper_fills_the_form(page):
    """Fifteen words, the LSTM with a mixture of softmaxes, nothing cut into clauses."""
    page.locator("#preset input").click()
    page.get_by_role("option", name="Vec2Sent, as the paper says").click()
    expect(page.get_by_label("Max words")).to_have_value("15")
    command = page.locator("#command pre")
    expect(command).to_contain_text("--architecture lstm-mos")
    expect(command).to_contain_text("--no-clauses")
    address_of(page, "preset=paper")


def test_a_handler_is_called_again_only_when_the_server_has_taken_the_call_before(visitor, place):
    """Or the answer to the older call may come last: opening the form changes several controls."""
    opened, calls = visitor(place), []

    def note(request, happened):
        if "/queue/join" in request.url:
            calls.append((request.post_data_json["fn_index"], happened))

    opened.listen("request", lambda request: note(request, "made"))
    opened.listen("response", lambda response: note(response.request, "taken"))
    page = opened.open("train-decoder")
    expect(page.locator("#command pre")).to_be_visible()
    page.get_by_label("Epochs").fill("0")
    expect(page.locator("#said")).to_contain_text("The epochs cannot be 0")
    for handler in {handler for handler, _ in calls}:
        course = [happened for found, happened in calls if found == handler]
        assert course == ["made", "taken"] * (len(course) // 2)
    assert len(calls) > 2 * len({handler for handler, _ in calls})  # one of them more than once


def test_a_slip_is_said_and_nothing_is_lost(page, desk):
    """While one types and when one starts; the fields stay as they are."""
    before = len(desk.store.runs.list())
    page.get_by_label("Epochs").fill("0")
    expect(page.locator("#said")).to_contain_text("The epochs cannot be 0")
    page.locator("#start").click()
    expect(page.get_by_role("alert")).to_contain_text("The epochs cannot be 0")
    page.get_by_label("Epochs").fill("2x")
    expect(page.locator("#said")).to_contain_text("The epochs cannot be '2x'")
    expect(page.get_by_label("Epochs")).to_have_value("2x")
    assert len(desk.store.runs.list()) == before


def test_a_decoder_is_trained_for_real(visitor, place, desk):
    """From the estimate to the page Decode."""
    page = visitor(place).open(QUICK)
    expect(page.locator("#command pre")).to_contain_text("--limit 300")
    page.locator("#cost").click()
    expect(page.locator("#estimate")).to_contain_text("260", timeout=120_000)
    page.locator("#start").click()
    row = page.locator("#decoders .t-open")
    expect(row).to_contain_text("waiting for its turn", timeout=60_000)
    run = desk.store.runs.list()[0]
    assert work_off(desk, run["id"])["state"] == "done"
    expect(page.locator(".t-samples li")).to_have_count(5)
    row.get_by_role("link", name="Decode:").click()
    page.wait_for_url("**/decode?encoder=*")
    expect(page.locator("#encoders input:checked")).to_have_count(1)


def test_a_decoder_is_removed_after_a_second_word(visitor, place, desk, decoder_folder):
    """By keyboard; first it is said what becomes of the files."""
    home = desk.store.decoders.folder / "gone-soon"
    decoders.register(desk, shutil.copytree(decoder_folder, home))
    page = visitor(place).open("train-decoder")
    row = page.locator("#installed tr", has_text="gone-soon")
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(row.locator("details")).to_contain_text("permanently deleted")
    assert home.exists()
    row.get_by_role("button", name="Delete its files: gone-soon").press("Enter")
    expect(page.get_by_role("status").filter(has_text="gone-soon")).to_contain_text(
        "Its files are deleted"
    )
    expect(row).to_have_count(0)
    assert not home.exists()
    mine = page.locator("#installed tr", has_text="random:64").first
    mine.locator("summary").click()
    expect(mine.locator("details")).to_contain_text("is yours and is not touched")


def test_the_card_of_a_decoder_is_read_on_the_page(visitor, place):
    """By keyboard; the address keeps which, a second press closes it, an old link is no trouble."""
    page = visitor(place).open("train-decoder?card=long-gone")
    read = page.get_by_role("button", name="Read the card of").last
    read.press("Enter")
    expect(page.locator("#card h2")).to_contain_text("A decoder for")
    shown = address_of(page, "card=")
    again = visitor(place).open(shown)
    expect(again.locator("#card table").first).to_contain_text("architecture")
    expect(again.locator("#card h2")).to_be_in_viewport()
    read.press("Enter")
    expect(page.locator("#card h2")).to_have_count(0)
    gone_from_address(page, "card=")


def test_visitors_have_the_command_alone(visitor, showcase, running):
    """No start, no stop; they see what is learned."""
    page = visitor(showcase).open(f"train-decoder?run={running}")
    expect(page.locator("#command pre")).to_be_visible()
    expect(page.locator(".t-samples li")).to_have_count(2)
    for gone in ("#start", "#cost"):
        expect(page.locator(gone)).to_be_hidden()
    assert page.locator("#decoders .t-verbs button").count() == 0
    expect(page.locator("#installed tr", has_text="random:64")).to_be_visible()
    buttons = page.locator("#installed td button:not([data-act=card]), #installed summary")
    assert buttons.count() == 0
    page.get_by_role("button", name="Read the card of").first.click()
    expect(page.locator("#card h2")).to_contain_text("A decoder for")


# Diagnose ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(desk):
    """Two diagnoses; the newer is of random:64."""
    for encoder, level in (("random:32", 20.0), ("random:64", 40.0)):
        desk.keep_result(to_result(diagnosis(encoder, level), "abc"))


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_a_diagnosis_is_shown(visitor, place, measured, size, dark):
    """Figures beside the baselines, by length, samples."""
    visit = visitor(place, size=size, dark=dark)
    page = visit.open("diagnose")
    row = page.locator("#figures tr", has_text="Token F1")
    for number in ("40.0", "37.5 to 42.5", "32.0", "12.0", "above both"):
        expect(row).to_contain_text(number)
    expect(page.locator("#figures tr", has_text="Id/PERM")).not_to_contain_text("above")
    expect(page.locator("#by-length .scatterlayer .js-line")).to_have_count(3)
    expect(page.locator(".t-samples li")).to_have_count(5)
    expect(page.locator(".t-samples li").last).to_contain_text("<b>Bold</b> words & more of them")
    expect(page.locator("#across")).to_contain_text("A rank correlation needs 6")
    visit.picture(f"diagnose-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()


def test_another_diagnosis_and_another_figure(visitor, place, measured):
    """The address keeps which; the picture follows."""
    page = visitor(place).open("diagnose?encoder=random:32")
    expect(page.locator("#figures")).to_contain_text("random:32")
    page.locator("#metric input").click()
    page.get_by_role("option", name="BLEU", exact=True).click()
    expect(page.locator("#by-length")).to_contain_text("BLEU")
    address_of(page, "result=")


def test_every_figure_is_a_line_of_a_file(visitor, place, measured):
    """With system, length and interval."""
    page = visitor(place).open("diagnose")
    expect(page.locator("#figures tr", has_text="Token F1")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="All figures as CSV").click()
    with saved.value.path().open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    (main,) = [
        row
        for row in rows
        if (row["giver"], row["length"], row["figure"]) == ("decoder", "all", "token_f1")
    ]
    assert [float(main[name]) for name in ("value", "low", "high")] == [40.0, 37.5, 42.5]


def test_a_diagnosis_is_queued_and_then_shown(visitor, place, desk, measured):
    """It says where it is, and takes the place of the one before when it is done."""
    page = visitor(place).open("diagnose?encoder=random:64")
    expect(page.locator("#command pre")).to_have_text("theodolite diagnose random:64")
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("How many").fill("x")
    page.locator("#start").click()
    expect(page.get_by_role("alert")).to_contain_text("'x' is not a number of sentences")
    page.get_by_label("How many").fill("50")
    expect(page.locator("#command pre")).to_contain_text("--sentences 50")
    page.locator("#start").click()
    expect(page.locator("#running")).to_contain_text("diagnosis of random:64", timeout=60_000)
    run = desk.store.runs.list(kinds=["diagnose"])[0]
    assert work_off(desk, run["id"])["state"] == "done"
    expect(page.locator("#figures")).to_contain_text("Measured on 20 sentences", timeout=60_000)
