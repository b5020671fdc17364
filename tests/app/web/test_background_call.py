"""What a page says while it works: at once, with a bar; given up when it is not wanted any more."""

import threading
from collections.abc import Iterator

import gradio as gr
import httpx
import pytest

from theodolite.app import vectors
from theodolite.app.web import background_call as working, parts
from theodolite.app.web.controls import Answer, on
from theodolite.app.workspace import Workspace


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told almost at once."""
    monkeypatch.setattr(working, "SOON_SECONDS", 0.01)
    monkeypatch.setattr(working, "EVERY_SECONDS", 0.01)


class Held:
    """A call that waits until it is let go, says a word, and ends."""

    def __init__(self) -> None:
        self.go, self.ended = threading.Event(), threading.Event()

    def __call__(self, say: working.Say) -> list[int]:
        try:
            self.go.wait(60)
            say("Still at it", None, None)
        finally:
            self.ended.set()
        return [1]


@pytest.mark.usefixtures("hasty")
def test_what_takes_long_is_told_step_by_step() -> None:
    """First what is done, then how far with the time left, last the answer."""
    event, halfway = threading.Event(), threading.Event()

    def work(say: working.Say) -> list[int]:
        event.wait(60)
        say("Encoding <b>", 0.5, 20.0)
        halfway.wait(60)
        return [7]

    steps = working.follow(work, "Loading")
    first, nothing = next(steps)
    assert "Loading" in first and "t-unknown" in first and nothing is None
    event.set()
    second, _ = next(steps)
    assert 'aria-valuenow="50"' in second and "about 20 s left" in second
    assert "Encoding &lt;b&gt;" in second
    halfway.set()
    assert next(steps) == ("", [7])


@pytest.mark.usefixtures("hasty")
def test_a_new_question_of_a_tab_ends_the_old_one() -> None:
    """The old work stops at its next word; another tab's goes on."""
    old, elsewhere = Held(), Held()
    before = working.follow(old, "Old", "tab")
    other = working.follow(elsewhere, "Other", "another tab")
    assert next(before)[1] is next(other)[1] is None
    assert list(working.follow(lambda say: [3], "New", "tab"))[-1] == ("", [3])
    assert list(before) == []
    old.go.set()
    assert old.ended.wait(60)
    elsewhere.go.set()
    assert list(other)[-1] == ("", [1])


@pytest.mark.usefixtures("hasty")
def test_who_hangs_up_leaves_no_work_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP, as a closed tab does: the server notices, and the work ends by itself."""
    monkeypatch.setattr(working, "ALIVE_SECONDS", 0.1)
    ended, over = threading.Event(), threading.Event()

    def work(say: working.Say) -> list[int]:
        try:
            while not over.wait(0.02):
                say("Still at it", None, None)
        finally:
            ended.set()
        return [1]

    def answer(request: gr.Request) -> Iterator[Answer]:
        for progress, _ in working.follow(work, "At it", request.session_hash):
            yield {shown: progress}

    with gr.Blocks(analytics_enabled=False) as demo:
        shown = parts.static("")
        on(gr.Button().click, answer, None, [shown], parts.notice())
    demo.queue().launch(prevent_thread_lock=True, quiet=True)
    try:
        body = {"fn_index": 0, "data": [""], "session_hash": "gone"}
        with httpx.Client(base_url=demo.local_url, timeout=60) as client:
            client.post("gradio_api/queue/join", json=body).raise_for_status()
            url, about = "gradio_api/queue/data", {"session_hash": "gone"}
            with client.stream("GET", url, params=about) as lines:
                assert any("Still at it" in line for line in lines.iter_lines())
        assert ended.wait(40)
    finally:
        over.set()
        demo.close()


def test_encoding_goes_part_by_part(starter: Workspace) -> None:
    """Shares that grow to one, and nothing lacks afterwards."""
    seen = list(vectors.encode_missing(starter, "random:21", "starter-topics"))
    shares = [share for _, share, _ in seen if share is not None]
    assert len(shares) > 5 and shares == sorted(shares)
    assert shares[-1] == 1
    assert "Encoding 2,040 sentences of starter-topics" in seen[-1][0]
    for spec in ("random:21", "random:21 | normalise"):  # steps share the vectors
        assert vectors.missing(starter, spec, "starter-topics") == 0


def test_what_would_take_too_long_is_left_to_a_run(
    starter: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how long, and keeps what it has."""
    monkeypatch.setattr(vectors, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(vectors.TooSlow) as slow:
        list(vectors.encode_missing(starter, "random:22", "starter-topics"))
    assert slow.value.left > 0
    assert 0 < vectors.missing(starter, "random:22", "starter-topics") < 2040
