"""What is frozen of answers that were worked out here, and of pages as they are seen."""

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.errors import refused
from tests.fakes import reported
from tests.fakes.command_line import objects, theodolite
from theodolite.app.pages.judge import session as judging
from theodolite.app.publish import choice, manifest, routes, site
from theodolite.app.workspace import Workspace
from theodolite.store.errors import StoreError

ENCODERS = [*reported.PAIR, "random:64"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Results, a training, a session and a decision, all of encoders that do not have a decoder."""
    with reported.answered(tmp_path_factory.mktemp("answered"), "random:64") as made:
        judging.mark(made, made.store.judgements.list()[0]["id"], "relevant", "zebulon")
        yield made


def text_of(made: site.Site) -> str:
    """All that a person or a program can read in it."""
    return unescape(
        "".join(
            data.decode() for name, data in made.files.items() if name.endswith((".html", ".json"))
        )
    )


def test_answers_are_named_before_they_leave(kept: Workspace) -> None:
    """A row each; their pages are there; a judge's name is not."""
    chosen = choice.choose(kept, ENCODERS, data=["starter-topics"])
    made = site.freeze(kept, chosen, ["choose", "judge", "runs"])
    rows = manifest.rows(kept, chosen, made)
    assert {"training", "judgement", "decision"} <= {row["kind"] for row in rows}
    assert {"Choose", "Judge", "Trainings"} <= set(made.pages)
    assert "zebulon" not in text_of(made)


def test_answers_are_masked_and_left_out_without_texts(kept: Workspace) -> None:
    """A sheet has examples, a session its last question; curves stay."""
    chosen = choice.choose(kept, ENCODERS, mask="names", data=["upload:topics"])
    made = site.freeze(kept, chosen, ["choose", "runs"])
    assert "upload:data-1" in text_of(made) and "upload:topics" not in text_of(made)
    chosen = choice.choose(kept, ENCODERS, data=["starter-topics"])
    made = site.freeze(kept, chosen, texts=False)
    assert not {"Choose", "Judge"} & set(made.pages)
    assert "Trainings" in made.pages and made.texts == {}


def test_only_trainings_of_what_is_published_go_along(kept: Workspace) -> None:
    """Or those that are named; one that there is none of is refused."""
    (run,) = kept.store.runs.list(kinds=["train"])
    assert choice.choose(kept, list(reported.PAIR)).trainings == ()
    assert choice.choose(kept, list(reported.PAIR), trainings=[run["id"]]).trainings == (run["id"],)
    with refused("unknown", "unknown"):
        choice.choose(kept, ENCODERS, trainings=["unknown"])


@pytest.mark.parametrize(
    ("given", "name", "query"),
    [
        (
            "compare?encoder=minilm&encoder=wordllama",
            "compare",
            (("encoder", "minilm"), ("encoder", "wordllama")),
        ),
        ("http://127.0.0.1:7860/some/where/map/?in=a%26b&__theme=dark", "map", (("in", "a&b"),)),
        ("/", "overview", ()),
        ("", "overview", ()),
    ],
)
def test_an_address_is_read(given: str, name: str, query: tuple[tuple[str, str], ...]) -> None:
    """Whole or from the page's name on; what Gradio puts there is left out."""
    assert choice.read_address(given) == (name, query)


def test_a_view_is_frozen_as_it_is_and_alone(kept: Workspace) -> None:
    """The first page of the folder leads to it; of the store it has what it shows."""
    views = [choice.read_address("compare?encoder=random:8&encoder=random:4&protocol=senteval")]
    made = site.freeze(kept, site.of_views(kept, views), at=views)
    assert made.pages == ["Compare"]
    assert b"url=./compare/?encoder=random%3A8" in made.files["index.html"]
    assert b"protocol=senteval" in made.files["index.html"]
    assert "random:64" not in text_of(made)
    assert set(ENCODERS) <= set(site.of_views(kept, [choice.read_address("board")]).encoders)
    session = kept.store.judgements.list()[0]["id"]
    views = [choice.read_address(f"judge?session={session}")]
    assert "10 of at most" in text_of(site.freeze(kept, site.of_views(kept, views), at=views))


def test_a_view_that_names_what_is_not_there_is_refused(kept: Workspace) -> None:
    """A page that is not frozen, a session that is gone."""
    views = [choice.read_address("jobs?run=1")]
    with refused("unknown", "jobs"):
        site.freeze(kept, site.of_views(kept, views), at=views)
    with pytest.raises(StoreError, match="no session"):
        site.of_views(kept, [choice.read_address("judge?session=unknown")])


def test_the_verb_writes_what_is_seen(kept: Workspace, tmp_path: Path) -> None:
    """And lists what was asked; a view names no encoders besides, and is no app."""
    view = ("--view", "compare?encoder=random:8&encoder=random:4")
    command = ("publish", str(tmp_path / "x"), *view, "--store", str(kept.store.folder), "--yes")
    for more in (("--encoder", "random:8"), ("--target", "docker")):
        theodolite(*command, *more, code=2)
    assert not (tmp_path / "x").exists()
    rows = objects(theodolite(*command, "--json"))
    assert [row["name"] for row in rows if row.get("kind") == "view"] == ["random:8 · random:4"]
    assert (tmp_path / "x" / "compare" / "index.html").is_file()


@pytest.fixture
def panel(kept: Workspace) -> TestClient:
    """Its addresses, without a browser."""
    return TestClient(Starlette(routes=routes.routes(kept)))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"address": 1, "mask": "none", "texts": true}',
        b'{"address": "map", "mask": "rm", "texts": true}',
        b'{"address": "a\\u0000", "mask": "none", "texts": true}',
    ],
)
def test_what_no_page_sends_is_refused(panel: TestClient, body: bytes) -> None:
    """Before anything is begun."""
    assert panel.post("/theodolite/publish", content=body).status_code == 400
    assert panel.get("/theodolite/publish/x.zip").status_code == 404
