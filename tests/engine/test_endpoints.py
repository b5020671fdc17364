"""Asking a server: addresses, keys, consent, trying again, limits. All over a real socket."""

import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from functools import partial

import pytest
from huggingface_hub import constants

from tests.errors import refused
from tests.fakes.openai import FakeOpenAI, cut, dripping, half, hang_up, held, page, saying, status
from tests.waiting import wait_until
from theodolite.engine import hub
from theodolite.engine.endpoints import KEY, LONGEST_WAIT, TRIES, Address, Endpoint, Unacceptable

BODY = {"input": ["a boat"]}


@pytest.fixture
def waits():
    """How long endpoints would have waited."""
    return []


@pytest.fixture
def asking(server, waits):
    """Makes endpoints that wait for nothing, and note how long they would have."""
    return partial(Endpoint, Address.parse(f"{server.url}#fake"), sleep=waits.append)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://API.OpenAI.com/v1/#m", "https://api.openai.com/v1"),
        ("https://x.example/v1/embeddings#m", "https://x.example/v1"),
        ("http://localhost:11434/v1#m", "http://localhost:11434/v1"),
        ("http://[::1]:80/v1#m", "http://[::1]:80/v1"),
        ("http://127.8.9.1#m", "http://127.8.9.1"),
    ],
)
def test_an_address_has_one_form(given, url):
    """However it is pasted."""
    assert str(Address.parse(given)) == f"{url}#m"
    assert Address.parse(f"{url}#m") == Address.parse(given)


@pytest.mark.parametrize(
    ("given", "code", "named"),
    [
        # A way on which others can listen.
        ("http://api.openai.com/v1#m", "denied", "https"),
        ("http://localhost.example.com/v1#m", "denied", "https"),
        ("https://api.openai.com/v1", "invalid", "https"),
        ("https://#m", "invalid", "https"),
        ("https://x:99999/v1#m", "invalid", "https"),
        ("ftp://x/v1#m", "invalid", "https"),
        ("api.openai.com#m", "invalid", "https"),
        # Specs are kept and shared.
        ("https://me:sesame@x/v1#m", "invalid", KEY),
        ("https://x/v1?key=sesame#m", "invalid", KEY),
    ],
)
def test_what_is_no_address_is_refused_and_a_password_not_repeated(given, code, named):
    with refused(code, named) as caught:
        Address.parse(given)
    assert "sesame" not in str(caught.value)


def test_nothing_is_sent_elsewhere_unasked():
    """It is refused before a name is looked up; what may be sent where is said by its address."""
    address = Address.parse("https://api.invalid/v1#m")
    with refused("denied", "api.invalid", "--send-texts"):
        Endpoint(address, ["https://other.invalid/v1"]).post("embeddings", BODY)
    assert Endpoint(address, [address.url]).may_send


def test_the_key_comes_from_the_environment(server, monkeypatch, asking):
    """A host's own comes first; without one none is sent."""
    for variables in ({}, {KEY: "one-for-all"}, {f"{KEY}_127_0_0_1": "its-own\n"}):
        for variable, key in variables.items():
            monkeypatch.setenv(variable, key)
        asking().post("embeddings", BODY)
    sent = [headers.get("Authorization") for headers, _ in server.requests]
    assert sent == [None, "Bearer one-for-all", "Bearer its-own"]


def test_a_key_is_never_said(server, monkeypatch, caplog, asking):
    """Not when the server repeats it, nor in the log, nor when it cannot be one."""
    caplog.set_level("DEBUG")
    monkeypatch.setenv(KEY, "sesame")
    server.next = [status(401, "Incorrect key: sesame")]
    with refused("denied", 401) as caught:
        asking().post("embeddings", BODY)
    monkeypatch.setenv(KEY, "sesame sesame")
    with refused("invalid", KEY) as other:
        asking().post("embeddings", BODY)
    assert "sesame" not in f"{caught.value}{other.value}{caplog.text}"


@pytest.mark.parametrize(
    "trouble",
    [status(429), status(500), status(503), half, cut, hang_up],
    ids=["429", "500", "503", "half", "cut", "hung up"],
)
def test_what_may_pass_is_tried_again(server, trouble, asking, waits):
    """Once it has passed, the answer is there."""
    server.next = [trouble, trouble]
    assert asking().post("embeddings", BODY)["model"] == "fake"
    assert len(server.requests) == 3
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0


