"""Diagnoses as runs and results, and what those of all encoders say together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.errors import refused
from tests.fakes.decoders import known_sentences, small_spec
from tests.fakes.diagnoses import diagnosis
from tests.fakes.results import invent
from tests.fakes.workers import do_units
from theodolite.app import decoders
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.submit import perform, queue
from theodolite.app.pages.diagnose import figures as diagnosis_figures
from theodolite.app.pages.diagnose import service as diagnosing
from theodolite.app.pages.diagnose.relations import across
from theodolite.app.pages.diagnose.service import DiagnoseJob
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.service import Repair, repair
from theodolite.app.pages.train.job import TrainDecoderJob
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decoding.diagnosis import Diagnosis, to_result
from theodolite.engine.errors import UserError
from theodolite.store import forget

ENCODER = "random:64"


@pytest.fixture(scope="module")
def workspace(decoding: Workspace) -> Workspace:
    """A store with one decoder."""
    return decoding


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A store with nothing in it."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return Workspace(tmp_path / "store")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences that are new to the decoder, and three that are not."""
    file = tmp_path_factory.mktemp("text") / "news.txt"
    new = [
        f"The {beast} sleeps near the {place}."
        for beast in ("fox", "crow", "mole")
        for place in ("barn", "well", "ford", "gate")
    ]
    file.write_text("\n".join([*new, *known_sentences()[:3], "Yes."]) + "\n", encoding="utf-8")
    return file


def test_a_diagnosis_is_a_run_and_a_result(workspace: Workspace, text: Path) -> None:
    """Of sentences that are new alone; all of it is read back from the store."""
    run = queue(workspace, DiagnoseJob.of(workspace, ENCODER, str(text), 10))
    row = workspace.store.runs.get(run)
    assert (row["kind"], row["title"]) == ("diagnose", f"diagnosis of {ENCODER} on news.txt")
    progress: list[float] = []
    (outcome,) = do_units(workspace, job_of(row), progress.append)
    assert outcome.failure is None
    assert progress[-1] == 1
    (kept,) = workspace.store.results.table(protocols=["vec2sent"])
    assert (kept["encoder"], kept["task"], kept["n"]) == (ENCODER, "Vec2Sent-news.txt", 10)
    found = Diagnosis.from_dict(workspace.store.results.by_id(kept["id"])["details"])
    assert found.figures()["token_f1"].value == pytest.approx(kept["score"])
    assert {sample.sentence for sample in found.samples}.isdisjoint(known_sentences())
    assert {row.system for row in found.rows} == {"decoder", "nearest", "another"}


@pytest.mark.parametrize("named", ["news.txt", diagnosing.HELD_OUT])
def test_lost_values_are_queued_again(workspace: Workspace, text: Path, named: str) -> None:
    """A file as its run named it, a known text by its name alone; what was lost is back then."""
    store = workspace.store
    given = str(text) if named == text.name else named
    run = queue(workspace, DiagnoseJob.of(workspace, ENCODER, given, 8))
    work(workspace, run)
    (row,) = store.results.table(tasks=[f"Vec2Sent-{named}"])
    store.runs.cancel(run)
    if named == diagnosing.HELD_OUT:
        assert forget.run(store, run)
    (store.results.folder / row["examples"]).unlink()
    done = repair(workspace)
    assert (len(done.runs), done.left) == (1, ())
    work(workspace, done.runs[0])
    (again,) = store.results.table(tasks=[f"Vec2Sent-{named}"])
    assert (again["score"], again["n"]) == (row["score"], row["n"])
    assert repair(workspace) == Repair((), ())
    store.runs.cancel(done.runs[0])


def test_a_text_that_nobody_knows_any_more_is_said(empty: Workspace) -> None:
    """Its scores stand."""
    values = {"token_f1": np.zeros(3)}
    empty.keep_result(to_result(replace(diagnosis(), examples=values), "gone.txt"))
    (row,) = empty.store.results.table()
    (empty.store.results.folder / row["examples"]).unlink()
    done = repair(empty)
    assert done.runs == ()
    assert "no data set named gone.txt" in done.left[0]


def work(workspace: Workspace, run: str) -> None:
    """Do what a worker would."""
    (outcome,) = do_units(workspace, job_of(workspace.store.runs.get(run)))
    assert outcome.failure is None


def test_without_a_text_it_is_one_that_the_decoder_has_not_seen(workspace: Workspace) -> None:
    """Of what is here the decoder knows all; so those that were held out are taken."""
    job = DiagnoseJob.of(workspace, ENCODER)
    assert (job.text, job.sentences) == (diagnosing.HELD_OUT, 1000)
    assert job == DiagnoseJob.of(workspace, ENCODER, "held-out")


def test_what_cannot_be_diagnosed_is_said_before(workspace: Workspace, tmp_path: Path) -> None:
    """No decoder, a number that cannot be; and no sentence that is new."""
    with refused("no-result", "random:32"):
        DiagnoseJob.of(workspace, "random:32")
    with refused("invalid", 10000, "got 1"):
        DiagnoseJob.of(workspace, ENCODER, sentences=1)
    file = tmp_path / "known.txt"
    file.write_text("\n".join(known_sentences()) + "\n", encoding="utf-8")
    job = DiagnoseJob.of(workspace, ENCODER, str(file))
    with refused("too-few", "known.txt"):
        diagnosing.diagnosed(workspace, job, lambda share: None)
    job = DiagnoseJob.of(workspace, ENCODER, "/nowhere/at/all.txt")
    with pytest.raises(UserError, match="/nowhere/at/all"):
        diagnosing.diagnosed(workspace, job, lambda share: None)


