"""De-duplicate, ask the cache, encode what is missing."""

from collections.abc import Iterator, Sequence
from unittest.mock import Mock

import numpy as np
import pytest

from tests.errors import refused
from theodolite.engine import evaluate, load
from theodolite.engine.encoders.base import Encoder, sentence_key
from theodolite.engine.encoders.cached import CachedEncoder, MemoryCache
from theodolite.engine.encoders.functions import FunctionEncoder, dotdict
from theodolite.engine.encoders.source import Source, slices


class Lengths(Source):
    """Encodes a text as its length and its first character; remembers what it was asked."""

    name, dim, fingerprint = "lengths", 2, "f"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reads = 0

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """Three at a time."""
        self.reads += 1
        for part in slices(sentences, 3):
            self.asked += part
            rows = [[np.nan if s == "nan" else len(s), ord(s[:1] or "\0")] for s in part]
            yield np.array(rows, np.float32)


def test_every_sentence_is_encoded_once():
    """Duplicates and a second pass cost nothing, order is kept."""
    encoder = CachedEncoder(source := Lengths(), MemoryCache())
    texts = {"bb": [2, 98], "a": [1, 97], "": [0, 0], "cccc": [4, 99]}
    for order in (["bb", "a", "bb", "", "cccc", "a"], ["a", "cccc", "", "bb", "a", "bb"]):
        assert encoder.encode(order).tolist() == [texts[text] for text in order]
    # Once: torch and the weights take seconds to read.
    assert (source.asked, source.reads) == (["bb", "a", "", "cccc"], 1)
    assert encoder.encode([]).shape == (0, 2)
    assert isinstance(encoder, Encoder)


def test_blocks_make_no_difference(monkeypatch):
    """A long input is worked on in blocks and gives the same rows."""
    monkeypatch.setattr("theodolite.engine.encoders.cached.BLOCK", 4)
    source, seen = Lengths(), []
    texts = [("x" * (i % 7)) for i in range(23)]
    rows = CachedEncoder(source, MemoryCache()).encode(texts, lambda *at: seen.append(at))
    assert rows[:, 0].tolist() == [i % 7 for i in range(23)]
    assert len(source.asked) == 7
    assert seen == sorted(seen) and seen[-1] == (23, 23)
    # Slices are bounded by number and by characters: long texts make short ones, nothing is lost.
    texts = ["x" * 8, "y" * 8, "z", "", "w" * 30, "v"]
    assert list(slices(texts, 3, 10)) == [texts[:2], texts[2:5], texts[5:]]
    assert list(slices([], 3)) == []


def test_what_was_done_before_a_stop_is_kept():
    """A progress callback may raise; the chunks before it stay in the cache."""
    encoder = CachedEncoder(source := Lengths(), MemoryCache())
    with pytest.raises(KeyboardInterrupt):
        encoder.encode([*"abcde"], Mock(side_effect=KeyboardInterrupt))
    encoder.encode([*"abcde"])
    assert source.asked == [*"abc", *"de"]


def test_a_value_that_is_no_number_names_its_sentence():
    """The index is the one in the list that was given, duplicates counted; nothing is cached."""
    cache = MemoryCache()
    with refused("not-finite", "lengths", "sentence 4 "):
        CachedEncoder(Lengths(), cache).encode(["a", "a", "a", "b", "nan", "c", "nan"])
    assert not cache.get("f", [sentence_key("nan")], 2)[0].any()
    with refused("not-finite", "sentence 1 "):
        Lengths().encode(["a", "nan"])


def test_memory_is_bounded_and_the_oldest_rows_go_first():
    """Three rows of eight bytes fit into 24."""
    cache = MemoryCache(max_bytes=24)
    keys = [bytes([i]) for i in range(5)]
    cache.put("f", keys, np.arange(10, dtype=np.float32).reshape(5, 2))
    found, rows = cache.get("f", keys, 2)
    assert found.tolist() == [False, False, True, True, True]
    assert rows.tolist() == [[4, 5], [6, 7], [8, 9]]


# --- a pair of functions as an encoder ---


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
    lengths = Mock(side_effect=lambda params, batch: [[len(tokens)] for tokens in batch])
    prepare, progress, params = Mock(), Mock(), dotdict(batch_size=2)
    encoder = FunctionEncoder(prepare, lengths, params=params)
    vectors = encoder.encode(["a b c", "a", "a b", "a"], progress)
    np.testing.assert_array_equal(vectors, np.array([[3], [1], [2], [1]], "f4"), strict=True)
    sent = [call.args[1] for call in lengths.call_args_list]
    assert sent == [[["a"], ["a", "b"]], [["a", "b", "c"]]]
    prepared = [len(call.args[1]) for call in prepare.call_args_list]
    assert (prepared, progress.call_args.args) == ([4], (4, 4))
    assert encoder.encode([]).shape == (0, 1)


def test_its_vectors_become_an_encoder_of_the_app(tmp_path):
    """Written for some tasks, it gives their scores and says what it lacks for others."""
    FunctionEncoder(None, batcher, "mine").save(tmp_path / "mine.parquet", "StarterSTS")
    kept = f"vectors:{tmp_path / 'mine.parquet'}"
    covered, lacking = evaluate(load(kept), ["StarterSTS", "StarterTopics"])
    (theirs,) = evaluate(BASE, "StarterSTS")
    (ours,) = evaluate(FunctionEncoder(None, batcher, "mine"), "StarterSTS")
    for result in (covered, ours):
        assert result.main.score == pytest.approx(theirs.main.score, abs=1e-9)
    assert (ours.encoder, ours.dim) == ("mine", 256)
    assert "mine.parquet lacks" in lacking.error
