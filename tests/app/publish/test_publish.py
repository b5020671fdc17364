"""`theodolite publish`: what is written and what is not, where it never is, and what is frozen."""

import gzip
import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.errors import refused
from tests.fakes import reported
from tests.fakes.command_line import objects, theodolite
from tests.fakes.folder import files
from tests.fakes.stores import evaluate_all, invent, invent_all
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.data import service as data
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.judge import session as judging
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import service as search
from theodolite.app.pages.search.answer import QUERY
from theodolite.app.publish import choice, folder, manifest, routes, site
from theodolite.app.surfaces.static import POLICY
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import Mapping
from theodolite.engine.encoders import parse
from theodolite.store.errors import StoreError

PRIVATE = "/home/zebulon/clandestine models/heirloom"
OWN = f"dir:{PRIVATE}"


@pytest.fixture
def kept(home: Path, workspace: Workspace) -> Path:
    """A store with invented results of four encoders; where to publish."""
    accuracies = {"random:256": 0.86, "random:64": 0.85, "wordllama": 0.60, OWN: 0.7}
    invent_all(workspace, accuracies, ("MR", "CR"))
    # Invented ones are the names themselves: as in life, they are to say nothing of them.
    workspace.store.database.change("UPDATE results SET fingerprint = 'f' || length(encoder)")
    return home / "site"


def written(folder: Path) -> dict[str, str]:
    """What a person or program can read in a folder."""
    texts = (path for path in folder.rglob("*") if path.suffix in (".html", ".json"))
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in texts}


