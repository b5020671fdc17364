"""Models behind OpenAI's API as encoders: what is sent, what is kept, which answers are refused."""

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.openai import DIM, saying, status, vector
from theodolite.engine.encoders import MemoryCache, load
from theodolite.engine.encoders.base import sentence_key
from theodolite.engine.encoders.cached import CachedEncoder
from theodolite.engine.encoders.endpoint import BATCH, CHARACTERS, EndpointSource, Sending
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
    """It is found out once, and no text is lost."""
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
