"""The pages of training: Train and Train a decoder, Trainings, and Diagnosis.

Forms that say the command, the cost and what is wrong; curves that follow; runs for real.
"""

import json
import shutil
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.engine.encoders.models import save_sentence_transformer
from tests.fakes.diagnoses import diagnosis
from tests.fakes.workers import say, work_off
from tests.ui.steps import (
    HOSTILE,
    NARROW,
    address_of,
    gone_from_address,
    rows_saved,
    run_in_address,
    says,
    stays_text,
)
from theodolite.app import decoders
from theodolite.app.jobs import submit
from theodolite.app.pages.data.service import keep
from theodolite.app.pages.train.job import TrainJob
from theodolite.engine.datasets.tables import preview
from theodolite.engine.decoding.diagnosis import to_result
from theodolite.engine.training import (
    Evaluated,
    Finished,
    Noted,
    Started,
    Stepped,
    TrainSpec,
)

SCORE = "#curves [aria-label^='Dev score']"
COMMAND = "#command pre >> nth=0"
"""That of this machine; the one for several is folded below it."""


def form(visit):
    """The form, filled with the first preset."""
    page = visit.open("train")
    says(page.locator(COMMAND), "theodolite train unsup minilm --train starter")
    address_of(page, "train=starter")  # written once the form is filled
    return page


def test_the_command_follows_what_is_chosen(visitor, place):
    """It opens with a preset for this machine; a change makes the settings one's own."""
    page = form(visitor(place))
    expect(page.locator("#examples")).not_to_be_empty()
    page.get_by_label("Peak learning rate").fill("5e-5")
    says(page.locator(COMMAND), "--learning-rate 5e-5")
    expect(page.locator("#preset input")).to_have_value("My own settings")
    address_of(page, "learning_rate=5e-5", "preset=own")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_function(  # again where the command was written anew in that moment
        """() => {
          const button = document.querySelector("#command button");
          if (button?.textContent !== "Copied") button?.click();
          return button?.textContent === "Copied";
        }""",
        polling=300,
    )
    assert page.evaluate("navigator.clipboard.readText()") == page.locator(COMMAND).inner_text()
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    asked, start = (page.locator(at).bounding_box() for at in ("#setting-batch_size", "#start"))
    assert asked["y"] < start["y"]  # what is pressed comes after what is filled in
    page.locator("#preset input").click()
    page.get_by_role("option", name="SimCSE's paper: RoBERTa base, unsupervised").click()
    says(page.locator(COMMAND), "hf:roberta-base", "--batch-size 512")


def test_only_what_applies_is_asked_and_a_start_leads_to_the_run(visitor, place, desk, tmp_path):
    """By objective and base; a slip is said while one types and when one starts."""
    page = form(visitor(place))
    page.get_by_role("radio", name="Supervised SimCSE: pairs").check()
    expect(page.get_by_label("Use hard negatives")).to_be_visible()
    says(page.locator(COMMAND), "train sup minilm")
    folder = save_sentence_transformer(tmp_path / "asks", "mean")
    own = {"prompts": {"query": "Ask: ", "document": "doc: "}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(own), encoding="utf-8")
    base, prompts = (page.get_by_role("combobox", name=name) for name in ("Base", "Prompts"))
    base.fill(f"dir:{folder}")
    base.press("Enter")
    expect(prompts).to_have_value("Ask: | doc:")
    prompts.fill("q:")
    prompts.press("Enter")
    says(page.locator("#said"), "Its prompts are left out: Ask: | doc:")
    page.get_by_role("radio", name="Unsupervised SimCSE").check()
    base.fill("new:layers=2,hidden=64,heads=4")
    base.press("Enter")
    says(page.locator(COMMAND), "new:layers=2,hidden=64,heads=4", "--prompts q:")
    lines = tmp_path / "harbour.txt"
    lines.write_text("The harbour is full.\nNo ship can leave.\n", encoding="utf-8")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Upload a file").click()
    chosen.value.set_files(lines)
    expect(page.locator("#train input")).to_have_value("upload:harbour")
    page.get_by_label("Temperature").fill("0")
    says(page.locator("#said"), "The temperature cannot be 0")
    page.locator("#start").click()
    says(page.get_by_role("alert"), "The temperature cannot be 0")
    expect(page.locator("#said")).to_be_hidden()  # said once
    expect(page.locator("#train input")).to_have_value("upload:harbour")
    page.get_by_label("Temperature").fill("0.05")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert desk.store.runs.list(("queued",)) == []
    says(page.locator("#said"), "unknown until the first minute")
    page.locator("#start").click()
    page.wait_for_url("**/runs?*")
    says(page.locator("#runs .t-open"), "waiting for its turn")
    run = desk.store.runs.get(run_in_address(page))
    assert (run["kind"], run["spec"]["train"], run["spec"]["temperature"]) == (
        "train",
        "upload:harbour",
        0.05,
    )
    desk.store.runs.cancel(run["id"])


