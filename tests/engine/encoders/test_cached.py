"""De-duplicate, ask the cache, encode what is missing."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tests.errors import refused
from theodolite.engine.encoders import cached
from theodolite.engine.encoders.base import Encoder, sentence_key
from theodolite.engine.encoders.cached import CachedEncoder, MemoryCache
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
    source = Lengths()
    encoder = CachedEncoder(source, MemoryCache())
    texts = ["bb", "a", "bb", "", "cccc", "a"]
    expected = [[2, 98], [1, 97], [2, 98], [0, 0], [4, 99], [1, 97]]
    assert encoder.encode(texts).tolist() == expected
    assert encoder.encode(texts[::-1]).tolist() == expected[::-1]
    # Once: torch and the weights take seconds to read.
    assert (source.asked, source.reads) == (["bb", "a", "", "cccc"], 1)
    assert encoder.encode([]).shape == (0, 2)
    assert isinstance(encoder, Encoder)


def test_blocks_make_no_difference(monkeypatch):
    """A long input is worked on in blocks and gives the same rows."""
    monkeypatch.setattr(cached, "BLOCK", 4)
    source, seen = Lengths(), []
    texts = [("x" * (i % 7)) for i in range(23)]
    rows = CachedEncoder(source, MemoryCache()).encode(texts, lambda *at: seen.append(at))
    assert rows[:, 0].tolist() == [i % 7 for i in range(23)]
    assert len(source.asked) == 7
    assert seen == sorted(seen) and seen[-1] == (23, 23)


def test_what_was_done_before_a_stop_is_kept():
    """A progress callback may raise; the chunks before it stay in the cache."""
    source = Lengths()
    encoder = CachedEncoder(source, MemoryCache())

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encoder.encode([*"abcde"], stop)
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


def test_slices_are_bounded_by_number_and_by_characters():
    """Long texts make short slices; nothing is lost."""
    texts = ["x" * 8, "y" * 8, "z", "", "w" * 30, "v"]
    parts = list(slices(texts, 3, 10))
    assert [s for part in parts for s in part] == texts
    assert [len(part) for part in parts] == [2, 3, 1]
    assert list(slices([], 3)) == []
