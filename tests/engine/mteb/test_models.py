"""What mteb knows of models, its models as encoders, and results that others published."""

import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import mteb
import numpy as np
import pytest
from mteb.abstasks import AbsTaskRetrieval
from mteb.models import ModelMeta, SearchProtocol, SentenceTransformerEncoderWrapper
from mteb.models.model_implementations import MODEL_REGISTRY
from mteb.types import PromptType

import theodolite as th
from tests.engine.encoders.models import SENTENCES, save_sentence_transformer
from tests.errors import refused
from tests.fakes.encoders import HashEncoder
from tests.fakes.folder import files, packed
from tests.fakes.mteb_tasks import (
    PAIRS,
    Plain,
    by_mteb as score_of,
    loaded,
    retrieval_data,
    similarity_task,
    task_class,
)
from theodolite.app.pages.board import training_data
from theodolite.engine.encoders import PromptTask, bind_task, describe, load, query_side
from theodolite.engine.encoders.facts import LATER
from theodolite.engine.mteb import models, package, results
from theodolite.engine.mteb.model import Model


def test_what_a_model_was_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """By mteb's own metadata; unlike no task at all, what mteb does not say is None."""
    found = models.trained_on("intfloat/multilingual-e5-small")
    assert list(found) == sorted(found)
    # NQHardNegatives is what mteb counts as the same data.
    assert {"NQ", "MSMARCO", "NQHardNegatives"} <= set(found)
    if package.version() == package.TESTED:
        assert models.trained_on(training_data.MINILM) == training_data._OF_MINILM
    assert models.trained_on("mteb/baseline-random-encoder") == ()
    assert models.trained_on("nobody/has-this") is None
    # Without mteb nothing is known, and nobody who only looks is told to install it.
    monkeypatch.setattr(models, "version", lambda: None)
    assert models.trained_on("intfloat/multilingual-e5-small") is None


def test_models_that_mteb_does_not_name_are_known_from_its_source() -> None:
    """Every name of its list is there as it is written, so that nothing is missed."""
    assert not package.unlisted(MODEL_REGISTRY)
    assert package.unlisted(["nobody/has-this", training_data.MINILM]) == {"nobody/has-this"}


def test_arguments_are_checked_before_mteb_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its import takes seconds."""
    monkeypatch.setitem(sys.modules, "mteb", None)
    with refused("unsupported", "mteb"):
        th.mteb("random:8")
    with refused("unknown", "nonsense"):
        th.mteb("nonsense")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with prompts for a task, for types and for the sides of a search."""
    prompts = {
        "STS17": "a ",
        "STS": "dog ",
        "query": "cat ",
        "document": "mat ",
        "Reranking-query": "the red ",
    }
    return save_sentence_transformer(tmp_path_factory.mktemp("st") / "model", prompts=prompts)


@pytest.fixture
def listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Puts a model into mteb's registry, whose name is a folder; gives its spec."""

    def put(**said) -> str:
        meta = ModelMeta.create_empty(
            {
                "name": str(folder),
                "revision": "r1",
                "loader": SentenceTransformerEncoderWrapper,
                "embed_dim": 8,
                "open_weights": True,
                "model_type": ["dense"],
                **said,
            }
        )
        monkeypatch.setitem(MODEL_REGISTRY, meta.name, meta)
        return f"mteb:{meta.name}"

    return put


def by_mteb(folder: Path, task, side: PromptType | None = None) -> np.ndarray:
    """What mteb's model gives for a task in a plain script."""
    from datasets import Dataset
    from torch.utils.data import DataLoader

    loader = DataLoader(Dataset.from_dict({"text": SENTENCES}), batch_size=32)
    model = mteb.get_model(str(folder))
    return np.asarray(
        model.encode(loader, task_metadata=task, hf_split="test", hf_subset="", prompt_type=side)
    )


def test_a_model_of_mtebs_is_an_encoder(folder: Path, listed: Callable[..., str]) -> None:
    """With mteb's vectors, for mteb's tasks by their prompts; without a task as for STS."""
    encoder = load(listed())
    assert (encoder.name, encoder.fingerprint) == (f"mteb:{folder}", load(encoder.name).fingerprint)
    sts12 = mteb.get_task("STS12").metadata
    np.testing.assert_allclose(encoder.encode(SENTENCES), by_mteb(folder, sts12), atol=1e-6)
    for name in ("STS17", "STS12", "Banking77Classification"):
        task = mteb.get_task(name).metadata
        bound = bind_task(encoder, [], "", PromptTask(name, task.type))
        np.testing.assert_allclose(bound.encode(SENTENCES), by_mteb(folder, task), atol=1e-6)
    for kind in ("Retrieval", "Reranking"):
        task = mteb.get_tasks(task_types=[kind], languages=["eng"])[0].metadata
        bound = bind_task(encoder, [], "", PromptTask("ours", kind))
        for side, one in (("document", bound), ("query", query_side(bound))):
            expected = by_mteb(folder, task, PromptType(side))
            np.testing.assert_allclose(one.encode(SENTENCES), expected, atol=1e-6)