def test_what_a_loss_lacks_is_said_and_can_be_mined(visitor, place, desk, tmp_path):
    """Pairs do for no loss of triplets; those that are mined for them are chosen, and shown."""
    pairs = tmp_path / "few.csv"
    rows = [f"Why is road {i} closed?,Road {i} is under water.,{i % 2 * 5}" for i in range(20)]
    pairs.write_text("\n".join(["first,second,score", *rows]), encoding="utf-8")
    keep(desk, pairs, pairs.name, "few", preview(pairs, pairs.name).mapping)
    page = visitor(place).open("train?objective=st&loss=TripletLoss&train=upload:few&dev=none")
    says(page.locator("#examples"), "TripletLoss learns from triplets")
    page.get_by_role("button", name="Mine hard negatives").click()
    page.locator("#start-mining").click()
    says(page.locator("#following"), "Hard negatives for upload:few by minilm")
    work_off(desk, desk.store.runs.list(kinds=["mine"])[0]["id"])
    expect(page.locator("#train input")).to_have_value("upload:few-mined")
    page.get_by_text("First examples").click()
    says(page.locator("#examples"), "hard neg")


OF_ENCODER = TrainSpec("unsup", "minilm", "starter", "", dev="starter-pairs", dev_every=20)


def learn(desk, run, *scores, first=1):
    """Twenty updates and a look for each score."""
    for number, score in enumerate(scores, first):
        step, best = 20 * number, score == max(scores[: number - first + 1])
        say(
            desk,
            run,
            Stepped(step - 10, 200, 2.0 - step / 200, 3e-5, 1.0, 400.0, float(step), 9.0, None),
            Stepped(step, 200, 2.0 - step / 200, 3e-5, 1.0, 400.0, float(step), 9.0, None),
            Evaluated(step, best, score, 0.5 - step / 1000, -2.0 - step / 1000),
        )


def begin(desk, run):
    """Have a worker take a run up."""
    desk.store.runs.start(run, 1, "local-0", ["training"])
    say(desk, run, Started(0, 200, 2040, 22_000_000, "cpu", "fp32", "0" * 32))


@pytest.fixture
def training(desk):
    """A run that has looked three times and goes on."""
    run = submit.queue(desk, TrainJob.of(desk, replace(OF_ENCODER, seed=1)))
    begin(desk, run)
    learn(desk, run, 60.0, 66.0, 64.0)
    yield run
    desk.store.runs.cancel(run)


@pytest.fixture
def finished(desk):
    """A run that is over, from another seed."""
    job = TrainJob.of(desk, replace(OF_ENCODER, seed=2, batch_size=128))
    run = submit.queue(desk, job, title=HOSTILE)
    begin(desk, run)
    learn(desk, run, 61.0, 65.0, 70.25)
    say(
        desk,
        run,
        Noted(40, "Out of memory: the micro-batch is now 16."),
        Finished(60, 60, 70.25, 12.0, "somewhere", "random:64", "done", None),
    )
    desk.store.runs.end_unit(run, 0, 12.0)
    desk.store.runs.finish(run, 1, "done")
    return run


