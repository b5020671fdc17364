"""A static encoder from any other: a vector for each token, and the mean of a text's tokens.

In four steps, the first three as in model2vec (Tulkens and van Dongen 2024):

1. A token's vector is the teacher's of the token alone.
2. PCA cuts these vectors to a length.
3. A token weighs a / (a + p), p being its share of the tokens of the texts (SIF; Arora et al.
   2017).
4. The vectors are moved towards those with which the mean of a text's tokens is the teacher's
   vector of the text: ridge regression, which leaves tokens that are rare where they were.

Without randomness, and without a learning rate. The result is a folder that sentence-transformers
reads (`StaticEmbedding`); a text costs a look-up of its tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.engine.encoders.loading import checkpoint_of, load
from theodolite.engine.encoders.packaged import untrimmed
from theodolite.engine.encoders.steps import fit_pca, normalise
from theodolite.engine.errors import UserError
from theodolite.engine.training import export
from theodolite.engine.training.dev import DevSet
from theodolite.engine.training.events import Encoded, Evaluated, Event, Noted, Started
from theodolite.engine.training.examples import Examples
from theodolite.engine.training.record import Record, last_event
from theodolite.engine.training.spec import TrainSpec

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from tokenizers import Tokenizer

SIF = 1e-4
"""A of the weights: tokens of a smaller share keep most of theirs."""
RIDGE = 0.03
"""Weight of staying where the first three steps end, of a text's squared error."""
ITERATIONS, BLOCK = 20, 1024


def distil(
    spec: TrainSpec, examples: Examples, dev: DevSet | None, stop: Callable[[], bool]
) -> Iterator[Event]:
    """Make a static encoder of `spec.base`; `stop` goes on with the texts that are encoded."""
    began, tokenizer, teacher = time.perf_counter(), _tokenizer(spec.base), load(spec.base)
    dim = spec.dims
    if dim > teacher.dim:
        raise UserError(
            f"{spec.base} has {teacher.dim} dimensions, and {dim} were asked for.",
            f"Give at most {teacher.dim}.",
            code="too-large",
        )
    tokens = [tokenizer.decode([i]).removeprefix("##") for i in range(tokenizer.get_vocab_size())]
    yield Started(0, 1, len(examples), len(tokens) * dim, "cpu", "float32", examples.hash)
    yield from (Noted(0, note) for note in examples.notes)
    base = None if dev is None else dev.score(teacher.encode(dev.sentences))
    if base is not None:
        yield Evaluated(0, False, *base)
    texts, vectors = [text for (text,) in examples], list[np.ndarray]()
    for start in range(0, len(texts), BLOCK):
        if stop() and vectors:
            break
        vectors.append(teacher.encode(texts[start : start + BLOCK]))
        done, seconds = min(start + BLOCK, len(texts)), time.perf_counter() - began
        yield Encoded(done, len(texts), seconds / done * (len(texts) - done))
    targets = normalise(np.concatenate(vectors).astype(np.float64))
    table = fit(bags(tokenizer, texts[: len(targets)]), teacher.encode(tokens), targets, dim)
    why = "done" if len(targets) == len(texts) else "stopped"
    score = None
    if dev is not None:
        score = dev.score(np.asarray(bags(tokenizer, dev.sentences) @ table, np.float32))
        yield Evaluated(1, True, *score)
    record = Record(
        spec=spec,
        data_hash=examples.hash,
        examples=len(targets),
        notes=examples.notes,
        steps=1,
        best_step=1,
        best_score=score and score.spearman,
        base_score=base and base.spearman,
        seconds=time.perf_counter() - began,
        why=why,
    )
    export.whole(record, lambda folder: _write(tokenizer, table, folder), dim)
    yield last_event(record.to_dict(), spec.out_folder)


def bags(tokenizer: Tokenizer, texts: list[str]) -> csr_matrix:
    """Share of each token among those of a text: (texts, tokens), the rows sum up to 1."""
    from scipy.sparse import csr_matrix

    rows = [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    ends = np.cumsum([0, *map(len, rows)])
    shares = [np.full(len(row), 1 / len(row)) for row in rows if row]
    ids = np.concatenate([row for row in rows if row])
    size = (len(rows), tokenizer.get_vocab_size())
    return csr_matrix((np.concatenate(shares), ids, ends), size)


def fit(texts: csr_matrix, tokens: np.ndarray, target: np.ndarray, dim: int) -> np.ndarray:
    """The token vectors.

    Args:
        texts: as `bags` makes them, (n, v).
        tokens: the teacher's vectors of the tokens alone, (v, d).
        target: the teacher's of the texts, of unit length, (n, d).
        dim: length of the new vectors, at most d.

    Returns:
        float32 (v, dim).
    """
    cut = fit_pca(tokens.astype(np.float64), dim)
    share = np.asarray(texts.sum(axis=0)).ravel() / texts.shape[0]
    table = cut(tokens.astype(np.float64)) * (SIF / (SIF + share))[:, None]
    goal = cut(target)
    before = texts @ table
    table *= (before * goal).sum() / max((before * before).sum(), 1e-12)
    return np.asarray(table + _ridge(texts, goal - texts @ table), np.float32)


def _ridge(x: csr_matrix, y: np.ndarray) -> np.ndarray:
    """W of the least |x W - y|^2 + RIDGE |W|^2, by conjugate gradients, all columns at once."""
    solution = np.zeros((x.shape[1], y.shape[1]))
    left = x.T @ y
    way, size = left.copy(), (left * left).sum(axis=0)
    for _ in range(ITERATIONS):
        ahead = x.T @ (x @ way) + RIDGE * way
        step = size / np.maximum((way * ahead).sum(axis=0), 1e-300)
        solution += step * way
        left -= step * ahead
        size, before = (left * left).sum(axis=0), size
        way = left + size / np.maximum(before, 1e-300) * way
    return solution


def _tokenizer(base: str) -> Tokenizer:
    """That of the teacher, padding and truncation off."""
    from theodolite.engine.encoders.transformer import quiet, read_tokenizer

    _, checkpoint = checkpoint_of(base)
    with quiet():
        tokenizer: Any = getattr(read_tokenizer(checkpoint), "backend_tokenizer", None)
    if tokenizer is None:
        raise UserError(
            f"{base} has a tokenizer that is not one of the library tokenizers.",
            "Choose another model.",
            code="unsupported",
        )
    return untrimmed(tokenizer)


def _write(tokenizer: Tokenizer, table: np.ndarray, folder: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    module = StaticEmbedding(tokenizer, embedding_weights=table)
    SentenceTransformer(modules=[module], device="cpu").save(str(folder))