def test_its_revision_and_the_task_tell_vectors_apart(listed: Callable[..., str]) -> None:
    """Another revision is another encoder; tasks that mteb does not know differ by type alone."""
    encoder = load(listed())

    def bound(name: str, kind: str) -> str:
        return bind_task(encoder, [], "", PromptTask(name, kind)).fingerprint

    assert bound("mine", "STS") == bound("yours", "STS") != bound("STS17", "STS")
    assert bound("mine", "STS") != bound("mine", "Clustering")
    assert load(listed(revision="r2")).fingerprint != encoder.fingerprint


def test_it_is_measured_as_mteb_measures_it(listed: Callable[..., str]) -> None:
    """The same score as of its own model in `mteb.evaluate`, with the prompts of the type."""
    spec = listed()
    plain = score_of(mteb.get_model(spec.removeprefix("mteb:")), similarity_task())
    ours = score_of(Model(load(spec)), similarity_task())
    assert ours.get_score() == pytest.approx(plain.get_score(), abs=1e-6)


@pytest.mark.parametrize(
    ("said", "code", "named"),
    [
        ({"model_type": ["sparse"]}, "unsupported", "sparse"),
        ({"model_type": ["late-interaction"]}, "unsupported", "late-interaction"),
        ({"model_type": ["cross-encoder"]}, "unsupported", "cross-encoder"),
        ({"modalities": ["image"]}, "unsupported", "image"),
        ({"framework": ["API"]}, "unsupported", "servers"),
        ({"loader": None}, "unsupported", "only its name"),
        ({"loader_kwargs": {"trust_remote_code": True}}, "denied", "trust_remote_code"),
    ],
)
def test_what_is_no_encoder_here(
    listed: Callable[..., str], said: dict, code: str, named: str
) -> None:
    """Before anything is loaded; so it is on the page."""
    spec = listed(**said)
    with refused(code, named):
        load(spec)
    facts = describe(spec)
    assert not facts["available"] and named in facts["problem"]


