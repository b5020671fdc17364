"""Under `mteb-X.Y.Z` a task is what `mteb.evaluate` makes of it in a plain script, to 1e-6."""

import json
from pathlib import Path
from unittest.mock import Mock

import httpx
import mteb
import numpy as np
import pytest
from datasets import Dataset as HubDataset, DatasetDict, Features, Value, config
from datasets.features import ClassLabel
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from mteb._evaluators.retrieval_metrics import evaluate_p_mrr_change
from mteb.abstasks import (
    AbsTaskMultilabelClassification,
    AbsTaskRegression,
    AbsTaskRetrieval,
    AbsTaskSTS,
)
from mteb.get_tasks import _TASKS_REGISTRY as REGISTRY
from typer.testing import CliRunner

from tests.engine.datasets.test_retrieval import folder
from tests.errors import refused
from tests.fakes.folder import files
from tests.fakes.hub import FakeHub
from tests.fakes.mteb_tasks import (
    ENGLISH,
    PAIRS,
    Plain,
    by_mteb,
    loaded,
    retrieval_data,
    split,
    task_class,
)
from theodolite.engine import evaluate, load, protocols
from theodolite.engine.datasets import Catalog, Dataset, LabelledSentences, Retrieval
from theodolite.engine.mteb import conversion, examples, own_tasks, package, suites
from theodolite.engine.results import Result
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.engine.tasks import expand, get, type_of

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
LONG = ("cranfield", "bbc_news/cluster", "tweeteval_irony/few-shot")


def banking(text: str) -> dict[str, str]:
    """The files of a task of two labels, whose texts are put into another."""
    words = ("my card was stolen again", "what is the exchange rate today")
    rows = [f"{text.format(words[i % 2])} {i * 7},{i % 2}" for i in range(12)]
    train, test = ("\n".join(["text,label", *some]) for some in (rows, rows[:8]))
    return {"train.csv": train, "test.csv": test}


def measured(task: str, protocol: str, data: Path | Catalog | None = None) -> Result:
    """Ours, by the same door as everything else."""
    (found,) = evaluate(load("wordllama"), [task], protocol=protocol, data=data)
    assert found.error is None, (found.error, found.hint)
    json.dumps(found.details)  # the store keeps them
    return found


@pytest.mark.parametrize(
    "name",
    # `test_mteb_types` compares those that take longest on fewer sentences.
    [pytest.param(name, marks=[pytest.mark.long] if name in LONG else ()) for name in ONE_OF_EACH],
)
def test_one_small_set_of_each_type(name: str, data_root: Path) -> None:
    """By mteb's code as in a script of one's own; by ours under mteb-v2; values per example too."""
    catalog = Catalog(data_root)
    task = get(name, catalog)
    plain = by_mteb(Plain(load("wordllama")), conversion.make(task, catalog.load(task.dataset), 42))
    found, native = (measured(name, protocol, catalog) for protocol in ("mteb", "mteb-v2"))
    assert (found.protocol, found.main.metric) == (UNDER, native.main.metric)
    assert [plain.get_score(), native.main.score / 100] == pytest.approx(
        [found.main.score / 100] * 2, abs=1e-6
    )
    sample = main_sample(found.examples, found.details)
    assert sample.statistic == pytest.approx(found.main.score, abs=1e-2)
    for values in found.examples.keys() & native.examples.keys():
        ours, theirs = (result.examples[values].astype(float) for result in (native, found))
        assert np.allclose(ours, theirs, atol=1e-5), values


