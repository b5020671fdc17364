"""A pair of functions as an encoder."""

import numpy as np
import pytest

from theodolite.engine import evaluate, load
from theodolite.engine.encoders.functions import FunctionEncoder, dotdict

BASE = load("wordllama")


def batcher(params, batch):
    """Wordllama's vectors, through lists of tokens."""
    return BASE.encode([" ".join(tokens) for tokens in batch])


def test_another_function_is_another_encoder():
    """Even under one name."""
    doubled = (lambda params, batch: batcher(params, batch) * 2), "mine"
    kinds = ((batcher, "mine"), (batcher, "mine"), doubled, (batcher, "yours"))
    one, same, *others = (FunctionEncoder(None, *of).fingerprint for of in kinds)
    assert one == same and len({one, *others}) == 3


def test_distinct_sentences_are_sent_once_and_sorted_by_length():
    """In batches of `batch_size`; rows come back in the order asked, with prepared params."""
    sent, prepared, done = [], [], []

    def lengths(params, batch):
        sent.append(batch)
        return [[len(tokens)] for tokens in batch]

    prepare, params = (lambda params, samples: prepared.extend(samples)), dotdict(batch_size=2)
    encoder = FunctionEncoder(prepare, lengths, params=params)
    vectors = encoder.encode(["a b c", "a", "a b", "a"], lambda *args: done.append(args))
    np.testing.assert_array_equal(vectors, [[3], [1], [2], [1]])
    assert vectors.dtype == np.float32
    assert sent == [[["a"], ["a", "b"]], [["a", "b", "c"]]]
    assert (len(prepared), done[-1]) == (4, (4, 4))
    assert encoder.encode([]).shape == (0, 1)


def test_its_vectors_become_an_encoder_of_the_app(tmp_path):
    """Written for some tasks, it gives their scores and says what it lacks for others."""
    FunctionEncoder(None, batcher, "mine").save(tmp_path / "mine.parquet", "StarterSTS")
    kept = load(f"vectors:{tmp_path / 'mine.parquet'}")
    covered, lacking = evaluate(kept, ["StarterSTS", "StarterTopics"])
    (theirs,) = evaluate(BASE, "StarterSTS")
    (ours,) = evaluate(FunctionEncoder(None, batcher, "mine"), "StarterSTS")
    for result in (covered, ours):
        assert result.main.score == pytest.approx(theirs.main.score, abs=1e-9)
    assert (ours.encoder, ours.dim) == ("mine", 256)
    assert "mine.parquet lacks" in lacking.error
