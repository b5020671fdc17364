"""MTEB's suites on the page Data and by its verb: what is here, what is fetched, and how large."""

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.mteb_tasks import split, task_class
from theodolite.app import suites as names
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.data import suites
from theodolite.app.pages.data.suites import FetchJob
from theodolite.app.surfaces import document
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import package, suites as engine

V2 = "MTEB(eng, v2)"
TASK = "mteb:Banking77Classification"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub of the test's own, in which nothing is."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(names, "_HELD", {})
    return tmp_path / "hub"


def test_before_anything_is_fetched() -> None:
    """How many are here, how large the others are; visitors are offered none."""
    suite = suites.suite(V2)
    assert suite.state.startswith("0 of 41 tasks are here; 41 to fetch, about 1.7")
    for visitor in (True, False):
        html = "".join(map(str, document.pieces([suite.block(visitor)])))
        assert ('data-act="fetch"' in html) is not visitor
    assert suites.fetching(V2, [TASK]) == FetchJob((TASK,), V2)
    with refused("unknown", "mteb:Imdb"):
        suites.fetching(V2, ["mteb:Imdb"])


def test_suites_are_looked_up_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What mteb says of them is kept, so that the page shows it without mteb."""
    assert names.known(workspace) is None
    first = names.look_up(workspace)
    monkeypatch.setattr(names, "_HELD", {})
    monkeypatch.setattr(engine, "suites", lambda: pytest.fail("asked again"))
    again = names.look_up(workspace)
    assert again.listed == first.listed and len(again.tasks[V2]) == 41
    assert again.types["Banking77Classification"] == "Classification"


def test_without_mteb_it_says_what_to_install(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (names, package):
        monkeypatch.setattr(module, "version", lambda: None)
    with pytest.raises(UserError, match=r"theodolite\[mteb\]"):
        names.look_up(workspace)


def test_a_disk_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is begun."""
    monkeypatch.setattr(suites.shutil, "disk_usage", lambda _: type("U", (), {"free": 1_000_000}))
    with refused("too-large", "1.72 GB", "1 MB"):
        suites.fetching(V2)
    assert suites.fetching(V2, ["mteb:BIOSSES"]).tasks == ("mteb:BIOSSES",)


def test_data_are_fetched_by_a_job(
    workspace: Workspace, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails, fails alone; what has arrived is not fetched again."""
    import datasets
    from mteb.abstasks import AbsTaskSTS
    from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    fetched: list[int] = []

    def fetch() -> Any:
        """As the hub's client leaves the data of a task."""
        (cache / "datasets--none--here" / "snapshots" / "1").mkdir(parents=True)
        fetched.append(1)
        return split({"sentence1": ["a"], "sentence2": ["b"], "score": [1]})

    odd = task_class(AbsTaskSTS, "STS", "cosine_spearman", fetch)
    monkeypatch.setitem(REGISTRY, "OddTask", odd)
    job = FetchJob((TASK, "mteb:OddTask"), V2)
    assert not job.is_stored(workspace)
    errors = [str(what) for _, _, what in perform(workspace, job) if isinstance(what, UserError)]
    assert len(errors) == 1 and "the hub cannot be reached" in errors[0]
    assert len(fetched) == 1 and engine.is_here("mteb:OddTask")
    assert FetchJob(("mteb:OddTask",)).is_stored(workspace)
    with refused("missing"):
        FetchJob(()).validate(workspace)


def test_the_verb(tmp_path: Path) -> None:
    """A row a task as JSON; queued, it is a run like any other."""
    command = ["data", "suite", V2, "--json", "--store", str(tmp_path / "store")]
    rows = objects(theodolite(*command))
    assert len(rows) == 41 and {row["here"] for row in rows} == {False}
    theodolite(*command, "--tasks", TASK, "--queue")
    (run,) = objects(theodolite("jobs", "list", *command[-3:]))
    assert (run["kind"], run["state"]) == (FetchJob.kind, "queued")