def test_a_task_of_mtebs_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its data are read where mteb says they lie; the result is what mteb gives.

    Their revision is part of what a result is known by: other data are another question.
    """
    files(tmp_path, banking("{}"))
    name, kind, hashes = "mteb:Banking77Classification", REGISTRY["Banking77Classification"], set()
    for revision in ("r1", "r2"):
        there = {"dataset": {"path": str(tmp_path), "revision": revision}}
        monkeypatch.setattr(kind, "metadata", kind.metadata.model_copy(update=there))
        hashes.add(own_tasks.load(name).hash)
    assert len(hashes) == 2
    result = measured(name, "mteb")
    plain = by_mteb(Plain(load("wordllama")), own_tasks.make(name))
    assert result.main.score / 100 == pytest.approx(plain.get_score(), abs=1e-6)
    assert (result.main.metric, len(result.examples["share_right"])) == ("accuracy", 8)
    assert result.examples["draws"].mean() == pytest.approx(result.main.score)
    assert "superseded by Banking77Classification.v2" in " ".join(result.details["notes"])


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
def test_names_that_mteb_does_not_have(name: str, code: str, named: str) -> None:
    """Are told before anything is computed."""
    with refused(code, named):
        list(evaluate(load("random:8"), name))


def test_results_of_other_versions_are_read_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol of a version that was never installed has its card; to run it, it is needed."""
    assert "mteb 2.20.0" in dict(protocols.get("mteb-2.20.0").card())["everything"]
    assert protocols.get("mteb").name == UNDER
    assert protocols.in_order([UNDER, "mteb-2.20.0", "senteval"])[0] == "senteval"
    (result,) = evaluate(load("random:8"), ["StarterSTS"], protocol="mteb-2.20.0")
    assert "mteb 2.20.0" in str(result.error) and "pip install mteb==2.20.0" in result.hint
    # Without mteb it says how to get it; names of its tasks are still read, to show results.
    monkeypatch.setattr("theodolite.engine.protocols.package.installed_protocol", lambda: None)
    with refused("unsupported", "theodolite[mteb]"):
        protocols.get("mteb")
    assert get("mteb:Banking77Classification").protocol == "mteb"


# --- suites: which tasks, what is here, and how large the rest is, with nothing fetched ---


def test_a_suite_lists_the_tasks_that_mteb_names() -> None:
    """As many as the benchmark has, with the subsets and splits that it takes."""
    rows = {row.task: row for row in suites.suite("MTEB(eng, v2)")}
    assert len(rows) == len(mteb.get_benchmark("MTEB(eng, v2)").tasks) == 41
    assert rows["mteb:STS17/en-en"].languages == ("eng",)
    banking = rows["mteb:Banking77Classification"]
    # Bytes are the characters of the test split, by mteb's own count.
    told = banking.type, banking.examples, banking.licence, banking.bytes, banking.here
    assert told == ("Classification", 3080, "mit", 167_036, False)
    assert rows["mteb:STS22.v2/en"].licence == ""
    assert suites.tasks_of("MTEB(eng, v2)") == list(rows)
    # In a list it is its tasks, commas and all, with others beside it.
    found = expand("StarterSTS,MTEB(eng, v2)", Catalog(), "mteb")
    assert {*found} == {"StarterSTS", *rows} and found[0] == "StarterSTS"


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
    names = ("MTEB(eng, v2)", "mteb:BEIR", "mteb:STS17/en-en", "STSBenchmark")
    assert [suites.is_suite(name) for name in names] == [True, True, False, False]
    assert {"BEIR", "MTEB(eng, v2)"} <= {one.name for one in suites.suites()}


def test_what_the_progress_raises_stops_it() -> None:
    """As in every evaluation."""
    stop, note = Mock(side_effect=KeyboardInterrupt), Mock()
    with pytest.raises(KeyboardInterrupt):
        list(evaluate(load("random:8"), ["StarterSTS"], protocol="mteb", progress=stop))
    list(evaluate(load("random:8"), ["StarterSTS"], protocol="mteb", progress=note))
    done, total = note.call_args.args
    assert done == total > len(PAIRS)


# --- bad input, by our code and by that of mteb ---


TEXTS = {f"d{i}": text for i, text in enumerate(("tea is brewed", "coffee is ground", "", "tea"))}
REFUSED = httpx.Response(403, request=httpx.Request("GET", "https://huggingface.co"))
QUERIES = {"q1": "tea", "q2": "coffee", "q3": "nobody judged this", "q4": ""}


def both(data: Dataset, root: Path, task: str = "drinks") -> tuple[Result, Result]:
    """By our code and by mteb's, whatever data set is asked for."""
    catalog = folder(root)
    catalog.load = lambda name: data
    ours, theirs = (
        next(evaluate(load("wordllama"), [task], protocol=protocol, data=catalog))
        for protocol in ("mteb-v2", "mteb")
    )
    return ours, theirs


def same(one: Result, other: Result) -> float:
    """The one score of both."""
    assert one.error is None and other.error is None, (one.error, other.error)
    assert one.main.score == pytest.approx(other.main.score, abs=1e-4)
    return one.main.score


