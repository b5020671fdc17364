"""Encoders, chosen or from files: added, named, and which tasks they suffice for; corpora."""

import random
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import theodolite as th
from tests.engine.encoders.models import save as save_model
from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.small_training import small, write_sentences
from tests.fakes.stores import invent_all
from tests.fakes.uploads import beir
from tests.fakes.workers import happened, work_off
from theodolite.app.agents.allowed import Allowed
from theodolite.app.blocks import Action, Finding, Link, Links, Table
from theodolite.app.names import labelled
from theodolite.app.pages.encoders import builder, service
from theodolite.app.pages.encoders.checks import COVERAGE, CoverageSpec
from theodolite.app.pages.encoders.thresholds import CUTS, DEFAULT, ThresholdsSpec, thresholds
from theodolite.app.pages.jobs import views
from theodolite.app.pages.search import service as search
from theodolite.app.pages.train.job import SweepJob, TrainJob
from theodolite.app.publish import choice
from theodolite.app.surfaces.document import pieces
from theodolite.app.web.controls import Values
from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.corpus.reading import EncodedCorpus
from theodolite.engine.datasets.starter import read_pairs
from theodolite.engine.encoders import load, parse
from theodolite.engine.encoders.vectors import save
from theodolite.engine.search import ann_index


def test_files_of_vectors_are_read_before_they_are_added(home: Path) -> None:
    """What their first lines do not show is said now, not in the middle of an evaluation."""
    words, vectors = home / "v.txt", home / "x.npy"
    np.save(vectors, np.ones((2, 3), np.float32))
    (home / "x.txt").write_text("only one\n")
    for text, spec, says in (
        ("the 1 2\nship 3 nan\n", f"words:{words}", "'ship'"),
        ("9 2\nthe 1 2\n", f"words:{words}", "states 9 words"),
        ("the 1 2\nship 3 4\n", f"vectors:{vectors}", "x.txt"),
    ):
        words.write_text(text)
        assert says in theodolite("encoders", "add", spec, code=2)[-1]
    theodolite("encoders", "add", f"words:{words}")


def test_every_task_says_how_many_sentences_are_lacking(tmp_path: Path) -> None:
    """With the first of those; data that cannot be read spoil one row."""
    sentences = list(dict.fromkeys(read_pairs().sentences))
    save(tmp_path / "x.parquet", sentences[2:], np.ones((len(sentences) - 2, 3)))
    spec = f"vectors:{tmp_path / 'x.parquet'}"
    (tmp_path / "data" / "probing").mkdir(parents=True)
    (tmp_path / "data" / "probing" / "past_present.txt").write_text("xx\ta\tb\n")
    workspace = Workspace(tmp_path / "store", tmp_path / "data")

    def coverage(spec: str, tasks: str | None = None) -> list[dict]:
        return COVERAGE.last(workspace, CoverageSpec(spec, tasks), lambda job: False).rows()

    rows = {row["task"]: row for row in coverage(spec)}
    assert rows.keys() >= {"StarterSTS", "StarterTopics", "StarterSearch"}
    expected = {"sentences": len(sentences), "lacking": 2, "first": sentences[0], "error": None}
    assert rows["StarterSTS"] == {"task": "StarterSTS", **expected}
    (tense,) = coverage(spec, "Tense")
    assert "past_present.txt, line 1" in tense["error"]
    with refused("wrong-kind", "random:8"):
        coverage("random:8")


NAMES = ("source", "value", "pooling", "averaging", "learnt", "before", "steps", "fitted")


