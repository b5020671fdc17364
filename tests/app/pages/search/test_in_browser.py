"""Encoders that run in a published page: tokens, cosines and neighbours as Python has them."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.folder import files
from theodolite.app.pages.search import published
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import load
from theodolite.engine.search.index import Index, unit_rows

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(not shutil.which("node"), reason="node is not installed"),
]
SCRIPT = Path(__file__).parents[3] / "fakes/search.mjs"
ODD = [
    "",
    " ",
    "  two  spaces ",
    "\t tab\nnewline\r\n",
    "\u2581 \u2581\u2581a",
    "▁",
    "<s> a </s><unk>",
    "a<s>b",
    "<S>",
    "<0x41>",
    "naïve café",
    "nai\u0308ve",
    "Ｆｕｌｌ width",
    "ß ẞ ﬁ",
    "ΟΔΟΣ ΟΔΟΣ.",
    "İstanbul I ı",
    "日本語の文。",
    "한국어 문장",
    "ไทย",
    "עברית",
    "العربيّة ١٢٣",
    "नमस्ते",
    "👩‍👩‍👧 🇩🇪 👍🏽",
    "\U0001f9ff\U00010348",
    "\u200b zero\u200dwidth",
    "\ufeffbom",
    "\x00\x01\x1c\x1f\x7f\x85",
    "a\u00a0b\u2003c\u3000d",
    "①½Ⅷ२ x²",
    "under_score __init__",
    "don't won't",
    "U.S.A. e-mail@x.org",
    "\ufffd",
    "…—“”",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "1234567890 3.14 1,000",
    "ǅ ǈ",
    "\u0130\u0307",
    "x" * 300,
    "word " * 100,
    "the cat, the dog; the end!",
    "ⅷ ⓐ Ⓐ",
    "𝔘𝔫𝔦 𝓬𝓸𝓭𝓮",
    "\r",
    "Ā ǆ Ǆ",
    "q̣̇",
]
"""Texts that tell tokenisers apart."""
GLOVE = "vectors/glove.6B.50d.5k.txt.gz"


def in_page(folder: Path, encoder, texts: list[str], vectors=None):
    """What the scripts of a page say of texts: their words, or the 10 nearest of some vectors."""
    described, held = published.describe(encoder) or pytest.fail("it needs Python")
    fields = {"folder": str(folder), "encoder": described, "texts": texts, "k": 10}
    if vectors is not None:
        fields["vectors"], more = published.pack("vectors", unit_rows(vectors))
        held |= more
    for at, contents in held.items():
        files(folder / at, contents)
    questions = folder / "questions.json"
    questions.write_text(json.dumps(fields))
    made = subprocess.run(["node", SCRIPT, questions], capture_output=True, check=True)
    return json.loads(made.stdout)


def words_file(folder: Path) -> str:
    """Spec of a small file of word vectors, with words that are looked up in odd ways."""
    known = [
        "the",
        "The",
        "cat",
        "don't",
        "n't",
        "don",
        "'",
        "t",
        "e-mail@x.org",
        "café",
        "日本語の文",
        "i̇stanbul",
        "οδος",
        "οδοσ",
        "x",
        "²",
        "_",
        "__init__",
        "…",
        "👍",
        "1234567890",
        "३",
    ]
    file = folder / "words.txt"
    file.write_text("".join(f"{word} {i % 5 - 2} {i % 3 - 1} 1\n" for i, word in enumerate(known)))
    return f"words:{file}"


@pytest.mark.parametrize("spec", ["wordllama", "random:16", "words"])
def test_odd_texts_are_split_as_in_python(tmp_path: Path, spec: str) -> None:
    """Unicode of all kinds, special tokens that are written out, spaces of all kinds, nothing."""
    encoder = load(words_file(tmp_path) if spec == "words" else spec)
    assert in_page(tmp_path, encoder, ODD) == encoder.source.words(ODD)


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("spec", ["wordllama", "random:16", GLOVE])
def test_twenty_thousand_sentences_are_split_as_in_python(
    tmp_path: Path, data_root: Path, spec: str
) -> None:
    """English of seven sources, and as many of 48 other languages."""
    catalog = Catalog(data_root)
    names = [info.name for info in catalog.list() if info.name.startswith("tatoeba/")]
    texts = [text for name in names for text in catalog.sentences(name)[0][:210]]
    texts += catalog.sentences("unlabelled/sentences_mix")[0][:11_000]
    assert len(texts) > 20_000
    encoder = load(f"words:{data_root / spec}" if spec == GLOVE else spec)
    assert in_page(tmp_path, encoder, texts) == encoder.source.words(texts)


@pytest.mark.parametrize("spec", ["wordllama", "random:256"])
def test_the_nearest_are_those_of_python(tmp_path: Path, spec: str) -> None:
    """Of the sentences that ship, by queries that are not among them."""
    encoder = load(spec)
    topics, pairs = (Catalog(None).sentences(f"starter-{of}")[0] for of in ("topics", "pairs"))
    vectors, query_vectors = encoder.encode(topics), encoder.encode(pairs[:50])
    true, ids = Index(vectors).search(query_vectors, len(topics))
    apart, overlap = [], []
    for place, hits in enumerate(in_page(tmp_path, encoder, pairs[:50], vectors)):
        cosines = dict(zip(ids[place].tolist(), true[place].tolist(), strict=True))
        apart += [abs(hit["cosine"] - cosines[hit["index"]]) for hit in hits]
        overlap.append(len({hit["index"] for hit in hits} & set(ids[place, :10].tolist())) / 10)
    assert max(apart) < 0.01
    assert np.mean(overlap) >= 0.98


@pytest.mark.parametrize(
    "spec", ["minilm", "random:16 | dims:4,random,0", "wordllama?pooling=max", "borep:16"]
)
def test_an_encoder_that_needs_python_says_so(spec: str) -> None:
    """Nothing is written for a transformer, for steps, or for another pooling."""
    assert published.describe(load(spec)) is None
