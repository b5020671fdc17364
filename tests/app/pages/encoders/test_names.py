"""Names of encoders: given by people, taken wherever a spec is, shown wherever people read."""

import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import theodolite as th
from tests.engine.encoders.models import save
from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.results import invent_all
from tests.fakes.small_training import small, write_sentences
from tests.fakes.workers import happened
from theodolite.app.agents.allowed import Allowed
from theodolite.app.blocks import Action, Finding, Link, Links, Table
from theodolite.app.names import labelled
from theodolite.app.pages.encoders import service
from theodolite.app.pages.train.job import SweepJob, TrainJob
from theodolite.app.publish import choice
from theodolite.app.surfaces.document import pieces
from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.encoders.spec import parse


def test_a_name_stands_for_its_encoder_everywhere(home: Path, tmp_path: Path) -> None:
    """In commands, options and steps behind it, Python and agents; programs are given the spec."""
    spec = f"dir:{save(tmp_path / 'st', 'bert')}"
    (tmp_path / "few.txt").write_text("the cat sleeps\nthe dog ran\n")
    theodolite("data", "add", str(tmp_path / "few.txt"), "--name", "few")
    theodolite("encoders", "add", spec)
    theodolite("encoders", "rename", spec, "reviews")
    asked = ("search", "the cat", "-e", "reviews | normalise", "-e", "reviews?max_length=9")
    found = ("--in", "upload:few", "-k", "1")
    assert [row["encoder"] for row in objects(theodolite(*asked, *found, "--json"))] == [
        f"{spec} | normalise",
        f"{spec}?max_length=9",
    ]
    table = "\n".join(theodolite(*asked, *found))
    assert "reviews | normalise" in table and "reviews?max_length=9" in table
    assert str(tmp_path / "st") not in table
    workspace = Workspace(home / "store")
    (row,) = th.search("the cat", "upload:few", "reviews", k=1, workspace=workspace).rows()
    assert row["encoder"] == spec
    assert Allowed(workspace).encoder("reviews") == spec
    theodolite("encoders", "rename", "reviews", "critics")
    with refused("unknown", "reviews"):
        parse("reviews")
    shutil.rmtree(tmp_path / "st")
    assert "There is no" in "\n".join(theodolite("encoders", "list"))
    theodolite("encoders", "remove", "critics")
    with refused("unknown", "critics"):
        parse("critics")


def test_names_that_cannot_be(workspace: Workspace) -> None:
    """Each is refused with a sentence, and nothing has changed."""
    specs = ["dir:/a", "dir:/b", "dir:/a | normalise", "minilm"]
    for spec in specs:
        workspace.store.encoders.add(spec)
    service.rename(workspace, "dir:/b", "taken")
    for name, code in (
        ("minilm", "conflict"),
        ("whiten", "conflict"),
        ("bm25", "conflict"),
        ("taken", "conflict"),
        ("a|b", "invalid"),
        ("a b", "invalid"),
        ("<b>", "invalid"),
        ("-x", "invalid"),
        ("", "invalid"),
        ("x" * 81, "invalid"),
    ):
        with refused(code, repr(name)):
            service.rename(workspace, "dir:/a", name)
    for spec in specs[2:]:
        with refused("wrong-kind", spec):
            service.rename(workspace, spec, "mine")
    with refused("unknown", "dir:/c"):
        service.rename(workspace, "dir:/c", "mine")
    assert workspace.store.encoders.labels() == {"dir:/b": "taken"}


def test_what_is_shown_has_names_and_what_is_sent_back_specs(workspace: Workspace) -> None:
    """A longer path that begins with the same letters is another encoder."""
    workspace.store.encoders.add("dir:/a/b")
    workspace.store.encoders.label("dir:/a/b", "mine")
    for text, shown in (
        ("dir:/a/b is better than dir:/a/b2.", "mine is better than dir:/a/b2."),
        ("dir:/a/b?pooling=avg | normalise, dir:/a/b.", "mine?pooling=avg | normalise, mine."),
        ("dir:/a/b/c dir:/a/b.bak dir:/a/b-1", "dir:/a/b/c dir:/a/b.bak dir:/a/b-1"),
    ):
        assert labelled(text) == shown
    action, link = (
        Action("dir:/a/b", "open", "dir:/a/b"),
        Link("dir:/a/b", "map", {"e": "dir:/a/b"}),
    )
    blocks = [Finding("dir:/a/b wins"), Table("t", ["x"], [[action]]), Links([link])]
    said, table, links = map(str, pieces(blocks))
    assert "mine wins" in said
    assert 'data-id="dir:/a/b"' in table and ">mine<" in table
    assert "e=dir%3A%2Fa%2Fb" in links and ">mine<" in links


def test_two_stores_may_give_one_name_to_different_encoders(
    workspace: Workspace, tmp_path: Path
) -> None:
    """While both are open, none of the two is taken for the other."""
    other = Workspace(tmp_path / "other")
    for place, spec in ((workspace, "dir:/a"), (other, "dir:/b")):
        place.store.encoders.add(spec)
        place.store.encoders.label(spec, "mine")
    with refused("ambiguous", "mine", "dir:/a", "dir:/b"):
        parse("mine")
    other.close()
    assert str(parse("mine | normalise")) == "dir:/a | normalise"
    assert rankers.split("minilm | whiten:nli, mine") == ["minilm | whiten:nli", "mine"]
    assert str(rankers.parse("fuse(mine, bm25)")) == "fuse(dir:/a, bm25)"


def test_what_is_trained_has_a_name(workspace: Workspace, tmp_path: Path) -> None:
    """The one that is given, or one of base, objective and date; weights do not depend on it."""
    sentences = write_sentences(tmp_path / "text.txt", 40)
    plain = small(sentences, tmp_path / "a", steps=1, dev=None)
    mine = small(sentences, tmp_path / "b", steps=1, dev=None, name="mine")
    assert plain.hash == mine.hash
    for spec in (plain, mine):
        list(happened(workspace, TrainJob.of(workspace, spec)))
    usual = f"new-unsup-{date.today()}"
    assert list(workspace.store.encoders.labels().values()) == [usual, "mine"]
    with refused("conflict", "mine"):
        TrainJob.of(workspace, replace(mine, out=str(tmp_path / "c")))
    with refused("invalid", "a|b"):
        replace(mine, name="a|b")
    assert TrainJob.of(workspace, replace(plain, base="mine")).spec.base == f"dir:{tmp_path / 'b'}"
    sweep = SweepJob.of(
        workspace, replace(mine, name="s"), [("seed 1", {}), ("seed 2", {"seed": 2})]
    )
    assert [job.spec.name for job in sweep.trainings()] == ["s-1-seed-1", "s-2-seed-2"]


@pytest.mark.parametrize(("mask", "names"), [("paths", ["mine"]), ("names", [])])
def test_names_are_published_unless_names_are_masked(
    workspace: Workspace, tmp_path: Path, mask: choice.Mask, names: list[str]
) -> None:
    """A name says nothing of this machine's folders."""
    invent_all(workspace, {"dir:/home/me/secret": 0.7, "random:64": 0.5}, ("MR",))
    for spec in ("dir:/home/me/secret", "random:64"):
        workspace.store.encoders.add(spec)
    workspace.store.encoders.label("dir:/home/me/secret", "mine")
    chosen = choice.choose(workspace, ["mine", "random:64"], mask=mask)
    made = choice.Part(workspace, chosen, tmp_path / "part", texts=False)
    assert list(made.store.encoders.labels().values()) == names
    assert "/home" not in str(made.store.encoders.list())
    made.close()
