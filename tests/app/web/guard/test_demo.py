"""A demonstration over HTTP: bounded, and nothing kept of what strangers type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio.state_holder import SessionState
from gradio.utils import get_upload_folder

from tests.app.web.guard.test_nonsense import config, handlers, sent
from tests.errors import refused
from tests.store.test_reading import files
from theodolite.app import ui
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.geometry import service as geometry
from theodolite.app.pages.search import service as retrieval
from theodolite.app.web.guard.limits import Limits
from theodolite.app.web.guard.server import Session
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

LISTED = "random:16"
TYPED = "Zebra ukulele heliotrope, said nobody before."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared by the one who serves: an encoder, and a collection encoded by it."""
    made = Workspace(tmp_path_factory.mktemp("demo") / "store")
    encoders.add(made, LISTED)
    made.store.encoders.add("api:http://127.0.0.1:9/v1#model")
    retrieval.nearest(made, LISTED, "starter-pairs", ["a first query"], 1)
    made.close()
    return made.store.folder


@pytest.fixture(scope="module")
def demo(store: Path) -> Iterator[Workspace]:
    """What strangers are shown."""
    made = Workspace(store, demo=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def stranger(demo: Workspace) -> Iterator[httpx.Client]:
    """Somebody without a browser, at an address of their own."""
    running = ui.launch(demo, host="0.0.0.0", open_browser=False, block=False)  # noqa: S104
    with httpx.Client(base_url=f"http://127.0.0.1:{running.server_port}", timeout=60) as made:
        made.headers["X-Forwarded-For"] = "10.1.0.1"
        yield made
    running.close()


def fired(client: httpx.Client, tab: str, element: str, **values: Any) -> str:
    """What comes of a click on an element, with some of its values given by name."""
    page_config = config(client)
    names = {one["id"]: one["props"].get("elem_id") for one in page_config["components"]}
    begun = {event["id"]: data for event, data in handlers(client)}
    (event,) = [
        one
        for one in page_config["dependencies"]
        if one["backend_fn"]
        and any(names.get(target) == element for target, _ in one["targets"])
        and any(kind == "click" for _, kind in one["targets"])
    ]
    data = [
        values.get(names[number] or "", begun[event["id"]][at])
        for at, number in enumerate(event["inputs"])
    ]
    return sent(client, [(event, data, None)], tab)[0]


def test_nothing_is_kept_of_what_is_typed(stranger: httpx.Client, store: Path) -> None:
    """Every page is filled and searches are made: no file is written, none has the words."""
    before, uploads = files(store), set(Path(get_upload_folder()).rglob("*"))
    opened = [
        (event, values, None)
        for event, values in handlers(stranger)
        if any(kind == "load" for _, kind in event["targets"])
    ]
    for text in sent(stranger, opened, "a-tab"):
        assert '"success":false' not in text
        assert "internal error" not in text
    stream = fired(
        stranger,
        "a-tab",
        "search-button",
        query=TYPED,
        data="starter-pairs",
        encoders=[LISTED],
        by="meaning",
        k=3,
    )
    assert "t-notice" not in stream
    assert '"success":true' in stream
    assert files(store) == before
    kept = {*store.rglob("*"), *Path(get_upload_folder()).rglob("*")} - uploads
    assert not [path for path in kept if path.is_file() and b"ukulele" in path.read_bytes()]


def test_what_was_not_worked_out_is_not_worked_out_here(demo: Workspace) -> None:
    """Nor is it tried for long first."""
    assert geometry.quick(demo, LISTED, "starter-pairs") is None


@pytest.mark.parametrize("spec", ["dir:/etc", "hf:a/b", "random:17", "minilm"])
def test_no_encoder_is_loaded_that_is_not_listed(demo: Workspace, spec: str) -> None:
    """Nor one that would be sent what strangers type."""
    with pytest.raises(UserError, match="not among the encoders here"):
        demo.load(spec)
    with pytest.raises(UserError, match="would be sent"):
        demo.load("api:http://127.0.0.1:9/v1#model")
    with refused("denied"):
        demo.catalog.load("hub:owner/name@main/file.csv")


def test_a_text_that_is_too_long_is_refused_in_a_sentence(stranger: httpx.Client) -> None:
    """Gradio's page shows what stands under `detail`."""
    body = {"fn_index": 0, "data": ["x" * 5000], "session_hash": "long"}
    answer = stranger.post("/gradio_api/queue/join", json=body)
    assert answer.status_code == 413
    assert "4,000 characters" in answer.json()["detail"]
    large = stranger.post("/gradio_api/queue/join", content=b"[" * (Limits().body + 1))
    assert large.status_code == 413


def test_who_asks_too_fast_waits_and_nobody_else(stranger: httpx.Client) -> None:
    """And is still told whether the app is well."""
    mine = {"X-Forwarded-For": "10.1.0.2"}
    burst = int(Limits().address.burst)
    path = "/theodolite/map/x/points"
    answers = [stranger.get(path, headers=mine) for _ in range(burst + 100)]
    codes = [answer.status_code for answer in answers]
    assert codes[:burst] == [404] * burst
    late = next(answer for answer in answers if answer.status_code == 429)
    assert int(late.headers["retry-after"]) >= 1
    assert "Too many requests" in late.json()["detail"]
    assert stranger.get("/healthz", headers=mine).json() == {"status": "ok"}
    assert stranger.get(path).status_code == 404


def test_pages_say_what_is_closed(stranger: httpx.Client) -> None:
    """Where something is missing that the page is there for."""
    values = [
        one["props"].get("value") for one in config(stranger)["components"] if one["type"] == "html"
    ]
    closed = [text for text in values if isinstance(text, str) and "disabled here" in text]
    assert len(closed) == 6


def test_a_tab_is_remembered_with_what_is_needed(demo: Workspace) -> None:
    """Of Gradio's own record everything else is left empty, and nothing is missing."""
    blocks = ui.build(demo)
    mine, gradios = Session(blocks), SessionState(blocks)
    assert vars(mine).keys() == vars(gradios).keys()
    mine._update_value_in_config(next(iter(blocks.blocks)), TYPED)
    assert not mine.config_values
