"""The page *Judge*: encoders compared by your own judgements, without labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from theodolite.app import formats, sending
from theodolite.app.components.actions import actions
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.pages.judge import example, report, second, service, views
from theodolite.app.pages.judge.job import JudgeJob, followed, is_begun, preparing
from theodolite.app.pages.judge.service import SETTLED, JudgeSpec, Session
from theodolite.app.report import answers
from theodolite.app.report.button import report_button
from theodolite.app.report.file import Report
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.background_call import TooSlow
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load, on_open
from theodolite.app.web.events import PageEvent
from theodolite.app.web.frozen import Frozen, Published, View, kept
from theodolite.app.web.parts import ALWAYS_LAST, ONE_AT_A_TIME
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import LIVE

TITLE = "Judge"
PATH = "judge"
CLOSED = (
    "Judging is disabled here, because marks would have to be stored. Run Theodolite on your "
    "own machine to judge."
)
DESCRIPTION = (
    "Compare encoders on data without labels: mark what they return, without knowing which "
    "encoder returned it. The most informative document comes next, and the interval is "
    "valid no matter how often you look."
)
KIND = "judgement"
PUBLISHED_DESCRIPTION = (
    "Encoders compared by what a person found relevant, without knowing which encoder "
    "returned it: the difference of each pair after every mark, with an interval that is "
    "valid even if you look after every mark."
)
PUBLISHED_EXAMPLE = (
    '<p class="t-muted">A session on the starter set, played by a script that knows the labels.</p>'
)
SESSIONS = Control(
    "session", "Session", gr.Dropdown, "", options={"choices": [("Example", "")], "min_width": 260}
)
CONTROLS = (
    choices.CHIPS,
    collections.COLLECTION,
    Control(
        "draw",
        "Queries to draw",
        gr.Number,
        JudgeSpec.draw,
        options={"minimum": 1, "maximum": service.MAX_QUERIES, "precision": 0},
    ),
    Control(
        "k",
        "Top k",
        gr.Number,
        JudgeSpec.k,
        options={"minimum": 1, "maximum": service.MAX_K, "precision": 0},
    ),
    Control(
        "mode",
        "Mark",
        gr.Radio,
        JudgeSpec.mode,
        choices=[
            ("Documents: relevant or not", "relevance"),
            ("Lists: left or right", "preference"),
        ],
    ),
    Control(
        "measure",
        "Ranks",
        gr.Radio,
        JudgeSpec.measure,
        choices=[
            ("Lower ranks count less (DCG)", "dcg"),
            ("All ranks count the same (precision)", "precision"),
        ],
    ),
    Control(
        "margin",
        "Smallest difference that matters",
        gr.Number,
        JudgeSpec.margin,
        options={"minimum": 0, "maximum": 100},
    ),
    Control(
        "seed", "Random seed", gr.Number, JudgeSpec.seed, options={"minimum": 0, "precision": 0}
    ),
    Control(
        "judge",
        "Judge",
        default="me",
        hint="Several people can judge the same session.",
        options={"max_lines": 1, "max_length": 80},
    ),
    SESSIONS,
    Control("other", "Encoder", gr.Dropdown, options={"choices": [], "min_width": 220}),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "collection")
        go = gr.Button(
            "Start judging", variant="primary", elem_id="start", visible=not workspace.read_only
        )
        with parts.more():
            controls.render("session", "judge")
            own = gr.Textbox(
                label="Your queries, one per line; empty: drawn at random",
                lines=4,
                max_lines=12,
                elem_id="queries",
            )
            controls.render("draw", "k", "mode", "measure", "margin", "seed")
            # Not among the controls: no address may name a recipient of texts, nor allow sending.
            model = gr.Textbox(
                label="Second judge: a model that also marks",
                max_lines=1,
                placeholder="api:http://localhost:11434/v1#qwen3",
                elem_id="second",
                elem_classes=["t-mono"],
                visible=not workspace.read_only,
            )
            where = parts.static("", elem_id="second-where")
            sends = gr.Checkbox(visible=False, elem_id="second-sends")
    notice = parts.notice()
    panel = RunPanel(workspace)
    controls.add("run", panel.run)
    place = actions(elem_id="judging", elem_classes=["t-answer"])
    another = _Unjudged(workspace, controls)
    names = gr.State(False)

    def standing(session: str, judge: str, seen: bool) -> dict[Any, Any]:
        return {
            place: drawn(workspace, session, judge, seen),
            **another.shown(session),
            go: gr.update(variant="secondary" if session else "primary"),
        }

    def load(request: gr.Request) -> Answer:
        values = controls.from_address(request)
        named = bool(address.first(request, "in") or address.every(request, "encoder"))
        sessions = _sessions(workspace, values.session, newest=not named)
        run = followed(workspace, sessions["value"])
        most = service.MAX_ENCODERS if address.every(request, "encoder") else 2
        encoders = choices.from_address(workspace, request, most=service.MAX_ENCODERS)[:most]
        found = vars(values) | {
            "collection": collections.filled(workspace, values.collection)[1],
            "encoder": choices.filled(workspace, encoders),
            **({} if named else _first_row(workspace, sessions["value"])),
            "session": sessions,
            "other": choices.one(workspace, values.other),
            "run": run["id"] if run else "",
        }
        return {controls[name]: value for name, value in found.items()}

    def turn_to(values: Values) -> Answer:
        """Show another session."""
        filled = {
            controls[name]: value
            for name, value in _first_row(workspace, values.session or "").items()
        }
        return {**show(values), **filled}

    def show(values: Values) -> dict[Any, Any]:
        run = followed(workspace, values.session or "")
        return {
            panel.run: run["id"] if run else "",
            **standing(values.session or "", values.judge, values.names),
        }

    def start(values: Values) -> Answer:
        job, run, sent = _started(workspace, values)
        return {
            **({notice: parts.say(sent)} if sent else {}),
            panel.run: run,
            names: False,
            controls["session"]: _sessions(workspace, job.session),
            **standing(job.session, values.judge, False),
            **say_where(values),
        }

    def say_where(values: Values) -> dict[Any, Any]:
        """Say which texts would be sent where; the checkbox shows until that is allowed."""
        words, host = _sending(workspace, values)
        label = f"Send documents and queries to {host}"
        return {where: words, sends: gr.update(visible=bool(host), value=False, label=label)}

    def moved(values: Values) -> Answer:
        """Show the session as its run progresses; a run that is done gives way to the next."""
        filled = {controls["session"]: _sessions(workspace, values.session or "")}
        return {**show(values), **filled}

    def act(values: Values, event: PageEvent) -> Answer:
        text = _acted(workspace, values.session or "", values.judge, event)
        seen = not values.names if event.act == "names" else values.names
        return {**show(Values(**vars(values) | {"names": seen})), names: seen} | (
            {notice: parts.say(text)} if text else {}
        )

    given = {**controls, "names": names, "queries": own, "second": model, "sends": sends}
    answer = [place, another.place, panel.run, go]
    first = on_open(load, lambda values, _: [show(values)], given, answer, notice)
    other = on(
        [controls["session"].input, controls["judge"].submit],
        turn_to,
        given,
        [*answer, controls["encoder"], controls["collection"]],
        notice,
        **ALWAYS_LAST,
    )
    on(
        go.click,
        start,
        given,
        [*answer, names, controls["session"], where, sends],
        notice,
        **ALWAYS_LAST,
    )
    asks = [model, own, *(controls[name] for name in ("encoder", "draw", "k"))]
    on([box.change for box in asks], say_where, given, [where, sends], notice, **ALWAYS_LAST)
    on(panel.moved.change, moved, given, [*answer, controls["session"]], notice, **ALWAYS_LAST)
    pressed = on(place.act, act, given, [*answer, names], notice, **ONE_AT_A_TIME)
    another.connect(controls, [first, other, pressed])
    filled = {"session": controls["session"], "names": names}
    report_button(filled, notice, partial(_report, workspace))
    controls.keep()


def _first_row(workspace: Workspace, session: str) -> dict[str, Any]:
    """Values of the first row of controls for a session."""
    if not is_begun(workspace, session):
        return {}
    spec = workspace.store.judgements.get(session)["spec"]
    return {
        "collection": collections.filled(workspace, spec["collection"])[1],
        "encoder": choices.filled(workspace, spec["encoders"]),
    }


def _started(workspace: Workspace, values: Values) -> tuple[JudgeJob, str, str]:
    """Queue the start of a session: the job, its run, and a notice of texts sent to endpoints."""
    spec = service.spec(
        values.collection,
        values.encoder,
        queries=(values.queries or "").splitlines(),
        draw=values.draw,
        k=values.k,
        mode=values.mode,
        measure=values.measure,
        margin=values.margin,
        seed=values.seed,
        second=values.second or "",
    )
    if spec.second:
        second.consent(workspace, spec.second, values.sends)
    job = JudgeJob.of(spec)
    run = queue(workspace, job)
    announced = sending.announced(workspace, spec.encoders, spec.collection)
    return job, run, " ".join(message for _, message in announced)


def _sending(workspace: Workspace, values: Values) -> tuple[str, str]:
    """The texts that the second judge would get, as HTML, and the host that needs permission."""
    queries = tuple(text for text in (values.queries or "").splitlines() if text.strip())
    spec = JudgeSpec(
        "", tuple(values.encoder or ()), queries, int(values.draw or 0), int(values.k or 0)
    )
    try:
        words, host = second.at_most(workspace, values.second or "", spec)
    except UserError as error:
        words, host = f"{error.message} {error.hint}", ""
    return f'<p class="t-small t-muted">{escape(words)}</p>' if words else "", host


def _acted(workspace: Workspace, session: str, judge: str, event: PageEvent) -> str:
    """Perform the action of a button; return a notice, empty for none."""
    position, _, mark = event.id.partition(":")
    if event.act in ("mark", "settle") and not (position.isdecimal() and len(position) < 9):
        raise UserError(f"{position[:20]!r} is not a question.", "Reload the page.")
    if event.act == "mark":
        service.mark(workspace, session, mark, judge, int(position))
    elif event.act == "settle":
        service.settle(workspace, session, int(position), mark)
    elif event.act == "undo":
        service.undo(workspace, session, judge)
    elif event.act == "keep":
        name = report.keep(workspace, session)
        return f"Saved as the data set {name}, which is also a task to evaluate."
    elif event.act == "second":
        second.ask(workspace, session)
        return "The second judge is working in the background; you can close the page."
    return ""


def drawn(workspace: Workspace, session: str, judge: str, names: bool) -> str:
    """A session in its current state as HTML; the example without one."""
    if not session:
        board = example.board()
        if board is None:
            return parts.empty("No session yet", "Choose encoders and a collection, and start.")
        found = views.findings(board, names=True, visitor=True)
        return views.whole(views.last(board, "The script"), found, before=views.EXAMPLE)
    if run := preparing(workspace, session):
        return views.preparing(run["state"] in LIVE)
    visitor = workspace.read_only
    question = None if visitor else service.question(workspace, session, judge)
    now = service.opened(workspace, session)
    board = report.board(now)
    left = views.last(board, "The last mark") if visitor else views.question(question, board)
    positions = [] if visitor else board["disagreements"]
    shown = [service.shown(now, position) for position in positions]
    below = views.disagreements(now, positions, shown)
    run = followed(workspace, session)
    marking = run is not None and run["state"] in LIVE
    found = views.findings(board, names=names, visitor=visitor, marking=marking)
    return views.whole(left, found, below)


def _report(workspace: Workspace, values: Values) -> Report:
    """A report of the findings so far, with the encoders' names only if they are shown."""
    if values.session:
        return answers.judgement(workspace, values.session, names=values.names)
    board = example.board()
    if board is None:
        raise UserError(
            "There is no session to report.", "Start one, or choose one.", code="missing"
        )
    return answers.of_judgement(board)


