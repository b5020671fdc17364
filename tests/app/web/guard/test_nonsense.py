"""Addresses, calls and events that no page makes: no inside of the app comes out.

Spoken over HTTP, for a browser would not send them.
"""

import json
import uuid
from typing import Any

import httpx
import pytest

from tests.app.web.guard.conftest import LISTED
from theodolite.app.pages.encoders.service import STARTERS
from theodolite.app.web.guard.bodies import whole_characters
from theodolite.app.workspace import Workspace

SIGNS = ("Traceback", 'File "', "site-packages")
NONSENSE: list[Any] = [
    None,
    {},
    {"act": "open"},
    {"id": "x"},
    {"act": 7, "id": ["a"]},
    {"act": None, "id": None},
    {"act": "again", "id": "x"},
    {"act": "again", "id": "a\nb\nc"},
    {"act": "again", "id": "-1"},
    {"act": "again", "id": "9" * 40},
    {"act": "remove", "id": {"a": 1}},
    {"result": "one"},
    {"result": -1},
    {"result": 10**30},
    {"act": "open", "id": "x" * 100_000},
    [],
    "act",
    3,
    True,
]
"""What no page sends with an event."""


def sent(
    client: httpx.Client, events: list[tuple[dict[str, Any], list[Any], Any]], tab: str = ""
) -> list[str]:
    """Send events with their values and data at once, as one tab, and return what each comes to."""
    session, waiting, seen = tab or uuid.uuid4().hex, set(), []
    for event, values, about in events:
        body = {
            "fn_index": event["id"],
            "data": values,
            "event_data": about,
            "session_hash": session,
        }
        # httpx itself would not send half a character.
        answer = client.post(
            "gradio_api/queue/join",
            content=json.dumps(body),
            headers={"Content-Type": "application/json"},
        )
        if answer.is_success:
            waiting.add(answer.json()["event_id"])
        else:
            assert answer.status_code < 500
            seen.append(answer.text)
    with client.stream("GET", "gradio_api/queue/data", params={"session_hash": session}) as lines:
        for line in lines.iter_lines():
            if not waiting:
                break
            if "process_completed" in line:
                waiting.discard(json.loads(line[5:])["event_id"])
                seen.append(line)
    return seen


def config(client: httpx.Client) -> dict[str, Any]:
    """What Gradio tells its page."""
    return dict(client.get("config").raise_for_status().json())


def unset(component: dict[str, Any]) -> Any:
    """What the browser sends of a control that the page has not filled; a radio has a choice."""
    if component["type"] == "radio":
        return component["props"]["choices"][0][1] if component["props"]["choices"] else ""
    return {"textbox": "", "state": "", "checkboxgroup": []}.get(component["type"])


def handlers(
    client: httpx.Client, *kinds: str, about: Any = None
) -> list[tuple[dict[str, Any], list[Any], Any]]:
    """Events answered in Python, with the values that their controls begin with, and data.

    All of them, or those of some kinds.
    """
    page_config = config(client)
    values = {c["id"]: c["props"].get("value") or unset(c) for c in page_config["components"]}
    return [
        (event, [values[number] for number in event["inputs"]], about)
        for event in page_config["dependencies"]
        if event["backend_fn"] and (not kinds or any(kind in kinds for _, kind in event["targets"]))
    ]


def calm(text: str) -> bool:
    """Whether an answer keeps the inside to itself."""
    return not any(sign in text for sign in (*SIGNS, "root:"))


HOSTILE_PATHS = [
    "/pwa_icon/1",
    "/pwa_icon/99999",
    "/pwa_icon/x",
    "/pwa_icon/-1",
    f"/static/{'a' * 300}",
    f"/assets/{'b' * 5000}",
    f"/static/{'c/' * 3000}",
    "/static/%00",
    f"/svelte/{'d' * 300}",
    f"/gradio_api/file={'e' * 300}",
    f"/gradio_api/file=/{'f/' * 3000}",
    "/gradio_api/file=%00",
    "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/static/../../etc/passwd",
    "/gradio_api/file=https://example.org/x",
    "/gradio_api/file/http:/x",
    "/assets/%ff%fe",
    "/gradio_api/proxy=https://a.hf.space/x",
    "/gradio_api/deep_link",
    "/theodolite/map/../points",
    "/gradio_api/custom_component/a/client/b/c",
    "/search?" + "q=a&" * 2000,
    "/map?encoder=%ff",
    "/search?deep_link=..%2f..%2fetc",
    "/gradio_api/stream/a/b/c/playlist.m3u8",
    "/monitoring/x",
    "/gradio_api/upload_progress?upload_id=" + "u" * 300,
    "/theodolite/map/x/decode?x=nan&y=inf",
    "/gradio_api/call/x/y",
    "/gradio_api/vibe-code",
    "/gradio_api/runs",
]


