"""Data sets: what a file becomes, what is seen of it, how alike they are; and MTEB's suites."""

import errno
import os
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from huggingface_hub import constants

from tests.errors import refused
from tests.fakes.command_line import objects, said, theodolite
from tests.fakes.folder import files
from tests.fakes.workers import do_units
from theodolite.app import suites as names
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.data import choices, service, sets, similarity, suites
from theodolite.app.pages.data.service import bring, hub_name, mapping_of
from theodolite.app.pages.data.similarity import ALL, EXAMPLE, SimilaritySpec
from theodolite.app.surfaces import document
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import catalog, documents, tables
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import package, suites as engine
from theodolite.engine.tasks import retrieval

LABELLED = {"text": "text", "label": "label"}


JUDGED = "query,document,grade\nTea?,Brew it.,1\nTea?,Grind it.,0\n"
PROBING = "tr\tNN\tthe dog barks\nva\tNNS\tdogs bark\n"
PLAIN = "comment,first,second\nA whole sentence of words,a,b\nAnother one here,c,d\n"


@pytest.mark.parametrize(
    ("text", "kind", "type_", "found", "columns"),
    [
        (PROBING, "labels", None, "labels", {*LABELLED, "split"}),
        (PROBING, None, None, "labels", {*LABELLED, "split"}),
        (JUDGED, None, "Reranking", "retrieval", {"query", "document", "grade"}),
    ],
    ids=["a kind", "nothing", "a type of task"],
)
def test_a_file_is_what_is_said_of_it(
    tmp_path: Path, text: str, kind: str | None, type_: str | None, found: str, columns: set[str]
) -> None:
    """SentEval's probing layout keeps its splits; a type of task of MTEB's says a kind."""
    (tmp_path / "x.txt").write_text(text)
    mapping = mapping_of(tmp_path / "x.txt", kind, None, type_)
    assert (mapping.kind, mapping.type, set(mapping.columns)) == (found, type_, columns)


@pytest.mark.parametrize(
    ("text", "asked", "code", "named"),
    [
        (PLAIN, ("labels", None), "unknown", ("label of labels", "comment, first, second")),
        (PLAIN, ("labels", None), "unknown", ("text=comment,label=COLUMN",)),
        (PLAIN, ("labels", "text=comment,first"), "invalid", ("first",)),
        (JUDGED, (None, None, "Ranking"), "unknown", ("'Ranking'",)),
    ],
    ids=["columns", "what to type", "no column", "no type"],
)
def test_what_cannot_be_filled_is_named(
    tmp_path: Path, text: str, asked: tuple[str | None, ...], code, named: tuple[str, ...]
) -> None:
    """Which role has no column, which columns there are, and how to say it."""
    (tmp_path / "x.csv").write_text(text)
    with refused(code, *named):
        mapping_of(tmp_path / "x.csv", *asked)


def test_the_files_of_one_set_are_taken_together(tmp_path: Path) -> None:
    """Several files or a folder are an archive for a while; its kind is told by their names."""
    folder = files(tmp_path / "set", {"val.de": "eins\n", "val.en": "eins\n"})
    for given, name in (([folder], "set.zip"), (sorted(folder.iterdir()), "val.zip")):
        with bring(given) as set_:
            assert (mapping_of(set_.path, None, None).kind, set_.path.name) == ("parallel", name)
        assert not set_.path.exists()
    for given, named in (([tmp_path / "none"], "none"), ([], "")):
        with refused("no-file", named), bring(given):
            pass


def test_a_folder_of_splits_is_mapped_as_a_table(tmp_path: Path) -> None:
    """By guesses, or by the columns and the kind that are named."""
    files(tmp_path, dict.fromkeys(("train.csv", "test.csv"), "text,label\na b,x\nc d,y\ne f,x\n"))
    with bring([tmp_path]) as brought:
        assert mapping_of(brought.path, None, None).columns == LABELLED
        assert mapping_of(brought.path, "sentences", None).kind == "sentences"
        named = mapping_of(brought.path, "labels", "text=label,label=text")
    assert named.columns == {"text": "label", "label": "text"}


