"""Every kind of job: read from its spec; the units of an evaluation."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.errors import refused
from tests.fakes.workers import do_units, work_off
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import KINDS, job_of, kind_of
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate, queue_evaluation
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.stats.spread import spreads

A, B = "random:16", "random:24"


class Sums(Job):
    """Yields what is no row of a result."""

    kind = "sums"

    def units(self) -> list[str]:
        return ["one"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[object]:
        yield {"best": "minilm"}


def test_only_the_rows_of_results_are_reported_as_results(workspace: Workspace) -> None:
    """A worker of a fleet sends those home; a decision, which is a dictionary too, is none."""
    (outcome,) = do_units(workspace, Sums())
    assert (outcome.failure, outcome.made) == (None, ())
    (outcome, *_) = do_units(workspace, EvaluateJob.of(workspace, [A], "StarterSTS"))
    assert [workspace.store.results.by_id(i)["task"] for i in outcome.made] == ["StarterSTS"]


def test_a_unit_is_an_encoder_on_a_task_with_a_seed(workspace: Workspace) -> None:
    """What draws nothing is evaluated once, whatever number of seeds is asked for."""
    run = queue_evaluation(workspace, [A, B], ["StarterTopics", "StarterSTS"], seeds=2)
    assert job_of(workspace.store.runs.get(run)).units() == [
        f"{task} · {encoder}{seed}"
        for encoder in (A, B)
        for task, seed in (
            ("StarterTopics", " · seed 1111"),
            ("StarterTopics", " · seed 1112"),
            ("StarterSTS", ""),
        )
    ]


def test_each_seed_is_a_result_and_gives_a_spread(workspace: Workspace) -> None:
    """The units of a run with three seeds leave three results."""
    run = queue_evaluation(workspace, [A], ["StarterTopics"], seed=5, seeds=3)
    assert work_off(workspace, run)["state"] == "done"
    rows = workspace.store.results.table()
    assert [row["seed"] for row in rows] == [5, 6, 7]
    assert spreads(rows)[A, "StarterTopics", "starter-1"].seeds == 3
    again = EvaluateJob((A,), ("StarterTopics",), seed=5, seeds=3)
    assert len(list(evaluate(workspace, again))) == 3
    assert len(workspace.store.results.table(all_versions=True)) == 3


SPECS = {
    "evaluate": {"encoders": [A], "tasks": ["StarterSTS"], "protocol": None, "seed": None},
    "spaces": {
        "encoders": [A, B],
        "data": "starter-topics",
        "k": 10,
        "clustering": "k-means",
        "size": None,
    },
    "upgrade": {"old": A, "new": B, "data": "starter-topics", "texts": None, "least": 1.0},
    "encode": {"encoder": A, "dataset": "starter-topics"},
    "encode-corpus": {
        "encoder": A,
        "out": "/nowhere/out",
        "corpus": "3f",
        "sentences": 10,
        "shards": 3,
    },
    "encode-shard": {
        "encoder": A,
        "text": "/nowhere/out/shards/3f.txt",
        "out": "/nowhere/out/shards/3f",
        "fingerprint": "5a",
        "format": "npy",
        "dtype": "float32",
        "source": "part-1.txt",
        "start": 0,
        "stop": 10,
    },
    "choose": {
        "data": "starter-topics",
        "encoders": [A],
        "max_ms": 5.0,
        "max_bytes": None,
        "licences": ["mit"],
    },
    "judge": {
        "collection": "starter-topics",
        "encoders": [A, B],
        "queries": ["a boat"],
        "draw": 100,
        "k": 5,
        "mode": "relevance",
        "measure": "dcg",
        "margin": 2.0,
        "seed": 0,
        "session": "36e4305ecb44",
    },
    "cost": {"encoders": [A]},
    "dataset-similarity": {
        "encoder": A,
        "compared": "starter-topics",
        "sentences": 100,
        "order": "group",
    },
    "leaks": {"encoder": A, "tasks": ["StarterSTS"], "trained_on": ["starter-topics"]},
    "fetch": {"tasks": ["mteb:STS17/en-en"], "suite": "MTEB(eng, v2)"},
    "index": {"encoder": A, "dataset": "starter-topics"},
    "project": {
        "encoder": A,
        "data": "starter-topics",
        "method": "pca",
        "neighbours": 15,
        "min_dist": 0.1,
        "seed": 0,
    },
    "geometry": {"encoders": [A], "dataset": "starter-topics", "split": "all"},
    "curate": {
        "find": "exact",
        "dataset": "starter-topics",
        "split": "all",
        "encoder": "",
        "threshold": 0.9,
        "neighbours": 10,
        "many": 100,
        "against": "",
        "against_split": "all",
    },
    "train": {"objective": "unsup", "base": "minilm", "train": "starter", "out": "/x"},
    "sweep": {
        "children": [
            {
                "label": "one",
                "spec": {"objective": "unsup", "base": "minilm", "train": "starter", "out": "/x"},
            }
        ]
    },
    "train-decoder": {"encoder": A, "train": ["starter"], "out": "/x"},
    "mine": {"pairs": "starter-pairs", "relative_margin": 0.05},
    "second-judge": {"session": "36e4305ecb44", "second": "api:https://x.example/v1#m"},
    "diagnose": {"encoder": A, "decoder": "d", "text": "starter-topics", "sentences": 100},
}
"""A spec of each kind, some with defaults left out."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_spec_of_a_kind_comes_back_from_json(kind: str) -> None:
    job = job_of({"kind": kind, "spec": {"version": kind_of(kind).version, **SPECS[kind]}})
    assert type(job) is kind_of(kind)
    spec = json.loads(json.dumps(job.to_spec()))
    assert spec["version"] == job.version
    assert SPECS[kind].keys() <= spec.keys()
    again = job_of({"kind": kind, "spec": spec})
    assert (again, again.units(), again.title) == (job, job.units(), job.title)
    assert job.units()
    assert job.title != kind


