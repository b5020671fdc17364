"""Curation: questions checked, answers kept, tables told; texts that were seen in training."""

import csv
import io
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.uploads import collection
from tests.fakes.workers import do_units
from theodolite.app.pages.board import training_data
from theodolite.app.pages.curate import leaks
from theodolite.app.pages.curate.answer import Curated, CurateSpec, measure, stored
from theodolite.app.pages.data import service as data
from theodolite.app.surfaces import document
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import Mapping
from theodolite.engine.mteb.package import TESTED
from theodolite.engine.protocols.package import version

E5 = "hf:intfloat/e5-small"
LINES = ["A cat.", "a cat", "A dog.", "A dog.", "=1+1", "A boat at sea.", "<b>A bird</b>"]


@pytest.fixture(scope="module")
def shelf(starter: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With one small collection of lines."""
    collection(starter, tmp_path_factory.mktemp("lines"), "lines", LINES)
    return starter


def ask(shelf: Workspace, find: str, dataset: str = "upload:lines", **how) -> Curated:
    """Answer a question on the small collection."""
    return measure(shelf, CurateSpec(find, dataset, **how))


def test_an_answer_is_kept_and_found_by_its_key(shelf: Workspace) -> None:
    """Equal questions are equal, whatever does not matter to them."""
    first = CurateSpec("near", "upload:lines", "random:32", threshold=0.99, many=5)
    assert first == CurateSpec("near", "upload:lines", " random:32 ", threshold=0.99)
    assert stored(shelf, first) is None
    answer = measure(shelf, first)
    kept = stored(shelf, first)
    assert kept is not None and kept.rows() == answer.rows()


def test_leaks_between_two_collections(shelf: Workspace) -> None:
    """A collection against itself is refused; against another, twins are named."""
    with refused("conflict"):
        CurateSpec("leaks", "upload:lines", "random:8")
    how = {"encoder": "random:32", "against": "starter-pairs"}
    assert ask(shelf, "leaks", threshold=1.0, **how).info["exact"] == 0
    found = ask(shelf, "leaks", dataset="starter-topics", threshold=0.95, **how)
    assert set(found.to_pandas()["twin"]) <= set(shelf.catalog.sentences("starter-pairs")[0])


def test_outliers_and_typical_have_the_length_asked_for(shelf: Workspace) -> None:
    """Three outliers; two at either end, the ends told apart."""
    assert len(ask(shelf, "outliers", encoder="random:32", many=3).rows()) == 3
    found = ask(shelf, "typical", encoder="random:32", many=2)
    assert found.to_pandas()["most"].tolist() == ["most", "most", "least", "least"]


@pytest.mark.parametrize(
    ("job", "how", "code", "named"),
    [
        ("sort", {}, "unknown", "'sort'"),
        ("near", {"encoder": ""}, "missing", ""),
        ("near", {"encoder": "random:8", "threshold": 2}, "invalid", "2"),
        ("outliers", {"encoder": "random:8", "neighbours": 0}, "invalid", "0"),
        ("near", {"encoder": "no such"}, "unknown", "'no such'"),
    ],
)
def test_bad_questions_are_refused(job: str, how: dict, code, named: str) -> None:
    with refused(code, named):
        CurateSpec(job, "upload:lines", **how)


def test_the_csv_has_every_row_and_the_text_as_it_is(shelf: Workspace) -> None:
    """What is encoded again must not differ; for a spreadsheet a formula has an apostrophe."""
    found = ask(shelf, "typical", encoder="random:32", many=3)
    for spreadsheet, sentence in ((False, "=1+1"), (True, "'=1+1")):
        text = found.to_csv(spreadsheet=spreadsheet).decode()
        sentences = [row["sentence"] for row in csv.DictReader(io.StringIO(text))]
        assert len(sentences) == 6 and sentence in sentences
    html = "".join(map(str, document.pieces(found.blocks())))
    assert "&lt;b&gt;A bird" in html and "<b>A bird" not in html and "for spreadsheets" in html


def test_nobody_is_left_with_a_table_of_other_sentences(shelf: Workspace, tmp_path: Path) -> None:
    """When the upload under a name is another one, the old answer is not shown for it."""
    for lines, groups in ((["a", "a", "b"], 1), (["a", "b", "c"], 0)):
        dataset = collection(shelf, tmp_path, "again", lines)
        assert ask(shelf, "exact", dataset).info["groups"] == groups
        shelf.store.uploads.remove("again")


# Texts of tasks that were seen in training.


def uploaded(workspace: Workspace, file: Path, content: str, mapping: Mapping) -> str:
    file.write_text(content, "utf-8")
    return "upload:" + data.keep(workspace, file, file.name, file.stem, mapping)["name"]


def test_what_was_seen_is_found_and_kept(workspace: Workspace, tmp_path: Path) -> None:
    """In the training split alone, by a job; asked again nothing is read.

    Of a starter task the upload has one text nearly the same, and one in its test split.
    """
    pairs = workspace.catalog.load("starter-pairs").sentences
    rows = [
        (f"{pairs[0]} !", "train"),
        (f"{pairs[2]}, yes", "train"),
        (pairs[4], "test"),
        ("Nothing of that kind was ever said.", "train"),
    ]
    lines = "".join(f'"{text}",a,{split}\n' for text, split in rows)
    mapping = Mapping("labels", {"text": "sentence", "label": "label", "split": "split"})
    seen = uploaded(workspace, tmp_path / "seen.csv", f"sentence,label,split\n{lines}", mapping)
    job = leaks.LeaksSpec("random:8", ("StarterSTS", "StarterTopics"), (seen,))
    assert leaks.stored(workspace, job) == [None, None]
    spec = leaks.LeaksSpec("random:8", ["StarterSTS,StarterTopics"], [seen])
    *_, before = leaks.answer(workspace, spec, lambda needed: needed != job)
    assert before.rows() == [] and before.missing == 2
    do_units(workspace, job)
    *_, found = leaks.answer(workspace, spec, lambda needed: False)
    first, second = found.leaks
    assert job.is_stored(workspace)
    assert (first.task, first.same, first.nearly, first.trained) == ("StarterSTS", 1, 1, 3)
    assert second.share == 0 and second.examples == ()
    assert first.examples[0][0] + " !" == first.examples[0][1] and first.examples[0][3]
    assert first.row()["share"] == 2 / first.tested


def test_what_an_encoder_was_trained_on(workspace: Workspace) -> None:
    """Where nothing is named, nothing is looked for."""
    workspace.store.encoders.add("random:8", {"trained_on": ["snli", "starter-pairs"]})
    names = leaks.known(workspace, "random:8")
    assert leaks.here(workspace, names) == {"starter-pairs": ["starter-pairs"]}
    here = training_data.here(["s2orc", "snli", "gooaq"], ["SNLI", "nli", "STS12"])
    assert here == {"snli": ["SNLI", "nli"]}
    assert leaks.known(workspace, "random:16") is None
    with refused("missing"):
        leaks.QUESTION.last(workspace, leaks.LeaksSpec("random:16"), lambda needed: False)


def test_documents_are_looked_for_beside_queries(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a line of their own; of a large corpus only what answers a query."""
    pairs = workspace.catalog.load("starter-pairs").sentences
    rows = [
        ("What is said?", pairs[0], 1),
        ("What is said?", f"{pairs[2]}, yes", 0),
        ("Who says so?", "Nobody whom anybody ever heard of.", 1),
    ]
    lines = "".join(f'{q},"{d}",{g}\n' for q, d, g in rows)
    columns = {name: name for name in ("query", "document", "grade")}
    mapping, content = Mapping("retrieval", columns), f"query,document,grade\n{lines}"
    name = uploaded(workspace, tmp_path / "asked.csv", content, mapping)
    job = leaks.LeaksSpec("random:8", (name,), ("starter-pairs",))
    do_units(workspace, job)
    queries, texts = leaks.stored(workspace, job)
    assert queries is not None and texts is not None
    assert (queries.tested, queries.share) == (2, 0.0)
    assert (texts.tested, texts.same, texts.nearly, texts.row()["part"]) == (3, 1, 1, "documents")
    monkeypatch.setattr(leaks, "MAX_CHARACTERS", 10)
    assert leaks.documents(workspace, name) == [pairs[0], rows[2][1]]


@pytest.mark.parametrize(
    ("name", "dataset", "same"),
    [
        ("embedding-data/SNLI", "SNLI", True),
        ("snli", "nli", True),
        ("Banking77Classification", "banking77", True),
        ("mteb/banking77", "mteb:Banking77Classification", True),
        ("embedding-data/flickr30k-captions", "flickr30k", True),
        ("paws-x", "pawsx/de", True),
        ("multi_nli", "nli/mnli_sample", True),
        ("multi_nli", "nli/cad_snli", False),
        ("NQ", "npl", False),
        ("STS12", "STS13", False),
    ],
)
def test_names_of_the_same_data(name: str, dataset: str, same: bool) -> None:
    """Whoever owns them, whatever the case and type; a family by its own name."""
    assert training_data.is_same(name, dataset) is same


@pytest.fixture
def mteb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for the package, which takes long to import; notes each process that asks it."""
    if version() is None:
        pytest.skip("the extra mteb is not installed")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    file = tmp_path / "mteb.py"
    file.write_text(
        "import pathlib\n"
        "pathlib.Path(__file__).with_name('begun').open('a').write('x')\n"
        "class Listed:\n"
        "    def get_training_datasets(self): return {'MSMARCO', 'NQ'}\n"
        f"get_model_meta = {{'{E5.removeprefix('hf:')}': Listed()}}.__getitem__\n"
    )
    return file


def test_mteb_is_asked_once(workspace: Workspace, mteb: Path) -> None:
    """What it knows is kept by its version; of what it does not name nothing is asked."""
    nothing = {E5: None, "random:8": None}
    assert training_data.known(workspace, {}, [*nothing]) == nothing
    assert not training_data.look_up(workspace, ["hf:nobody/has-this", "random:8", "not a spec?"])
    assert not mteb.with_name("begun").exists()
    assert training_data.look_up(workspace, [E5])
    assert not training_data.look_up(workspace, [E5])
    facts = {E5: {"trained_on": ["snli", "MSMARCO"]}}
    assert training_data.known(workspace, facts, [E5])[E5] == {
        "snli": training_data.FILES,
        "NQ": training_data.MTEB,
        "MSMARCO": training_data.FILES,
    }
    # A process that ends badly ends so at every opening of a page: once is enough.
    with mteb.open("a") as file:
        file.write("raise SystemExit(1)\n")
    for _ in range(2):
        assert not training_data.look_up(workspace, ["hf:intfloat/e5-base"])
    assert mteb.with_name("begun").read_text() == "xx"


def test_what_the_encoder_that_ships_was_trained_on_is_known(
    workspace: Workspace, mteb: Path
) -> None:
    """Nobody waits for it."""
    if version() != TESTED:
        pytest.skip("another version of mteb is installed")
    assert not training_data.look_up(workspace, ["minilm"])
    names = training_data.known(workspace, {}, ["minilm"])["minilm"]
    assert names is not None and names["NQ"] == training_data.MTEB
    assert not mteb.with_name("begun").exists()
