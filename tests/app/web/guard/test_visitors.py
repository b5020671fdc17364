"""A read-only app against those who leave the page aside and speak to the server themselves.

No browser: the pages hide what visitors may not do, these requests are made all the same.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.errors import refused
from theodolite.app import ui
from theodolite.app.pages.data import service as data
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate import service as evaluate
from theodolite.app.pages.evaluate.costs import estimates
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation, welcome
from theodolite.app.pages.fair import service as fair
from theodolite.app.pages.overview import service as overview
from theodolite.app.pages.train.service import EncoderTraining
from theodolite.app.web.routes import PLOTLY_JS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import TrainSpec

LISTED = "random:16"
LOGIN = ("reader", "secret")


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
    demo = ui.launch(looking, open_browser=False, auth=LOGIN, block=False)
    with httpx.Client(base_url=demo.local_url, timeout=30) as client:
        username, password = LOGIN
        client.post("/login", data={"username": username, "password": password})
        yield client
    demo.close()


def events(client: httpx.Client, kind: str) -> list[dict[str, Any]]:
    """All events of one kind that any page of the app listens to."""
    config = client.get("/config").raise_for_status().json()
    return [
        d
        for d in config["dependencies"]
        if d["backend_fn"] and any(target[1] == kind for target in d["targets"])
    ]


def send(client: httpx.Client, event: dict[str, Any], data: list[Any], about: Any = None) -> str:
    """Send an event as the page would, and return what came back."""
    session = uuid.uuid4().hex
    body = {"fn_index": event["id"], "data": data, "session_hash": session, "event_data": about}
    client.post("/gradio_api/queue/join", json=body).raise_for_status()
    with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as lines:
        for line in lines.iter_lines():
            if "process_completed" in line:
                return json.dumps(json.loads(line[5:])["output"])
    raise AssertionError("no answer")


@pytest.mark.parametrize("act", ["remove", "audit", "cancel", "retry", "again"])
def test_a_forged_act_changes_nothing(visitor: httpx.Client, owner: Workspace, act: str) -> None:
    """Every list and panel is sent an act it did not offer; those of runs say why they refuse."""
    (run,) = owner.store.runs.list()
    acts = product(events(visitor, "act"), (LISTED, run["id"], "upload:x"))

    def forged(one: tuple[dict[str, Any], str]) -> str:
        event, name = one
        return send(visitor, event, [""] * len(event["inputs"]), {"act": act, "id": name})

    with ThreadPoolExecutor(8) as together:
        streams = list(together.map(forged, acts))
    assert owner.store.runs.list() == [run]
    assert owner.store.encoders.names() == [LISTED]
    if act in ("cancel", "retry"):
        assert sum("change nothing" in text for text in streams) >= 12  # two of each of six panels


def test_nothing_can_be_uploaded(visitor: httpx.Client) -> None:
    """Gradio's address for uploads is there on every app; here it refuses."""
    answer = visitor.post("/gradio_api/upload", files={"files": ("a.csv", b"text\na\n")})
    assert answer.status_code == 403


@pytest.mark.parametrize("spec", ["dir:/etc", "words:/etc/passwd", "hf:a/b", "random:17"])
def test_only_listed_encoders_are_loaded(looking: Workspace, spec: str) -> None:
    """A path in a spec is never looked at; the refusal says nothing about what is there."""
    with pytest.raises(UserError, match="not among the encoders here"):
        looking.load(spec)
    looking.load(LISTED)


def test_nothing_is_fetched_from_the_hub(looking: Workspace) -> None:
    """A data set of the hub is refused before anyone is asked for it."""
    with refused("denied"):
        looking.catalog.load("hub:owner/name@main/file.csv")


def test_nothing_is_added_or_started(looking: Workspace, tmp_path: Path) -> None:
    """Not by the services either, whoever asks them."""
    for change in (
        lambda: encoders.add(looking, "random:17"),
        lambda: queue_evaluation(looking, [LISTED], ["StarterSTS"]),
        lambda: overview.remove(looking, []),
        lambda: data.remove(looking, "upload:x"),
        lambda: evaluate.start(looking, EvaluateJob((LISTED,), ("StarterSTS",))),
        lambda: next(estimates(looking, EvaluateJob((LISTED,), ("StarterSTS",)))),
        lambda: EncoderTraining(looking).probe(TrainSpec("unsup", LISTED, "starter", "out")),
        lambda: fair.evaluate(looking, fair.advise(looking), "size"),
        lambda: encoders.remove(looking, LISTED),
        lambda: encoders.check_poolings(looking, LISTED),
        lambda: next(encoders.audit(looking, LISTED)),
        lambda: next(encoders.coverage(looking, LISTED)),
    ):
        with pytest.raises(UserError, match="change nothing"):
            change()


def test_a_visit_keeps_no_evaluation_waiting(visitor: httpx.Client, owner: Workspace) -> None:
    """Those who can change nothing cannot slow what the owner runs either."""
    visitor.get("/search").raise_for_status()
    assert owner.store.visits.seconds_since() == math.inf


def test_the_one_who_serves_is_welcomed(tmp_path: Path) -> None:
    """The first runs of a new store are queued even where visitors can start none."""
    made = Workspace(tmp_path / "store", read_only=True)
    assert welcome(made)
    made.close()


@pytest.mark.parametrize(
    "path",
    [
        "/config",
        f"/{PLOTLY_JS}",
        "/theodolite/mark.svg",
        "/gradio_api/file=/etc/hosts",
        "/gradio_api/queue/status",
    ],
)
def test_strangers_get_nothing(visitor: httpx.Client, path: str) -> None:
    """Without a login our addresses and Gradio's answer 401."""
    assert httpx.get(str(visitor.base_url.join(path))).status_code == 401


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "{store}/theodolite.db", "README.md", "..%2f..%2fetc%2fpasswd"],
)
def test_no_file_of_the_machine_is_served(
    visitor: httpx.Client, owner: Workspace, path: str
) -> None:
    """Not even to those who are signed in."""
    place = path.format(store=owner.store.folder)
    answer = visitor.get(f"/gradio_api/file={place}")
    assert answer.status_code in (403, 404)