def test_what_files_are_in_an_archive_is_told_without_reading_its_tables(tmp_path, monkeypatch):
    """A form that has their columns already does not wait for a second look at them."""
    table, judged = "text,label\na b,x\nc d,y\n", {"qrels.tsv": "q\td\t1\n"}
    texts = {"corpus.jsonl": '{"_id": "d", "text": "a"}', "queries.jsonl": '{"_id": "q"}'}
    made = [files(tmp_path / "retrieval", texts | judged), files(tmp_path / "x", {"a.csv": table})]
    made += [files(tmp_path / "splits", dict.fromkeys(("train.csv", "test.csv"), table))]
    archives = []
    for folder in made:
        with bring([folder]) as brought:
            archives.append(brought.path.rename(tmp_path / brought.path.name))
    assert service.packed_mapping(archives[0]).kind == "retrieval"
    monkeypatch.setattr(tables, "preview", None)
    assert [service.packed_mapping(file) for file in archives[1:]] == [None, None]


def test_what_save_to_disk_wrote_is_one_data_set(tmp_path: Path) -> None:
    """A folder for each split, with tables of Arrow beside what describes them."""
    table = pa.table({"text": ["a b", "c d"], "label": ["x", "y"]})
    for part in ("train", "test"):
        files(tmp_path / part, dict.fromkeys(("dataset_info.json", "state.json"), "{}"))
        with pa.ipc.new_stream(tmp_path / part / "data-0.arrow", table.schema) as out:
            out.write_table(table)
    files(tmp_path, {"dataset_dict.json": '{"splits": ["train", "test"]}'})
    with bring([tmp_path]) as brought:
        shown = tables.preview(brought.path, brought.path.name)
        assert shown.problems == []
        data = tables.read(brought.path, brought.path.name, shown.mapping)
    assert (data.labels, data.splits) == (["x", "y"] * 2, ["train"] * 2 + ["test"] * 2)


def test_a_file_of_the_hub_has_a_name() -> None:
    assert hub_name(" a/b ", "", " x y.csv", "text=t") == "hub:a/b@main/x%20y.csv?text=t"
    with refused("missing"):
        hub_name(" ", "main", "", "")


def added(home: Path, name: str, content: str) -> str:
    """Write a file and add it; return what is said."""
    (home / name).write_text(content)
    return said("data", "add", str(home / name))


def test_rows_are_shown_with_what_they_were_judged(home: Path) -> None:
    """Scores beside pairs, labels beside sentences, documents with their grades."""
    added(home, "pairs.csv", "satz1;satz2;wertung\nein Schiff;ein Boot;2,8\nrot;blau;0,5\n")
    added(home, "labels.csv", "text,label\na ship,sea\na hill,land\na boat,sea\n")
    added(home, "judged.csv", "query,document,grade\nTea?,Brew it.,1\nTea?,Grind it.,0\n")
    pairs, labels, judged = (
        objects(theodolite("data", "show", f"upload:{name}", "--json"))[1:]
        for name in ("pairs", "labels", "judged")
    )
    assert pairs[0] == {"part": "all", "left": "ein Schiff", "right": "ein Boot", "score": 2.8}
    assert labels[1] == {"label": "land", "sentence": "a hill"}
    assert judged[0]["judged documents, grade first"] == "1 Brew it.; 0 Grind it."
    assert "2 labels: sea (2), land (1)" in said("data", "show", "upload:labels")


def test_what_is_doubtful_is_said_when_a_file_is_added(home: Path) -> None:
    """A label of its own for every sentence, which is no task; a first line taken for names."""
    own = added(home, "own.csv", "text,label\n" + "".join(f"a ship,c{i}\n" for i in range(9)))
    added(home, "two.csv", "text,label\n" + "".join(f"a ship,c{i % 2}\n" for i in range(9)))
    tasks = {info["name"]: info["tasks"] for info in objects(theodolite("data", "list", "--json"))}
    assert "a label of its own" in own and tasks["upload:own"] == []
    assert "upload:two/few-shot" in tasks["upload:two"]
    assert "first line was taken" in added(home, "words.csv", "a,b\ncat,cats\ndog,dogs\n")
    # A program that leaves out empty values; a name that is none for a data set.
    rows = ['{"text": "a"}', *(f'{{"text": "{c}", "label": "{c}"}}' for c in "bbcc")]
    less = added(home, "100 % (new).jsonl", "\n".join(rows))
    assert "lack of a label: 1" in less and "upload:100 - -new" in less


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
def test_a_file_that_cannot_be_opened_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """One that others may read, or that goes while it is read."""

    def read(*_: object) -> None:
        raise error(2, "no way in", str(home / "mine.csv"))

    monkeypatch.setattr(tables, "preview", read)
    (home / "mine.csv").write_text("text\na\n")
    lines = theodolite("data", "add", str(home / "mine.csv"), code=2)
    assert "mine.csv cannot be opened (no way in)." in " ".join(lines[-1].split())