def chosen(*values: object, **prompts: str | None) -> Values:
    """What the controls say."""
    return Values(
        **dict(zip(NAMES, values, strict=True)), **{"prompt": None, "query_prompt": None} | prompts
    )


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (("wordllama", None, "", "avg", "starter", None, [], "@task"), "wordllama"),
        (("wordllama", "", "", "max", "starter", "", [], "@task"), "wordllama?pooling=max"),
        (
            ("random", "48", "", "sif", "nli", "", ["normalise"], "@task"),
            "random:48?pooling=sif&data=nli | normalise",
        ),
        (
            ("words", "/a b/x+y.txt", "", "sif", "starter", "", [], "@task"),
            "words:/a b/x%2By.txt?pooling=sif",
        ),
        (
            ("vectors", "/x.npy", "cls", "max", "starter", "minilm + wordllama", ["drop"], "nli"),
            "minilm + wordllama + vectors:/x.npy | drop:1,nli",
        ),
        (
            ("hf", "a/b", "cls_token", "max", "starter", "", ["center", "whiten"], "@task"),
            "hf:a/b?pooling=cls_token | center:@task | whiten:@task",
        ),
        (("minilm", "", builder.LEFT_TO_MODEL, "gem", "starter", "", [], "@task"), "minilm"),
        (
            (None, "", "cls", "avg", "starter", "random:8", ["normalise"], "@task"),
            "random:8 | normalise",
        ),
    ],
)
def test_choices_become_a_spec(choices: tuple, text: str) -> None:
    """Canonical already, options of another source left out."""
    assert builder.compose(chosen(*choices)) == text
    assert str(parse(text)) == text


def test_prompts_are_written_for_models_alone() -> None:
    """Spaces at their ends and all, so that they read back as they were typed."""
    prompts = {"prompt": "passage: ", "query_prompt": "a & b? "}
    rest = ("", "", [], "@task")
    text = builder.compose(chosen("hf", "a/b", "avg", "avg", *rest, **prompts))
    (source,) = parse(text).sources
    assert dict(source.options) == {"pooling": "avg", **prompts}
    minilm = chosen("minilm", "", builder.LEFT_TO_MODEL, "avg", *rest, prompt="@task")
    assert builder.compose(minilm) == "minilm?prompt=@task"
    assert builder.compose(chosen("wordllama", "", "", "avg", *rest, **prompts)) == "wordllama"


def test_nothing_is_written_while_nothing_is_chosen() -> None:
    """Nor while a source lacks its value."""
    for kind in (None, "hf", "words", "vectors", "random"):
        choices = chosen(kind, " ", "cls", "avg", "starter", "", ["normalise"], "nli")
        assert builder.compose(choices) == ""


# `theodolite encoders thresholds`, and the card on Encoders.


def cut_offs(workspace: Workspace, *given: str | None):
    *_, last = thresholds(workspace, ThresholdsSpec(*given), lambda job: False)
    return last


def test_the_cut_offs_of_the_shipped_pairs(starter: Workspace) -> None:
    """Recall is counted by hand on the pairs from grade 4 on."""
    found = cut_offs(starter, "random:64")
    assert found.n == 480 and found.same == 160
    rows = {row["purpose"]: row for row in found.rows()}
    assert rows["Retrieval"]["recall"] >= 0.95 and rows["Retrieval"]["like"] is None
    (part,) = starter.catalog.load("starter-pairs").parts.values()
    a, b = (starter.load("random:64").encode(side) for side in (part.left, part.right))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    above = cosines >= rows["Retrieval"]["cosine"] - 1e-6
    assert above[part.gold >= 4].mean() == pytest.approx(rows["Retrieval"]["recall"])
    assert (part.gold >= 4)[above].mean() == pytest.approx(rows["Retrieval"]["precision"])
    assert rows["Semantic cache"]["cosine"] is None
    assert any("Semantic cache: no cut-off" in text for text in found.warnings())


def test_cosines_are_translated_to_another_encoder(starter: Workspace) -> None:
    found = cut_offs(starter, "random:64", "starter-pairs", "random:32")
    assert len(found.rows()) == 5 + len(CUTS) and "random:32" in found.finding
    untold = [row for row in found.rows() if row["cosine"] is not None and row["like"] is None]
    assert untold and any("About 200" in text for text in found.warnings())


def test_what_has_no_pairs_is_refused(starter: Workspace) -> None:
    with refused("wrong-kind", "starter-topics"):
        cut_offs(starter, "random:64", "starter-topics")


