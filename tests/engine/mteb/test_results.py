"""Results that others published, as folders, archives and single files of mteb's or of the hub."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine.errors import Code
from theodolite.engine.mteb import results
from theodolite.engine.mteb.package import TESTED


def of_mteb(folder: Path, revision: str = "r1", data: str = "d1", **said: Any) -> Path:
    """A file as mteb writes it, with two subsets."""
    parts = [
        {
            "hf_subset": name,
            "languages": ["eng-Latn"],
            "main_score": score,
            "cosine_spearman": score,
            "cosine_pearson": score / 2,
        }
        for name, score in (("en", 0.8), ("de", 0.6))
    ]
    content = {
        "dataset_revision": data,
        "task_name": "STS17",
        "mteb_version": "2.20.0",
        "scores": {"test": parts},
        "evaluation_time": 1.0,
        "kg_co2_emissions": None,
    }
    place = folder / "results" / "org__model" / revision
    return files(place, {"STS17.json": json.dumps(content | said)}) / "STS17.json"


def packed(folder: Path, target: Path) -> Path:
    """A folder as an archive."""
    return Path(shutil.make_archive(str(target.with_suffix("")), "zip", folder))


def read(place: Path, *whose: str) -> results.Reading:
    """A folder or file of this machine."""
    return results.read(results.inside(place), *whose)


def test_a_published_folder(tmp_path: Path) -> None:
    """The mean of the subsets is the main score; what is no result is said."""
    files(of_mteb(tmp_path).parent, {"Broken.json": "{"})
    found = read(tmp_path)
    (one,), (problem,) = found.results, found.problems
    assert (one.model, one.revision, one.task) == ("org/model", "r1", "mteb:STS17")
    assert one.main.score == pytest.approx(70.0)
    assert [score.aggregation for score in one.scores[:2]] == ["mean", "en"]
    assert problem.startswith("Broken.json ")


def test_an_archive_is_read_as_the_folder_in_it(tmp_path: Path) -> None:
    """At any depth; what is known of the model lies beside, before its results or behind them."""
    told = {"name": "org/Model", "revision": "r1", "n_parameters": 5}
    place = files(of_mteb(tmp_path / "a").parent, {"model_meta.json": json.dumps(told)})
    (one,) = read(packed(tmp_path / "a", tmp_path / "all.zip")).results
    assert (one.model, one.facts["model"]) == ("org/Model", {"parameters": 5})
    assert one == read(tmp_path / "a").results[0]
    (place / "model_meta.json").unlink()
    inner = packed(tmp_path / "a/results/org__model", tmp_path / "org__model.zip")
    assert read(inner).results[0].model == "org/model", "the archive is named as the folder was"


def test_what_does_not_say_whose_it_is_asks(tmp_path: Path) -> None:
    """A single file without its folders, and the hub's YAML: the name is given, or asked for."""
    file = of_mteb(tmp_path)
    for alone in (("STS17.json", file), ("some.zip", packed(file.parent, tmp_path / "some.zip"))):
        with refused("missing", "STS17.json", "owner/name"):
            results.read([alone])
        (one,) = results.read([alone], "org/mine", "r9").results
        assert (one.model, one.revision) == ("org/mine", "r9")
    assert read(file, "org/mine").results[0].model == "org/model", "what the folders say is so"


HUB = """
- dataset: {id: mteb/sts17, task_id: STS17_en-en_test, revision: d1}
  value: 80.5
  date: 2026-01-02
  notes: Obtained using MTEB v2.20.0
- dataset: {id: mteb/sts17, task_id: STS17_de-de_test, revision: d1}
  value: 70.5
  notes: Obtained using MTEB v2.20.0
"""
SUITE = """
- dataset: {id: mteb/eng, task_id: "MTEB(eng, v2)", revision: "1"}
  value: 60.0
"""


def test_the_folder_of_evaluation_results_of_the_hub(tmp_path: Path) -> None:
    """A file a task, as mteb pushes them beside a model; the mean of a suite is no task's."""
    given = {"STS17.yaml": HUB, "MTEB(eng, v2).yaml": SUITE, "Other.yml": "just: a mapping"}
    found = read(files(tmp_path, given), "org/model")
    (one,) = found.results
    assert (one.task, one.version, one.main.score) == ("mteb:STS17", "2.20.0", 75.5)
    assert one.facts["parts"] == [["test", "en-en", 80.5], ["test", "de-de", 70.5]]
    suite, other = sorted(found.problems)
    assert suite.startswith("MTEB(eng, v2).yaml ") and other.startswith("Other.yml ")