def test_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not here says so; its facts are known all the same. Others are not listed."""
    for name, close in (
        ("mteb:intfloat/multilingual-e5-smal", "mteb:intfloat/multilingual-e5-small"),
        ("mteb:nobody/has-this-at-all", "hf:nobody/has-this-at-all"),
    ):
        with refused("unknown", close):
            load(name)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    spec = "mteb:intfloat/multilingual-e5-small"
    encoder = load(spec)
    assert encoder.dim == 384
    with refused("unreachable", "intfloat/multilingual-e5-small"):
        encoder.encode(SENTENCES)
    facts = describe(spec)
    assert (facts["dim"], facts["licence"], facts["problem"]) == (384, "mit", LATER)
    assert "NQ" in facts["trained_on"]


def test_no_program_of_a_model_is_run(
    folder: Path, listed: Callable[..., str], tmp_path: Path
) -> None:
    """Not even where a loader asks for it by itself; what a loader lacks is said."""
    own = shutil.copytree(folder, tmp_path / "own")
    modules = json.loads((own / "modules.json").read_text())
    modules[1]["type"] = "program.Pooling"
    (own / "modules.json").write_text(json.dumps(modules))
    (own / "program.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\nclass Pooling: ...\n")

    trusting = partial(SentenceTransformerEncoderWrapper, trust_remote_code=True)
    for loader in (trusting, SentenceTransformerEncoderWrapper):
        with refused("denied", "trust_remote_code"):
            load(listed(name=str(own), loader=loader)).encode(SENTENCES)
    assert not (tmp_path / "run").exists()

    lacking = Mock(side_effect=ImportError("No module named 'gritlm'"))
    with refused("unsupported", "gritlm"):
        load(listed(revision="r3", loader=lacking)).encode(SENTENCES)


def test_what_the_entry_of_a_model_says_wrongly(listed: Callable[..., str]) -> None:
    """Is told: a dimension; that it is not compared by the cosine. An unknown one is found out."""
    with refused("mismatch", "31"):
        load(listed(embed_dim=31)).encode(SENTENCES)
    assert load(listed(embed_dim=[4, 8], revision="r3")).dim == 8
    (warnings,) = load(listed(similarity_fn_name="dot", revision="r2")).warnings
    assert "by dot; here it is the cosine" in warnings


# --- our encoders as models of mteb ---


def test_mteb_takes_our_encoder_as_a_model() -> None:
    """`mteb.evaluate` accepts it, and gives what the cosines of its vectors give.

    Summarization asks for the similarity of two single vectors.
    """
    from scipy.stats import spearmanr

    left, right, gold = zip(*PAIRS, strict=True)
    a, b = (load("wordllama").encode(list(side)).astype(float) for side in (left, right))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    model = th.mteb("wordllama")
    score = score_of(model, similarity_task()).get_score()
    assert score == pytest.approx(spearmanr(gold, cosines).statistic, abs=1e-6)
    assert float(model.similarity(a[0], b[0])) == pytest.approx(cosines[0], abs=1e-6)


def test_its_own_cache_of_results_answers_only_the_same_encoder(tmp_path: Path) -> None:
    """Run twice, mteb measures once; another encoder is measured anew."""
    cache = mteb.ResultCache(tmp_path)
    for spec, encoded in (("random:16", True), ("random:16", False), ("random:32", True)):
        seen: list[int] = []
        score_of(Model(load(spec), seen.append), similarity_task(), cache)
        assert bool(seen) == encoded


def test_without_mteb_a_person_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they are where another line of versions is installed, or one that lacks what is asked."""
    for version, named in ((None, "theodolite[mteb]"), ("9.0.1", "mteb 9.0.1")):
        monkeypatch.setattr(package, "version", lambda version=version: version)
        with refused("unsupported", named, "pip install"):
            th.mteb("random:8")
    monkeypatch.setattr(package, "version", lambda: "2.99.0")
    with refused("unsupported", "2.99.0", "abstasks.AbsTaskTelepathy"):
        package.lazy_import("abstasks.AbsTaskTelepathy")
    assert "2.99.0" in package.caution()[0]


# --- search ---

DOCUMENTS, QUERIES = 1500, 25


def collection(type_: str):
    """A collection of which some documents are judged, in grades; of a reranking, candidates."""
    rng = np.random.default_rng(4)
    # Ties: two documents of one text, and so of one vector.
    texts = [f"document {n // 2 if n < 200 else n}" for n in range(DOCUMENTS)]
    documents = {f"d{i}": text for text, i in zip(texts, rng.permutation(DOCUMENTS), strict=True)}
    names, queries = list(documents), {f"q{i}": f"query {i}" for i in range(QUERIES)}
    judged = {
        key: {names[j]: int(rng.integers(0, 3)) for j in rng.integers(0, 400, 30)}
        for key in queries
    }
    top = {key: names[:120] for key in judged} if type_ == "Reranking" else None
    data = retrieval_data(documents, queries, judged, top)
    return loaded(task_class(AbsTaskRetrieval, type_, "ndcg_at_10", lambda: data))


@pytest.mark.parametrize("type_", ["Retrieval", "Reranking"])
def test_our_search_gives_the_scores_of_mtebs_own(type_: str) -> None:
    """Every metric at every depth to 1e-6: documents with equal vectors, more than are ranked."""
    ours, own = Model(HashEncoder()), Plain(HashEncoder())
    ours.search = Mock(wraps=ours.search)
    assert isinstance(ours, SearchProtocol) and not isinstance(own, SearchProtocol)
    found = [score_of(model, collection(type_)) for model in (ours, own)]
    ours.search.assert_called_once()
    mine, theirs = (
        {name: value for name, value in one.scores["test"][0].items() if isinstance(value, float)}
        for one in found
    )
    assert len(mine) > 50 and mine == pytest.approx(theirs, abs=1e-6, nan_ok=True)
    assert 0 < mine["ndcg_at_10"] < 1


# Results that others published, as folders, archives and single files of mteb's or of the hub.


def of_mteb(folder: Path, revision: str = "r1", data: str = "d1", **said) -> Path:
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
    assert "mteb 2.99.1" in note and package.TESTED in note
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
def test_files_that_are_no_results(tmp_path: Path, said: dict, named: str) -> None:
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
    tmp_path: Path, name: str, raw: bytes, code: str, named: str
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
