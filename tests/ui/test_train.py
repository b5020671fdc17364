"""The page Train: a form that says the command, the cost and what is wrong, and a run for real."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.fakes.workers import work_off
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS

TINY = "new:layers=1,hidden=16,heads=2,vocab=400"
QUICK = (
    f"train?preset=own&base={TINY}&train=starter&dev=starter-pairs&steps=20&dev_every=10"
    "&batch_size=16&learning_rate=0.001"
)
COMMAND = "#command pre >> nth=0"
"""That of this machine; the one for several is folded below it."""


def fill_unfolded(box, text):
    """Fill a box of a fold that has just opened, as often as it takes.

    Gradio draws a fold when it first opens, and for some milliseconds, more on a busy machine,
    empties what a script has typed there. Nobody types that soon.
    """
    for _ in range(20):
        box.fill(text)
        box.page.wait_for_timeout(300)
        if box.input_value() == text:
            return


@pytest.fixture
def page(visitor, place):
    """The form, filled with the first preset."""
    opened = visitor(place).open("train")
    expect(opened.locator(COMMAND)).to_be_visible()
    address_of(opened, "train=starter")  # written once the form is filled
    return opened


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_it_works_as_it_opens(visitor, place, size, dark):
    """The starter set, MiniLM, a preset for this machine, and the command of it."""
    visit = visitor(place, size=size, dark=dark)
    page = visit.open("train")
    expect(page.locator(COMMAND)).to_have_text(
        "theodolite train unsup minilm --train starter --out unsup-minilm --limit 20000 "
        "--dev starter-pairs --dev-every 25"
    )
    visit.picture(f"train-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()


def test_the_command_follows_and_the_address_keeps_it(page, visitor, place):
    """A number as it was typed; the preset is then one's own; another tab shows the same."""
    page.get_by_label("Temperature").fill("0.1")
    page.get_by_label("Peak learning rate").fill("5e-5")
    expect(page.locator(COMMAND)).to_contain_text("--learning-rate 5e-5")
    expect(page.locator(COMMAND)).to_contain_text("--temperature 0.1")
    expect(page.locator("#preset input")).to_have_value("My own settings")
    shown = address_of(page, "temperature=0.1", "learning_rate=5e-5", "preset=own")
    command = page.locator(COMMAND).inner_text()
    again = visitor(place).open(shown)
    expect(again.locator(COMMAND)).to_have_text(command)
    expect(again.get_by_label("Peak learning rate")).to_have_value("5e-5")