def _sessions(workspace: Workspace, wanted: str, *, newest: bool = True) -> Any:
    """The list of sessions; without the wanted one, the newest or the example is chosen."""
    offered = [
        (f"{row['title']} ({row['marks']} marked)", row["id"])
        for row in workspace.store.judgements.list()
    ]
    if run := preparing(workspace, wanted):
        offered.insert(0, (f"{run['title']} (being prepared)", wanted))
    known = [name for _, name in offered]
    value = wanted if wanted in known else next(iter(known), "") if newest else ""
    return gr.update(choices=[*offered, ("Example", "")], value=value)


class _Unjudged:
    """A list of encoders, and the counts for the chosen one.

    Attributes:
        place: the column that holds the section.
    """

    def __init__(self, workspace: Workspace, controls: Controls) -> None:
        self._workspace = workspace
        with gr.Column(visible=False, elem_id="unjudged") as self.place:
            parts.section("Another encoder", "How much of what it returns is already judged.")
            controls.render("other")
            self._notice = parts.notice()
            self._said = parts.static("", elem_id="unjudged-said")

    def connect(self, controls: Controls, marked: Sequence[Any]) -> None:
        """Count when an encoder is chosen, and after each event that may change the marks."""
        inputs = {name: controls[name] for name in ("other", "session")}
        for event in (controls["other"].change, *(one.then for one in marked)):
            on(event, self._count, inputs, [self._said], self._notice, **ALWAYS_LAST)

    def shown(self, session: str) -> dict[Any, Any]:
        """Show the section if the session has judged documents."""
        return {self.place: gr.update(visible=_countable(self._workspace, session))}

    def _count(self, values: Values, request: gr.Request) -> Iterator[Answer]:
        session, encoder = values.session or "", values.other
        if not encoder or not _countable(self._workspace, session):
            yield {self._said: ""}
            return
        found = service.opened(self._workspace, session)

        def count(say: background_call.Say) -> dict[str, int]:
            background_call.encode(self._workspace, encoder, found.spec.collection, say)
            return report.unjudged(found, self._workspace, encoder)

        first = f"Asking {encoder} the queries"
        try:
            for progress, counts in background_call.followed(count, first, request.session_hash):
                yield {
                    self._said: views.unjudged(found.spec, encoder, counts) if counts else progress
                }
        except TooSlow as slow:
            verb = f"theodolite judge unjudged {session} -e '{encoder}'"
            raise UserError(
                f"{encoder} has much left to encode: {formats.time_left(slow.left)}.",
                f"Encoded vectors are kept; choose it again, or run in a terminal: {verb}",
                code="too-large",
            ) from slow