def test_equal_vectors_have_no_cut_offs(starter: Workspace, tmp_path: Path) -> None:
    sentences = [*dict.fromkeys(starter.catalog.load("starter-pairs").sentences)]
    np.savez(tmp_path / "one.npz", sentences=sentences, vectors=np.ones((len(sentences), 4)))
    equal = f"vectors:{tmp_path / 'one.npz'}"
    for encoder, like in ((equal, None), ("random:4", equal)):
        with refused("unsupported", "same vector"):
            cut_offs(starter, encoder, DEFAULT, like)


@pytest.mark.parametrize(("other", "purposes"), [(1, 2), (0, 5)])
def test_judged_documents_are_pairs(other: int, purposes: int, tmp_path: Path) -> None:
    """Where none is judged irrelevant, only a recall can be guaranteed."""
    *_, judged = beir(tmp_path / "data" / "mteb" / "retrieval" / "mine")
    lines = [f"q{i}\td{i + 300}\t{other}\n" for i in range(40)]
    judged.write_text(judged.read_text() + "".join(lines))
    found = cut_offs(Workspace(tmp_path / "store", tmp_path / "data"), "random:64", "mine")
    assert (found.same, len(found.rows())) == (40 + sum(other for _ in lines), purposes)


# Names of encoders: given by people, taken wherever a spec is, shown wherever people read.


def test_a_name_stands_for_its_encoder_everywhere(home: Path, tmp_path: Path) -> None:
    """In commands, options and steps behind it, Python and agents; programs are given the spec."""
    spec = f"dir:{save_model(tmp_path / 'st', 'bert')}"
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


def test_a_former_name_says_what_it_is_now(workspace: Workspace) -> None:
    """Until something else has it."""
    for spec, name in (("dir:/a", "old"), ("dir:/a", "new"), ("dir:/b", "other")):
        workspace.store.encoders.add(spec)
        service.rename(workspace, spec, name)
    with refused("unknown", "'old' is named new now"):
        parse("old | normalise")
    service.rename(workspace, "dir:/b", "old")
    assert str(parse("old")) == "dir:/b"


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
    unit = {"position": 0, "label": "MR · dir:/a/b", "state": "failed", "error": "e", "hint": ""}
    run = {"state": "failed", "kind": "evaluate"}
    assert "MR · mine" in views.parts_of(run, [unit | {"seconds": None}], may_retry=True)


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
    workspace.store.encoders.label("dir:/home/me/secret", "mine")
    chosen = choice.choose(workspace, ["mine", "random:64"], mask=mask)
    made = choice.Part(workspace, chosen, tmp_path / "part", texts=False)
    assert list(made.store.encoders.labels().values()) == names
    assert "/home" not in str(made.store.encoders.list())
    made.close()


# `theodolite encode-corpus`: a corpus of any size to a folder of vectors.


def lines(count: int) -> list[str]:
    """Different sentences."""
    return [f"sentence {i} of the corpus" for i in range(count)]


def corpus(folder: Path, count: int) -> Path:
    """A file of them."""
    file = folder / "corpus.txt"
    file.write_text("".join(f"{line}\n" for line in lines(count)))
    return file


def arguments(file: Path, out: Path, *, rows: int) -> list[str]:
    """Of the verb."""
    return ["encode-corpus", "random:8", str(file), "--out", str(out), "--shard-rows", f"{rows}"]


def assert_whole(lines: list[str], out: Path) -> None:
    """Every line has its row, once, in order, and nothing of the killed is left."""
    found = EncodedCorpus(out)
    assert list(found.sentences()) == lines
    vectors = found.vectors(np.arange(len(lines)))
    np.testing.assert_array_equal(vectors, load("random:8").encode(lines))
    assert list(out.rglob("*.tmp")) == []


def test_files_become_a_folder_that_says_what_it_is(home: Path) -> None:
    more = home / "more.txt"
    more.write_text("one more\n")
    verb = [*arguments(corpus(home, 10), home / "out", rows=4), str(more), "--json"]
    (row,) = objects(theodolite(*verb))
    assert (row["count"], row["dim"], row["fingerprint"]) == (11, 8, load("random:8").fingerprint)
    assert list(EncodedCorpus(home / "out").sentences())[-1] == "one more"


