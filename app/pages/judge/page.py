"""The page *Judge*: encoders compared by your own judgements, without labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.components.actions import actions
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.pages.judge import export, published, second, service, views
from theodolite.app.pages.judge.answer import STATUS, judgement
from theodolite.app.pages.judge.job import JudgeJob, followed, is_begun
from theodolite.app.pages.judge.session import opened
from theodolite.app.pages.judge.spec import MAX_ENCODERS, JudgeSpec
from theodolite.app.report.button import report_button
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.background_call import TooSlow
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_open
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, ONE_AT_A_TIME
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import parse
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
PUBLISHED = published.PUBLISHED
CONTROLS = (
    *web.controls(
        JudgeSpec,
        without=["queries", "second"],
        collection=collections.COLLECTION,
        encoders=replace(choices.CHIPS, name="encoders", key="encoder"),
    ),
    Control(
        "judge",
        "Judge",
        default="me",
        hint="Several people can judge the same session.",
        options={"max_lines": 1, "max_length": 80},
    ),
    Control(
        "session",
        "Session",
        gr.Dropdown,
        "",
        options={"choices": [("Example", "")], "min_width": 260},
    ),
    Control("other", "Encoder", gr.Dropdown, options={"choices": [], "min_width": 220}),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls, own = Controls(*CONTROLS), not workspace.read_only
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoders", allow_custom_value=own)
        controls.render("collection")
        go = gr.Button("Start judging", variant="primary", elem_id="start", visible=own)
        with parts.more():
            controls.render("session", "judge")
            queries = gr.Textbox(
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
                visible=own,
            )
            where = parts.static("", elem_id="second-where")
            sends = gr.Checkbox(visible=False, elem_id="second-sends")
    notice = parts.notice()
    panel = RunPanel(workspace)
    controls.add("run", panel.run)
    with gr.Row(elem_classes=["t-judging"]):
        with gr.Column(scale=5, min_width=320):
            place = actions(elem_id="judging", elem_classes=["t-answer"])
        with gr.Column(scale=4, min_width=320):
            findings = web.answer(elem_id="findings")
    another = _Unjudged(workspace, controls)
    blind = gr.State(True)
    given = {**controls, "blind": blind, "queries": queries, "second": model, "sends": sends}
    shown = [place, findings, another.place, panel.run, go]

    def show(values: Values) -> dict[Any, Any]:
        session = values.session or ""
        run = followed(workspace, session)
        left, right = _drawn(workspace, session, values.judge, values.blind)
        return {
            panel.run: run["id"] if run else "",
            place: left,
            findings: right,
            **another.shown(session),
            go: gr.update(variant="secondary" if session else "primary"),
        }

    def load(request: gr.Request) -> Answer:
        values = controls.from_address(request)
        named = bool(address.first(request, "in") or address.every(request, "encoder"))
        sessions = _sessions(workspace, values.session, newest=not named)
        run = followed(workspace, sessions["value"])
        most = MAX_ENCODERS if address.every(request, "encoder") else 2
        encoders = choices.from_address(workspace, request, most=MAX_ENCODERS)[:most]
        found = vars(values) | {
            "collection": collections.filled(workspace, values.collection)[1],
            "encoders": choices.filled(workspace, encoders),
            **({} if named else _first_row(workspace, sessions["value"])),
            "session": sessions,
            "other": choices.one(workspace, values.other),
            "run": run["id"] if run else "",
        }
        return {controls[name]: value for name, value in found.items()}

    def turn_to(values: Values) -> Answer:
        """Show another session."""
        first = _first_row(workspace, values.session or "")
        return {**show(values), **{controls[name]: value for name, value in first.items()}}

    def start(values: Values) -> Answer:
        spec = _spec(values)
        if spec.second:
            second.consent(workspace, spec.second, values.sends)
        job = JudgeJob.of(spec)
        run, sent = queue(workspace, job), " ".join(job.notices(workspace))
        values.session, values.blind = job.session, True
        return {
            **show(values),
            notice: parts.say(sent) if sent else "",
            panel.run: run,
            blind: True,
            controls["session"]: _sessions(workspace, job.session),
            **say_where(values),
        }

    def say_where(values: Values) -> dict[Any, Any]:
        """Say which texts would be sent where; the checkbox shows until that is allowed."""
        for spec in values.encoders or ():
            parse(spec)  # a typed one that cannot be read is refused at once
        words, host = _sending(workspace, values)
        label = f"Send documents and queries to {host}"
        return {
            where: f'<p class="t-small t-muted">{escape(words)}</p>' if words else "",
            sends: gr.update(visible=bool(host), value=False, label=label),
        }

    def moved(values: Values) -> Answer:
        """Show the session as its run progresses; a run that is done gives way to the next."""
        return {**show(values), controls["session"]: _sessions(workspace, values.session or "")}

    def act(values: Values, event: PageEvent) -> Answer:
        text = _acted(workspace, values.session or "", values.judge, event)
        values.blind ^= event.act == "names"
        said = {notice: parts.say(text)} if text else {}
        return {**show(values), blind: values.blind, **said}

    first = on_open(load, lambda values, _: [show(values)], given, shown, notice)
    session = controls["session"]
    row = [controls["encoders"], controls["collection"]]
    asked = [session.input, controls["judge"].submit]
    other = on(asked, turn_to, given, [*shown, *row], notice, **ALWAYS_LAST)
    started = [*shown, blind, session, where, sends]
    on(go.click, start, given, started, notice, **ALWAYS_LAST)
    asks = [model, queries, *(controls[name] for name in ("encoders", "draw", "k"))]
    on([box.change for box in asks], say_where, given, [where, sends], notice, **ALWAYS_LAST)
    on(panel.moved.change, moved, given, [*shown, session], notice, **ALWAYS_LAST)
    pressed = on(place.act, act, given, [*shown, blind], notice, **ONE_AT_A_TIME)
    another.connect(controls, [first, other, pressed])
    report = partial(web.report, STATUS, workspace)
    report_button({"session": session, "blind": blind}, notice, report)
    controls.keep()


def _first_row(workspace: Workspace, session: str) -> dict[str, Any]:
    """Values of the first row of controls for a session."""
    if not is_begun(workspace, session):
        return {}
    spec = workspace.store.judgements.get(session)["spec"]
    return {
        "collection": collections.filled(workspace, spec["collection"])[1],
        "encoders": choices.filled(workspace, spec["encoders"]),
    }


def _spec(values: Values) -> JudgeSpec:
    """The session that the controls describe."""
    texts = {"queries": values.queries or "", "second": values.second or ""}
    return web.spec_of(JudgeSpec, Values(**vars(values) | texts))


def _sending(workspace: Workspace, values: Values) -> tuple[str, str]:
    """The texts that the second judge would get, and the host that needs permission."""
    try:
        return second.at_most(workspace, _spec(values)) if values.second else ("", "")
    except UserError as error:
        return f"{error.message} {error.hint}", ""


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
        export.keep(workspace, session)
    elif event.act == "second":
        second.ask(workspace, session)
        return "The second judge is working in the background; you can close the page."
    return ""


def _drawn(workspace: Workspace, session: str, judge: str, blind: bool) -> tuple[str, str]:
    """The question of a session, and what its marks say; the example without one."""
    run = followed(workspace, session)
    if session and run and not is_begun(workspace, session):
        return views.preparing(run["state"] in LIVE), ""
    asks = bool(session) and not workspace.read_only
    # A question may be drawn now, so it comes before the state of the session.
    question = service.question(workspace, session, judge) if asks else None
    said = judgement(workspace, session, names=not blind or not session)
    if asks:
        left = views.question(question, said.board, ended=not blind)
        left += views.disagreements(opened(workspace, session), said.board["disagreements"])
    else:
        left = "" if session else views.EXAMPLE
        if not session and not workspace.read_only:
            left += views.BEGIN
        left += views.last(said.board, "The last mark" if session else "The script")
    return left, web.value(said.blocks())


def _sessions(workspace: Workspace, wanted: str, *, newest: bool = True) -> Any:
    """The list of sessions; without the wanted one, the newest or the example is chosen."""
    offered = [
        (f"{row['title']} ({row['marks']} marked)", row["id"])
        for row in workspace.store.judgements.list()
    ]
    if (run := followed(workspace, wanted)) and not is_begun(workspace, wanted):
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
        found = opened(self._workspace, session)

        def count(say: background_call.Say) -> dict[str, int]:
            background_call.encode(self._workspace, encoder, found.spec.collection, say)
            return export.unjudged(found, self._workspace, encoder)

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
