"""Under `mteb-X.Y.Z` a task is what `mteb.evaluate` makes of it in a plain script, to 1e-6."""

from __future__ import annotations

import json
from pathlib import Path

import mteb
import numpy as np
import pytest
from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY

from tests.errors import refused
from tests.fakes.mteb_tasks import PAIRS, Plain, by_mteb
from theodolite.engine import evaluate, load, protocols
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import Dataset, LabelledSentences, Summaries
from theodolite.engine.errors import Code, UserError
from theodolite.engine.mteb import own_tasks, package
from theodolite.engine.results import Result
from theodolite.engine.stats.bootstrap import main_sample

UNDER = f"mteb-{package.version()}"
ONE_OF_EACH = (
    "biosses",
    "trecqa",
    "rte3",
    "cranfield",
    "tatoeba/tam-eng",
    "bbc_news/cluster",
    "summeval",
    "tweeteval_irony/few-shot",
)
"""The smallest set of each type."""


class Few(Catalog):
    """A few rows of what takes mteb minutes."""

    def load(self, name: str) -> Dataset:
        """The first documents with their summaries; of labelled sentences every fifth."""
        data = super().load(name)
        if isinstance(data, Summaries):
            first = slice(10)
            ratings = {rated: by[first] for rated, by in data.ratings.items()}
            texts = data.documents[first], data.human[first], data.machine[first]
            return Summaries(data.name, *texts, ratings, data.scale)
        if isinstance(data, LabelledSentences):
            columns = data.sentences[::5], data.labels[::5], data.splits[::5]
            return LabelledSentences(data.name, *columns)
        return data


def measured(task: str, protocol: str, data: Path | Catalog | None = None) -> Result:
    """Ours, by the same door as everything else."""
    (found,) = evaluate(load("wordllama"), [task], protocol=protocol, data=data)
    assert found.error is None, (found.error, found.hint)
    json.dumps(found.details)  # the store keeps them
    return found


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_one_small_set_of_each_type(name: str, data_root: Path) -> None:
    """By mteb's code as in a script of one's own; by ours under mteb-v2; values per example too."""
    from theodolite.engine.mteb import conversion
    from theodolite.engine.tasks import get

    catalog = Few(data_root)
    task = get(name, catalog)
    made = conversion.make(task, catalog.load(task.dataset), 42)
    plain = by_mteb(Plain(load("wordllama")), made)
    found = measured(name, "mteb", catalog)
    assert found.protocol == UNDER
    assert found.main.score / 100 == pytest.approx(plain.get_score(), abs=1e-6)
    native = measured(name, "mteb-v2", catalog)
    assert found.main.metric == native.main.metric
    assert found.main.score / 100 == pytest.approx(native.main.score / 100, abs=1e-6)
    sample = main_sample(found.examples, found.details)
    assert sample.statistic == pytest.approx(found.main.score, abs=1e-2)
    for values in found.examples.keys() & native.examples.keys():
        ours_, theirs_ = native.examples[values], found.examples[values]
        assert np.allclose(ours_.astype(float), theirs_.astype(float), atol=1e-5), values


