"""Rankers against sentence-transformers and the states that transformers returns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SparseEncoder
from sklearn.metrics.pairwise import cosine_similarity
from torch.utils._python_dispatch import TorchDispatchMode

from tests.engine.encoders.folders import Folders, _cross, _late, _sparse
from tests.engine.encoders.models import SENTENCES, WORDS, edit_config
from tests.errors import refused
from tests.fakes.allocation import Allocation
from theodolite.engine import encoders, evaluate, load, rankers
from theodolite.engine.datasets import Retrieval
from theodolite.engine.datasets.chunks import Splitter, cut
from theodolite.engine.rankers import models
from theodolite.engine.rankers.late import LateSource, late
from theodolite.engine.tasks import retrieval

DOCUMENTS = [
    "The cat sat on the mat.",
    "A dog chases cats in the garden",
    "",
    "Stock markets fell sharply on Monday.",
    "The garden has a mat for the dog, and no cat.",
    "!",
]
QUERIES = ["cat garden", "markets", "of the", "zebra"]


def lists(found: list[rankers.Ranked]) -> list[list[int]]:
    """Positions of each query."""
    return [at.tolist() for at, _ in found]


def test_bm25_finds_documents_that_share_a_word() -> None:
    """The best first; none for a query without a word that counts or that any document has."""
    ranker = rankers.of(rankers.load("bm25"))
    index = ranker.index(DOCUMENTS)
    assert lists(index.search(QUERIES, 10)) == [[4, 0, 1], [3], [], []]
    assert lists(index.search(QUERIES, 1)) == [[4], [3], [], []]
    assert any("2 of 6 documents have no word" in note for note in index.notes)
    assert index.bytes > 0
    assert lists(index.search(["cat garden"], 10, [np.array([5, 3, 1])])) == [[1, 3, 5]]
    assert 1 in lists(rankers.rank(rankers.load("bm25?stemmer=english"), ["cat"], DOCUMENTS))[0]
    assert 1 not in lists(rankers.rank(ranker, ["cat"], DOCUMENTS))[0]


def test_few_documents() -> None:
    """None, one, and none with a word; a depth beyond them all."""
    ranker = rankers.load("fuse(bm25, random:8)")
    assert lists(rankers.rank(ranker, ["cat"], DOCUMENTS[:1], 1000)) == [[0]]
    assert lists(rankers.rank(rankers.load("bm25"), ["cat"], [])) == [[]]
    with refused("failed", "2 documents"):
        rankers.of(rankers.load("bm25")).index(["", "! ?"])
    thai = rankers.of(rankers.load("bm25")).index(["แมวนั่งบนเสื่อ", "猫がマットの上に座った"])
    assert any("without spaces" in note for note in thai.notes)


def test_an_encoder_ranks_by_its_vectors() -> None:
    """As its cosines say; within candidates too."""
    encoder = load("wordllama")
    cosines = cosine_similarity(encoder.encode(QUERIES), encoder.encode(DOCUMENTS))
    for row, (at, scores) in zip(cosines, rankers.rank(encoder, QUERIES, DOCUMENTS), strict=True):
        assert scores == pytest.approx(row[at], abs=1e-6)
        assert sorted(at) == list(range(len(DOCUMENTS)))
    (some,) = rankers.rank(encoder, QUERIES[:1], DOCUMENTS, 9, [np.array([3, 1])])
    assert some[0].tolist() == [1, 3]


def collection() -> Retrieval:
    """Queries that mostly find their document."""
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(60)]
    documents = {f"d{i}": " ".join(rng.choice(words, 12)) for i in range(50)}
    queries = {f"q{i}": " ".join(rng.choice(documents[f"d{i}"].split(), 2)) for i in range(20)}
    return Retrieval("x", queries, documents, {"test": {f"q{i}": {f"d{i}": 1} for i in range(20)}})


def test_a_weight_is_chosen_on_the_other_half() -> None:
    """The values of either half are those of the weight that is best on the other."""
    data = collection()
    of = {
        weight: retrieval.measure_ranker(
            data,
            rankers.load(f"fuse(bm25, random:64, weight={weight})"),
            "ndcg_at_10",
            lambda done, of: None,
            lambda done=0.0, /: None,
        )
        for weight in ("auto", *(f"{i / 10:g}" for i in range(11)))
    }
    auto = of.pop("auto")
    by_weight = {float(w): one.examples["ndcg"] for w, one in of.items()}
    for half, chosen in zip(
        retrieval._halves(list(data.queries)), auto.details["weights"], strict=True
    ):
        means = {weight: values[~half].mean() for weight, values in by_weight.items()}
        assert means[chosen] == max(means.values())
        assert auto.examples["ndcg"][half].tolist() == by_weight[chosen][half].tolist()
    with refused("missing", "weight"):
        rankers.rank(rankers.load("fuse(bm25, random:8, weight=auto)"), ["a"], DOCUMENTS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Writes small random models."""
    return Folders(tmp_path_factory.mktemp("rankers"))


