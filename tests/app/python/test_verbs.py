"""`import theodolite as th`: what is kept and what is not, and how an answer is looked at."""

import csv
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import FrozenInstanceError
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import theodolite as th
from tests.errors import refused
from tests.fakes.reported import body, unpacked
from tests.fakes.stores import invent_all
from theodolite.app.python.verbs import Training
from theodolite.engine import rankers
from theodolite.engine.encoders import with_checks
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import Evaluated, Finished, Stepped

HOSTILE = '<img src=x onerror="alert(1)"> & </script>'


@pytest.fixture
def own(home: Path) -> th.Workspace:
    """Where somebody's own results are."""
    return th.Workspace(str(home / "store"))


def seen(html: str) -> str:
    """The document in the frame of a notebook."""
    return unescape(re.findall(r'srcdoc="([^"]*)"', html)[0])


def test_what_is_named_is_kept_and_what_is_given_is_not(own: th.Workspace) -> None:
    """Both measure the same; a spec's result is in the store, an object's opens none."""
    given = th.evaluate(th.load("random:16"), "StarterSTS")
    assert own.store.results.table() == []
    named = th.evaluate("random:16", ["StarterSTS"])
    assert [row["encoder"] for row in own.store.results.table()] == ["random:16"]
    assert [result.main.score for result in named] == [result.main.score for result in given]
    assert named[0].examples.keys() == given[0].examples.keys()
    table = named.to_pandas()
    assert table.loc[0, "score"] == given[0].main.score and len(table) == len(named) == 1
    assert "StarterSTS" in body(seen(named._repr_html_()))


def test_an_encoder_as_an_object_is_no_name(own: th.Workspace) -> None:
    """Where the store's results are compared; a program that prints one sees which it is."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    with refused("invalid", "<encoder 'random:16'>", "minilm", "evaluate and search"):
        th.compare(["minilm", th.load("random:16")])
    model = SentenceTransformer(modules=[BoW(["cat"])], device="cpu")
    for given in (model, [model]):
        with refused("wrong-kind", "SentenceTransformer has no name", "theodolite.load"):
            th.evaluate(given, "StarterSTS")
    with refused("wrong-kind", "str", "theodolite.Workspace"):
        th.compare(["random:8", "random:4"], workspace=str(own.store.folder))
    with refused("invalid", "train", "a dog"):
        th.TrainSpec("unsup", "minilm", ["a dog", "a cat"], "")  # type: ignore[arg-type]
    with refused("no-file", "nowhere"):
        th.gate_save(own.store.folder / "nowhere" / "x.json", "minilm")
    assert str(own.store.folder) in repr(own)
    assert repr(rankers.load("bm25")) == "<ranker 'bm25'>"


@pytest.mark.parametrize(
    ("rows", "code", "named"),
    [
        (lambda n: [[1.0, 2.0]] * n, None, []),
        (lambda n: np.ones((n, 3)), "mismatch", ["(2, 3)", "(2, 2)"]),
        (lambda n: [[1.0, 2.0]] * (n + 1), "mismatch", ["(3, 2)"]),
        (lambda n: [[1.0]] * (n - 1) + [[1.0, 2.0]], "mismatch", ["list"]),
        (lambda n: [["a", "b"]] * n, "mismatch", ["(2, 2)"]),
        (lambda n: np.full((n, 2), np.nan), "not-finite", ["cats sleep"]),
    ],
)
def test_what_an_encoder_of_ones_own_gives_is_looked_at(
    rows: Callable[[int], object], code: str | None, named: list[str]
) -> None:
    """Lists do as well as arrays; another shape is said before anything is searched in it."""
    mine = SimpleNamespace(
        name="mine", fingerprint="f", dim=2, encode=lambda sentences: rows(len(sentences))
    )
    assert with_checks(mine).warnings == ()
    assert with_checks(SimpleNamespace(**vars(mine), warnings=("Mind.",))).warnings == ("Mind.",)
    with refused(code, *named) if code else nullcontext():
        found = th.search("dogs", ["cats sleep", "dogs run"], mine, k=1)
        assert len(found.rows()) == 1


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (
            lambda: th.compare(["minilm"], task="sts"),
            ["compare() ", "'task'", "tasks?", "workspace"],
        ),
        (lambda: th.search("a dog", kk=3), ["search() ", "'kk'", "queries"]),
        (lambda: th.evaluate("minilm", task="sts"), ["evaluate() ", "'task'", "tasks?"]),
        (lambda: th.compare(), ["compare()", "'encoders'"]),
        (lambda: th.map(*"abcdefghijklmnop"), ["map()", "too many"]),
    ],
)
def test_arguments_that_a_verb_does_not_take(
    call: Callable[[], object], named: list[str], own: th.Workspace
) -> None:
    """The verb is named, not a class behind it, and what it takes."""
    with pytest.raises(UserError) as caught:
        call()
    assert [one for one in named if one not in str(caught.value)] == []


def test_a_comparison_is_the_pages_and_a_table(own: th.Workspace) -> None:
    """Of the person's own store; with its chart, its verdicts and all its numbers."""
    invent_all(own, {"random:8": 0.9, "random:4": 0.6})
    found = th.compare(["random:8", "random:4"])
    assert found.to_pandas().loc[1, "verdict"] == "random:8 is better"
    for row, line in zip(
        found.rows(), csv.DictReader(found.to_csv().decode().splitlines()), strict=True
    ):
        assert line == {name: "" if row.get(name) is None else str(row[name]) for name in line}
    html = found._repr_html_()
    assert "worse" in body(seen(html)) and "data-piece" in body(seen(html))
    assert "plotly.js v" in unpacked(seen(html))
    assert repr(found).startswith("Comparison\n")
    with pytest.raises(FrozenInstanceError):
        found.tasks = ()