def test_the_command_is_copied(page):
    """As it stands, without the prompt."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_function(  # again where the command was written anew in that moment
        """() => {
          const button = document.querySelector("#command button");
          if (button?.textContent !== "Copied") button?.click();
          return button?.textContent === "Copied";
        }""",
        polling=300,
    )
    command = page.locator(COMMAND).inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == command


def test_only_what_applies_is_asked(page):
    """By objective: hard negatives, what follows, masked tokens; and data that fit it."""
    expect(page.get_by_label("Temperature")).to_be_visible()
    page.get_by_label("Masked language modelling").check()
    expect(page.get_by_label("Temperature")).to_be_hidden()
    page.get_by_role("radio", name="Supervised SimCSE: pairs").check()
    expect(page.get_by_label("Use hard negatives")).to_be_visible()
    expect(page.locator(COMMAND)).to_contain_text("train sup minilm")
    page.locator("#dataset input").click()
    options = page.get_by_role("option")
    expect(options.filter(has_text="starter-pairs")).to_be_visible()
    assert options.filter(has_text="starter-topics").count() == 0


def test_a_slip_is_said_and_nothing_is_lost(page, desk):
    """While one types and when one starts; the fields stay as they are."""
    before = len(desk.store.runs.list())
    page.get_by_label("Batch size").fill("48")
    page.get_by_label("Temperature").fill("0")
    expect(page.locator("#said")).to_contain_text("The temperature cannot be 0")
    page.locator("#start").click()
    expect(page.get_by_role("alert")).to_contain_text("The temperature cannot be 0")
    expect(page.get_by_label("Batch size")).to_have_value("48")
    page.get_by_label("Temperature").fill("1e")
    expect(page.locator("#said")).to_contain_text("The temperature cannot be '1e'")
    page.get_by_label("Temperature").fill("0.2")
    expect(page.locator(COMMAND)).to_contain_text("--batch-size 48")
    assert len(desk.store.runs.list()) == before


def test_a_preset_of_the_paper_fills_the_form(page):
    """Table A.1: BERT base, unsupervised: 64 sentences at 3e-5 for an epoch."""
    page.locator("#preset input").click()
    page.get_by_role("option", name="SimCSE's paper: RoBERTa base, unsupervised").click()
    expect(page.get_by_label("Batch size")).to_have_value("512")
    expect(page.get_by_label("Peak learning rate")).to_have_value("1e-5")
    expect(page.locator(COMMAND)).to_contain_text("hf:roberta-base")
    address_of(page, "preset=paper-unsup-roberta-base")


def test_a_new_model_is_spelled_out(page):
    """Its sizes are asked; heads that do not divide it are refused."""
    page.get_by_label("A new small BERT").check()
    expect(page.locator(COMMAND)).to_contain_text("new:layers=4,hidden=256,heads=4")
    page.locator("#new-heads input, #new-heads textarea").fill("3")
    expect(page.locator("#said")).to_contain_text("3 heads do not divide")


def test_a_file_that_does_not_fit_is_said_before_the_run(visitor, place, tmp_path):
    """Supervised training on single lines: the run is not queued."""
    lines = tmp_path / "lines.txt"
    lines.write_text("One sentence.\nAnother one.\n", encoding="utf-8")
    page = visitor(place).open(f"train?preset=own&objective=sup&train={lines}&dev=none")
    expect(page.locator(COMMAND)).to_contain_text("lines.txt")
    page.locator("#start").click()
    expect(page.get_by_role("alert")).to_contain_text("lines.txt")


def test_a_file_is_taken_in(page, tmp_path):
    """It becomes a data set and is chosen at once."""
    lines = tmp_path / "harbour.txt"
    lines.write_text("The harbour is full.\nNo ship can leave.\n", encoding="utf-8")
    page.get_by_label("Upload a file").check()
    page.locator("#upload input[type=file]").set_input_files(lines)
    expect(page.locator(COMMAND)).to_contain_text("--train upload:harbour")


def test_several_values_are_one_sweep(page, desk):
    """What they make is shown before, with its command; the start leads to Runs."""
    page.get_by_role("button", name="Try several values at once").click()
    values = page.locator("#sweep-values textarea")
    fill_unfolded(values, "temprature = 0.1")
    expect(page.get_by_role("alert")).to_contain_text("no field 'temprature'")
    values.fill("temperature = 0.05, 0.1\nseed = 1, 2, 3")
    expect(page.locator("#sweep-preview")).to_contain_text("6 runs")
    expect(page.locator("#sweep-preview pre")).to_contain_text("--set temperature=0.05,0.1")
    page.locator("#start-sweep").click()
    page.wait_for_url("**/runs?*")
    run = desk.store.runs.list()[0]
    assert (run["kind"], len(run["spec"]["children"])) == ("sweep", 6)
    desk.store.runs.cancel(run["id"])


def test_a_model_is_trained_for_real(visitor, place, desk):
    """From the estimate to the encoder: a tiny BERT on the starter set."""
    page = visitor(place).open(QUICK)
    expect(page.locator(COMMAND)).to_contain_text(TINY)
    page.locator("#cost").click()
    expect(page.locator("#estimate")).to_contain_text("20 of", timeout=120_000)
    page.locator("#start").click()
    page.wait_for_url("**/runs?*", timeout=60_000)
    run = desk.store.runs.list()[0]
    expect(page.locator("#runs .t-open")).to_contain_text("waiting for its turn")
    work_off(desk, run["id"])
    row = page.locator("#runs .t-open")
    expect(row).to_contain_text("20 updates")
    expect(page.locator("#chart-score .point")).to_have_count(3)
    row.get_by_role("link", name="Evaluate").click()
    expect(page.locator("#encoders input:checked")).to_have_count(1)


def test_visitors_have_the_command_alone(visitor, showcase):
    """No start, no upload, no path; the command still follows."""
    page = visitor(showcase).open("train")
    expect(page.locator(COMMAND)).to_be_visible()
    for gone in ("#start", "#cost", "#upload", "#file", "#sweep"):
        expect(page.locator(gone)).to_be_hidden()