def _countable(workspace: Workspace, session: str) -> bool:
    """Whether a session has marks on documents rather than on lists."""
    if not is_begun(workspace, session):
        return False
    row = workspace.store.judgements.get(session)
    return bool(row["marks"]) and row["spec"]["mode"] == "relevance"


def _carry(published: Published) -> None:
    """Publish the sessions of published encoders on data whose texts are published."""
    for row in published.source.store.judgements.list():
        spec = row["spec"]
        wanted = set(spec["encoders"]) <= published.encoders.keys()
        if not (wanted and row["marks"] and spec["collection"] in published.texts):
            continue
        with suppress(UserError):  # its texts are not published
            published.workspace.catalog.load(published.texts[spec["collection"]])
            board = report.board(_nameless(service.opened(published.source, row["id"])))
            if board["second"]:  # the address of its server is private
                board["second"] |= {"model": board["second"]["model"].rpartition("#")[2]}
            published.keep(KIND, row["id"], board | {"id": "", "title": row["title"]})


def _nameless(found: Session) -> Session:
    """The session with its judges numbered instead of named."""
    names = sorted({name for at in found.marks.values() for name in at} - {SETTLED})
    called = {name: f"judge {number}" for number, name in enumerate(names, 1)} | {SETTLED: SETTLED}
    marks = {
        position: {called[name]: mark for name, mark in at.items()}
        for position, at in found.marks.items()
    }
    return replace(found, marks=marks)


