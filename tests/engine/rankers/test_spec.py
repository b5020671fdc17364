"""Specs of rankers: read, written, listed, and refused with a sentence."""

import pytest

from tests.errors import refused
from theodolite.engine import encoders
from theodolite.engine.errors import Code
from theodolite.engine.rankers import canonical, parse, split

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
    read = parse(written)
    assert str(read) == CANONICAL[written]
    assert parse(str(read)) == read


def test_what_a_ranker_consists_of() -> None:
    """Its encoders and models, the files and data that it needs, and other places for them."""
    read = parse("fuse(bm25, dir:/m/e | center:nli, dir:/m/e | center:@task) > rerank:dir:/m/r")
    assert [str(one) for one in read.sources] == ["dir:/m/e", "dir:/m/e", "dir:/m/r"]
    assert read.paths == ["/m/e", "/m/e", "/m/r"]
    assert read.data_sets == ["nli"]
    assert read.needs_task
    moved = read.with_paths({"/m/e": "/n/e", "/m/r": "/n/r"})
    assert moved.paths == ["/n/e", "/n/e", "/n/r"]
    assert len(canonical(["bm25", " bm25", "minilm"])) == 2


def test_commas_within_parentheses_and_steps_separate_no_list() -> None:
    """Nor do those of a reranker's depth."""
    given = "bm25, fuse(bm25,minilm),minilm | whiten:nli,256 , bm25 > rerank:a/b,50,random:64,"
    assert split(given) == [
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
def test_a_spec_that_cannot_be_read(spec: str, code: Code, named: str) -> None:
    """Says what was given, and what to write."""
    with refused(code, named):
        parse(spec)


@pytest.mark.parametrize("spec", ["bm25", "fuse(bm25, minilm)", "minilm > rerank:a/b"])
def test_where_vectors_are_needed_a_ranker_is_refused(spec: str) -> None:
    """With a sentence that says where it can be used."""
    with refused("wrong-kind", spec, "no vectors"):
        encoders.parse(spec)