def test_an_mteb_of_a_version_never_seen(tmp_path: Path) -> None:
    """What still reads as before is kept, with a note; another layout is left out, and said."""
    of_mteb(tmp_path, mteb_version="2.99.1")
    (note,) = read(tmp_path).notes
    assert "mteb 2.99.1" in note and TESTED in note
    of_mteb(tmp_path, "r2", mteb_version="9.0.0", scores=[{"split": "test", "value": 0.5}])
    of_mteb(tmp_path, mteb_version=None)
    found = read(tmp_path)
    assert not found.notes, "who does not say a version says nothing of it"
    (problem,) = found.problems
    assert problem.startswith("STS17.json ") and "mteb 9.0.0" in problem


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"scores": {}}, "no scores"),
        ({"scores": {"test": []}}, "no scores"),
        ({"scores": {"test": [{"hf_subset": "en"}]}}, "KeyError"),
        ({"scores": {"test": [{"hf_subset": "en", "main_score": "good"}]}}, "ValueError"),
        ({"scores": {"test": [{"hf_subset": "en", "main_score": float("nan")}]}}, "not a number"),
        ({"scores": None}, "mteb 1.11"),
        ({"task_name": None, "scores": [1]}, "mteb 1.11"),
        ({"date": 1e300}, "Error"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, said: dict[str, Any], named: str) -> None:
    """The file is named; nothing is raised but that."""
    with refused("wrong-kind", "STS17.json", named):
        read(of_mteb(tmp_path, **said))


@pytest.mark.parametrize(
    ("name", "raw", "code", "named"),
    [
        ("x.yaml", b"[unclosed", "wrong-kind", "YAML"),
        ("x.yaml", b"[" * 5_000, "wrong-kind", "YAML"),
        ("x.yaml", b"- 5", "wrong-kind", "TypeError"),
        ("x.YML", b"- 5", "wrong-kind", "TypeError"),
        ("x.yaml", b"- !!python/object/apply:os.getcwd []", "wrong-kind", "YAML"),
        ("x.yaml", b"- {dataset: {task_id: A}, value: .nan}", "wrong-kind", "a value of A"),
        ("x.json", b"", "wrong-kind", "empty"),
        ("x.json", b"[1]", "wrong-kind", "mteb 1.11"),
        ("x.json", b"[" * 100_000, "wrong-kind", "JSON"),
        ("x.txt", b"hello", "wrong-kind", "Nothing"),
        ("x.zip", b"PK but no archive", "damaged", "x.zip"),
    ],
)
def test_bytes_that_are_no_results(
    tmp_path: Path, name: str, raw: bytes, code: Code, named: str
) -> None:
    """Nothing is run, nothing is built of them, and why is said."""
    with refused(code, named):
        results.read([(name, files(tmp_path, {name: raw}) / name)], "org/model")


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    """They are looked at, as long as a name is."""
    raw, file = of_mteb(tmp_path).read_text(), tmp_path / "x.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"../../../etc/a__{'b' * 400}\x07/../STS17.json", raw)
    before = sorted(tmp_path.parent.rglob("*"))
    (one,) = results.read([("x.zip", file)]).results
    assert len(one.model) <= 200 and one.model.isprintable()
    assert sorted(tmp_path.parent.rglob("*")) == before


# --- results in mteb's layout and the hub's: what is written, mteb reads and we read again ---


RESULT = {
    "encoder": "wordllama | normalise",
    "fingerprint": "abc",
    "dim": 256,
    "task": "biosses",
    "data_hash": "d1",
    "seconds": 1.5,
    "created": 1_700_000_000.0,
    "details": {},
    "scores": [
        {"split": "test", "aggregation": None, "metric": metric, "n": 100, "unit": "", **score}
        for metric, score in (
            ("cosine_spearman", {"score": 71.25, "main": True}),
            ("cosine_pearson", {"score": 70.5, "main": False}),
        )
    ],
}


def test_what_is_written_is_read_by_mteb_and_by_us(tmp_path: Path) -> None:
    """The score as a share; name, revision and every score."""
    from mteb.results.task_result import TaskResult

    (file,) = results.write(tmp_path, [RESULT])
    theirs = TaskResult.from_disk(file)
    assert (theirs.task_name, theirs.get_score()) == ("biosses", pytest.approx(0.7125, abs=1e-9))
    found = read(tmp_path)
    assert not found.problems and not found.notes
    (one,) = found.results
    assert (one.model, one.revision) == ("theodolite/wordllama | normalise", "abc")
    assert (one.main.metric, one.main.score) == ("cosine_spearman", pytest.approx(71.25))
    # The hub's list has the value in points; whose it is has to be said.
    listed = {"one.yaml": results.as_yaml([RESULT], {"biosses": "mteb/biosses"})}
    (found,) = read(files(tmp_path, listed) / "one.yaml", "org/model", "r1").results
    assert (found.model, found.task, found.data_revision) == ("org/model", "mteb:biosses", "d1")
    assert found.main.score == one.main.score
