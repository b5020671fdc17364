"""Controls as data: what an address says of them, how events are answered, and notices."""

import json
import re
from html import unescape
from types import SimpleNamespace

import gradio as gr
import pytest
from starlette.requests import Request

from theodolite.app.web import address, parts
from theodolite.app.web.controls import Control, Controls, with_notice
from theodolite.engine.errors import PlacedError, UserError

DECLARED = (
    Control("q", "Query", default=""),
    Control("split", "Split", gr.Radio, default="all", choices=[("All", "all"), ("Test", "test")]),
    Control("k", "Top k", gr.Number, default=10, options={"minimum": 1, "precision": 0}),
    Control("cut", "Graded from", gr.Number, options={"maximum": 5}),
    Control("least", "Minimum cosine", gr.Number, default=0.5),
    Control("case", "Case", gr.Checkbox, default=False),
    Control("encoder", "Encoders", gr.CheckboxGroup, default=("minilm",)),
    Control("collection", "Collection", default="starter-topics", key="in"),
)

BUTTON = gr.Button(render=False)
BY_ITSELF = (SimpleNamespace(session_hash="a tab"), gr.EventData(None, None), "")
"""What is passed to a handler when a page opens, beside its values."""


def opened(query: str) -> gr.Request:
    """The request of a page with this query."""
    scope = {"type": "http", "query_string": query.encode(), "headers": [], "path": "/"}
    return gr.Request(Request(scope))


@pytest.mark.parametrize(
    ("query", "name", "value"),
    [
        ("q=a+boat", "q", "a boat"),
        ("", "split", "all"),
        ("split=test", "split", "test"),
        ("split=nothing", "split", "all"),
        ("k=3", "k", 3),
        ("k=three", "k", 10),
        ("k=inf", "k", 10),
        ("k=0", "k", 10),
        ("cut=2.5", "cut", 2.5),
        ("cut=6", "cut", None),
        ("", "cut", None),
        ("least=0.25", "least", 0.25),
        ("case=true", "case", True),
        ("encoder=a&encoder=b", "encoder", ["a", "b"]),
        ("", "encoder", ["minilm"]),
        ("in=sick", "collection", "sick"),
        ("collection=sick", "collection", "starter-topics"),
    ],
)
def test_the_address_is_read_with_the_type_of_the_default(query: str, name: str, value) -> None:
    """A link may be old or written by hand: what cannot be had is the default."""
    assert getattr(Controls(*DECLARED).from_address(opened(query)), name) == value


