"""A read-only app against those who leave the page aside and speak to the server themselves.

No browser: the pages hide what visitors may not do, these requests are made all the same.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.web.guard.test_nonsense import handlers, sent
from tests.errors import refused
from tests.fakes.decoders import small_spec
from tests.fakes.launched import launched
from theodolite.app import decoders
from theodolite.app.jobs import submit
from theodolite.app.pages.compare import fairness
from theodolite.app.pages.compare.evidence import FairSpec
from theodolite.app.pages.data import service as data
from theodolite.app.pages.diagnose.service import DiagnoseJob
from theodolite.app.pages.encoders import checks
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.estimate import estimate
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation, start, welcome
from theodolite.app.pages.overview import answer as overview
from theodolite.app.pages.train.job import SweepJob, TrainDecoderJob, TrainJob
from theodolite.app.publish import choice
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import TrainSpec

LISTED = "random:16"
LOGIN = ("reader", "secret")
TRAINING = TrainSpec("unsup", "minilm", "starter", "out")


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The workspace of the one who serves, with a run that waits."""
    made = Workspace(tmp_path_factory.mktemp("visitors") / "store")
    encoders.add(made, LISTED)
    queue_evaluation(made, [LISTED], ["StarterSTS"])
    yield made
    made.close()


@pytest.fixture(scope="module")
def looking(owner: Workspace) -> Iterator[Workspace]:
    """The same store as visitors have it."""
    made = Workspace(owner.store.folder, read_only=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def visitor(looking: Workspace) -> Iterator[httpx.Client]:
    """Someone who is signed in to the read-only app and has no browser."""
    with launched(looking, auth=LOGIN) as client:
        client.post("/login", data=dict(zip(("username", "password"), LOGIN, strict=True)))
        yield client


@pytest.mark.parametrize("act", ["remove", "audit", "cancel", "retry", "again"])
def test_a_forged_act_changes_nothing(visitor: httpx.Client, owner: Workspace, act: str) -> None:
    """Every list and panel is sent an act it did not offer; those of runs say why they refuse."""
    (run,) = owner.store.runs.list()
    answers = []
    for name in (LISTED, run["id"], "upload:x"):
        forged = handlers(visitor, "act", about={"act": act, "id": name})
        answers += sent(
            visitor, [(event, [""] * len(data), about) for event, data, about in forged]
        )
    assert owner.store.runs.list() == [run] and owner.store.encoders.names() == [LISTED]
    if act in ("cancel", "retry"):
        assert sum("change nothing" in text for text in answers) >= 12  # two of each of six panels


@pytest.mark.parametrize("spec", ["dir:/etc", "words:/etc/passwd", "hf:a/b", "random:17"])
def test_only_listed_encoders_are_loaded(looking: Workspace, spec: str) -> None:
    """A path in a spec is never looked at, nor the hub asked; it is not said what is there."""
    with pytest.raises(UserError, match="not among the encoders here"):
        looking.load(spec)
    looking.load(LISTED)
    with refused("denied"):
        looking.catalog.load("hub:owner/name@main/file.csv")


def test_nothing_is_added_or_started(looking: Workspace, tmp_path: Path) -> None:
    """Not by the services either, whoever asks them."""
    fair = fairness.FAIR.last(looking, FairSpec(), lambda job: False)
    for change in (
        lambda: encoders.add(looking, "random:17"),
        lambda: queue_evaluation(looking, [LISTED], ["StarterSTS"]),
        lambda: overview.remove(looking, []),
        lambda: data.remove(looking, "upload:x"),
        lambda: start(looking, EvaluateJob((LISTED,), ("StarterSTS",))),
        lambda: next(estimate(looking, EvaluateJob((LISTED,), ("StarterSTS",)))),
        lambda: fairness.evaluate(looking, fair, "size"),
        lambda: encoders.remove(looking, LISTED),
        lambda: checks.check_poolings(looking, LISTED),
        lambda: checks.AUDIT.last(looking, checks.AuditSpec(LISTED), lambda job: False),
        lambda: checks.COVERAGE.last(looking, checks.CoverageSpec(LISTED), lambda job: False),
        lambda: submit.queue(looking, TrainJob.of(looking, TRAINING)),
        lambda: submit.queue(looking, SweepJob.of(looking, TRAINING, [("a", {})])),
        lambda: submit.queue(looking, TrainDecoderJob(small_spec(tmp_path / "out"))),
        lambda: submit.queue(looking, DiagnoseJob(LISTED, "out", "text", 10)),
        lambda: decoders.remove(looking, "out"),
        lambda: choice.choose(looking),
    ):
        with refused("denied"):
            change()


def test_the_one_who_serves_is_welcomed(tmp_path: Path) -> None:
    """The first runs of a new store are queued even where visitors can start none."""
    made = Workspace(tmp_path / "store", read_only=True)
    assert welcome(made)
    made.close()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "{store}/theodolite.db",
        "README.md",
        "pyproject.toml",
        "..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_file_of_the_machine_is_served(
    visitor: httpx.Client, owner: Workspace, path: str
) -> None:
    """Not even to those who are signed in."""
    place = path.format(store=owner.store.folder)
    assert visitor.get(f"/gradio_api/file={place}").status_code in (403, 404)


def test_a_login_opens_no_more_than_the_pages(visitor: httpx.Client, owner: Workspace) -> None:
    """No function of ours can be called by its name, nothing uploaded, no evaluation slowed."""
    files = {"files": ("a.csv", b"text\na\n")}
    assert visitor.post("/gradio_api/upload", files=files).status_code == 403
    visitor.get("/search").raise_for_status()
    assert owner.store.visits.seconds_since() == math.inf
    assert "immutable" in visitor.get(f"/{PLOTLY_JS}").raise_for_status().headers["cache-control"]
    expected = {"named_endpoints": {}, "unnamed_endpoints": {}}
    assert visitor.get("/gradio_api/info").json() == expected
