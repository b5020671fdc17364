"""Models behind OpenAI's API as encoders: what is sent, what is kept, which answers are refused."""

from collections.abc import Iterator
from unittest.mock import Mock

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.openai import DIM, saying, status, vector
from theodolite.engine import evaluate, load
from theodolite.engine.encoders.base import sentence_key
from theodolite.engine.encoders.cached import CachedEncoder, MemoryCache
from theodolite.engine.encoders.endpoint import BATCH, CHARACTERS, EndpointSource, Sending
from theodolite.engine.encoders.functions import FunctionEncoder, dotdict
from theodolite.engine.encoders.source import Source, slices
from theodolite.engine.endpoints import TRIES, Address, Endpoint

AWAY = "api:https://api.invalid/v1#m"
TEXTS = [f"{'a' * (i % 7)} boat {i}" for i in range(3 * BATCH + 5)]


def source(server, **options):
    """Its model as a source that waits for nothing."""
    endpoint = Endpoint(Address.parse(f"{server.url}#fake"), sleep=lambda seconds: None)
    return EndpointSource("fake", endpoint, DIM, **options)


def test_texts_become_vectors_in_their_order(server):
    """Each distinct one is sent once; nothing is sent the second time, nor for an empty text."""
    encoder = load(f"api:{server.url}#fake")
    expected = [*map(vector, [*TEXTS, TEXTS[3]]), *[[0.0] * DIM] * 2]
    np.testing.assert_array_equal(encoder.encode([*TEXTS, TEXTS[3], "", " "]), expected)
    encoder.encode(TEXTS)
    assert server.texts == ["theodolite", *TEXTS]  # the first is asked for the length alone
    assert {len(body["input"]) for _, body in server.requests} <= {1, 5, BATCH}
    # Without an index, which some servers leave out, the order counts.
    bare = [{"embedding": vector(text)} for text in ("a", "bb")]
    server.next = [saying(lambda _: {"data": bare})]
    np.testing.assert_array_equal(source(server).encode(["a", "bb"]), [vector("a"), vector("bb")])


def test_the_length_is_asked_for_once(server):
    """A cache that lasts has it: an encoder whose vectors are there needs no server."""
    cache = MemoryCache()
    first = load(f"api:{server.url}#fake", cache=cache)
    first.encode(TEXTS[:2])
    server.close()
    again = load(f"api:{server.url}/#fake", cache=cache)
    assert (again.dim, again.fingerprint, again.name) == (DIM, first.fingerprint, first.name)
    np.testing.assert_array_equal(again.encode(TEXTS[:2]), first.encode(TEXTS[:2]))


def test_dimensions_are_asked_for_and_checked(server):
    """They are part of what the encoder is; limits and batches are not."""
    spec = f"api:{server.url}#fake"
    three = load(f"{spec}?dimensions=3&batch=2")
    assert three.encode(["a boat", "a", "b"]).shape == (3, 3)
    assert [body.get("dimensions") for _, body in server.requests] == [3, 3]
    specs = (spec, f"{spec}?rpm=60000&tpm=9000000&batch=7", f"api:{server.url}#other")
    plain, paced, other = (load(one).fingerprint for one in specs)
    assert plain == paced and len({plain, other, three.fingerprint}) == 3
    server.next = [saying(lambda _: {"data": [row(*range(8))]})]
    with refused("unreachable", 8, 3):
        three.encode(["new"])


def test_sides_and_steps_work_as_for_any_encoder(server):
    """Prompts are sent with the texts; vectors of documents are shared."""
    encoder = load(f"api:{server.url}#fake?prompt=d:&query_prompt=q: | normalise")
    documents, queries = encoder.encode(["x"]), encoder.queries.encode(["x"])
    assert server.texts[-2:] == ["d:x", "q:x"]
    np.testing.assert_allclose(np.linalg.norm([documents, queries], axis=2), 1, atol=1e-6)


