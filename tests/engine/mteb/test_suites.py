"""Suites of mteb's: which tasks, what is here, and how large the rest is, with nothing fetched."""

from __future__ import annotations

from pathlib import Path

import mteb
import pytest

from tests.errors import refused
from theodolite.engine.mteb import own_tasks, suites


def test_a_suite_lists_the_tasks_that_mteb_names() -> None:
    """As many as the benchmark has, with the subsets and splits that it takes."""
    rows = {row.task: row for row in suites.suite("MTEB(eng, v2)")}
    assert len(rows) == len(mteb.get_benchmark("MTEB(eng, v2)").tasks) == 41
    assert rows["mteb:STS17/en-en"].languages == ("eng",)
    banking = rows["mteb:Banking77Classification"]
    assert (banking.type, banking.examples, banking.licence) == ("Classification", 3080, "mit")
    # Characters of the test split, by mteb's own count.
    assert (banking.bytes, banking.here) == (167_036, False)
    assert rows["mteb:STS22.v2/en"].licence == ""
    assert suites.tasks_of("MTEB(eng, v2)") == list(rows)


def test_what_lies_in_the_cache_of_the_hub_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only at the revision that mteb names."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    revision = own_tasks.make("mteb:Banking77Classification").metadata.revision
    for name, here in (("another", False), (revision, True)):
        (tmp_path / "datasets--mteb--banking77" / "snapshots" / name).mkdir(parents=True)
        rows = {row.task: row for row in suites.suite("MTEB(eng, v2)")}
        assert rows["mteb:Banking77Classification"].here == here


def test_aggregates_and_private_tasks_say_what_they_are() -> None:
    """A task made of tasks counts all of them; a private one asks for a login."""
    beir = {row.task: row for row in suites.suite("mteb:BEIR")}
    parts = mteb.get_task("CQADupstackRetrieval").metadata.tasks
    queries_and_documents = sum(part.metadata.n_samples["test"] for part in parts)
    assert beir["mteb:CQADupstackRetrieval"].examples == queries_and_documents
    fields = {row.task for row in suites.suite("mteb:RTEB(eng, beta)") if row.access == "login"}
    private = [t for t in mteb.get_benchmark("RTEB(eng, beta)").tasks if not t.metadata.is_public]
    assert fields == {own_tasks.name_of(task) for task in private} != set()


def test_names_of_suites_are_told_from_names_of_tasks() -> None:
    """And an unknown one is answered with those that are close."""
    names = ("MTEB(eng, v2)", "mteb:BEIR", "mteb:STS17/en-en", "STSBenchmark")
    assert [suites.is_suite(name) for name in names] == [True, True, False, False]
    with refused("unknown", "MTEB(eng, v2)"):
        suites.suite("MTEB(eng, v3)")
    assert {"BEIR", "MTEB(eng, v2)"} <= {one.name for one in suites.suites()}