def test_runs_lie_over_each_other_and_lead_elsewhere(visitor, place, training, finished):
    """One line a run in every chart, beside the settings that differ; a name adds a run by key.

    Evaluate has the encoder, Compare has it beside its base, Map draws it; its form is had again.
    """
    visit = visitor(place)
    page = visit.open(f"runs?run={finished}")
    row = page.locator("#runs .t-open")
    for name, query in (
        ("Evaluate", "encoder=random%3A64"),
        ("Compare", "encoder=minilm&encoder=random%3A64"),
        ("Map", "encoder=random%3A64"),
    ):
        assert query in row.get_by_role("link", name=name).get_attribute("href")
    again = row.get_by_role("link", name="Train again").get_attribute("href")
    page.locator(f"#runs [data-id='{training}']").first.press("Enter")
    for chart in ("Dev score", "Alignment", "Loss", "Learning rate", "Speed"):
        lines = page.locator(f"#curves [aria-label^='{chart}'] .scatterlayer .js-line")
        expect(lines).to_have_count(2)
    rows = page.get_by_role("region", name="settings").locator("tbody tr")
    expect(rows).to_have_count(2)
    says(page.get_by_role("region", name="settings"), "70.25")
    says(page.get_by_role("region", name="notes"), "the micro-batch is now 16", HOSTILE)
    stays_text(page)
    visit.fits()
    page = visit.open(again)
    says(page.locator(COMMAND), "--batch-size 128", "--seed 2")


def test_a_running_run_is_followed_and_stopped(visitor, place, desk, training):
    """New numbers move into the same picture; the focus stays on the button that has it."""
    page = visitor(place).open(f"runs?run={training}")
    row, points = page.locator("#runs .t-open"), page.locator(f"{SCORE} .point")
    expect(points).to_have_count(4)  # three looks and the star
    page.evaluate(
        "(at) => { document.querySelector(at).dataset.mark = 'mine'; }", f"{SCORE} .main-svg"
    )
    stop = page.get_by_role("button", name="Stop unsup from minilm on starter now")
    stop.focus()
    learn(desk, training, 71.5, first=4)
    expect(points).to_have_count(5)
    expect(page.locator(f"{SCORE} .main-svg[data-mark=mine]")).to_have_count(1)
    expect(stop).to_be_focused()
    stop.press("Enter")
    says(row, "stopping")
    assert desk.store.runs.request(training, 1) == "stop"


def test_values_or_a_table_of_the_paper_are_one_sweep(visitor, place, desk):
    """What they make is shown before, with its command."""
    page = form(visitor(place))
    page.get_by_role("button", name="Try several values at once").click()
    page.wait_for_function(  # Gradio may empty a fold that it still draws, or not hear it yet
        """(text) => {
          const box = document.querySelector("#sweep-values textarea");
          if (box) {
            box.value = text;
            box.dispatchEvent(new Event("input", { bubbles: true }));
          }
          return document.querySelector("[role=alert]");
        }""",
        arg="temprature = 0.1",
        polling=1000,
    )
    says(page.get_by_role("alert"), "no field 'temprature'")
    page.locator("#sweep-values textarea").fill("temperature = 0.05, 0.1\nseed = 1, 2, 3")
    says(page.locator("#sweep-preview"), "6 runs", "--set temperature=0.05,0.1")
    page.locator("#sweep-values textarea").fill("")
    page.get_by_label("Seeds", exact=True).fill("2")
    page.get_by_label("Table of the paper").click()
    page.get_by_role("option", name="3: Dropout").click()
    says(page.locator("#sweep-preview"), "16 runs", "--ablation dropout --seeds 2")
    page.locator("#start-sweep").click()
    page.wait_for_url("**/runs?*")
    expect(page.get_by_role("region", name="settings").locator("tbody tr")).to_have_count(16)
    desk.store.runs.cancel(run_in_address(page))


