"""Task names: built-in, suites, and those of other data sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from theodolite.engine import tasks
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError


def sts13_folder(root: Path) -> Path:
    """Write a SentEval folder that holds one subset of one year."""
    folder = root / "downstream" / "STS" / "STS13-en-test"
    folder.mkdir(parents=True)
    for subset in ("FNWN", "headlines", "OnWN"):
        (folder / f"STS.input.{subset}.txt").write_text("a b\tc d\ne f\tg h\n")
        (folder / f"STS.gs.{subset}.txt").write_text("1.0\n4.5\n")
    return root


def test_every_task_names_a_protocol_that_covers_it() -> None:
    """No default can fail."""
    from theodolite.engine import protocols

    for task in tasks.TASKS.values():
        assert task.type in protocols.get(task.protocol).types


def test_every_type_that_a_protocol_covers_can_be_measured() -> None:
    """One way each, with its name; decoding has no data set and is measured elsewhere."""
    from theodolite.engine import protocols

    for protocol in protocols.PROTOCOLS.values():
        for kind in set(protocol.types) - {"decoding"}:
            task = tasks.Task("mine", kind, "mine", "labels", protocol.name, "accuracy", "")
            assert tasks.type_of(task, protocol).name == kind


def test_an_unknown_name_says_close_ones() -> None:
    """Case is no obstacle."""
    with pytest.raises(UserError) as caught:
        tasks.get("stsbenchmrk")
    assert "STSBenchmark" in caught.value.hint


def test_only_tasks_with_data_are_available(tmp_path: Path) -> None:
    """The starter's three, and the year that the folder holds."""
    catalog = Catalog(sts13_folder(tmp_path))
    assert [t.name for t in tasks.available(catalog)] == [*tasks.STARTER, "STS13"]


def test_suites_and_commas(tmp_path: Path) -> None:
    """A suite is what is here of it, in its order; repeats are dropped."""
    catalog = Catalog(sts13_folder(tmp_path))
    assert tasks.expand("sts, StarterSTS,STS13", catalog) == ["STS13", "StarterSTS"]
    assert tasks.expand(["STS16"], catalog) == ["STS16"], "named outright it is kept, to be told"
    assert tasks.expand(None, catalog) == [*tasks.STARTER, "STS13"]


def test_a_suite_without_any_data_is_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that each of its tasks can say what is missing."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    assert tasks.expand("sts", Catalog()) == list(tasks.SEVEN)


def test_no_name_at_all_is_refused() -> None:
    """An empty string or list."""
    for nothing in ("", " , ", []):
        with pytest.raises(UserError, match="No task"):
            tasks.expand(nothing, Catalog())


def test_uploads_are_tasks_by_their_kind() -> None:
    """Pairs under their own name, labelled sentences by an ending."""
    assert tasks.get("upload:reviews").type == "sts"
    assert tasks.get("upload:reviews/classify").type == "classification"
    search = tasks.get("upload:reviews/search")
    assert (search.type, search.dataset) == ("search", "upload:reviews")


def test_labelled_sentences_need_an_ending() -> None:
    """The plain name of a labelled set is refused, and the two endings are told."""
    catalog = Catalog()
    assert tasks.get("starter-topics/search", catalog).dataset == "starter-topics"
    with pytest.raises(UserError):
        tasks.get("starter-topics", catalog)
    with pytest.raises(UserError):
        tasks.get("starter-pairs/classify", catalog)


def test_the_ways_to_measure_a_labelled_set_are_told(tmp_path: Path) -> None:
    """Of a set of a data folder as well, and which of them keeps its own split."""
    (tmp_path / "mteb" / "classification" / "banking77").mkdir(parents=True)
    with pytest.raises(UserError, match=r"banking77/classify, banking77/probe \(in its own"):
        tasks.get("banking77", Catalog(tmp_path))


def mteb_folder(root: Path) -> Path:
    """Write a data folder with a set for retrieval and one to classify."""
    for file, text in (
        ("retrieval/mine/queries.jsonl", '{"_id": "q", "text": "a question"}\n'),
        ("retrieval/mine/corpus.jsonl", '{"_id": "d", "title": "", "text": "an answer"}\n'),
        ("retrieval/mine/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n"),
        ("classification/banking77/train.csv", "text,category\nmy card,card\nmy cash,cash\n"),
        ("classification/banking77/test.csv", "text,category\nmy card,card\n"),
    ):
        path = root / "mteb" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_what_mteb_measures_is_a_task_by_the_kind_of_its_data(tmp_path: Path) -> None:
    """Under the data set's own name, or by an ending; and all together as a suite."""
    catalog = Catalog(mteb_folder(tmp_path))
    found = {task.name: task.type for task in tasks.available(catalog)}
    assert found["banking77/few-shot"] == "few-shot"
    assert tasks.get("mine", catalog).type == "document-retrieval"
    assert tasks.get("banking77/cluster", catalog).type == "clustering"
    assert set(tasks.expand(tasks.MTEB_HERE, catalog)) == {"mine", "banking77/few-shot"}


def test_the_suite_of_what_is_here_says_when_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The starter set has none of it."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    with pytest.raises(UserError, match="MTEB"):
        tasks.expand(tasks.MTEB_HERE, Catalog())


def test_a_misspelt_data_set_says_close_ones(tmp_path: Path) -> None:
    """With its ending."""
    with pytest.raises(UserError) as caught:
        tasks.get("banking7/few-shot", Catalog(mteb_folder(tmp_path)))
    assert "banking77/few-shot" in caught.value.hint


def test_a_name_alone_says_which_protocols_may_be_its_own() -> None:
    """All that is known without a look at the data."""
    assert tasks.defaults("MR") == (tasks.TASKS["MR"].protocol,)
    assert tasks.defaults("banking77/cluster") == ("mteb-v2",)
    assert tasks.defaults("cranfield") == ("simcse-2021", "mteb-v2")


@pytest.mark.data
def test_every_task_that_a_list_names_is_one(data_root: Path) -> None:
    """Of every data set of the folder, and it is measured on that set."""
    catalog = Catalog(data_root)
    named = [(name, info) for info in catalog.list() for name in info.tasks]
    assert len(named) > 200
    for name, info in named:
        assert tasks.get(name, catalog).dataset == info.name