@pytest.mark.parametrize(
    ("documents", "judged", "candidates"),
    [
        # Queries without any are left out, unknown documents never found; empty texts are texts.
        (
            TEXTS,
            {"q1": {"d0": 1, "d3": 2}, "q2": {"d1": 1, "nowhere": 1}, "q4": {"d2": 1}, "q3": {}},
            None,
        ),
        # All alike: ties are broken in one way.
        (dict.fromkeys(TEXTS, "tea"), {"q1": {"d2": 1}, "q2": {"d3": 1}}, None),
        # A document that is listed twice.
        (
            TEXTS,
            {"q1": {"d0": 1}, "q2": {"d1": 1}},
            {"q1": ("d0", "d1", "d1"), "q2": ("d1", "d2", "d3")},
        ),
    ],
)
def test_both_give_the_same_score(
    documents: dict[str, str], judged, candidates, tmp_path: Path
) -> None:
    data = Retrieval("given", QUERIES, documents, {"test": judged}, candidates)
    ours, theirs = both(data, tmp_path)
    score = same(ours, theirs)
    assert score > 0
    if len(judged) > 2:
        assert score < 100
        assert len(ours.examples["ndcg"]) == len(theirs.examples["ndcg"]) == 3
    # Where nothing is judged, one sentence from both.
    ours, theirs = both(Retrieval("given", QUERIES, TEXTS, {"test": {}}), tmp_path)
    assert ours.error and "judgements" in ours.error and ours.hint
    assert (ours.error, ours.hint) == (theirs.error, theirs.hint)


@pytest.mark.slow
def test_a_single_label(tmp_path: Path) -> None:
    """One cluster: every encoder has 100, and the notes say so."""
    data = LabelledSentences("given", [f"tea {i}" for i in range(40)], ["x"] * 40, ["test"] * 40)
    ours, theirs = both(data, tmp_path, "starter-topics/cluster")
    assert same(ours, theirs) == pytest.approx(100.0)
    assert "single cluster" in " ".join(ours.details["notes"])


def pairs(n: int):
    """Scored pairs, as mteb holds them."""
    left, right = [f"tea {i}" for i in range(n)], [f"tea {i % 2}" for i in range(n)]
    return split({"sentence1": left, "sentence2": right, "score": [i % 3 for i in range(n)]})


def few(monkeypatch: pytest.MonkeyPatch, kind) -> Result:
    """The result of a task of mteb's own."""
    monkeypatch.setitem(REGISTRY, "FewOfThem", kind)
    (result,) = evaluate(load("random:8"), ["mteb:FewOfThem"], protocol="mteb")
    assert result.error and result.hint
    return result


SIMILARITY = (AbsTaskSTS, "STS", "cosine_spearman")