@pytest.mark.parametrize("code", [429, 503])
def test_a_server_says_how_long_to_wait(server, code, asking, waits):
    """In seconds or as a date."""
    soon = formatdate(time.time() + 100, usegmt=True)
    server.next = [status(code, Retry_After="7"), status(code, Retry_After=soon)]
    asking().post("embeddings", BODY)
    assert 7 <= waits[0] <= 8 and 50 <= waits[1] <= 101


LATER = {"Retry_After": str(LONGEST_WAIT + 1)}


@pytest.mark.parametrize(
    ("answers", "code", "named", "requests"),
    [
        ([status(500, "on fire")] * 2 * TRIES, "unreachable", ["HTTP 500: on fire"], TRIES),
        # To ask again would not help: an hour is no wait but the end, a page is no answer.
        ([status(429, "quota", **LATER)], "unreachable", ["quota", 121], 1),
        ([status(503, "quota", **LATER)], "unreachable", ["quota", 121], 1),
        ([status(404, "no such model")], "unreachable", ["no such model"], 1),
        ([page], "wrong-kind", ["127.0.0.1"], 1),
        ([saying(lambda _: ["a list"])], "wrong-kind", ["127.0.0.1"], 1),
    ],
    ids=["500", "429", "503", "404", "page", "list"],
)
def test_what_does_not_pass_is_said(server, answers, code, named, requests, asking, waits):
    """With the last reason, after so many tries."""
    server.next = answers
    with refused(code, *named) as other:
        asking().post("embeddings", BODY)
    assert (len(server.requests), len(waits)) == (requests, requests - 1)
    assert not isinstance(other.value, Unacceptable)
    server.close()
    with refused("unreachable", "connection"):
        asking().post("embeddings", BODY, tries=2)


def test_a_slow_answer_has_an_end(server, asking):
    """One that does not begin, and one that never ends."""
    over = threading.Event()
    server.next = [held(over, threading.Event()), dripping(over)]
    try:
        with refused("unreachable", "1.5 seconds"):
            asking(seconds=1.5).post("embeddings", BODY, tries=2)
    finally:
        over.set()
    wait_until(lambda: len(server.requests) == 2)


def test_nobody_is_sent_on(server, asking):
    """A redirect would carry texts and key to whom nobody has allowed them."""
    with FakeOpenAI() as other:
        server.next = [status(307, Location=f"{other.url}/embeddings")]
        with refused("unreachable", other.url.split("/")[2]):
            asking().post("embeddings", BODY)
        assert other.requests == []
    assert len(server.requests) == 1


def test_requests_and_tokens_have_limits(server, asking, waits):
    """The second waits for its turn, the third for what the second took; no time goes by."""
    endpoint = asking(rpm=60, tpm=600, clock=lambda: 100.0)
    for tokens in (1, 100, 1):
        endpoint.post("embeddings", BODY, tokens=tokens)
    assert waits == [1, 11]


# --- a hub that does not answer ---


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was asked of a hub that answers only addresses of `up`."""
    found: list[str] = []

    class Session:
        def head(self, address: str, timeout: float) -> None:
            found.append(address)
            if address != "up":
                raise OSError(timeout)

    monkeypatch.setattr("huggingface_hub.get_session", Session)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "_silent", -hub.REMEMBERED)
    yield found
    assert not constants.HF_HUB_OFFLINE, "it is left as it was found"


def test_a_silent_hub_is_asked_once(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a minute has passed; within, the libraries do without it."""
    monkeypatch.setattr(constants, "ENDPOINT", "down")
    for _ in range(3):
        with hub.offline_if_unreachable():
            assert constants.HF_HUB_OFFLINE
    assert asked == ["down"]
    monkeypatch.setattr(constants, "ENDPOINT", "up")
    monkeypatch.setattr(hub, "_silent", -hub.REMEMBERED)
    with hub.offline_if_unreachable():
        assert not constants.HF_HUB_OFFLINE


def test_the_last_one_to_leave_restores(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leaves early takes nothing from another, which would else be on line again."""
    monkeypatch.setattr(constants, "ENDPOINT", "down")
    first, last = hub.offline_if_unreachable(), hub.offline_if_unreachable()
    first.__enter__()
    last.__enter__()
    first.__exit__(None, None, None)
    assert constants.HF_HUB_OFFLINE, "the other is still inside"
    last.__exit__(None, None, None)