@pytest.mark.parametrize("path", HOSTILE_PATHS, ids=lambda path: path[:40])
def test_a_hostile_address_is_refused_calmly(client: httpx.Client, path: str) -> None:
    """No error of the server's, no file from outside, nothing of its inside."""
    with client.stream("GET", path) as answer:
        text = next(answer.iter_text(), "") if answer.status_code != 204 else ""
    assert answer.status_code < 500
    assert calm(text)


BODIES: list[tuple[str, Any]] = [
    ("queue/join", {"fn_index": 10**6, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": -1, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": None, "data": [], "session_hash": "s"}),
    ("queue/join", {"fn_index": 0, "data": "x", "session_hash": 7}),
    ("queue/join", {"fn_index": 0, "data": [], "session_hash": None}),
    ("queue/join", []),
    ("queue/join", None),
    ("queue/join", "x"),
    ("run/predict", {"fn_index": 10**6, "data": []}),
    ("run/nothing", {"data": []}),
    ("api/nothing", {"data": [1]}),
    ("call/nothing", {"data": []}),
    ("call/v2/nothing", {"a": 1}),
    ("cancel", {"session_hash": "a", "fn_index": 1}),
    ("cancel", {"session_hash": "a", "fn_index": 10**9, "event_id": "x"}),
    ("component_server", {"session_hash": "a", "component_id": 10**9, "fn_name": "x", "data": 1}),
    ("component_server", {"session_hash": "a", "component_id": 1, "fn_name": "__init__"}),
    ("component_server", []),
    ("stream/x", {"data": []}),
    ("stream/x/close", {}),
    ("reset", {}),
    ("vibe-edit/", {"prompt": "x"}),
    ("run-history/connect", {}),
    ("process_recording", {}),
]


@pytest.mark.parametrize(("path", "body"), BODIES, ids=str)
def test_a_call_of_what_is_not_there_is_refused_calmly(
    client: httpx.Client, path: str, body: Any
) -> None:
    """A function, component or stream that does not exist is no error of the server's."""
    answer = client.post(f"/gradio_api/{path}", json=body)
    assert answer.status_code < 500
    assert calm(answer.text)


@pytest.mark.parametrize("about", NONSENSE, ids=lambda about: json.dumps(about)[:40])
def test_every_part_of_a_page_stands_nonsense(
    client: httpx.Client, workspace: Workspace, about: Any
) -> None:
    """Each event of ours says what is wrong with it, as the sender's doing, and changes nothing."""
    events = handlers(client, "act", "select", about=about)
    output = sent(client, events)
    assert len(output) == len(events) >= 12
    for text in output:
        assert "internal error" not in text and '"success":false' not in text
        assert calm(text)
    assert set(workspace.store.encoders.names()) <= {LISTED, *STARTERS}
    assert workspace.store.runs.list() == []


@pytest.mark.parametrize(
    ("body", "mended"),
    [
        (r"\ud83d\ude00", r"\ud83d\ude00"),
        (r"a\ud83db", r"a\ufffdb"),
        (r"\uDE00", r"\ufffd"),
        (r"\\ud83d", r"\\ud83d"),
        (r"\\\ud83d", r"\\\ufffd"),
        (r"\u00e9", r"\u00e9"),
        (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
    ],
)
def test_halves_of_characters_are_told_from_whole_ones(body: str, mended: str) -> None:
    """An escaped backslash before a `u` names no character."""
    assert whole_characters(body.encode()).decode() == mended


def test_every_control_stands_null(
    client: httpx.Client, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every handler of every page, with null for each of its values: none raises."""
    events = [(event, [None] * len(values), None) for event, values, _ in handlers(client)]
    for text in sent(client, events):
        assert "internal error" not in text
    assert not [record for record in caplog.records if record.exc_info]
    assert "Traceback" not in capfd.readouterr().err


def test_a_choice_that_is_none_is_a_line_in_the_log(
    client: httpx.Client, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A visitor cannot fill the disk with tracebacks; the page says what to do."""
    kinds = {c["id"]: c["type"] for c in config(client)["components"]}
    wrong = {"radio": "no such", "number": "x", "checkbox": 7, "checkboxgroup": 3, "dropdown": {}}
    events = [
        (event, [wrong.get(kinds[number]) for number in event["inputs"]], None)
        for event, *_ in handlers(client)
        if {kinds[number] for number in event["inputs"]} & wrong.keys()
    ]
    output = sent(client, events[:40])
    assert len(output) == 40
    for text in output:
        assert "Load the page again" in text
        assert calm(text)
    lines = [record.getMessage() for record in caplog.records if "no page sends" in record.message]
    assert len(lines) == 40
    assert max(map(len, lines)) < 300
    assert not [record for record in caplog.records if record.exc_info]
    assert "Traceback" not in capfd.readouterr().err