@pytest.mark.parametrize(
    ("run", "code", "named"),
    [
        ({"kind": "evaluate", "spec": {"version": 99}}, "unsupported", 99),
        ({"kind": "evaluate", "spec": {"version": 0}}, "unsupported", 1),
        ({"kind": "fold", "spec": {"version": 1}}, "unknown", "fold"),
        ({"kind": "evaluate", "spec": {"version": 1}}, "damaged", "encoders"),
    ],
)
def test_a_spec_that_cannot_be_read_is_refused(run: dict, code: str, named: str) -> None:
    with refused(code, named):
        job_of(run)


def test_size_variants_stay_out_of_the_list(workspace: Workspace) -> None:
    """An encoder that only a study needs is evaluated and not listed."""
    queue_evaluation(workspace, [A], ["StarterSTS"], listed=False)
    assert workspace.store.encoders.list() == []


@pytest.mark.parametrize(("seed", "seeds"), [(None, 0), (None, 21), (2**32 - 1, 2)])
def test_seeds_out_of_range_are_refused(workspace: Workspace, seed: int | None, seeds: int) -> None:
    """Before anything is queued."""
    with pytest.raises(UserError):
        queue_evaluation(workspace, [A], ["StarterTopics"], seed=seed, seeds=seeds)
    assert workspace.store.runs.list() == []


def test_units_weigh_what_others_like_them_took(workspace: Workspace) -> None:
    """The same encoder first, then any other; what is stored takes next to nothing."""
    row = dict(workspace.store.results.by_id(evaluate_one(workspace, A, "StarterSTS")["id"]))
    for encoder, task, protocol, seed, seconds in (
        (B, "MR", "senteval", 1111, 40.0),
        (A, "MR", "senteval", 1111, 20.0),
        (B, "MR", "senteval-exact", 1111, 9000.0),
        (B, "TREC", "senteval", 1111, 4.0),
    ):
        other = {"task": task, "protocol": protocol, "seed": seed, "seconds": seconds}
        score = {
            "split": "all",
            "aggregation": None,
            "metric": "accuracy",
            "score": 50.0,
            "n": 9,
            "main": True,
        }
        workspace.store.results.put(row | other | {"encoder": encoder, "scores": [score]}, {})
    job = EvaluateJob((A, B), ("MR", "TREC", "SUBJ"), seed=1112)
    usual = (20 + 4 + 40 + 4) / 4
    assert job.weights(workspace.store) == [20.0, 4.0, usual, 40.0, 4.0, usual]
    assert replace(job, seed=None).weights(workspace.store)[0] < 0.1  # stored under seed 1111