def test_a_server_that_takes_fewer_gets_fewer(server):
    """It is found out once, without asking for the same again, and no text is lost."""
    server.most = 10
    np.testing.assert_array_equal(source(server).encode(TEXTS), [*map(vector, TEXTS)])
    assert [len(body["input"]) for _, body in server.requests[:4]] == [64, 32, 16, 8]
    assert max(len(body["input"]) for _, body in server.requests[3:]) == 8


def test_long_texts_make_small_requests(server):
    """By their characters; one longer than all that goes alone."""
    lengths = [*range(CHARACTERS // 2, CHARACTERS // 2 + 5), 2 * CHARACTERS]
    source(server).encode(["x" * length for length in lengths])
    sizes = [sum(map(len, body["input"])) for _, body in server.requests]
    assert len(sizes) >= 3 and max(sizes) < 4 * CHARACTERS


def row(*embedding, index=0):
    """One of an answer's vectors."""
    return {"index": index, "embedding": list(embedding)}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([row(1, 2, 3, 4)], "1 vectors for 2 texts"),
        ([row(1, 2, 3, 4), row(1, 2, 3, 4)], "which text"),
        ([row(1, 2, 3, 4), row(1, 2, index=1)], "different lengths"),
        ([row(1, 2, 3, 4), row("a", 2, 3, 4, index=1)], "different lengths"),
        ([row(), row(index=1)], "no vectors of 1 to"),
        ([row(1, 2, 3, 4), row(1, 2, 3, None, index=1)], "infinity"),
        ([row(1, 2, 3, 4), row(1, 2, 3, 1e300, index=1)], "infinity"),
        ([row(1, 2, 3), row(1, 2, 3, index=1)], "3 numbers where 4"),
        ("none", "no list"),
    ],
)
def test_a_wrong_answer_is_refused(server, data, why):
    """It says what came; nothing of it is kept."""
    encoder = load(f"api:{server.url}#fake")
    server.next = [saying(lambda _: {"data": data})]
    with refused("unreachable", why):
        encoder.encode(["a", "b"])
    np.testing.assert_array_equal(encoder.encode(["a", "b"]), [vector("a"), vector("b")])


def test_what_came_before_a_failure_is_kept(server):
    """It is said, and not sent again."""
    encoder = CachedEncoder(source(server), MemoryCache())
    server.next = [*[saying(lambda _: None)] * 2, *[status(500)] * TRIES]
    with refused("unreachable", 2 * BATCH, len(TEXTS)):
        encoder.encode(TEXTS)
    sent = len(server.texts)
    encoder.encode(TEXTS)
    assert server.texts[sent:] == TEXTS[2 * BATCH :]


def test_nothing_is_asked_of_others_unasked():
    """Not even the length of a vector; what is kept can be read all the same."""
    with refused("denied", "api.invalid", "--send-texts"):
        load(AWAY)
    encoder = load(f"{AWAY}?dimensions=4")
    encoder.cache.put(encoder.fingerprint, [sentence_key("kept")], np.ones((1, 4), np.float32))
    assert encoder.encode(["kept"]).all()
    with refused("denied", "api.invalid", "--send-texts"):
        encoder.encode(["kept", "new"])


def test_what_would_be_sent_is_counted(server):
    """Texts, characters with the prompt, tokens roughly, requests."""
    counted = Sending.of(source(server, prompt="d:", batch=2), ["four", "五五", "a"])
    assert (counted.requests, counted.tokens) == (2, 2 + 3 + 1)
    assert "3 texts (13 characters, about 6 tokens) to 127.0.0.1" in str(counted)
    assert server.requests == []


# De-duplicate, ask the cache, encode what is missing.


class Lengths(Source):
    """Encodes a text as its length and its first character; remembers what it was asked."""

    name, dim, fingerprint = "lengths", 2, "f"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reads = 0

    def chunks(self, sentences: list[str]) -> Iterator[np.ndarray]:
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
