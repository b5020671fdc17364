"""The page *Judge*: encoders compared by your own judgements, without labels."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr
from markupsafe import Markup

import theodolite.app.surfaces.web as web
from theodolite.app import endpoints, formats
from theodolite.app.blocks import Action, Actions, Block, Card, Link, Links, Nothing, Text
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.pages.judge import answer, export, retrieval, session as judging
from theodolite.app.pages.judge.job import JudgeJob, ask_second, run_of, sent_by
from theodolite.app.pages.judge.session import MAX_ENCODERS, MAX_NAME, JudgeSpec, Question
from theodolite.app.report.button import report_button
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, PageEvent, Values, on, on_open
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

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
PUBLISHED = answer.PUBLISHED
KEYS = {"relevant": "j 1", "not": "k 0", "left": "j 1 ArrowLeft", "neither": "0"}
KEYS |= {"right": "k 2 ArrowRight"}
"""Mark -> keys that make it."""
MAX_DISAGREEMENTS = 20
"""Disagreements to settle at a time."""
EXAMPLE = "An example: a script that knows the labels judged the starter set."
CONTROLS = (
    *web.controls(
        JudgeSpec,
        without=["queries", "second", "name"],
        collection=collections.COLLECTION,
        encoders=replace(choices.ENCODERS, name="encoders", key="encoder"),
    ),
    Control(
        "judge",
        "Judge",
        default="me",
        hint="Several people can judge the same session.",
        options={"max_lines": 1, "max_length": MAX_NAME},
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
            place = web.answer(elem_id="judging", elem_classes=["t-answer"])
        with gr.Column(scale=4, min_width=320):
            findings = web.answer(elem_id="findings")
    with gr.Column(visible=False, elem_id="unjudged") as another:
        parts.section("Another encoder", "How much of what it returns is already judged.")
        controls.render("other")
        uncounted = parts.notice()
        counted = web.answer(elem_id="unjudged-said")
    blind = gr.State(True)
    session = controls["session"]
    inputs = {**controls, "blind": blind, "queries": queries, "second": model, "sends": sends}
    outputs = [place, findings, another, panel.run, go, session]
    row = [controls["encoders"], controls["collection"]]

    def show(values: Values) -> dict[Any, Any]:
        values.session = values.session or ""
        run = run_of(workspace, values.session)
        left, right = _blocks(workspace, values)
        return {
            place: web.value(left),
            findings: web.value(right),
            another: gr.update(visible=_is_countable(workspace, values.session)),
            panel.run: run["id"] if run else "",
            go: gr.update(variant="secondary" if values.session else "primary"),
            session: _sessions(workspace, values.session),
        }

    def load(request: gr.Request) -> Answer:
        values = controls.from_address(request)
        names = address.every(request, "encoder")
        is_new = bool(address.first(request, "in") or names)
        sessions = _sessions(workspace, values.session, newest=not is_new)
        encoders = choices.from_address(workspace, request, most=MAX_ENCODERS)
        filled = vars(values) | {
            "collection": collections.fill(workspace, values.collection)[1],
            "encoders": choices.fill(workspace, encoders[: MAX_ENCODERS if names else 2]),
            **({} if is_new else _first_row(workspace, sessions["value"])),
            "session": sessions,
            "other": choices.one(workspace, values.other),
        }
        return {controls[name]: value for name, value in filled.items()}

    def turn_to(values: Values) -> Answer:
        first = _first_row(workspace, values.session or "")
        return {**show(values), **{controls[name]: value for name, value in first.items()}}

    def start(values: Values) -> Answer:
        spec = _spec(values)
        judging.check_allowed(workspace, spec.second, allow=values.sends)
        job = JudgeJob.of(spec)
        queue(workspace, job)
        values.session, values.blind = job.session, True
        sent = " ".join(job.notices(workspace))
        changes = {blind: True, notice: parts.say(sent) if sent else ""}
        return {**show(values), **say_where(values), **changes}

    def say_where(values: Values) -> dict[Any, Any]:
        """Say which texts would be sent where; the checkbox shows until that is allowed."""
        words, host = _what_is_sent(workspace, values)
        label = f"Send documents and queries to {host}"
        return {
            where: Markup('<p class="t-small t-muted">{}</p>').format(words),
            sends: gr.update(visible=bool(host), value=False, label=label),
        }

    def act(values: Values, event: PageEvent) -> Answer:
        message = _act(workspace, values.session or "", values.judge, event)
        values.blind ^= event.act == "names"
        return {**show(values), blind: values.blind, notice: parts.say(message) if message else ""}

    def count(values: Values, request: gr.Request) -> Iterator[Answer]:
        def work(say: background_call.Say) -> dict[Any, Any]:
            return {
                counted: web.value(_count_unjudged(workspace, values.session, values.other, say))
            }

        first = f"Asking {values.other} the queries"
        yield from background_call.changes(work, first, request.session_hash, counted)

    opened = on_open(load, lambda values, _: [show(values)], inputs, outputs, notice)
    events = [session.input, controls["judge"].submit]
    turned = on(events, turn_to, inputs, [*outputs, *row], notice, **ALWAYS_LAST)
    on(go.click, start, inputs, [*outputs, blind, where, sends], notice, **HIDE_PROGRESS)
    asks = [model, queries, *(controls[name] for name in ("encoders", "draw", "k"))]
    on([box.change for box in asks], say_where, inputs, [where, sends], notice, **ALWAYS_LAST)
    on(panel.moved.change, show, inputs, outputs, notice, **ALWAYS_LAST)
    marked = on(place.act, act, inputs, [*outputs, blind], notice, **ONE_AT_A_TIME)
    for event in (controls["other"].change, opened.then, turned.then, marked.then):
        on(event, count, controls, [counted], uncounted, **ALWAYS_LAST)
    report = partial(web.report, answer.STATUS, workspace)
    report_button({"session": session, "blind": blind}, notice, report)
    controls.keep()


def _first_row(workspace: Workspace, session: str) -> dict[str, Any]:
    """Values of the first row of controls for a session."""
    if not judging.is_begun(workspace, session):
        return {}
    spec = workspace.store.judgements.get(session)["spec"]
    return {
        "collection": collections.fill(workspace, spec["collection"])[1],
        "encoders": choices.fill(workspace, spec["encoders"]),
    }


def _spec(values: Values) -> JudgeSpec:
    """The session that the controls describe."""
    texts = {"queries": values.queries or "", "second": values.second or "", "name": ""}
    return web.spec_of(JudgeSpec, Values(**vars(values) | texts))


def _what_is_sent(workspace: Workspace, values: Values) -> tuple[str, str]:
    """The texts that the second judge would get, and the host that needs permission."""
    for encoder in values.encoders or ():
        retrieval.canonical(encoder)  # a typed one that cannot be read is refused at once
    if not values.second:
        return "", ""
    try:
        spec = _spec(values)
    except UserError as error:
        return f"{error.message} {error.hint}", ""
    hosts = [one.host for one in endpoints.unallowed(workspace.store, spec.second)]
    return sent_by(spec), ", ".join(hosts)


def _sessions(workspace: Workspace, wanted: str, *, newest: bool = False) -> Any:
    """The list of sessions, also one that is gone; if none is wanted, the newest or the example."""
    rows = workspace.store.judgements.list()
    offered = [(f"{row['title']} ({row['marks']} marked)", row["id"]) for row in rows]
    known = [session for _, session in offered]
    if wanted and wanted not in known:
        run = run_of(workspace, wanted)
        offered.insert(0, (f"{run['title']} (being prepared)" if run else wanted, wanted))
    value = wanted or (next(iter(known), "") if newest else "")
    return gr.update(choices=[*offered, ("Example", "")], value=value)


def _is_countable(workspace: Workspace, session: str) -> bool:
    """Whether a session has marks on documents rather than on lists."""
    rows = workspace.store.judgements.list()
    return any(
        row["marks"] and row["spec"]["mode"] == "relevance" for row in rows if row["id"] == session
    )


def _act(workspace: Workspace, session: str, judge: str, event: PageEvent) -> str:
    """Perform the action of a button; return a notice, empty for none."""
    act, _, mark = event.act.partition(":")
    match act:
        case "mark":
            judging.mark(workspace, session, mark, judge, event.number("id"))
        case "settle":
            judging.settle(workspace, session, event.number("id"), mark)
        case "keep":
            export.keep(workspace, session)
        case "second":
            ask_second(workspace, session)
            return "The second judge is working in the background; you can close the page."
    return ""


def _blocks(workspace: Workspace, values: Values) -> tuple[list[Block], list[Block]]:
    """What is asked, and what the marks say; of the example without a session."""
    session, run = values.session, run_of(workspace, values.session)
    if run and not judging.is_begun(workspace, session):
        hint = (
            "The first follows when all encoders have answered. You can close the page until then."
        )
        return [Nothing("No question yet", hint)], []
    if not session:
        workspace.catalog.stamp(values.collection)  # raises if it is gone
    asks = bool(session) and not workspace.read_only
    # A question may be drawn now, so it comes before the state of the session.
    question = judging.ask(workspace, session, values.judge) if asks else None
    blocks = answer.judgement(workspace, session, names=not values.blind or not session)
    if asks:
        left = [*_question(question, blocks.board, ended=not values.blind), *blocks.saved()]
        state = judging.open_session(workspace, session)
        for position in state.disagreements[:MAX_DISAGREEMENTS]:
            one = state.question(position)
            buttons = _buttons("settle", state.spec.mode, position)
            texts = answer.question_block(one.query, one.texts)
            left.append(Card("Judges disagree", [texts, Actions(buttons, "Which mark counts?")]))
        return left, replace(blocks, dataset="").blocks()
    begin = "" if workspace.read_only else "Choose encoders and a collection, and start your own."
    left = [] if session else [Text("", f"{EXAMPLE} {begin}")]
    return [*left, *answer.last_mark(blocks.board)], blocks.blocks()


def _question(question: Question | None, board: Any, *, ended: bool) -> list[Block]:
    """The next question, with what can be done: mark, take back, end, save."""
    card: Block
    undo = [Action("Undo", "mark:undo", "0", "Undo the last mark", keys="u")] * bool(
        board["judges"]
    )
    if ended:
        card, undo = Nothing("Judging has ended", "The names are shown beside."), []
    elif question is None:
        card = Nothing("Everything is judged", "The difference is now known exactly.")
    else:
        buttons = _buttons("mark", board["mode"], question.position, keys=True)
        blocks = [answer.question_block(question.query, question.texts), Actions([*buttons, *undo])]
        card, undo = Card(f"Question {question.position + 1}", blocks), []
    ways = [
        Action(
            "Judge on, without names" if ended else "End judging and show the names", "names", ""
        )
    ]
    if ended and board["mode"] == "relevance" and board["marks"]:
        ways.append(Action("Save as a data set", "keep", ""))
    if board["second"] and board["second"]["left"]:
        ways.append(Action("Ask the second judge for the rest", "second", ""))
    return [card, Actions([*undo, *ways])]


def _buttons(act: str, mode: str, position: int, *, keys: bool = False) -> list[Action]:
    """A button for each mark of a question."""
    return [
        Action(answer.LABELS[mark], f"{act}:{mark}", str(position), keys=KEYS[mark] if keys else "")
        for mark in judging.MARKS[mode]
    ]


def _count_unjudged(
    workspace: Workspace, session: str | None, encoder: str | None, say: background_call.Say
) -> list[Block]:
    """How many documents of another encoder are unjudged, and a session to judge them."""
    if not encoder or not _is_countable(workspace, session or ""):
        return []
    state = judging.open_session(workspace, session or "")
    background_call.encode(workspace, encoder, state.spec.collection, say)
    counts, spec = export.count_unjudged(workspace, state, encoder), state.spec
    text = (
        f"Of the top {spec.k} of {encoder} for "
        f"{formats.plural(counts['queries'], 'judged query', 'judged queries')}, "
        f"{counts['unjudged']:,} of {formats.plural(counts['returned'], 'document')} are unjudged; "
        f"they never count as wrong. Of the others {counts['relevant']:,} are relevant, "
        f"{counts['not_relevant']:,} are not."
    )
    encoders = [*spec.encoders, encoder]
    if not counts["unjudged"] or encoder in spec.encoders or len(encoders) > MAX_ENCODERS:
        return [Text("", text)]
    again = {"draw": str(spec.draw), "k": str(spec.k), "seed": str(spec.seed)}
    query = {"encoder": encoders, "in": spec.collection, **again}
    return [Text("", text), Links([Link("Begin a session with it", "judge", query)])]
