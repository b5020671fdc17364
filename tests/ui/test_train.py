"""The page Train: a form that says the command, the cost and what is wrong, and a run for real."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.fakes.workers import work_off
from tests.ui.steps import address_of, says

TINY = "new:layers=1,hidden=16,heads=2,vocab=400"
QUICK = (
    f"train?preset=own&base={TINY}&train=starter&dev=starter-pairs&steps=20&dev_every=10"
    "&batch_size=16&learning_rate=0.001"
)
COMMAND = "#command pre >> nth=0"
"""That of this machine; the one for several is folded below it."""


@pytest.fixture
def page(visitor, place):
    """The form, filled with the first preset."""
    opened = visitor(place).open("train")
    expect(opened.locator(COMMAND)).to_be_visible()
    address_of(opened, "train=starter")  # written once the form is filled
    return opened


def test_the_command_follows_what_is_chosen(page, visitor, place):
    """It opens with a preset for this machine; a change makes the settings one's own."""
    expect(page.locator(COMMAND)).to_have_text(
        "theodolite train unsup minilm --train starter --out unsup-minilm --limit 20000 "
        "--dev starter-pairs --dev-every 25"
    )
    page.get_by_label("Temperature").fill("0.1")
    page.get_by_label("Peak learning rate").fill("5e-5")
    says(page.locator(COMMAND), "--learning-rate 5e-5", "--temperature 0.1")
    expect(page.locator("#preset input")).to_have_value("My own settings")
    address_of(page, "temperature=0.1", "learning_rate=5e-5", "preset=own")

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

    page.locator("#preset input").click()
    page.get_by_role("option", name="SimCSE's paper: RoBERTa base, unsupervised").click()
    expect(page.get_by_label("Batch size")).to_have_value("512")
    says(page.locator(COMMAND), "hf:roberta-base")
    address_of(page, "preset=paper-unsup-roberta-base")


def test_only_what_applies_is_asked(visitor, place, tmp_path):
    """By objective: hard negatives, what follows, masked tokens; and data that fit it."""
    visit = visitor(place)
    page = visit.open("train")
    expect(page.get_by_label("Temperature")).to_be_visible()
    page.get_by_role("radio", name="Supervised SimCSE: pairs").check()
    expect(page.get_by_label("Use hard negatives")).to_be_visible()
    says(page.locator(COMMAND), "train sup minilm")
    page.get_by_role("radio", name="Unsupervised SimCSE").check()
    page.get_by_label("A new small BERT").check()
    says(page.locator(COMMAND), "new:layers=4,hidden=256,heads=4")
    page.locator("#new-heads input, #new-heads textarea").fill("3")
    says(page.locator("#said"), "3 heads do not divide")
    lines = tmp_path / "harbour.txt"
    lines.write_text("The harbour is full.\nNo ship can leave.\n", encoding="utf-8")
    page.get_by_label("Upload a file").check()
    page.locator("#upload input[type=file]").set_input_files(lines)
    expect(page.locator("#dataset input")).to_have_value("upload:harbour")
    visit.fits("train")


def test_a_slip_is_said_and_nothing_is_lost(page, desk):
    """While one types and when one starts; the fields stay as they are, no run is queued."""
    before = len(desk.store.runs.list())
    page.get_by_label("Batch size").fill("48")
    page.get_by_label("Temperature").fill("0")
    says(page.locator("#said"), "The temperature cannot be 0")
    page.locator("#start").click()
    says(page.get_by_role("alert"), "The temperature cannot be 0")
    expect(page.get_by_label("Batch size")).to_have_value("48")
    page.get_by_label("Temperature").fill("0.2")
    says(page.locator(COMMAND), "--batch-size 48")
    assert len(desk.store.runs.list()) == before


def test_several_values_are_one_sweep(page, desk):
    """What they make is shown before, with its command; the start leads to Runs."""
    page.get_by_role("button", name="Try several values at once").click()
    values = page.locator("#sweep-values textarea")
    page.wait_for_function(  # Gradio may empty a fold that it still draws: again until it is read
        """(text) => {
          const box = document.querySelector("#sweep-values textarea");
          if (!box || box.value === text) return document.querySelector("[role=alert]");
          box.value = text;
          box.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        arg="temprature = 0.1",
    )
    says(page.get_by_role("alert"), "no field 'temprature'")
    values.fill("temperature = 0.05, 0.1\nseed = 1, 2, 3")
    says(page.locator("#sweep-preview"), "6 runs", "--set temperature=0.05,0.1")
    page.locator("#start-sweep").click()
    page.wait_for_url("**/runs?*")
    run = desk.store.runs.list()[0]
    assert (run["kind"], len(run["spec"]["children"])) == ("sweep", 6)
    desk.store.runs.cancel(run["id"])


def test_a_model_is_trained_for_real(visitor, place, desk):
    """From the estimate to the encoder: a tiny BERT on the starter set."""
    page = visitor(place).open(QUICK)
    says(page.locator(COMMAND), TINY)
    page.locator("#cost").click()
    says(page.locator("#estimate"), "20 of")
    page.locator("#start").click()
    page.wait_for_url("**/runs?*")
    row = page.locator("#runs .t-open")
    says(row, "waiting for its turn")
    work_off(desk, desk.store.runs.list()[0]["id"])
    says(row, "20 updates")
    expect(page.locator("#chart-score .point")).to_have_count(3)
    row.get_by_role("link", name="Evaluate").click()
    expect(page.locator("#encoders input:checked")).to_have_count(1)