@pytest.fixture(scope="module")
def desk(desk, decoder_folder):
    """A store with a decoder, and an encoder that has none."""
    desk.store.encoders.add("random:32")
    decoders.register(desk, decoder_folder)
    return desk


def test_a_decoders_command_follows_and_a_slip_is_said_at_a_start(visitor, place):
    """A preset of the paper fills the form.

    A handler is called again only when the server has taken the call before, or the answer to the
    older call may come last: opening the form changes several controls.
    """
    opened, calls = visitor(place), []

    def note(request, happened):
        if "/queue/join" in request.url:
            calls.append((request.post_data_json["fn_index"], happened))

    opened.listen("request", lambda request: note(request, "made"))
    opened.listen("response", lambda response: note(response.request, "taken"))
    page = opened.open("train-decoder")
    command = page.locator("#command pre")
    expect(command).to_be_visible()
    page.locator("#preset input").click()
    page.get_by_role("option", name="Vec2Sent, as the paper says").click()
    says(command, "--architecture lstm-mos", "--no-clauses")
    address_of(page, "preset=paper")
    page.get_by_label("Epochs").fill("0")
    page.locator("#start").click()
    says(page.get_by_role("alert"), "The epochs cannot be 0")
    for handler in {handler for handler, _ in calls}:
        course = [happened for found, happened in calls if found == handler]
        assert course == (["made", "taken"] * len(course))[: len(course)]
    assert len(calls) > 2 * len({handler for handler, _ in calls})  # one of them more than once


def test_a_decoder_is_read_and_removed_by_keyboard(visitor, place, desk, decoder_folder):
    """The address keeps which card; before it is removed it is said what becomes of its files."""
    home = desk.store.decoders.folder / "gone-soon"
    decoders.register(desk, shutil.copytree(decoder_folder, home, dirs_exist_ok=True))
    page = visitor(place).open("train-decoder")
    read = page.get_by_role("button", name="Read the card of").last
    read.press("Enter")
    again = visitor(place).open(address_of(page, "card="))
    says(again.locator("#card table").first, "architecture")
    expect(again.locator("#card h2")).to_be_in_viewport()
    read.press("Enter")
    expect(page.locator("#card h2")).to_have_count(0)
    gone_from_address(page, "card=")
    row = page.locator("#installed section", has_text="gone-soon")
    row.locator("summary").press("Enter")
    says(row.locator("details"), "cannot be restored")
    row.get_by_role("button", name="Delete its files: gone-soon").press("Enter")
    expect(row).to_have_count(0)
    assert not home.exists()


def test_a_diagnosis_is_shown_and_another_is_made(visitor, place, desk):
    """Figures beside the baselines, by length, samples; a new one takes its place."""
    desk.keep_result(to_result(diagnosis("random:32", 20.0), "abc"))
    desk.keep_result(to_result(diagnosis("random:64", 40.0), "abc"))
    page = visitor(place).open("diagnose")
    answer = page.locator("#diagnosis")
    says(answer.locator("tr", has_text="Token F1").first, "40.0", "37.5 to 42.5", "above both")
    says(answer.locator(".t-samples li").last, "<b>Bold</b> words & more of them")
    answer.get_by_text("All numbers and samples").click()
    file = answer.locator(".t-unfold[open]").get_by_role("button", name="Download CSV").first
    assert "token_f1" in {row["metric"] for row in rows_saved(file)}
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("How many").fill("50")
    page.locator("#start").click()
    says(page.locator("#following"), "Diagnosis of random:")
    desk.keep_result(to_result(diagnosis("random:64", 60.0), "abd"))
    (run,) = desk.store.runs.list(kinds=["diagnose"])
    desk.store.runs.start(run["id"], 1, "local-0", ["one"])
    desk.store.runs.finish(run["id"], 1, "done")
    says(answer, "60.0")
