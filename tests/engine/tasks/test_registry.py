"""Task names: built-in, suites, and those of other data sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import tasks
from engine.datasets import Catalog
from engine.errors import UserError


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
    from engine import protocols

    for task in tasks.TASKS.values():
        assert task.type in protocols.get(task.protocol).types


def test_every_type_that_a_protocol_covers_can_be_measured() -> None:
    """One way each, with its name; decoding has no data set and is measured elsewhere."""
    from engine import protocols

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