def test_a_table_is_encoded_by_its_column(home: Path) -> None:
    """Not by its lines, whose first one holds names."""
    file = home / "two.csv"
    file.write_text('text,label\n"a boat, red",sea\na hill,land\n')
    command = ("encode", "random:4", "--file", str(file), "--json")
    found = objects(theodolite(*command, "--column", "text"))
    assert [row["sentence"] for row in found] == ["a boat, red", "a hill"]
    assert "2 columns" in theodolite(*command, code=2)[-1]


DOCS = {
    "guide/tea.md": "# Tea\n\nIt is brewed.",
    "faq/tea.md": "# Questions\n\nWhich tea?",
    "page.html": "<p>Coffee<script>x()</script>",
    "picture.png": b"\x89PNG",
    "manual.docx": b"PK\3\4",
    ".git/HEAD.md": "ref",
}


def brought(workspace: Workspace, place: Path) -> str:
    with service.bring([place]) as found:
        seen = tables.preview(found.path, found.path.name)
        mapping = seen.mapping
        name = service.name_for(found.path.name)
        row = service.keep(workspace, found.path, found.path.name, name, mapping, found.notes)
    read, of_word, others = row["info"]["notes"][:3]
    assert read == "Documents, named by their files: 3 (2 .md, 1 .html)."
    assert "manual.docx" in of_word and "picture.png" in others
    assert (seen.columns, seen.n_rows) == (("document", "text"), 3)  # and not the file they become
    return f"upload:{row['name']}"