@pytest.fixture(scope="module")
def cross(folders: Folders) -> Path:
    """A cross-encoder."""
    return _cross(folders, "cross")


def test_a_reranker_orders_as_predict_scores(cross: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair is scored once; what lies deeper keeps its order below."""
    cache = encoders.MemoryCache()
    ranker = rankers.load(f"random:16 > rerank:dir:{cross},3", cache=cache)
    queries = ["the cat sat", "dog " * 40]
    ranked = rankers.rank(ranker, queries, SENTENCES)
    first = rankers.rank(load("random:16"), queries, SENTENCES)
    model = CrossEncoder(str(cross), device="cpu")
    for query, (at, scores), (before, _) in zip(queries, ranked, first, strict=True):
        theirs = model.predict([(query, SENTENCES[i]) for i in at[:3]], show_progress_bar=False)
        assert scores[:3] == pytest.approx(theirs, abs=1e-5)
        assert set(at[:3]) == set(before[:3])
        assert at[3:].tolist() == before[3:].tolist()
        assert (np.diff(scores) <= 0).all()
    again = rankers.load(f"random:16 > rerank:dir:{cross},3", cache=cache)
    assert again.fingerprint == ranker.fingerprint
    monkeypatch.setattr(type(again.scorer), "_predict", None)
    assert lists(rankers.rank(again, queries, SENTENCES)) == lists(ranked)


@pytest.mark.parametrize(
    ("scores", "code", "named"),
    [
        (np.array([np.nan]), "not-finite", "1 of 1 pairs"),
        (np.zeros((1, 3)), "wrong-kind", "3 numbers"),
    ],
)
def test_a_reranker_that_gives_no_number(
    scores: np.ndarray, code: str, named: str, cross: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NaN orders nothing."""
    ranker = rankers.load(f"bm25 > rerank:dir:{cross}")
    monkeypatch.setattr(ranker.scorer, "run", lambda _: scores)
    with refused(code, named):
        rankers.rank(ranker, ["cat"], DOCUMENTS)


def test_splade_and_colbert_score_as_sentence_transformers(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dot product or cosine, and MaxSim by hand as well; of candidates too.

    Documents are cached.
    """
    sparse, late = _sparse(folders, "sparse"), _late(folders, "late")
    own, file = "config_sentence_transformers.json", _sparse(folders, "cosine")
    cosine = edit_config(file, own, similarity_fn_name="cosine")
    queries = ["the cat sat", "dog " * 40]
    for spec, library in (
        (f"splade:dir:{sparse}", SparseEncoder),
        (f"splade:dir:{cosine}", SparseEncoder),
        (f"colbert:dir:{late}", MultiVectorEncoder),
    ):
        model = library(spec.partition("dir:")[2], device="cpu")
        asked, held = model.encode_query(queries), model.encode_document(SENTENCES)
        theirs = model.similarity(asked, held).numpy()
        if library is MultiVectorEncoder:
            pairs = [[float((q @ d.T).max(1).values.sum()) for d in held] for q in asked]
            assert theirs == pytest.approx(np.array(pairs), abs=1e-5)
        cache = encoders.MemoryCache()
        rankers.of(rankers.load(spec, cache=cache)).index([*SENTENCES[:3], *SENTENCES[:2]])
        rankers.of(rankers.load(spec, cache=cache)).index(SENTENCES)
        with monkeypatch.context() as patched:
            patched.setattr(library, "encode_document", None)
            index = rankers.of(rankers.load(spec, cache=cache)).index(SENTENCES)
        for i, (at, scores) in enumerate(index.search(queries, 100)):
            assert sorted(at) == list(range(len(SENTENCES)))
            assert scores == pytest.approx(theirs[i][at], abs=1e-5)
        (some, _), (none, _) = index.search(queries, 100, [np.array([4, 2]), np.empty(0, int)])
        assert (set(some), len(none)) == ({2, 4}, 0) and index.bytes > 0
    edit_config(cosine, own, similarity_fn_name="euclidean")
    with refused("unsupported", "euclidean"):
        rankers.load(f"splade:dir:{cosine}")


@pytest.mark.parametrize("how", ["bm25 > rerank", "splade", "colbert"])
def test_a_rankers_batch_that_does_not_fit_the_memory_is_halved(how: str, tmp_path: Path) -> None:
    """As an encoder's is, down to a single text."""
    make = {"splade": _sparse, "colbert": _late}.get(how, _cross)
    spec = f"{how}:dir:{make(Folders(tmp_path), 'made')}"
    texts = [f"the cat {'dog ' * i}" for i in range(20)]
    expected = rankers.rank(rankers.of(rankers.load(spec)), ["the cat"], texts)
    ranker = rankers.of(rankers.load(spec))
    model = ranker.scorer if "rerank" in how else ranker.model
    memory = Allocation(model.run(lambda loaded, _: loaded[0]), most=200)
    found = rankers.rank(ranker, ["the cat"], texts)
    assert found[0][1] == pytest.approx(expected[0][1], abs=1e-5)
    assert 1 <= memory.failures <= 5
    memory.most = 1
    with refused("too-large", "cpu"):
        rankers.rank(ranker, ["the cat"], ["a cat"])


def test_maxsim_takes_no_more_memory_than_there_is(folders, monkeypatch):
    """Fewer documents are scored at once; the scores are equal."""
    ranker = rankers.of(rankers.load(f"colbert:dir:{_late(folders, 'late')}"))
    index = ranker.index([f"the cat {'dog ' * (i % 18)}" for i in range(60)])
    (query,) = ranker.queries(["the cat sat"])
    expected = ranker.model.run(
        lambda model, _: model.similarity([query], list(map(torch.from_numpy, index._tokens)))
    )
    largest = []

    class Memory(TorchDispatchMode):
        """Has room for so many numbers in a tensor."""

        def __torch_dispatch__(self, call, types, args=(), kwargs=None):
            result = call(*args, **(kwargs or {}))
            largest.append(getattr(result, "numel", int)())
            if largest[-1] > 9000:
                raise torch.OutOfMemoryError
            return result

    monkeypatch.setattr(models, "_TEXT", 1000)
    with Memory():
        scores = index.score(query, None)
    assert scores == pytest.approx(expected[0].numpy(), abs=1e-5)
    assert max(largest) > 9000 >= largest[-1]


@pytest.mark.parametrize(
    ("settings", "length"),
    [
        ({"query_length": 99}, 24),
        ({"query_expansion": {"strategy": "fixed", "length": 99}}, 24),
        ({"query_expansion": {"strategy": "min", "length": 99}}, 24),
        ({"query_expansion": {"strategy": "fixed", "length": 8}}, 8),
        ({"query_expansion": {"strategy": "min", "length": 8}}, 24),
        ({"query_length": 9, "query_expansion": {"strategy": "min", "length": 8}}, 9),
    ],
)
def test_colbert_queries_end_where_the_positions_of_its_model_do(
    settings: dict, length: int, tmp_path: Path
) -> None:
    """Where the library fails; else they are as long as it makes them. What is cut is counted."""
    folder = _late(Folders(tmp_path), "late")
    file = folder / "sentence_bert_config.json"
    expansion = settings.get("query_expansion")
    own = settings | ({"query_expansion": {**expansion, "token": "cat"}} if expansion else {})
    file.write_text(json.dumps(json.loads(file.read_text()) | own))
    ranker = rankers.load(f"colbert:dir:{folder}")
    (made,) = ranker.queries(["dog " * 40])
    assert len(made) == length
    assert ranker.warnings == (f"1 text was cut to {length} tokens.",)


def test_the_files_of_pylate_and_stanford_state_lengths_of_their_own(tmp_path: Path) -> None:
    """PyLate's documents have a token more than the stated maximum; each file is another model."""
    text, pylate = "dog " * 40, _late(Folders(tmp_path), "pylate")
    edit_config(pylate, "sentence_bert_config.json", document_length=11, max_seq_length=10)
    (theirs,) = MultiVectorEncoder(str(pylate), device="cpu").encode_document([text])
    ranker = rankers.load(f"colbert:dir:{pylate}")
    (ours,) = ranker.documents([text])
    assert ours == pytest.approx(theirs.numpy(), abs=1e-5) and len(ours) == 11
    assert ranker.warnings == ("1 text was cut to 11 tokens.",)
    (pylate / "artifact.metadata").write_text('{"doc_maxlen": 9}')
    assert rankers.load(f"colbert:dir:{pylate}").fingerprint != ranker.fingerprint


def test_models_of_another_kind_are_refused(folders: Folders, cross: Path) -> None:
    """With what they are. Of a cross-encoder with two labels, config.json names none."""
    for spec, named in (
        (f"bm25 > rerank:dir:{folders.mean('encoder')}", "an encoder"),
        (f"bm25 > rerank:dir:{_cross(folders, 'two', 2)}", "2 labels"),
        (f"bm25 > rerank:dir:{_cross(folders, 'three', 3)}", "3 labels"),
        (f"bm25 > rerank:dir:{folders.plain('lm', 'gpt2', head='LMHeadModel')}", "modules.json"),
        (f"splade:dir:{cross}", "a cross-encoder"),
        (f"colbert:dir:{cross}", "a late-interaction model"),
    ):
        with refused("wrong-kind", named):
            rankers.load(spec)


def test_tasks_that_need_vectors_say_so() -> None:
    """As a result with an error; so does mteb's own code."""
    (result,) = evaluate(rankers.load("bm25"), "StarterSTS")
    assert "sts" in result.error and result.dim == 0


# --- specs ---


CANONICAL = {
    "minilm": "minilm",
    " bm25 ": "bm25",
    "bm25?stopwords=english&stemmer=english": "bm25?stemmer=english&stopwords=english",
    "fuse( bm25 ,minilm|whiten:nli,256 , weight= .30)": (
        "fuse(bm25, minilm | whiten:nli,256, weight=0.3)"
    ),
    "fuse(bm25,fuse(minilm,wordllama))>rerank:a/b,50": (
        "fuse(bm25, fuse(minilm, wordllama)) > rerank:a/b,50"
    ),
    "fuse(bm25 > rerank:a/b,100, minilm)": "fuse(bm25 > rerank:a/b, minilm)",
    "minilm | dims:64,random,5 > rerank:dir:/m/a%2Cb": (
        "minilm | dims:64,random,5 > rerank:dir:/m/a%2Cb"
    ),
    "splade:hf:owner/name?max_length=32": "splade:owner/name?max_length=32",
    "fuse(colbert:dir:/m/x, dir:/m/%29%3E)": "fuse(colbert:dir:/m/x, dir:/m/%29%3E)",
}


@pytest.mark.parametrize("written", CANONICAL)
def test_a_spec_has_one_canonical_form(written: str) -> None:
    """Which is read as the same spec."""
    read = rankers.parse(written)
    assert str(read) == CANONICAL[written]
    assert rankers.parse(str(read)) == read


def test_what_a_ranker_consists_of() -> None:
    """Its encoders and models, the files and data that it needs, and other places for them."""
    read = rankers.parse(
        "fuse(bm25, dir:/m/e | center:nli, dir:/m/e | center:@task) > rerank:dir:/m/r"
    )
    assert [str(one) for one in read.sources] == ["dir:/m/e", "dir:/m/e", "dir:/m/r"]
    needed = ["/m/e", "/m/e", "/m/r"], ["nli"], True
    assert (read.paths, read.data_sets, read.needs_task) == needed
    assert read.with_paths({"/m/e": "/n/e", "/m/r": "/n/r"}).paths == ["/n/e", "/n/e", "/n/r"]
    assert len(rankers.canonical(["bm25", " bm25", "minilm"])) == 2


def test_commas_within_parentheses_and_steps_separate_no_list() -> None:
    """Nor do those of a reranker's depth."""
    given = "bm25, fuse(bm25,minilm),minilm | whiten:nli,256 , bm25 > rerank:a/b,50,random:64,"
    assert rankers.split(given) == [
        "bm25",
        "fuse(bm25,minilm)",
        "minilm | whiten:nli,256",
        "bm25 > rerank:a/b,50",
        "random:64",
    ]


@pytest.mark.parametrize(
    ("spec", "code", "named"),
    [
        ("bm25 | normalise", "invalid", "bm25 | normalise"),
        ("bm25?k1=2", "unknown", "k1"),
        ("bm25?stopwords=klingon", "unknown", "klingon"),
        ("fuse(bm25)", "too-few", "1 ranker"),
        ("fuse(bm25, minlm)", "unknown", "minilm"),
        ("fuse(bm25, minilm, random:64, weight=0.5)", "conflict", "3 rankers"),
        ("fuse(bm25, minilm, weight=2)", "invalid", "from 0 to 1"),
        ("fuse(bm25, fuse(bm25, minilm, weight=auto))", "conflict", "outermost"),
        ("fuse(bm25, minilm", "invalid", "cannot be read"),
        ("rerank:a/b", "invalid", "bm25 > rerank:MODEL"),
        ("bm25 > rerank:", "missing", "names no model"),
        ("bm25 > rerank:a/b,2000", "invalid", "from 1 to 1000"),
        ("splade:a/b?pooling=avg", "unknown", "max_length"),
        ("colbert:minilm | normalise", "missing", "names no model"),
        ("", "missing", "empty"),
    ],
)
def test_a_spec_that_cannot_be_read(spec: str, code: str, named: str) -> None:
    """Says what was given, and what to write."""
    with refused(code, named):
        rankers.parse(spec)


@pytest.mark.parametrize("spec", ["bm25", "fuse(bm25, minilm)", "minilm > rerank:a/b"])
def test_where_vectors_are_needed_a_ranker_is_refused(spec: str) -> None:
    """With a sentence that says where it can be used."""
    with refused("wrong-kind", spec, "no vectors"):
        encoders.parse(spec)


# --- late chunking ---


RNG = np.random.default_rng(3)
LONG = {
    f"d{i}": ". ".join(" ".join(RNG.choice(WORDS, 6)).capitalize() for _ in range(n)) + "."
    for i, n in enumerate((9, 1, 3))  # the first is longer than the model takes
}
DATA = cut(
    Retrieval("x", {"q": "the cat"}, LONG, {"test": {"q": {"d1": 1}}}),
    Splitter.parse("sentences,40,late"),
    "x|chunk:sentences,40,late",
)


@pytest.fixture(scope="module")
def plain_folder(folders: Folders) -> Path:
    """A transformer."""
    return folders.plain("mine")


def by_hand(plain_folder: Path, prompt: str, length: int, layers: tuple[int, ...]) -> np.ndarray:
    """The mean over the tokens of each chunk, of windows that transformers cuts."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(plain_folder)
    model, found = AutoModel.from_pretrained(plain_folder).eval(), []
    for place in DATA.places.values():
        windows = tokenizer(
            prompt + LONG[place.document],
            truncation=True,
            max_length=length,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        tokens = []
        for ids, offsets in zip(windows["input_ids"], windows["offset_mapping"], strict=True):
            with torch.inference_mode():
                hidden = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
            states = sum(hidden[i][0] for i in layers) / len(layers)
            tokens += [
                state.numpy()
                for (start, stop), state in zip(offsets, states, strict=True)
                if place.start <= start - len(prompt) < stop - len(prompt) <= place.stop
            ]
        found.append(np.mean(tokens, axis=0))
    return np.array(found)


@pytest.mark.parametrize(
    ("options", "prompt", "layers"),
    [
        ("pooling=avg&max_length=16", "", (-1,)),
        ("pooling=avg_first_last&prompt=dog: &max_length=20", "dog: ", (1, -1)),
        ("pooling=avg&query_prompt=cat: &max_length=16", "", (-1,)),
    ],
)
def test_chunks_have_the_mean_of_their_tokens(
    plain_folder: Path, options: str, prompt: str, layers: tuple[int, ...]
) -> None:
    """Of a document that has several windows too; queries are encoded as ever."""
    plain = rankers.load(f"dir:{plain_folder}?{options}")
    made, length = late(plain, DATA), int(options.rpartition("=")[2])
    assert made.encode(list(DATA.documents.values())) == pytest.approx(
        by_hand(plain_folder, prompt, length, layers), abs=1e-5
    )
    np.testing.assert_array_equal(
        *(encoders.query_side(one).encode(["the cat"]) for one in (made, plain))
    )
    assert made.fingerprint != plain.fingerprint and made.name == plain.name


def test_vectors_are_cached_and_rank_documents(
    plain_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an evaluation are those of a fusion; neither it nor new marks make them again."""
    cache, spec = encoders.MemoryCache(), f"dir:{plain_folder}?pooling=avg"
    texts = list(DATA.documents.values())
    vectors = late(rankers.load(spec, cache=cache), DATA).encode([*texts, "another text"])
    assert np.array_equal(vectors[-1], rankers.load(spec).encode(["another text"])[0])
    monkeypatch.setattr(LateSource, "_pool", None)
    marked = replace(DATA, judgements={"test": {"q": {"d": 1}}})
    fused = late(rankers.load(f"fuse(bm25, {spec})", cache=cache), marked)
    own = rankers.rank(late(rankers.load(spec, cache=cache), DATA), ["the cat"], texts)
    assert late(rankers.load("bm25"), DATA).fingerprint == rankers.load("bm25").fingerprint
    assert len(rankers.rank(fused, ["the cat"], texts)[0][0]) == len(own[0][0]) == len(texts)


@pytest.mark.parametrize(
    "spec",
    ["wordllama", "fuse(bm25, random:8)", "dir:{}?pooling=cls_token", "minilm | normalise"],
)
def test_what_has_no_means_of_tokens_is_refused(plain_folder: Path, spec: str) -> None:
    """With what can."""
    loaded = rankers.load(spec.format(plain_folder))
    with refused("unsupported", "late", "pooling=avg"):
        late(loaded, DATA)
