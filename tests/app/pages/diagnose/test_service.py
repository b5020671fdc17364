"""Diagnoses as runs and results like all others, and what those of all encoders say together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.errors import refused
from tests.fakes.decoders import known_sentences, small_spec
from tests.fakes.diagnoses import diagnosis
from tests.fakes.stores import invent_all, starter_store
from tests.fakes.workers import do_units, happened, work_off
from theodolite.app import decoders
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.compare.answer import CompareSpec, compare
from theodolite.app.pages.diagnose import service as diagnosing
from theodolite.app.pages.diagnose.answer import (
    Diagnosed,
    DiagnoseSpec,
    across,
    against_baselines,
    so_far,
)
from theodolite.app.pages.evaluate.job import repair
from theodolite.app.pages.train.job import TrainDecoderJob
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decoding.diagnosis import Diagnosis, to_result
from theodolite.store import forget

ENCODER = "random:64"


@pytest.fixture(scope="module")
def workspace(decoding: Workspace) -> Workspace:
    """A store with one decoder."""
    return decoding


@pytest.fixture
def empty(tmp_path: Path) -> Workspace:
    """A store with nothing in it, without data."""
    return starter_store(tmp_path)


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
    job, shares = diagnosing.DiagnoseJob.of(workspace, ENCODER, str(text), 10), []
    run = workspace.store.runs.get(queue(workspace, job))
    assert (run["kind"], run["title"]) == ("diagnose", f"Diagnosis of {ENCODER} on news.txt")
    (outcome,) = do_units(workspace, job, shares.append)
    assert outcome.failure is None and shares[-1] == 1
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
    run = queue(workspace, diagnosing.DiagnoseJob.of(workspace, ENCODER, given, 8))
    assert work_off(workspace, run)["state"] == "done"
    (row,) = store.results.table(tasks=[f"Vec2Sent-{named}"])
    if named == diagnosing.HELD_OUT:
        assert forget.run(store, run)
    (store.results.folder / row["examples"]).unlink()
    ((repaired,), left) = repair(workspace)
    assert work_off(workspace, repaired)["state"] == "done" and left == []
    (again,) = store.results.table(tasks=[f"Vec2Sent-{named}"])
    assert (again["score"], again["n"]) == (row["score"], row["n"])
    assert repair(workspace) == ([], [])


def test_without_a_text_it_is_one_that_the_decoder_has_not_seen(workspace: Workspace) -> None:
    """Of what is here the decoder knows all; so those that were held out are taken."""
    job = diagnosing.DiagnoseJob.of(workspace, ENCODER)
    assert (job.text, job.sentences) == (diagnosing.HELD_OUT, 1000)
    assert job == diagnosing.DiagnoseJob.of(workspace, ENCODER, "held-out")


def test_what_cannot_be_diagnosed_is_said_before(workspace: Workspace, tmp_path: Path) -> None:
    """No decoder, a number that cannot be; and no sentence that is new."""
    with refused("no-result", "random:32"):
        diagnosing.DiagnoseJob.of(workspace, "random:32")
    with refused("invalid", "10,000", 1):
        DiagnoseSpec(ENCODER, sentences=1)
    with refused("unknown", "upload:gone"):
        queue(workspace, diagnosing.DiagnoseJob.of(workspace, ENCODER, "upload:gone"))
    with refused("unknown", "upload:gone"):  # rather than the diagnosis of another text
        list(so_far(workspace, DiagnoseSpec(ENCODER, "upload:gone"), lambda job: False))
    file = tmp_path / "known.txt"
    file.write_text("\n".join(known_sentences()) + "\n", encoding="utf-8")
    demo = Workspace(workspace.store.folder, read_only=True)
    with refused("unknown", "no data set"):  # whether there is such a file is not told
        list(so_far(demo, DiagnoseSpec(ENCODER, str(file)), lambda job: False))
    for path, code in ((str(file), "too-few"), ("/nowhere/at/all.txt", "no-file")):
        with refused(code, Path(path).name):
            diagnosing.diagnose_decoder(
                workspace, diagnosing.DiagnoseJob.of(workspace, ENCODER, path), print
            )


def test_a_figure_says_whether_it_is_above_the_baselines() -> None:
    """Interval against interval."""
    found = diagnosis(level=40.0)  # F1 37.5 to 42.5, the nearest 29.5 to 34.5; BLEU overlaps
    assert {
        name: against_baselines(found, name)[1] for name in ("token_f1", "bleu", "id_perm")
    } == {
        "token_f1": True,
        "bleu": False,
        "id_perm": None,
    }
    rows = Diagnosed(DiagnoseSpec("minilm"), "abc", found).rows()
    figure = {"giver": "decoder", "length": "", "n": 1000, "metric": "token_f1", "value": 40.0}
    assert sum(figure.items() <= row.items() for row in rows) == 1
    figures = [row for row in rows if row["what"] == "figure"]
    assert len(figures) == sum(len(row.figures) for row in found.rows)


ENCODERS = tuple(f"random:{dim}" for dim in (8, 16, 24, 32, 40, 48))


def diagnosed(workspace: Workspace, levels: dict[str, float], sentences: int = 150_000) -> None:
    """Keep made-up diagnoses."""
    for encoder, level in levels.items():
        found = diagnosis(encoder, level)
        decoder = {**found.decoder, "sentences": sentences}
        found = replace(found, decoder=decoder, fingerprint=f"{sentences:032d}")
        workspace.keep_result(to_result(found, "abc"))


def test_diagnostics_are_correlated_with_scores_over_encoders(empty: Workspace) -> None:
    """As SciPy has it; with and without each."""
    levels = dict(zip(ENCODERS, (20.0, 28.0, 24.0, 36.0, 32.0, 40.0), strict=True))
    diagnosed(empty, levels)
    with refused("too-few"):
        across(empty)
    invent_all(empty, dict(zip(ENCODERS, (0.5, 0.55, 0.6, 0.65, 0.7, 0.75), strict=True)))
    found = across(empty)
    scores = {row["encoder"]: row["score"] for row in empty.store.results.table(tasks=["MR"])}
    rho = spearmanr([levels[e] for e in ENCODERS], [scores[e] for e in ENCODERS]).statistic
    cell = next(c for c in found.relations.cells if c.diagnostic == "token_f1")
    assert (cell.score, cell.encoders, cell.rho) == ("MR", 6, pytest.approx(rho))
    assert (found.text, found.agreements) == ("abc", ()) and found.unstable
    assert found.without.keys() == set(ENCODERS)


def test_decoders_of_two_sizes_are_held_against_each_other(empty: Workspace) -> None:
    """Both are kept, though they answer one question."""
    up = dict(zip(ENCODERS, (20.0, 24.0, 28.0, 32.0, 36.0, 40.0), strict=True))
    diagnosed(empty, up, 100_000)
    diagnosed(empty, {name: 60 - level for name, level in up.items()}, 10_000)
    invent_all(empty, {name: level / 100 for name, level in up.items()})
    agreement = next(a for a in across(empty).agreements if a.diagnostic == "token_f1")
    sizes = {agreement.first, agreement.second}
    assert sizes == {"prefix, 100,000 sentences", "prefix, 10,000 sentences"}
    assert agreement.rho == pytest.approx(-1.0)


def test_a_decoder_that_ships_is_diagnosed_with_nothing_but_the_starter_set(
    empty: Workspace,
) -> None:
    """Its own training text is not there; sentences that only stand in for that may be asked."""
    empty.store.encoders.add("random:256")
    job = diagnosing.DiagnoseJob.of(empty, "random:256", sentences=4)
    found = diagnosing.diagnose_decoder(empty, job, lambda share: None)
    assert job.text == "starter-topics"
    assert max(row.n for row in found.rows) == 4
    assert all(one.nearest != one.sentence for one in found.samples)


def test_the_text_of_a_training_is_found_though_the_folder_does_not_tell_where(
    empty: Workspace, tmp_path: Path
) -> None:
    """The run knows; another text of that name is not taken for it."""
    file, out = tmp_path / "mine.txt", tmp_path / "out"
    file.write_text("\n".join(read_topics().sentences), encoding="utf-8")
    list(happened(empty, TrainDecoderJob(small_spec(out, train=(str(file),), epochs=0.1))))
    assert str(tmp_path) not in (out / decoders.FACTS).read_text("utf-8")
    (row,) = [row for row in decoders.list_all(empty) if not row.shipped]
    learned, apart, notes = diagnosing._training_text(empty, row, "starter-topics", tmp_path)
    assert (len(learned), len(apart), notes) == (260, 40, [])
    file.write_text("\n".join(read_topics().sentences[::-1]), encoding="utf-8")
    _, apart, notes = diagnosing._training_text(empty, row, "starter-topics", tmp_path)
    assert (apart, len(notes)) == ([], 1)


@pytest.mark.parametrize("tasks", [None, "Vec2Sent-abc", ["Vec2Sent-abc"]])
def test_encoders_are_ranked_by_it(tmp_path: Path, tasks: str | list[str] | None) -> None:
    """With or without naming it: differences, ranks and averages as of any task."""
    workspace, rng = Workspace(tmp_path), np.random.default_rng(0)
    levels = {"wordllama": 30.0, "random:32": 10.0, "minilm": 50.0}
    for name, level in levels.items():
        values = np.clip(rng.normal(level / 100, 0.1, 1000), 0, 1)
        found = replace(diagnosis(name, level), examples={"token_f1": values})
        workspace.keep_result(to_result(found, "abc"))
        workspace.store.encoders.add(name)
    compared = compare(workspace, CompareSpec([*levels], tasks))
    assert list(compared.tests) == ["Vec2Sent-abc"]
    verdicts = {name: one.verdict for (name, _), one in compared.verdicts.items()}
    assert (verdicts["minilm"], verdicts["random:32"]) == ("a", "b")
    assert [row.name for row in compared.ranking.ranks] == ["minilm", "wordllama", "random:32"]