@pytest.mark.parametrize(
    ("kind", "data", "languages", "named"),
    [
        (
            SIMILARITY,
            lambda: {"en": pairs(9)},
            {"en": ["eng-Latn"], "de": ["deu-Latn"]},
            "no data of de",
        ),
        (SIMILARITY, lambda: pairs(0), ENGLISH, "no data"),
        (
            (AbsTaskRetrieval, "Retrieval", "ndcg_at_10"),
            lambda: {"default": {}},
            ENGLISH,
            "no data of test",
        ),
    ],
    ids=["no such language", "no rows", "no such split"],
)
def test_a_task_without_data(
    kind, data, languages, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of mteb's own: which language or split is empty is said."""
    assert named in str(few(monkeypatch, task_class(*kind, data, languages)).error)


@pytest.mark.parametrize(
    ("failure", "named", "hint"),
    [
        (GatedRepoError("403", response=REFUSED), "open to everybody", "hf auth login"),
        (OSError("the dataset is gated"), "open to everybody", "huggingface.co/datasets/none/here"),
        (RepositoryNotFoundError("404", response=REFUSED), "no data set none/here", "withdrawn"),
        (RuntimeError("Dataset scripts are no longer supported"), "program", "remote code"),
        (ConnectionError("Couldn't reach 'none/here' on the Hub"), "reached", "Connect"),
        (ValueError("column 'sentence1' is not there"), "FewOfThem", "another task"),
    ],
    ids=["gated", "terms", "withdrawn", "a program", "no network", "other columns"],
)
def test_data_that_cannot_be_had(
    failure: Exception, named: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why, and what to do: a licence, a login, no network, data that are gone or changed."""
    result = few(monkeypatch, task_class(*SIMILARITY, Mock(side_effect=failure)))
    assert named in str(result.error) and hint in result.hint


# --- values per example of the newer types, and texts of all types ---


TOPICS = ("trains", "cards", "dogs", "rates")


def rows(n: int, start: int) -> list[tuple[str, list[int]]]:
    """Sentences about one or two topics."""
    labels = [sorted({i % 4, (i * i) % 4}) for i in range(start, start + n)]
    topics = [" and the ".join(TOPICS[label] for label in each) for each in labels]
    return [(f"{i} of the {topics[i - start]}", labels[i - start]) for i in range(start, start + n)]


def table(column: str, value):
    """The splits train and test, with a column made of a row's number and its labels."""
    return DatasetDict(
        {
            name: HubDataset.from_dict(
                {
                    "text": [text for text, _ in some],
                    column: [value(i, labels) for i, (_, labels) in enumerate(some)],
                }
            )
            for name, some in (("train", rows(40, 0)), ("test", rows(20, 100)))
        }
    )


def labelled(main: str):
    """Several labels a sentence."""
    base, data = AbsTaskMultilabelClassification, table("label", lambda i, labels: labels)
    return task_class(base, "MultilabelClassification", main, lambda: data, samples_per_label=4)


def numbers(main: str):
    """A number a sentence."""
    data = table("value", lambda i, labels: float(sum(labels) + i % 3))
    return task_class(AbsTaskRegression, "Regression", main, lambda: data)


def instructed(type_: str, main: str):
    """Queries with instructions; of a reranking, the same query under two of them."""
    documents = {f"d{i}": text for i, (text, _) in enumerate(rows(12, 50))}
    queries = {f"{k}-{way}": topic for k, topic in enumerate(TOPICS) for way in ("og", "changed")}
    judged = {key: {f"d{int(key[0])}": 1, f"d{int(key[0]) + 4}": 1} for key in queries}
    ways = ["the older ones" if "og" in key else "not the older ones" for key in queries]
    top = {key: list(documents)[:8] for key in queries} if type_.endswith("Reranking") else None

    def of_two_rankings(self, scores, qrels, results, **_):
        changed = {f"{k}": [f"d{k}"] for k in range(4)}
        return evaluate_p_mrr_change(qrels, results, changed, self.k_values)

    more = {"task_specific_scores": of_two_rankings} if main == "p-MRR" else {}
    return task_class(
        AbsTaskRetrieval,
        type_,
        main,
        lambda: retrieval_data(documents, queries, judged, top, instruction=ways),
        **more,
    )


def test_parts_of_tau_spread_as_tau_does(rng: np.random.Generator) -> None:
    """Their mean is scipy's tau-b, and their spread that of tau over resamples."""
    from scipy.stats import kendalltau

    gold = rng.integers(0, 6, 150).astype(float)
    guessed = gold + 3.0 * rng.standard_normal(150)
    parts = examples._tau_parts(guessed, gold)
    assert parts.mean() == pytest.approx(kendalltau(guessed, gold).statistic, abs=1e-12)
    drawn = [rng.integers(0, 150, 150) for _ in range(400)]
    spread = np.std([kendalltau(guessed[at], gold[at]).statistic for at in drawn])
    assert parts.std() / np.sqrt(150) == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize(
    ("made", "of_each"),
    [
        (labelled("accuracy"), True),
        (labelled("lrap"), True),
        (labelled("f1"), False),
        (numbers("kendalltau"), True),
        (instructed("InstructionRetrieval", "ndcg_at_10"), True),
        (instructed("InstructionReranking", "ndcg_at_5"), True),
        (instructed("InstructionReranking", "p-MRR"), False),
    ],
    ids=lambda one: (
        f"{one.metadata.type}, {one.metadata.main_score}" if isinstance(one, type) else ""
    ),
)
def test_newer_types(made, of_each: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score of a plain script; values whose mean it is, or the reason why there are none."""
    monkeypatch.setitem(REGISTRY, "FewOfThem", made)
    result = measured("mteb:FewOfThem", "mteb")
    plain = by_mteb(Plain(load("wordllama")), made())
    assert result.main.metric == made.metadata.main_score
    assert result.main.score / 100 == pytest.approx(plain.get_score(), abs=1e-6)
    if of_each:
        sample = main_sample(result.examples, result.details)
        assert sample.statistic == pytest.approx(result.main.score, abs=1e-2)
        assert np.ptp(np.asarray(result.examples[result.details["mean_of"]])) > 0
    else:
        assert not result.examples and result.details["notes"]


@pytest.mark.data
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_texts_are_those_of_our_own_tasks_on_the_same_data(name: str, data_root: Path) -> None:
    """MTEB holds our data in its own tables; what is read from these is what we handed over."""
    catalog = Catalog(data_root)
    task = get(name, catalog)
    data = catalog.load(task.dataset)
    native = type_of(task, protocols.get("mteb-v2")).examples
    found, wanted = examples.texts_of(conversion.make(task, data, 42)), native(data, "mteb-v2", 42)
    assert [of for of, _ in found] == [of for of, _ in wanted]


def test_texts_of_newer_types() -> None:
    """A sentence with all its labels, or its number; a query with its instruction."""
    first, labels = rows(1, 100)[0]
    assert examples.texts_of(loaded(labelled("lrap")))[0] == ((first,), ", ".join(map(str, labels)))
    assert examples.texts_of(loaded(numbers("kendalltau")))[0] == ((first,), f"{sum(labels):.1f}")
    instruction = examples.texts_of(loaded(instructed("InstructionReranking", "p-MRR")))[1]
    assert instruction == ((f"{TOPICS[0]} not the older ones",), rows(12, 50)[0][0])
    # Labels are named where the table names them, as the hub's tables do.
    task = loaded(labelled("lrap"))
    kinds = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    table = HubDataset.from_dict({"text": ["no", "yes"], "label": [0, 1]}, features=kinds)
    task.dataset = DatasetDict({"test": table})
    assert examples.texts_of(task) == [(("no",), "bad"), (("yes",), "good")]


def test_texts_stand_where_the_values_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are values; without the data on this machine none, and nothing is asked."""
    monkeypatch.setitem(REGISTRY, "FewOfThem", instructed("InstructionRetrieval", "ndcg_at_10"))
    with refused("no-file", "mteb:FewOfThem"):
        examples.texts_of_task("mteb:FewOfThem", 42)
    monkeypatch.setattr("theodolite.engine.mteb.suites.is_here", lambda name: True)
    values = measured("mteb:FewOfThem", "mteb").examples["ndcg"]
    assert len(examples.texts_of_task("mteb:FewOfThem", 42)) == len(values)


# --- a task by its name, fetched from the hub ---


TASK = "mteb:Banking77Classification"
PLACE, REVISION = "mteb/banking77", "0fd18e25b25c072e09e0d92ab615fda904d66300"
"""Where mteb keeps its data, and at which revision."""


@pytest.fixture
def hub(served: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    """With the few rows of a task at the revision that mteb names, and others at main."""
    for name, text in ((f"banking77@{REVISION}", "{}"), ("banking77", "newer: {}")):
        files(served.root / "datasets/mteb" / name, banking(text))
    for name, value in {
        "HF_ENDPOINT": served.url,
        "HF_DATASETS_CACHE": tmp_path / "cache",
        "DOWNLOADED_DATASETS_PATH": str(tmp_path / "cache/downloads"),
    }.items():
        monkeypatch.setattr(config, name, value)
    return served


@pytest.mark.long
def test_a_task_of_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    """Its size is said before a byte is fetched; refusals are sentences; it is fetched once.

    From a server that speaks as much of the hub's protocol.
    """
    from theodolite.app.cli import app

    def evaluated(encoder: str, task: str = TASK, *more: str) -> tuple:
        """Exit code, the main score or the error, and what was said beside it."""
        where = ("--json", "--store", str(tmp_path / "store"))
        done = CliRunner().invoke(app, ["evaluate", encoder, "--tasks", task, *more, *where])
        rows = map(json.loads, done.stdout.splitlines())
        main = next((row for row in rows if row.get("main", "error" in row)), {})
        return done.exit_code, main, done.stderr

    def is_here() -> bool:
        """As its suite shows it."""
        return next(row.here for row in suites.suite("MTEB(eng, v1)") if row.task == TASK)

    fetching = f"{TASK} is fetched from the hub first, 167 kB of text"
    assert fetching in evaluated("random:32", TASK, "--estimate")[2]
    assert not hub.requests and not is_here(), "nothing was fetched to say so"

    for answer, reported in (
        ("GatedRepo", "is not open to everybody"),
        ("RepoNotFound", "The hub has no data set mteb/banking77"),
    ):
        hub.closed[PLACE] = answer
        code, row, _ = evaluated("random:32")
        assert code == 1
        assert reported in row["error"] and "hf auth login" in row["hint"]
    hub.closed.clear()
    assert not is_here()

    code, row, error = evaluated("random:32")
    assert code == 0 and fetching in error
    assert (row["task"], row["metric"], row["n"]) == (TASK, "accuracy", 8)
    fetched = [request for request in hub.requests if request.endswith(".csv")]
    assert fetched and all(REVISION in request for request in fetched)
    assert is_here()

    hub.close()
    code, row, error = evaluated("random:16")
    assert code == 0 and "fetched" not in error, "what is here needs no hub"
    code, row, _ = evaluated("random:16", "mteb:ImdbClassification")
    assert code == 1 and "the hub cannot be reached" in row["error"] and "Connect" in row["hint"]