def test_errors_stand_in_the_notice_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Text is text; a fault of ours is said without its details, which the log has."""

    def refuse(asked: SimpleNamespace) -> dict:
        if asked.k < 0:
            raise KeyError("inner thing")
        raise UserError("There are no <b>0</b>.", "Choose another.")

    html = with_notice(refuse, "notice", ["split", "k"])(*BY_ITSELF, "all", 0)
    assert html.keys() == {"notice"}
    assert "no &lt;b&gt;0&lt;/b&gt;" in html["notice"] and "Choose another." in html["notice"]
    fault = with_notice(refuse, "notice", ["split", "k"])(*BY_ITSELF, "all", -1)["notice"]
    assert "inner thing" not in fault and "inner thing" in caplog.text


@pytest.mark.parametrize(
    ("target", "sees_it", "fills", "is_next", "empties"),
    [
        (BUTTON, True, "other", False, True),
        (BUTTON, False, "other", False, False),
        (BUTTON, True, "other", True, False),
        (None, True, "other", False, False),
        (gr.State(render=False), True, "other", False, False),
        (gr.Textbox(visible="hidden", render=False), True, "other", False, False),
        (None, False, "answer", False, True),
        (BUTTON, False, "answer", True, True),
    ],
    ids=["seen", "unseen", "then", "load", "state", "hidden", "load again", "then again"],
)
def test_an_error_stays_until_it_was_seen_or_is_over(
    target, sees_it: bool, fills: str, is_next: bool, empties: bool
) -> None:
    """What happens by itself empties an error only with the answer that had failed."""

    def handle(error: str) -> dict:
        if error:
            raise UserError(error)
        return {"shown": 1}

    tab = SimpleNamespace(session_hash=object())
    said = with_notice(handle, "notice", fills={"answer"})(tab, gr.EventData(None, None), "", "No.")
    after = with_notice(handle, "notice", fills={fills}, is_next=is_next)
    found = after(tab, gr.EventData(target, None), said["notice"] if sees_it else "", "")
    assert found == {"shown": 1} | ({"notice": ""} if empties else {})


@pytest.mark.parametrize(
    ("checked", "sees_it", "stays"),
    [("minlm", True, True), ("minl", False, True), ("minilm", True, False)],
)
def test_a_check_that_comes_late_leaves_what_was_said_of_the_same_value(
    checked: str, sees_it: bool, stays: bool
) -> None:
    """Gradio sends it after a button was pressed, where a check before it takes time."""

    def add(spec: str, sends: bool) -> dict:
        raise UserError(f"There is no {spec}.")

    tab, event = SimpleNamespace(session_hash=object()), gr.EventData(BUTTON, None)
    added = with_notice(add, "notice", fills={"list", "sends"}, reads=["spec", "sends"])
    said = added(tab, event, "", "minlm", False)["notice"]
    check = with_notice(
        lambda spec: {"sends": spec}, "notice", fills={"sends"}, reads=["spec"], is_check=True
    )
    answer = check(tab, event, said if sees_it else "", checked)
    assert ("notice" not in answer) is stays


def test_what_an_answer_says_stays_to_its_end() -> None:
    """The steps of one answer, and what follows from it, leave the word that it began with."""

    def choose():
        yield {"notice": "Said."}
        yield {"shown": 1}

    def follow():
        yield None

    tab = SimpleNamespace(session_hash="choosing")
    first = [*with_notice(choose, "notice", fills={"shown"})(tab, gr.EventData(BUTTON, None), "")]
    assert first == [{"notice": "Said."}, {"shown": 1}]
    typed = (tab, gr.EventData(BUTTON, None), "Said.")
    assert [*with_notice(follow, "notice", fills={"shown"})(*typed)] == [{"notice": gr.skip()}]
    assert next(with_notice(choose, "notice")(*typed)) == {"notice": "Said."}


def test_what_a_control_begins_with_is_not_drawn_again() -> None:
    """Only what changes is sent to a page that opens."""
    with gr.Blocks():
        box = gr.Textbox("usual", visible=False)
    assert parts.left(box, gr.update(value="usual", visible=False)) == gr.skip()
    assert parts.left(box, "usual") == gr.skip()
    shown = gr.update(value="usual", visible=True)
    assert parts.left(box, shown) == {"__type__": "update", "visible": True}
    assert parts.left(box, gr.update(value=None)) == gr.update(value=None)


def test_the_place_of_a_slip_is_marked() -> None:
    """What was written with a mark in it, all of it as text."""
    html = parts.problem(PlacedError("'<' at place 3.", "Write +.", "a <b>", 3))
    assert '<pre class="t-place" dir="ltr">a <mark>&lt;</mark>b&gt;</pre>' in html
    assert "&#x27;&lt;&#x27; at place 3." in html


def test_rows_for_a_file_are_json_within_an_attribute() -> None:
    """Quotes and markup stay text; what is not finite is empty."""
    html = parts.csv_button("Save", "a.csv", [["name", "score"], ['<"b">', float("nan")]])
    (data,) = re.findall(r'data-rows="([^"]*)"', html)
    assert json.loads(unescape(data)) == [["name", "score"], ['<"b">', None]]


@pytest.mark.parametrize("follow", [False, True], ids=["at once", "value by value"])
def test_half_a_character_does_not_end_the_stream(follow: bool) -> None:
    """A pasted lone surrogate is shown as a question mark: the server could not send it."""

    def echo(text: str):
        return {"shown": text, "number": 7}

    def echoes(text: str):
        yield {"shown": text, "number": 7}

    answer = with_notice(echoes if follow else echo, "said")(*BY_ITSELF, "an emoji cut: \ud83d")
    assert (next(answer) if follow else answer) == {"shown": "an emoji cut: ?", "number": 7}


def test_values_are_read_in_order_and_as_they_are() -> None:
    request = opened("encoder=hf:a/b?pooling=avg%26layer=1&encoder=d&k=nan")
    assert address.every(request, "encoder") == ["hf:a/b?pooling=avg&layer=1", "d"]
    assert address.first(request, "q", "none") == "none"
    assert address.choice(request, "k", ["1", "2"], "1") == "1"
    assert [address.number(text) for text in ("nan", "x", "-1e3")] == [None, None, -1000]
    assert address.link("p", a=["1", "2"], b=None, c="&") == "./p?a=1&a=2&c=%26"