def test_what_was_read_to_be_kept_is_not_read_again(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is what anybody else reads of it."""
    name = brought(workspace, files(tmp_path / "handbook", DOCS))
    theirs = Workspace(workspace.store.folder).catalog.load(name)
    monkeypatch.setattr(catalog, "read", lambda *_: pytest.fail("It was read again."))
    found = workspace.catalog.load(name)
    assert (found.name, found.hash) == (theirs.name, theirs.hash)


def test_a_folder_and_its_zip_are_the_same_documents(workspace: Workspace, tmp_path: Path) -> None:
    """Files of one name in two folders are two documents, and what is hidden is no document."""
    folder = files(tmp_path / "handbook", DOCS)
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        for name in DOCS:
            archive.write(folder / name, f"handbook/{name}") if name[0] != "." else None
    names = [brought(workspace, place) for place in (folder, tmp_path / "zipped.zip")]
    assert names == ["upload:handbook", "upload:zipped"]
    (first, second) = (workspace.catalog.load(name) for name in names)
    assert first.hash == second.hash
    assert sorted(first.documents) == ["faq/tea.md", "guide/tea.md", "page.html"]
    (info,) = [one for one in workspace.catalog.list() if one.name == names[0]]
    assert (info.kind, info.task, info.tasks) == ("retrieval", None, ())
    assert next(iter(sets.table(first)[1])) == ("faq/tea.md", "# Questions Which tea?")
    with refused("missing", "no judgements"):
        retrieval.judged_queries(first)


def test_a_folder_that_cannot_be_opened_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the one that is given: nothing of it is left out without a word."""
    folder, scan = files(tmp_path / "handbook", DOCS), os.scandir

    def locked(place):
        if str(place).endswith("guide"):
            raise PermissionError(errno.EACCES, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", locked)
    with refused("no-file", "guide", "Permission denied"), service.bring([folder]):
        pass


def test_too_many_documents_are_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_FILES", 2)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in "abc":
            archive.writestr(f"{name}.md", name)
    with refused("too-large", "a.zip"), service.bring([tmp_path / "a.zip"]):
        pass
    folder = files(tmp_path / "handbook", DOCS)
    with refused("too-large", "handbook", "more than 2 files"), service.bring([folder]):
        pass
    monkeypatch.undo()
    monkeypatch.setattr("theodolite.engine.datasets.limits.MAX_BYTES", 3)
    with refused("too-large", "handbook"), service.bring([folder]):
        pass


def test_of_a_sheet_without_rows_the_others_are_named(tmp_path: Path) -> None:
    (book := openpyxl.Workbook()).active.append(["Read me"])
    book.create_sheet("Answers")
    book.save(tmp_path / "mine.xlsx")
    with (
        refused("missing", "mine.xlsx", "Answers"),
        service.bring([tmp_path / "mine.xlsx"]) as found,
    ):
        tables.preview(found.path, found.path.name)


def test_chunks_named_in_an_address_stay_chosen(workspace: Workspace) -> None:
    """Of data sets that there are; others give way to the usual one."""
    name = "starter-pairs|chunk:recursive,400"
    chosen, update = choices.fill(workspace, name)
    assert chosen == name and name in update["choices"]
    chosen, update = choices.fill(workspace, "upload:gone")  # the answer is to say that it is
    assert (chosen, update["value"]) == (choices.DEFAULT, "upload:gone")


def test_many_sets_of_a_folder_are_a_line_of_the_list(tmp_path: Path) -> None:
    """It says what all of them hold; each can be opened."""
    stems = ("bigram_shift", "voice", "word_content")
    files(tmp_path, {f"probing_multilingual/ru/{stem}.txt": PROBING for stem in stems})
    workspace = Workspace(tmp_path / "home", tmp_path)
    shown = "".join(map(str, document.pieces(sets.list_sets(workspace))))
    assert "probing_multilingual, 3 sets" in shown and "Sentences:" in shown
    assert all(f"Preview probing_multilingual/ru/{stem}" in shown for stem in stems)


# How alike data sets are.

A = "random:32"


def test_topics_of_the_starter_set_are_there_at_once(workspace: Workspace) -> None:
    """As by hand: the cosine between the mean unit vectors of what was drawn."""
    spec = SimilaritySpec(EXAMPLE, A)
    assert len(similarity.find(workspace, spec).missing) == 20
    (found,) = similarity.answer(workspace, spec, lambda job: False)
    assert spec.is_stored(workspace) and len(found.compared) == 20
    data, means = workspace.catalog.load(EXAMPLE), []
    for one, _ in found.compared[:2]:
        vectors = workspace.load(A).encode(one.sample(data)).astype(float)
        means.append((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0))
    cosine = means[0] @ means[1] / np.linalg.norm(means[0]) / np.linalg.norm(means[1])
    assert found.cosines[0, 1] == pytest.approx(cosine)
    pairs = found.rows()
    assert len(pairs) == 190 and pairs[0]["cosine"] >= pairs[-1]["cosine"]


def test_all_data_sets_by_a_job_with_a_bar(workspace: Workspace) -> None:
    spec = SimilaritySpec(encoder=A, sentences=10)
    do_units(workspace, spec)
    drawn = [(row.name, mean.sentences) for row, mean in similarity.find(workspace, spec).compared]
    assert drawn == [("starter-pairs", 10), ("starter-topics", 10)]
    assert list(similarity.comparisons(workspace)) == [ALL, EXAMPLE]


def test_what_cannot_be_compared(workspace: Workspace) -> None:
    for code, encoder, compared, named in (
        ("wrong-kind", A, "starter-pairs", "starter-pairs"),
        ("unknown", A, "nothing", "nothing"),
        ("unsupported", "random:32 | center:@task", EXAMPLE, "center:@task"),
    ):
        with refused(code, named):
            similarity.find(workspace, SimilaritySpec(compared, encoder))
    for count in (9, 1001):
        with refused("invalid", count):
            SimilaritySpec(ALL, A, count)


# MTEB's suites on the page Data and by its verb: what is here, what is fetched, and how large.

ENGLISH = "MTEB(eng, v2)"
BANKING = "mteb:Banking77Classification"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub of the test's own, in which nothing is."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(names, "_HELD", {})
    return tmp_path / "hub"


@pytest.mark.usefixtures("cache")
def test_before_anything_is_fetched() -> None:
    """How many are here, how large the others are; visitors are offered none."""
    suite = suites.suite(ENGLISH)
    assert suite.state.startswith("0 of 41 tasks are here; 41 to fetch, about 1.7")
    for visitor in (True, False):
        html = "".join(map(str, document.pieces([suite.block(visitor)])))
        assert ('data-act="fetch"' in html) is not visitor
    assert suites.fetch_job(ENGLISH, [BANKING]) == suites.FetchJob((BANKING,), ENGLISH)
    with refused("unknown", "mteb:Imdb"):
        suites.fetch_job(ENGLISH, ["mteb:Imdb"])


@pytest.mark.usefixtures("cache")
def test_suites_are_looked_up_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What mteb says of them is kept, so that the page shows it without mteb."""
    assert names.known(workspace) is None
    first = names.look_up(workspace)
    monkeypatch.setattr(names, "_HELD", {})
    monkeypatch.setattr(engine, "suites", lambda: pytest.fail("asked again"))
    again = names.look_up(workspace)
    assert again.listed == first.listed and len(again.tasks[ENGLISH]) == 41
    assert again.types["Banking77Classification"] == "Classification"


@pytest.mark.usefixtures("cache")
def test_without_mteb_it_says_what_to_install(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (names, package):
        monkeypatch.setattr(module, "version", lambda: None)
    with pytest.raises(UserError, match=r"theodolite\[mteb\]"):
        names.look_up(workspace)


@pytest.mark.usefixtures("cache")
def test_a_disk_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is begun."""
    monkeypatch.setattr(suites.shutil, "disk_usage", lambda _: type("U", (), {"free": 1_000_000}))
    with refused("too-large", "1.72 GB", "1 MB"):
        suites.fetch_job(ENGLISH)
    assert suites.fetch_job(ENGLISH, ["mteb:BIOSSES"]).tasks == ("mteb:BIOSSES",)


def test_data_are_fetched_by_a_job(
    workspace: Workspace, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails, fails alone; what has arrived is not fetched again."""
    import datasets
    from mteb.abstasks import AbsTaskSTS
    from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY

    from tests.fakes.mteb_tasks import split, task_class

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    fetched: list[int] = []

    def fetch():
        """As the hub's client leaves the data of a task."""
        (cache / "datasets--none--here" / "snapshots" / "1").mkdir(parents=True)
        fetched.append(1)
        return split({"sentence1": ["a"], "sentence2": ["b"], "score": [1]})

    odd = task_class(AbsTaskSTS, "STS", "cosine_spearman", fetch)
    monkeypatch.setitem(REGISTRY, "OddTask", odd)
    job = suites.FetchJob((BANKING, "mteb:OddTask"), ENGLISH)
    assert not job.is_stored(workspace)
    errors = [str(what) for _, _, what in perform(workspace, job) if isinstance(what, UserError)]
    assert len(errors) == 1 and "the hub cannot be reached" in errors[0]
    assert len(fetched) == 1 and engine.is_here("mteb:OddTask")
    assert suites.FetchJob(("mteb:OddTask",)).is_stored(workspace)
    with refused("missing"):
        suites.FetchJob(()).validate(workspace)


@pytest.mark.usefixtures("cache")
def test_the_verb(tmp_path: Path) -> None:
    """A row a task as JSON; queued, it is a run like any other."""
    command = ["data", "suite", ENGLISH, "--json", "--store", str(tmp_path / "store")]
    rows = objects(theodolite(*command))
    assert len(rows) == 41 and {row["here"] for row in rows} == {False}
    theodolite(*command, "--tasks", BANKING, "--queue")
    (run,) = objects(theodolite("jobs", "list", *command[-3:]))
    assert (run["kind"], run["state"]) == (suites.FetchJob.kind, "queued")