def test_sentences_of_ones_own_are_searched_without_a_store(tmp_path: Path) -> None:
    """The nearest first, each sentence once; text from outside is shown as it is."""
    sentences = ["a car", HOSTILE, "a dog", "a dog"]
    found = th.search("a dog", sentences, th.load("random:64"), k=3)
    assert found.to_pandas().loc[0, "sentence"] == "a dog"
    assert len(found.rows()) == 3 and found.rows()[0]["cosine"] == pytest.approx(1.0)
    html = found._repr_html_()
    assert HOSTILE not in html and HOSTILE not in unpacked(seen(html))
    assert "\\u003cimg src=x" in unpacked(seen(html))
    with refused("conflict"):
        th.search("dog", sentences, by="words")


def test_a_training_shows_its_curves() -> None:
    """Events as rows; the spec that loads what was trained."""
    events = (
        Evaluated(10, True, 70.0, 0.5, -1.0),
        Finished(10, 10, 70.0, 3.0, "out", "dir:out", "done", None),
    )
    made = Training(events)
    assert made.encoder == "dir:out" and list(made.to_pandas().kind)[-1] == "finished"
    assert "best dev score 70.00" in body(seen(made._repr_html_()))
    assert Stepped.kind not in {row["kind"] for row in made.rows()}


def test_nothing_given_is_refused_and_an_encoder_says_which_it_is(own: th.Workspace) -> None:
    """An answer of no rows would be taken for one."""
    encoder = th.load("random:8")
    for ask in (
        lambda: th.evaluate([]),
        lambda: th.search("a dog", [], encoder),
        lambda: th.decode([]),
        lambda: th.choose(""),
    ):
        with refused("missing"):
            ask()
    for spec in ("random:8", "random:8 | normalise", "random:8 + random:4"):
        assert repr(th.load(spec)) == f"<encoder {spec!r}>"


@pytest.mark.parametrize("wrong", [["a dog", None], [["a dog"]], 5, [float("nan")], b"a dog"])
def test_what_is_no_text_is_named_with_its_place(own: th.Workspace, wrong: object) -> None:
    """Never an error from within."""
    encoder = th.load("random:8")
    data = ["a dog runs", "cats sleep"]
    for ask in (
        lambda: th.search(wrong, data, encoder),
        lambda: th.search(wrong, encoders="random:8"),
        lambda: th.search("a dog", wrong, encoder),
        lambda: th.search("a dog", data, encoder, by="examples", unlike=wrong),
        lambda: th.search("a dog", data, wrong),
        lambda: th.search("a dog", encoders="random:8", only=wrong),
        lambda: th.decode(wrong),
        lambda: th.compare(wrong),
        lambda: th.evaluate("random:8", wrong),
        lambda: th.map(wrong),
        lambda: th.map("random:8", wrong),
        lambda: th.choose(wrong),
        lambda: th.choose("starter-topics", wrong),
        lambda: th.train(wrong),
        lambda: th.open_decoder(wrong),
        lambda: th.mteb(wrong),
    ):
        with pytest.raises(UserError):
            ask()


def test_names_and_texts_may_be_columns_and_arrays(own: th.Workspace) -> None:
    """As searched texts may; a table, or what cannot be a key, is refused in a sentence."""
    invent_all(own, {"random:8": 0.9, "random:4": 0.6})
    names = ["random:8", "random:4"]
    for given in (np.array(names), pd.Series(names, index=[3, 7])):
        assert len(th.compare(given).rows()) == len(th.compare(names).rows())
    asked = ([th.load("random:16"), th.load("random:8")], pd.Series(["StarterSTS"]))
    assert len(th.evaluate(*asked)) == len(th.evaluate(asked[0], iter(asked[1]))) == 2
    for wrong in (pd.DataFrame({"encoder": names}), np.array("random:8")):
        with pytest.raises(UserError):
            th.compare(wrong)
    with refused("unknown", "['words']", "meaning"):
        th.search("a", by=["words"])


def test_names_are_completed_and_arguments_go_by_the_signature(own: th.Workspace) -> None:
    """What `dir` and `help` show can be called."""
    assert {"geometry", "search", "spaces"} <= set(dir(th))
    assert len(th.search("a dog", ["dogs run", "a cat"], th.load("random:8"), 1).rows()) == 1


class Plain:
    """An encoder with no more than the docs ask for."""

    name, dim, fingerprint, warnings = "mine", 16, "1", ()

    def encode(self, sentences: list[str]) -> np.ndarray:
        """As random words."""
        return th.load("random:16").encode(sentences)


def test_an_encoder_of_ones_own_need_not_tell_its_progress() -> None:
    """Nor do its queries, if it has any."""
    (expected,) = th.evaluate(th.load("random:16"), "StarterSTS")
    (found,) = th.evaluate(Plain(), "StarterSTS")
    assert (found.error, found.encoder) == (None, "mine")
    assert found.main.score == pytest.approx(expected.main.score)
    both = Plain()
    both.queries = Plain()
    answer = th.search("dogs run", ["cats sleep", "dogs run"], [both], k=1)
    assert [row["sentence"] for row in answer.rows()] == ["dogs run"]


def test_the_name_of_an_encoder_is_enough_to_load_it(own: th.Workspace) -> None:
    """Though nobody has opened the store that has the name; a slip makes no store."""
    own.store.encoders.add("random:16")
    own.store.encoders.label("random:16", "small")
    own.close()
    assert th.load("small | normalise").dim == 16
    with pytest.raises(UserError, match="Unknown source 'smal'"):
        th.load("smal")