def test_a_figure_says_whether_it_is_above_the_baselines() -> None:
    """Interval against interval."""
    found = diagnosis(level=40.0)  # F1 37.5 to 42.5, the nearest 29.5 to 34.5; BLEU overlaps
    assert diagnosis_figures.against_baselines(found, "token_f1") == ("above both", True)
    sentence, above = diagnosis_figures.against_baselines(found, "bleu")
    assert (sentence, above) == ("not above nearest training sentence", False)
    assert diagnosis_figures.against_baselines(found, "id_perm") == ("", None)
    rows = diagnosis_figures.figure_rows(found)
    assert ["decoder", "all", 1000, "token_f1", 40.0, 37.5, 42.5] in rows
    assert len(rows) == sum(len(row.figures) for row in found.rows)


def test_by_length_every_system_is_a_line(workspace: Workspace) -> None:
    """With its interval; the table has the numbers that are drawn."""
    drawn = diagnosis_figures.by_length(diagnosis(), "token_f1")
    assert drawn is not None
    assert [trace["name"] for trace in json.loads(drawn["figure"])["data"]] == [
        "the decoder",
        "nearest training sentence",
        "another sentence's vector",
    ]
    assert json.loads(drawn["table"])["columns"][-2:] == ["low", "high"]
    assert len(json.loads(drawn["table"])["rows"]) == 3 * 4
    assert diagnosis_figures.by_length(diagnosis(), "bleu-ref") is None


ENCODERS = tuple(f"random:{dim}" for dim in (8, 16, 24, 32, 40, 48))


def diagnosed(workspace: Workspace, levels: dict[str, float], sentences: int = 150_000) -> None:
    """Keep made-up diagnoses."""
    for encoder, level in levels.items():
        found = diagnosis(encoder, level)
        found = replace(found, decoder={**found.decoder, "sentences": sentences})
        found = replace(found, fingerprint=f"{sentences:032d}")
        workspace.keep_result(to_result(found, "abc"))


def test_diagnostics_are_correlated_with_scores_over_encoders(empty: Workspace) -> None:
    """As SciPy has it; with and without each."""
    levels = dict(zip(ENCODERS, (20.0, 28.0, 24.0, 36.0, 32.0, 40.0), strict=True))
    accuracy = dict(zip(ENCODERS, (0.5, 0.55, 0.6, 0.65, 0.7, 0.75), strict=True))
    diagnosed(empty, levels)
    found = across(empty)
    assert found.relations is None
    assert found.problem is not None
    for encoder, share in accuracy.items():
        invent(empty, encoder, "MR", share)
    found = across(empty)
    assert found.relations is not None
    assert found.text == "abc"
    scores = {row["encoder"]: row["score"] for row in empty.store.results.table(tasks=["MR"])}
    rho = spearmanr([levels[e] for e in ENCODERS], [scores[e] for e in ENCODERS]).statistic
    cell = next(c for c in found.relations.cells if c.diagnostic == "token_f1")
    assert (cell.score, cell.encoders) == ("MR", 6)
    assert cell.rho == pytest.approx(rho)
    assert found.without.keys() == set(ENCODERS)
    assert found.agreements == ()
    assert found.unstable is not None


def test_decoders_of_two_sizes_are_held_against_each_other(empty: Workspace) -> None:
    """Both are kept, though they answer one question."""
    up = dict(zip(ENCODERS, (20.0, 24.0, 28.0, 32.0, 36.0, 40.0), strict=True))
    diagnosed(empty, up, 100_000)
    diagnosed(empty, {name: 60 - level for name, level in up.items()}, 10_000)
    agreement = next(a for a in across(empty).agreements if a.diagnostic == "token_f1")
    assert {agreement.first, agreement.second} == {
        "prefix, 100,000 sentences",
        "prefix, 10,000 sentences",
    }
    assert agreement.rho == pytest.approx(-1.0)


def test_a_decoder_that_ships_is_diagnosed_with_nothing_but_the_starter_set(
    empty: Workspace,
) -> None:
    """Its own training text is not there; sentences that only stand in for that may be asked."""
    encoders.add(empty, "random:256")
    job = diagnosing.DiagnoseJob.of(empty, "random:256", sentences=4)
    found = diagnosing.diagnosed(empty, job, lambda share: None)
    assert job.text == "starter-topics"
    assert max(row.n for row in found.rows) == 4
    assert all(one.nearest != one.sentence for one in found.samples)


def test_the_text_of_a_training_is_found_though_the_folder_does_not_tell_where(
    empty: Workspace, tmp_path: Path
) -> None:
    """The run knows; another text of that name is not taken for it."""
    file = tmp_path / "mine.txt"
    file.write_text("\n".join(read_topics().sentences), encoding="utf-8")
    spec = small_spec(tmp_path / "out", train=(str(file),), epochs=0.1)
    for _ in perform(empty, TrainDecoderJob(spec)):
        pass
    assert str(tmp_path) not in (tmp_path / "out" / decoders.FACTS).read_text("utf-8")
    (row,) = [row for row in decoders.listed(empty) if not row.shipped]
    learned, apart, notes = diagnosing._training_text(empty, row, "starter-topics", tmp_path)
    assert (len(learned), len(apart), notes) == (260, 40, [])
    file.write_text("\n".join(read_topics().sentences[::-1]), encoding="utf-8")
    _, apart, notes = diagnosing._training_text(empty, row, "starter-topics", tmp_path)
    assert apart == []
    assert len(notes) == 1