def test_without_a_terminal_nothing_is_drawn_or_written(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything that was named and has nothing to show."""
    monkeypatch.delattr(site, "StaticPage")
    *_, output = theodolite("publish", str(kept), code=2)
    assert "Nothing was written" in output and "--yes" in output
    *_, output = theodolite("publish", str(kept), "--yes", "--pages", "compare,runs", code=2)
    assert "Trainings has nothing to publish" in output
    assert not kept.exists()


@pytest.mark.slow
def test_the_list_is_what_is_written_and_pages_stand_under_a_policy(kept: Path) -> None:
    """Sizes add up to those on the disk; scripts are files, none in the HTML or an attribute."""
    *rows, done = objects(theodolite("publish", str(kept), "--yes", "--json"))
    kinds = {row["kind"] for row in rows}
    assert kinds == {"page", "encoder", "task", "results", "files", "total"}
    sizes = {path: path.stat().st_size for path in kept.rglob("*") if path.is_file()}
    total = sum(sizes.values()) - (kept / folder.LIST).stat().st_size
    assert rows[-1]["bytes"] == sum(r["bytes"] for r in rows if r["kind"] == "files") == total
    assert done == {"folder": str(kept), "files": len(sizes) - 1, "bytes": total}
    pages = {name: text for name, text in written(kept).items() if name.endswith(".html")}
    # Pages that have something to say of these; of cosines of pairs there is nothing.
    names = ("compare", "fair-play", "board", "decode", "interpolate", "arithmetic")
    assert pages.keys() == {"index.html", *(f"{name}/index.html" for name in names)}
    assert "'unsafe-eval'" not in POLICY and "script-src 'self';" in POLICY
    for text in pages.values():
        assert f'content="{POLICY}"' in text and "onclick" not in text
        inline = text.replace('<script type="application/json"', "").replace("<script src=", "")
        assert "<script" not in inline.replace('<script type="module" src=', "")


def test_only_what_was_chosen_is_there(kept: Path) -> None:
    """Neither the name of another encoder nor of another task, nor anything of this machine."""
    chosen = "-e random:256 -e wordllama --tasks MR --pages compare --yes".split()
    theodolite("publish", str(kept), *chosen)
    everything = unescape("".join(written(kept).values()))
    assert "random:256" in everything
    for other in ("random:64", PRIVATE, "dir:", '"CR"', str(kept.parent)):
        assert other not in everything
    assert not (kept / "board").exists()


@pytest.mark.parametrize("mask", ["paths", "names"])
def test_a_masked_name_is_nowhere(kept: Path, mask: str) -> None:
    """Nor is a piece of its path, however it is written."""
    chosen = ["-e", "random:256", "-e", OWN, "--yes", "--json"]
    rows = objects(theodolite("publish", str(kept), *chosen))
    assert [r["name"] for r in rows if r.get("kind") == "path"] == [PRIVATE]
    rows = objects(theodolite("publish", str(kept), *chosen, "--mask", mask))
    assert not [row for row in rows if row.get("kind") == "path"]
    everything = "".join(written(kept).values())
    for piece in ("/home", "zebulon", "clandes", *(["heirloom"] if mask == "names" else [])):
        assert piece not in everything
    assert {"paths": "dir:/heirloom", "names": "dir:/encoder-1"}[mask] in everything


def test_what_was_chosen_is_called_by_its_name(kept: Path, home: Path) -> None:
    """Above the answer too, and not by its folder."""
    Workspace(home / "store").store.encoders.label(OWN, "heir")
    theodolite(
        "publish", str(kept), "-e", "random:256", "-e", "heir", "--pages", "compare", "--yes"
    )
    everything = "".join(written(kept).values())
    assert re.search(r"t-spec\W+heir<", everything)
    assert not re.search(r"t-spec\W+dir:", everything)


def test_names_that_are_masked_stay_apart() -> None:
    """Two models of one last name, a server, a hub's repository and an upload."""
    alias = choice.Alias("names")
    names = [
        "dir:/a/x",
        "dir:/b/x",
        "dir:/a/x | normalise",
        "hf:me/mine",
        "random:64",
        "api:https://host.example/v1#m",
        "wordllama | center:upload:ours",
    ]
    masked = [str(alias.encoder(parse(name))) for name in names]
    assert masked[0] == masked[2].removesuffix(" | normalise")
    assert len(set(masked)) == len(names) and masked[4] == "random:64"
    assert not [one for one in masked if "mine" in one or "host" in one or "ours" in one]
    assert alias.data("upload:ours/classify") == "upload:data-1/classify"
    assert choice.Alias("paths").data("upload:ours") == "upload:ours"


def test_a_folder_of_somebody_is_left_alone(kept: Path) -> None:
    """Whatever was not published there stays, and nothing is written beside it."""
    files(kept, {"thesis.txt": "mine"})
    assert "thesis.txt" in theodolite("publish", str(kept), "--yes", code=2)[-1]
    assert [path.name for path in kept.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("inside", [False, True])
def test_links_out_of_the_folder_are_refused(kept: Path, inside: bool) -> None:
    """The folder itself, or one in it: what is written would land elsewhere."""
    elsewhere = files(kept.parent / "elsewhere", {"index.html": "mine"})
    if inside:
        theodolite("publish", str(kept), "--yes", "--pages", "overview")
        (kept / "compare").symlink_to(elsewhere)
    else:
        kept.symlink_to(elsewhere)
    assert "is a link" in theodolite("publish", str(kept), "--yes", code=2)[-1]
    assert {path.name: path.read_text() for path in elsewhere.iterdir()} == {"index.html": "mine"}


def test_what_was_published_before_goes_and_nothing_elsewhere(tmp_path: Path) -> None:
    """What the list of a folder says is believed of files in that folder alone."""
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    target = tmp_path / "site"
    folder.write(target, {"index.html": b"old", "compare/index.html": b"old"})
    names = ["../mine.txt", str(mine), "index.html", "compare/index.html", 3]
    (target / folder.LIST).write_text(json.dumps({"files": names}))
    folder.write(target, {"index.html": b"new"})
    assert (target / "index.html").read_bytes() == b"new" and not (target / "compare").exists()
    assert (target / folder.LIST).read_bytes() == folder.list_of(["index.html"])
    for name in ("../mine.txt", str(mine)):
        with pytest.raises(ValueError, match="not inside"):
            folder.write(target, {name: b"x"})
    assert mine.read_text() == "mine"


def test_nothing_to_publish_is_said(home: Path) -> None:
    """An empty store, an encoder without results, a page that cannot be frozen."""
    assert "nothing to publish" in theodolite("publish", str(home / "x"), "--yes", code=2)[-1]
    invent(Workspace(home / "store"), "random:64", "MR", 0.8)
    for more in (
        ("-e", "random:64", "-e", "random:32"),
        ("--pages", "jobs"),
        ("-e", "random:64", "--pages", "distributions"),
    ):
        theodolite("publish", str(home / "x"), "--yes", *more, code=2)
    assert not (home / "x").exists()


def test_texts_are_listed_with_their_licence_or_left_out(home: Path, workspace: Workspace) -> None:
    """Board shows examples: of which data set is known before they are written."""
    evaluate_all(workspace, ["random:64", "random:16"], "StarterSTS")
    sentences = workspace.catalog.load("starter-pairs").sentences
    target = str(home / "site")
    arguments = ["publish", target, "-e", "random:64", "-e", "random:16", "--yes", "--json"]
    rows = [r for r in objects(theodolite(*arguments)) if r.get("kind") == "texts"]
    assert [row["name"] for row in rows] == ["starter-pairs"]
    assert rows[0]["licence"]
    assert any(text in unescape("".join(written(home / "site").values())) for text in sentences)
    rows = objects(theodolite(*arguments, "--no-texts"))
    assert not [row for row in rows if row.get("kind") == "texts"]
    everything = unescape("".join(written(home / "site").values()))
    assert not [text for text in sentences if text in everything]


@pytest.mark.data
@pytest.mark.long
def test_fifty_thousand_sentences_are_small_enough(
    workspace: Workspace, tmp_path: Path, data_root: Path
) -> None:
    """With their map, true neighbours, texts and vectors to search with."""
    text = tmp_path / "mix.txt"
    with gzip.open(data_root / "unlabelled" / "sentences_mix.txt.gz", "rt") as lines:
        distinct = dict.fromkeys(line.strip() for line in lines if line.strip())
    text.write_text("".join(f"{line}\n" for line in islice(distinct, 50_000)))
    data.keep(workspace, text, text.name, "mix", Mapping("sentences", {"text": "text"}))
    encoders.add(workspace, "wordllama")
    search.nearest(workspace, "wordllama", "upload:mix", ["a first query"], search.Limits(1))
    list(perform(workspace, MapSpec("wordllama", "upload:mix", method="pca")))
    chosen = choice.choose(workspace, ["wordllama"], data=["upload:mix"])
    sizes = {name: len(content) for name, content in site.freeze(workspace, chosen).files.items()}
    assert sum(sizes.values()) < 35_000_000, sorted(sizes.items(), key=lambda item: -item[1])[:20]
    for part in ("map/index.html", "search/index.html", "/points", "/near-", "vectors/rows-"):
        assert any(part in name for name in sizes), part


# What is frozen of answers that were worked out here, and of pages as they are seen.

ENCODERS = [*reported.PAIR, "random:64"]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
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


def frozen(workspace: Workspace, address: str) -> site.Site:
    """A view as it is published."""
    views = [choice.read_address(address)]
    return site.freeze(workspace, site.of_views(workspace, views), at=views)


def test_answers_are_named_before_they_leave(answered: Workspace) -> None:
    """A row each; their pages are there, masked; a judge's name is not.

    Without texts curves stay: a sheet has examples, a session its last question.
    """
    data = ["starter-topics", "upload:topics"]
    chosen = choice.choose(answered, ENCODERS, mask="names", data=data)
    made = site.freeze(answered, chosen, ["choose", "judge", "runs"])
    rows = manifest.rows(answered, chosen, made)
    assert {"training", "judgement", "decision"} <= {row["kind"] for row in rows}
    assert {"Choose", "Judge", "Trainings"} <= set(made.pages)
    text = text_of(made)
    assert "upload:data-1" in text and "upload:topics" not in text and "zebulon" not in text
    made = site.freeze(answered, chosen, texts=False)
    assert not {"Choose", "Judge"} & set(made.pages)
    assert "Trainings" in made.pages and made.texts == {}


def test_only_trainings_of_what_is_published_go_along(answered: Workspace) -> None:
    """Or those that are named; one that there is none of is refused."""
    (run,) = answered.store.runs.list(kinds=["train"])
    assert choice.choose(answered, list(reported.PAIR)).trainings == ()
    assert choice.choose(answered, list(reported.PAIR), trainings=[run["id"]]).trainings == (
        run["id"],
    )
    with refused("unknown", "unknown"):
        choice.choose(answered, ENCODERS, trainings=["unknown"])


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


def test_a_view_is_frozen_as_it_is_and_alone(answered: Workspace) -> None:
    """The first page of the folder leads to it; of the store it has what it shows."""
    made = frozen(answered, "compare?encoder=random:8&encoder=random:4&protocol=senteval")
    assert made.pages == ["Compare"]
    assert b"url=./compare/index.html?encoder=random%3A8" in made.files["index.html"]
    assert b"protocol=senteval" in made.files["index.html"]
    assert "random:64" not in text_of(made)
    assert set(ENCODERS) <= set(site.of_views(answered, [choice.read_address("board")]).encoders)
    session = answered.store.judgements.list()[0]["id"]
    assert "10 of at most" in text_of(frozen(answered, f"judge?session={session}"))


def test_a_view_has_what_its_address_leaves_out(answered: Workspace) -> None:
    """The usual collection; Search begins with the query, the usual one where there is none."""
    for address, query in (("search?q=a+boat&k=3", "a boat"), ("search", QUERY)):
        text = text_of(frozen(answered, address)).replace("\\", "")
        assert re.search(f'"first": ?"{query}"', text)
    assert "starter-topics" in site.of_views(answered, [choice.read_address("map")]).data
    with refused("unsupported", "by meaning"):
        frozen(answered, "search?q=boat&by=words")


def test_a_view_that_names_what_is_not_there_is_refused(answered: Workspace) -> None:
    """A page that is not frozen, a session that is gone."""
    with refused("unknown", "jobs"):
        frozen(answered, "jobs?run=1")
    with pytest.raises(StoreError, match="no session"):
        site.of_views(answered, [choice.read_address("judge?session=unknown")])


def test_the_verb_writes_what_is_seen(answered: Workspace, tmp_path: Path) -> None:
    """And lists what was asked; a view names no encoders besides, and is no app."""
    view = ("--view", "compare?encoder=random:8&encoder=random:4")
    command = (
        "publish",
        str(tmp_path / "x"),
        *view,
        "--store",
        str(answered.store.folder),
        "--yes",
    )
    for more in (("--encoder", "random:8"), ("--target", "docker")):
        theodolite(*command, *more, code=2)
    assert not (tmp_path / "x").exists()
    rows = objects(theodolite(*command, "--json"))
    assert [row["name"] for row in rows if row.get("kind") == "view"] == ["random:8 · random:4"]
    assert (tmp_path / "x" / "compare" / "index.html").is_file()


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
def test_what_no_page_sends_is_refused(answered: Workspace, body: bytes) -> None:
    """Before anything is begun."""
    panel = TestClient(Starlette(routes=routes.routes(answered)))
    assert panel.post("/theodolite/publish", content=body).status_code == 400
    assert panel.get("/theodolite/publish/x.zip").status_code == 404
