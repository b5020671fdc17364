"""The texts behind the values of MTEB's own tasks: in the order of the values, type by type."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mteb")

from datasets import Dataset, DatasetDict, Features, Value
from datasets.features import ClassLabel
from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY

from tests.engine.mteb.test_newer_types import TOPICS, instructed, labelled, numbers, rows
from tests.engine.mteb.test_run import ONE_OF_EACH, measured
from tests.errors import refused
from tests.fakes.mteb_tasks import loaded
from theodolite.engine import protocols
from theodolite.engine.datasets import Catalog
from theodolite.engine.mteb import conversion, texts
from theodolite.engine.tasks import get, type_of


@pytest.mark.data
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_they_are_those_of_our_own_tasks_on_the_same_data(name: str, data_root: Path) -> None:
    """MTEB holds our data in its own tables; what is read from these is what we handed over."""
    catalog = Catalog(data_root)
    task = get(name, catalog)
    data = catalog.load(task.dataset)
    native = type_of(task, protocols.get("mteb-v2")).examples
    assert native is not None
    found, wanted = texts.of_rows(conversion.make(task, data, 42)), native(data, "mteb-v2", 42)
    assert len(found) == len(wanted)
    assert [of for of, _ in found] == [of for of, _ in wanted]


def test_newer_types() -> None:
    """A sentence with all its labels, or its number; a query with its instruction."""
    first, labels = rows(1, 100)[0]
    assert texts.of_rows(loaded(labelled("lrap")))[0] == ((first,), ", ".join(map(str, labels)))
    assert texts.of_rows(loaded(numbers("kendalltau")))[0] == ((first,), str(float(sum(labels))))
    value, answer = texts.of_rows(loaded(instructed("InstructionReranking", "p-MRR")))[1]
    assert value == (f"{TOPICS[0]} not the older ones",)
    assert answer == rows(12, 50)[0][0]


def test_labels_are_named_where_the_table_names_them() -> None:
    """As the hub's tables do."""
    task = loaded(labelled("lrap"))
    kinds = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    table = Dataset.from_dict({"text": ["no", "yes"], "label": [0, 1]}, features=kinds)
    task.dataset = DatasetDict({"test": table})
    assert texts.of_rows(task) == [(("no",), "bad"), (("yes",), "good")]


def test_they_stand_where_the_values_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are values; without the data on this machine none, and nothing is asked."""
    monkeypatch.setitem(REGISTRY, "FewOfThem", instructed("InstructionRetrieval", "ndcg_at_10"))
    with refused("no-file", "mteb:FewOfThem"):
        texts.of_task("mteb:FewOfThem", 42)
    monkeypatch.setattr("theodolite.engine.mteb.suites.is_here", lambda name: True)
    values = measured("mteb:FewOfThem", "mteb").examples["ndcg"]
    assert len(texts.of_task("mteb:FewOfThem", 42)) == len(values)