@pytest.fixture
def banking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files in the hub's layout, in the place of those that mteb would fetch for Banking77."""
    import csv

    words = {"card": "my card was stolen again", "rate": "what is the exchange rate today"}
    for split, n in (("train", 12), ("test", 8)):
        with (tmp_path / f"{split}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("text", "label"))
            for i in range(n):
                label = i % 2
                rows.writerow((f"{list(words.values())[label]} {i * 7}", label))
    known = REGISTRY["Banking77Classification"]
    here = known.metadata.model_copy(update={"dataset": {"path": str(tmp_path), "revision": "r1"}})
    monkeypatch.setattr(known, "metadata", here)
    return tmp_path


def test_a_task_of_mtebs_own(banking: Path) -> None:
    """Its data are read where mteb says they lie; the result is what mteb gives."""
    result = measured("mteb:Banking77Classification", "mteb")
    made = own_tasks.make("mteb:Banking77Classification")
    plain = by_mteb(Plain(load("wordllama")), made)
    assert result.main.score / 100 == pytest.approx(plain.get_score(), abs=1e-6)
    assert result.main.metric == "accuracy"
    assert len(result.examples["share_right"]) == 8
    assert result.examples["draws"].mean() == pytest.approx(result.main.score)
    assert "superseded by Banking77Classification.v2" in " ".join(result.details["notes"])


def test_the_revision_of_the_data_is_part_of_what_a_result_is_known_by(
    banking: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other data are another question."""
    before = own_tasks.load("mteb:Banking77Classification").hash
    known = REGISTRY["Banking77Classification"]
    newer = {"dataset": {"path": str(banking), "revision": "r2"}}
    monkeypatch.setattr(known, "metadata", known.metadata.model_copy(update=newer))
    assert own_tasks.load("mteb:Banking77Classification").hash != before


def test_without_a_network_a_task_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and what to do; so for one whose data want a login."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    (result,) = evaluate(load("random:8"), ["mteb:Banking77Classification"])
    assert "mteb/banking77" in str(result.error) and "Connect" in result.hint
    private = next(
        task.metadata.name
        for task in mteb.get_tasks(exclude_private=False)
        if not task.metadata.is_public and task.metadata.modalities == ["text"]
    )
    (result,) = evaluate(load("random:8"), [f"mteb:{private}"])
    assert "open to everybody" in str(result.error) and "hf auth login" in result.hint


@pytest.mark.parametrize(
    ("name", "code", "named"),
    [
        ("mteb:Banking78Classification", "unknown", "mteb:Banking77Classification"),
        ("mteb:STS17/en-xx", "unknown", "'en-xx'"),
        ("mteb:STS17@train", "unknown", "'train'"),
        ("mteb:CIFAR10", "unsupported", "image"),
        ("MTEB(eng, v9)", "unknown", "MTEB(eng, v2)"),
    ],
)
def test_names_that_mteb_does_not_have(name: str, code: Code, named: str) -> None:
    """Are told before anything is computed."""
    with refused(code, named):
        list(evaluate(load("random:8"), name))


def test_a_suite_is_its_tasks_commas_and_all() -> None:
    """With others beside it."""
    from theodolite.engine.tasks import expand

    found = expand("StarterSTS,MTEB(eng, v2)", Catalog(), "mteb")
    assert found[0] == "StarterSTS"
    assert len(found) == 42
    assert "mteb:STS17/en-en" in found


def test_results_of_other_versions_are_read_and_not_run() -> None:
    """A protocol of a version that was never installed has its card; to run it, it is needed."""
    card = dict(protocols.get("mteb-2.20.0").card())
    assert "mteb 2.20.0" in card["everything"]
    assert protocols.get("mteb").name == UNDER
    assert protocols.in_order([UNDER, "mteb-2.20.0", "senteval"])[0] == "senteval"
    (result,) = evaluate(load("random:8"), ["StarterSTS"], protocol="mteb-2.20.0")
    assert "mteb 2.20.0" in str(result.error)
    assert "pip install mteb==2.20.0" in result.hint


def test_without_mteb_its_protocol_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And names of its tasks are still read, so that results can be shown."""
    from theodolite.engine.protocols import package as of_package
    from theodolite.engine.tasks import get

    monkeypatch.setattr(of_package, "installed", lambda: None)
    with pytest.raises(UserError, match=r"theodolite\[mteb\]"):
        protocols.get("mteb")
    assert get("mteb:Banking77Classification").protocol == "mteb"


def test_what_the_progress_raises_stops_it() -> None:
    """As in every evaluation."""

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(evaluate(load("random:8"), ["StarterSTS"], protocol="mteb", progress=stop))
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))

    list(evaluate(load("random:8"), ["StarterSTS"], protocol="mteb", progress=note))
    assert seen[-1][0] == seen[-1][1] > len(PAIRS)
