"""Doing without a hub that does not answer."""

import threading
from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from theodolite.engine import reachable
from theodolite.engine.reachable import offline_if_unreachable


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
    monkeypatch.setattr(reachable, "_silent", -reachable.REMEMBERED)
    yield found
    assert not constants.HF_HUB_OFFLINE, "it is left as it was found"


def test_a_silent_hub_is_asked_once(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a minute has passed; within, the libraries do without it."""
    monkeypatch.setattr(constants, "ENDPOINT", "down")
    for _ in range(3):
        with offline_if_unreachable():
            assert constants.HF_HUB_OFFLINE
    assert asked == ["down"]
    monkeypatch.setattr(constants, "ENDPOINT", "up")
    monkeypatch.setattr(reachable, "_silent", -reachable.REMEMBERED)
    with offline_if_unreachable():
        assert not constants.HF_HUB_OFFLINE


def test_the_last_thread_to_leave_restores(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that leaves early takes nothing from another, which would else stay off line."""
    monkeypatch.setattr(constants, "ENDPOINT", "down")
    entered, left = threading.Event(), threading.Event()

    def other() -> None:
        with offline_if_unreachable():
            entered.set()
            left.wait(10)

    thread = threading.Thread(target=other)
    with offline_if_unreachable():
        thread.start()
        assert entered.wait(10)
    assert constants.HF_HUB_OFFLINE, "the other thread is still inside"
    left.set()
    thread.join(10)
