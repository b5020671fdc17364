"""Task names: built-in, suites, and those of other data sets."""

from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine import protocols, tasks
from theodolite.engine.datasets import Catalog

pytestmark = pytest.mark.usefixtures("no_folder")


RETRIEVAL_AND_LABELS = {
    "mteb/retrieval/mine/queries.jsonl": '{"_id": "q", "text": "a question"}\n',
    "mteb/retrieval/mine/corpus.jsonl": '{"_id": "d", "title": "", "text": "an answer"}\n',
    "mteb/retrieval/mine/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\td\t1\n",
    "mteb/classification/banking77/train.csv": "text,category\nmy card,card\nmy cash,cash\n",
    "mteb/classification/banking77/test.csv": "text,category\nmy card,card\n",
}


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
    year = {
        f"downstream/STS/STS13-en-test/STS.{kind}.{subset}.txt": text
        for subset in ("FNWN", "headlines", "OnWN")
        for kind, text in (("input", "a b\tc d\ne f\tg h\n"), ("gs", "1.0\n4.5\n"))
    }
    catalog = Catalog(folder.files(tmp_path, year))
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
    catalog = Catalog(folder.files(tmp_path, RETRIEVAL_AND_LABELS))
    kinds = {
        "upload:reviews": "sts",
        "upload:reviews/classify": "classification",
        "upload:reviews/search": "search",
        "starter-topics/search": "search",
        "mine": "document-retrieval",
        "banking77/cluster": "clustering",
    }
    assert [(t.name, t.type, t.dataset) for t in (tasks.get(name, catalog) for name in kinds)] == [
        (name, kind, name.partition("/")[0]) for name, kind in kinds.items()
    ]
    assert {t.name: t.type for t in tasks.available(catalog)}["banking77/few-shot"] == "few-shot"
    assert set(tasks.expand(tasks.MTEB_HERE, catalog)) == {"mine", "banking77/few-shot"}


def ways(name: str) -> list[str]:
    """The tasks of a labelled set."""
    return [f"{name}/{way}" for way in ("classify", "probe", "few-shot", "cluster", "search")]


@pytest.mark.parametrize(
    ("name", "code", "named"),
    [
        ("stsbenchmrk", "unknown", ["STSBenchmark"]),
        ("banking7/few-shot", "unknown", ["banking77/few-shot"]),
        ("starter-pairs/classify", "unknown", ["starter-pairs/classify"]),
        ("banking77", "ambiguous", ways("banking77")),
        ("starter-topics", "ambiguous", ways("starter-topics")),
        ("unlabelled/plain", "wrong-kind", ["holds sentences", "no task"]),
    ],
)
def test_an_unknown_name_says_close_ones(
    tmp_path: Path, name: str, code: str, named: list[str]
) -> None:
    """Case is no obstacle; the ways to measure a labelled set are all named."""
    with refused(code, *named):
        plain = {"unlabelled/plain.txt": "A ship.\nA boat.\n"}
        tasks.get(name, Catalog(folder.files(tmp_path, RETRIEVAL_AND_LABELS | plain)))


@pytest.mark.data
def test_every_task_that_a_list_names_is_one(real: Catalog) -> None:
    named = [(name, info) for info in real.list() for name in info.tasks]
    assert len(named) > 200
    for name, info in named:
        assert tasks.get(name, real).dataset == info.name