def test_a_queued_corpus_is_a_run_with_a_unit_for_each_shard(
    home: Path, workspace: Workspace
) -> None:
    """Which a worker does from the folder alone, though the file is gone."""
    file = corpus(home, 10)
    (run,) = objects(theodolite(*arguments(file, home / "out", rows=4), "--queue", "--json"))
    file.unlink()
    assert work_off(workspace, run["id"])["state"] == "done"
    units = [unit["label"] for unit in workspace.store.runs.units(run["id"])]
    assert units == ["Shard 1 of 3", "Shard 2 of 3", "Shard 3 of 3"]
    assert_whole(lines(10), home / "out")


def test_it_is_a_data_set_whose_vectors_are_read_in_the_folder(
    home: Path, workspace: Workspace
) -> None:
    """Also by an index; the store has none of them, and forgets the folder when it is told to."""
    (row,) = objects(theodolite(*arguments(corpus(home, 300), home / "out", rows=64), "--json"))
    name, text = row["dataset"], "sentence 7 of the corpus"
    (hit,) = objects(
        theodolite("search", text, "--in", name, "-e", "random:8", "-k", "1", "--json")
    )
    assert (hit["sentence"], round(hit["cosine"], 5)) == (text, 1.0)
    search.make_index(workspace, "random:8", name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ann_index, "EXACT_BELOW", 100)
        opened = search.open_collection(workspace, "random:8", name)
    ((nearest,),) = opened.nearest([text], search.Limits(1))
    assert nearest.sentence == text and workspace.store.vectors.usage() == {} and opened.built
    theodolite("data", "remove", name)
    assert name == "corpus:out" and name not in workspace.catalog.names()
    assert (home / "out" / "manifest.json").exists()


def test_a_corpus_that_is_gone_is_encoded_again_by_whoever_needs_it(
    home: Path, workspace: Workspace
) -> None:
    """Its vectors are a cache like any other."""
    theodolite(*arguments(corpus(home, 300), home / "out", rows=64))
    (home / "out" / "manifest.json").unlink()
    again = workspace.load("random:8").encode(lines(8))
    np.testing.assert_array_equal(again, load("random:8").encode(lines(8)))


@pytest.mark.parametrize(
    ("encoder", "more", "named"),
    [
        ("random:8", ["--dtype", "int8"], "int8"),
        ("random:8", ["--format", "h5"], "h5"),
        ("minilm|center:@task", [], "@task"),
    ],
)
def test_what_cannot_be_encoded_is_refused_before_anything_is_written(
    encoder: str, more: list[str], named: str, home: Path
) -> None:
    out = home / "out"
    file = str(corpus(home, 3))
    assert named in theodolite("encode-corpus", encoder, file, "--out", str(out), *more, code=2)[-1]
    assert not out.exists()


@pytest.mark.parametrize(
    ("sentences", "rows", "kills"),
    [(4000, 200, 2), pytest.param(1_000_000, 16_384, 12, marks=pytest.mark.long)],
)
def test_killed_it_loses_and_doubles_nothing(
    home: Path, sentences: int, rows: int, kills: int
) -> None:
    """By SIGKILL at random moments, while it is cut and while it is encoded."""
    verb = arguments(corpus(home, sentences), home / "out", rows=rows)
    command = [sys.executable, "-m", "theodolite.app", *verb]
    draws, shards = random.Random(7), home / "out" / "shards"
    for _ in range(kills):
        # At any moment from the first shard on; and once while the corpus is cut.
        wanted = len(list(shards.glob("*.json"))) + draws.randint(0, 3)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(shards.glob("*.json"))) < wanted:
            time.sleep(0.005)
        time.sleep(draws.random() * 0.1)
        process.kill()
        process.wait(60)
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    assert_whole(lines(sentences), home / "out")