def _published_sessions(published: Published) -> list[View]:
    """Every published session, the newest first; else the shipped example."""
    found = []
    for row in published.source.store.judgements.list():
        if board := kept(published.workspace, KIND, row["id"]):
            found.append(View(board["title"], (("session", row["id"]),)))
    board = example.board()
    if not found and board and set(board["blind"]) <= set(published.encoders.values()):
        with suppress(UserError):
            published.workspace.catalog.load(board["collection"])
            found.append(View("Example", ()))
    return found


def _build_published(workspace: Workspace) -> None:
    """Lay out the page: one session, read-only."""
    with parts.bar(TITLE, PUBLISHED_DESCRIPTION):
        pass
    notice = parts.notice()
    place = parts.static("", elem_id="judging", elem_classes=["t-answer"])

    def load(request: gr.Request) -> Answer:
        session = address.first(request, "session")
        board: Any = kept(workspace, KIND, session) if session else example.board()
        if board is None:
            raise UserError(f"The session {session[:40]!r} is not published.", code="unknown")
        left = views.last(board, "The last mark" if session else "The script")
        found = views.findings(board, names=True, visitor=True)
        return {place: views.whole(left, found, before="" if session else PUBLISHED_EXAMPLE)}

    on_load(load, [place], notice)


FROZEN = Frozen(carry=_carry, views=_published_sessions, build=_build_published)
