"""The setting audit, against the libraries' own vectors and scores."""

from unittest.mock import patch
from urllib.parse import quote

import numpy as np
import pytest
import pytrec_eval
from scipy.stats import rankdata, spearmanr
from sklearn.metrics.pairwise import cosine_similarity

from tests.engine.encoders.models import WORDS, save, save_sentence_transformer
from tests.engine.samples import resample
from tests.errors import refused
from theodolite.engine.datasets.types import PairPart, Retrieval, ScoredPairs, Sentences
from theodolite.engine.encoders import int8, load, query_side, transformer
from theodolite.engine.encoders.audit import audit, some_of
from theodolite.engine.encoders.probe import Probe
from theodolite.engine.encoders.spec import POOLINGS
from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.significance import difference

PROMPTS = {"query": "the cat ", "document": "a "}


def sentences(n, seed):
    """Words in random order, of different lengths."""
    rng = np.random.default_rng(seed)
    return tuple(" ".join(rng.choice(WORDS, rng.integers(3, 18))) for _ in range(n))


PART = PairPart(sentences(30, 1), sentences(30, 2), np.random.default_rng(3).random(30) * 5)
PAIRS = ScoredPairs("mine", {"train": PART, "dev": PART}, "splits")
QUERIES = {f"q{i}": text for i, text in enumerate(sentences(12, 4))}
DOCUMENTS = {f"d{i}": text for i, text in enumerate(sentences(60, 5))}
JUDGED = {
    q: {f"d{i}": int(g) for i, g in zip(range(k, k + 9), np.arange(9) % 3, strict=True)}
    for k, q in enumerate(QUERIES)
}
SEARCH = Retrieval("found", QUERIES, DOCUMENTS, {"test": JUDGED})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with prompts for both sides."""
    return save_sentence_transformer(tmp_path_factory.mktemp("st") / "m", "mean", prompts=PROMPTS)


def audited(spec, data=PAIRS, **options):
    """Rows by what was set, and the last thing that an audit gives."""
    *steps, made = audit(spec, some_of(data), device="cpu", **options)
    shares = [share for share, _ in steps]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] < 1.0
    return {row.setting.label if row.setting else "as asked": row for row in made.rows}, made


def spearman(left, right):
    """Of the cosine of rows, in points."""
    return 100 * spearmanr(np.diag(cosine_similarity(left, right)), PART.gold).statistic


def sides(spec, of=(PART.left, PART.right)):
    """Vectors of texts; of equal numbers, not nearly equal ones, ranks are the same."""
    return [load(spec, device="cpu").encode(side).astype(float) for side in of]


def test_prompts_are_the_model_s_own_and_none(folder):
    """All compared with what was asked for."""
    rows, made = audited(f"dir:{folder}?prompt=document", groups=("prompt",))
    assert list(rows) == ["as asked", "no prompt", "prompt query"]
    for label, prompt in (("as asked", "a "), ("no prompt", ""), ("prompt query", "the cat ")):
        expected = spearman(*sides(f"dir:{folder}?prompt={quote(prompt)}"))
        assert rows[label].score == pytest.approx(expected, abs=1e-6)
    assert (made.measured_on, made.metric, made.n) == ("mine dev", "Spearman", 30)
    assert load(rows["prompt query"].spec, device="cpu").name == f"dir:{folder}?prompt=query"


def test_both_sides_and_the_sides_swapped_on_queries(folder):
    """NDCG at 10 as trec_eval computes it."""
    rows, _ = audited(f"dir:{folder}", SEARCH, groups=("prompt",))
    judge = pytrec_eval.RelevanceEvaluator(JUDGED, {"ndcg_cut.10"})
    for label, of_queries, of_documents in (
        ("as asked", "", ""),
        ("query for queries, document for documents", "the cat ", "a "),
        ("these two swapped", "a ", "the cat "),
        ("prompt query", "the cat ", "the cat "),
    ):
        spec = f"dir:{folder}?prompt={quote(of_documents)}&query_prompt={quote(of_queries)}"
        encoder = load(spec, device="cpu")
        scores = cosine_similarity(
            query_side(encoder).encode([*QUERIES.values()]).astype(float),
            encoder.encode([*DOCUMENTS.values()]).astype(float),
        )
        run = {
            q: dict(zip(DOCUMENTS, rankdata(row), strict=True))
            for q, row in zip(QUERIES, scores, strict=True)
        }
        found = [of["ndcg_cut_10"] for of in judge.evaluate(run).values()]
        assert rows[label].score == pytest.approx(100 * np.mean(found), abs=1e-6), label
    # Two prompts of one's own, as texts, are swapped too.
    spec = f"dir:{folder}?prompt=the%20&query_prompt=dog%20"
    rows, _ = audited(spec, SEARCH, groups=("prompt",))
    assert rows["its two prompts swapped"].spec == f"dir:{folder}?prompt=dog%20&query_prompt=the%20"


def test_what_the_task_decides_is_audited_as_on_that_task(folder):
    """On pairs it is the default, on queries one prompt a side."""
    for data, label in (
        (SEARCH, "query for queries, document for documents"),
        (PAIRS, "no prompt"),
    ):
        rows, _ = audited(f"dir:{folder}?prompt=@task", data, groups=("prompt",))
        assert rows["as asked"].score == rows[label].score


@pytest.mark.parametrize("data", [PAIRS, SEARCH])
def test_every_pooling_is_measured_in_one_pass(folder, data, monkeypatch):
    """With the prompts as asked; each is what an encoder with that pooling gives."""
    spec = f"dir:{folder}?prompt=document&query_prompt=query"
    monkeypatch.setattr(transformer, "probe", lambda *_: Probe(32, agrees=True))
    model = transformer.Transformer
    with patch.object(model, "pooled", autospec=True, side_effect=model.pooled) as pooled:
        rows, _ = audited(spec, data, groups=("pooling",))
    assert list(rows) == ["as asked", *POOLINGS]
    passes = [call.args[2] for call in pooled.call_args_list]
    assert passes == [list(POOLINGS)] * (2 if data is SEARCH else 1), "one a side"
    alone, _ = audited(f"{spec}&pooling=avg_top2", data, groups=())
    assert alone["as asked"].score == pytest.approx(rows["avg_top2"].score, abs=0.05)


def test_without_a_pooler_none_is_made_up(tmp_path):
    """It would be random."""
    rows, _ = audited(f"dir:{save(tmp_path / 'mlm', head='ForMaskedLM')}")
    assert "pooler_output" not in rows and "avg" in rows


def test_a_cut_is_tried_where_it_changes_a_text(folder, monkeypatch):
    """Otherwise the audit says how long the longest is."""
    _, made = audited(f"dir:{folder}", groups=("cut",))
    assert len(made.rows) == 1 and "no other cut changes anything" in " ".join(made.notes)
    monkeypatch.setattr("theodolite.engine.encoders.audit.CUTS", (8, 16, 512))
    rows, _ = audited(f"dir:{folder}", groups=("cut",))
    assert list(rows) == ["as asked", "cut at 8 tokens", "cut at 16 tokens"]
    words = [[" ".join(text.split()[:6]) for text in side] for side in (PART.left, PART.right)]
    expected = spearman(*sides(f"dir:{folder}", words))
    assert rows["cut at 8 tokens"].score == pytest.approx(expected, abs=2.0)


def test_length_and_precision(folder):
    """The dot product sees lengths, the cosine does not; half precision is another dtype."""
    rows, _ = audited(f"dir:{folder}", groups=("length", "precision"))
    left, right = sides(f"dir:{folder}")
    expected = 100 * spearmanr((left * right).sum(1), PART.gold).statistic
    assert rows["not normalised, by dot product"].score == pytest.approx(expected, abs=0.1)
    assert list(rows)[2:] == ["float16", "bfloat16", *["int8"] * int8.available()]
    expected = spearman(*sides(f"dir:{folder}?dtype=bfloat16"))
    assert rows["bfloat16"].score == pytest.approx(expected, abs=0.1)


def test_intervals_are_those_of_the_paired_bootstrap(folder):
    """Against the spec as asked and against the best; nothing is lost against oneself."""
    rows, made = audited(f"dir:{folder}", groups=("prompt", "pooling"))
    cosines = (np.diag(cosine_similarity(*sides(rows[one].spec))) for one in ("max", "as asked"))
    drawn = ([resample(Sample(each, PART.gold))] for each in cosines)
    expected, ours = difference(*drawn), rows["max"].change
    assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high), abs=0.5)
    assert ours.verdict == expected.verdict
    assert rows["as asked"].change.delta == made.best.lost.delta == 0.0
    assert all(row.lost.delta <= 0.0 for row in made.rows)


def test_a_setting_that_fails_leaves_the_others(folder, monkeypatch):
    """Its row says why; the spec as asked has to work."""
    monkeypatch.setattr(
        transformer.Transformer,
        "pooled",
        lambda self, ids, poolings, *_: np.full((len(poolings), len(ids), self.dim), np.nan, "f4"),
    )
    rows, _ = audited(f"dir:{folder}", groups=("pooling", "precision"))
    assert "NaN" in rows["max"].error and rows["max"].score is rows["bfloat16"].error is None
    with refused("failed", "NaN"):
        audited(f"dir:{folder}?pooling=max")


def test_the_examples_are_few_and_always_the_same():
    """From the split that is not reported on; only what has gold."""
    many = PairPart(sentences(900, 1), sentences(900, 2), np.arange(900.0))
    some = some_of(ScoredPairs("many", {"test": many, "dev": many}, "splits"))
    assert some.n == 200 and some.name == "many dev"
    assert some.documents == some_of(ScoredPairs("x", {"dev": many}, "splits")).documents
    of_texts = dict(zip(many.left, many.gold, strict=True))
    gold = some.sample(np.empty((0, 1)), np.ones((400, 1))).gold
    assert [of_texts[text] for text in some.documents[:200]] == list(gold)
    few = some_of(SEARCH, 5)
    assert (few.n, few.metric, len(few.documents)) == (5, "nDCG@10", 60)
    for data, code, named in (
        (Sentences("plain", ["a"]), "wrong-kind", "sentences"),
        (Retrieval("none", QUERIES, DOCUMENTS, {"test": {}}), "missing", "none"),
    ):
        with refused(code, named):
            some_of(data)


@pytest.mark.parametrize("spec", ["wordllama", "minilm + wordllama"])
def test_only_a_model_has_settings(spec):
    """As for the doctor."""
    with refused("wrong-kind", spec):
        audited(spec)
