"""Task names: built-in, suites, and those of other data sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.engine import protocols, tasks
from theodolite.engine.datasets import Catalog


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "data_root" not in request.fixturenames:
        monkeypatch.delenv("THEODOLITE_DATA", raising=False)


def write(root: Path, files: dict[str, str]) -> Path:
    for file, text in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


def mteb_folder(root: Path) -> Path:
    """Write a data folder with a set for retrieval and one to classify."""
    return write(
        root / "mteb",
        {
            "retrieval/mine/queries.jsonl": '{"_id": "q", "text": "a question"}\n',
            "retrieval/mine/corpus.jsonl": '{"_id": "d", "title": "", "text": "an answer"}\n',
            "retrieval/mine/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\td\t1\n",
            "classification/banking77/train.csv": "text,category\nmy card,card\nmy cash,cash\n",
            "classification/banking77/test.csv": "text,category\nmy card,card\n",
        },
    ).parent


def test_every_task_and_type_can_be_measured_under_its_protocols() -> None:
    """Decoding has no data set and is measured elsewhere."""
    for task in tasks.TASKS.values():
        assert task.type in protocols.get(task.protocol).types
    for protocol in protocols.PROTOCOLS.values():
        for kind in set(protocol.types) - {"decoding"}:
            task = tasks.Task("mine", kind, "mine", "labels", protocol.name, "accuracy", "")
            assert tasks.type_of(task, protocol).name == kind


def test_suites_and_commas(tmp_path: Path) -> None:
    """A suite is what is here of it, in its order, or whole if nothing is; repeats are dropped."""
    files = {
        f"STS.{kind}.{subset}.txt": text
        for subset in ("FNWN", "headlines", "OnWN")
        for kind, text in (("input", "a b\tc d\ne f\tg h\n"), ("gs", "1.0\n4.5\n"))
    }
    write(tmp_path / "downstream" / "STS" / "STS13-en-test", files)
    catalog = Catalog(tmp_path)
    assert [t.name for t in tasks.available(catalog)] == [*tasks.STARTER, "STS13"]
    assert tasks.expand("sts, StarterSTS,STS13", catalog) == ["STS13", "StarterSTS"]
    assert tasks.expand(["STS16"], catalog) == ["STS16"], "named outright it is kept, to be told"
    assert tasks.expand(None, catalog) == [*tasks.STARTER, "STS13"]
    assert tasks.expand("sts", Catalog()) == list(tasks.SEVEN)


@pytest.mark.parametrize("nothing", ["", " , ", [], tasks.MTEB_HERE])
def test_no_task_at_all_is_refused(nothing: str | list[str]) -> None:
    with refused("missing"):
        tasks.expand(nothing, Catalog())


def test_a_data_set_is_a_task_by_its_kind(tmp_path: Path) -> None:
    """Under its own name, or by an ending; and all together as a suite."""
    assert tasks.get("upload:reviews").type == "sts"
    assert tasks.get("upload:reviews/classify").type == "classification"
    search = tasks.get("upload:reviews/search")
    assert (search.type, search.dataset) == ("search", "upload:reviews")
    assert tasks.get("starter-topics/search", Catalog()).dataset == "starter-topics"
    catalog = Catalog(mteb_folder(tmp_path))
    found = {task.name: task.type for task in tasks.available(catalog)}
    assert found["banking77/few-shot"] == "few-shot"
    assert tasks.get("mine", catalog).type == "document-retrieval"
    assert tasks.get("banking77/cluster", catalog).type == "clustering"
    assert set(tasks.expand(tasks.MTEB_HERE, catalog)) == {"mine", "banking77/few-shot"}


def test_an_unknown_name_says_close_ones(tmp_path: Path) -> None:
    """Case is no obstacle; the ways to measure a labelled set are all named."""
    catalog = Catalog(mteb_folder(tmp_path))
    with refused("unknown", "STSBenchmark"):
        tasks.get("stsbenchmrk")
    with refused("unknown", "banking77/few-shot"):
        tasks.get("banking7/few-shot", catalog)
    with refused("unknown", "starter-pairs/classify"):
        tasks.get("starter-pairs/classify", Catalog())
    for name in ("banking77", "starter-topics"):
        endings = ("classify", "probe", "few-shot", "cluster", "search")
        with refused("ambiguous", *(f"{name}/{ending}" for ending in endings)):
            tasks.get(name, catalog)


def test_a_name_alone_says_which_protocols_may_be_its_own() -> None:
    assert tasks.defaults("MR") == (tasks.TASKS["MR"].protocol,)
    assert tasks.defaults("banking77/cluster") == ("mteb-v2",)
    assert tasks.defaults("cranfield") == ("simcse-2021", "mteb-v2")


@pytest.mark.data
def test_every_task_that_a_list_names_is_one(data_root: Path) -> None:
    catalog = Catalog(data_root)
    named = [(name, info) for info in catalog.list() for name in info.tasks]
    assert len(named) > 200
    for name, info in named:
        assert tasks.get(name, catalog).dataset == info.name
