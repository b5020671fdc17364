"""The page *Encoders*: the listed encoders, and a form to write a new one."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import (
    Action,
    Actions,
    Block,
    Card,
    Caveat,
    Caveats,
    Facts,
    Link,
    Links,
    Nothing,
    Table,
    Text,
)
from theodolite.app.pages.encoders import builder, choices, service
from theodolite.app.pages.encoders.checks import AUDIT, COVERAGE, AuditSpec, CoverageSpec
from theodolite.app.pages.encoders.thresholds import THRESHOLDS, ThresholdsSpec
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, PageEvent, Values, on, on_load
from theodolite.app.web.parts import HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.facts import describe
from theodolite.engine.encoders.spec import MODELS, TASK_DATA, parse
from theodolite.engine.errors import UserError

TITLE = "Encoders"
PATH = "encoders"
CLOSED = (
    "Adding encoders is disabled here: a demonstration loads only the listed encoders. Run "
    "Theodolite on your own machine to add some."
)
DESCRIPTION = (
    "An encoder turns text into vectors. Its spec, a short text, works the same here, on the "
    "command line and in Python."
)
SPEC = Control(
    "spec",
    "Spec",
    options={
        "placeholder": "hf:bert-base-uncased?pooling=cls_token | normalise",
        "elem_classes": ["t-mono", "t-wide"],
        "max_lines": 1,
    },
)
MAX_UNSEARCHED, MAX_PROMPTS = 30, 6
"""Encoders of a list without a search, and most of a model's own prompts that are shown."""
NARROW = """(words) => requestAnimationFrame(() => theodolite.narrow("#encoders", words))"""
TO_CARD = """() => theodolite.reach("#opened section")"""
RENAMED = """(spec, said) => { if (said.includes("t-good")) theodolite.renamed(spec) }"""
"""Other tabs that show the encoder open again, with its new name."""
KINDS = {
    "minilm": "transformer",
    "hf": "transformer",
    "dir": "transformer",
    "mteb": "model of MTEB's",
    "wordllama": "static vectors",
    "words": "word vectors",
    "borep": "random projection",
    "random": "baseline",
    "vectors": "computed vectors",
    "api": "endpoint",
}
USES = {
    "evaluate": "Evaluate it",
    "search": "Search with it",
    "map": "Map",
    "geometry": "Geometry",
    "decode": "Decode",
}
"""Page that an encoder can be opened on -> the label of the link."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    form = _Form(workspace)
    notice = form.notice
    find = gr.Textbox(label="Find", elem_id="find", max_lines=1, visible=False)
    card = web.answer(elem_id="opened")
    opened = gr.Textbox(visible="hidden", label="Opened")
    with gr.Row(elem_classes=["t-first"], visible=False) as naming:
        called = gr.Textbox(label="Name", elem_id="called", max_lines=1, scale=0, min_width=420)
        rename = gr.Button("Rename", size="md")
    checked = web.answer(elem_id="checked")
    listing = web.answer(elem_id="encoders", elem_classes=["t-answer"])
    parts.static(f'<div id="encoders-none" hidden>{parts.empty("No encoder matches", "")}</div>')
    outputs = [card, opened, naming, called, listing, checked]

    def draw(name: str) -> dict[Any, Any]:
        rows = {row["name"]: row for row in service.list_facts(workspace)}
        one = [_card(workspace, rows[name])] if name in rows else []
        way = "" if workspace.read_only else "Add one above; three come with the starter set."
        every = _table(workspace, rows) if rows else Nothing("No encoders yet", way)
        mine = name in rows and service.can_be_named(name) and not workspace.read_only
        label = (rows[name]["label"] or "") if mine else ""
        updates = {card: web.value(one), listing: web.value([every]), checked: ""}
        return {**updates, opened: name, naming: gr.update(visible=mine), called: label}

    def load(request: gr.Request) -> Answer:
        many = len(service.names(workspace)) > MAX_UNSEARCHED
        named = address.first(request, "encoder")
        updates = {**draw(choices.read(named) or named), find: gr.update(visible=many)}
        return updates | {notice: _why_missing(workspace, named)}

    def act(event: PageEvent) -> Iterator[Answer]:
        name = event.id
        if event.act == "remove":
            message = f"Removed {service.remove(workspace, name)}. Its results are kept."
            yield {**draw(""), notice: parts.say(message)}
        elif event.act == "open":
            yield draw(name)
        else:
            question, spec = CHECKS[event.one_of("act", CHECKS)]
            for answer in question.answer(workspace, spec(name), lambda job: False):
                yield {checked: web.value(answer.blocks())}

    def call(spec: str, new: str) -> Answer:
        service.rename(workspace, spec, new.strip())
        return {**draw(spec), notice: parts.say(f"It is named {new.strip()} now.", "t-good")}

    on_load(load, [*outputs, find], notice)
    address.keep({"encoder": opened}, opens=["encoder"])
    presses = [rename.click, called.submit]
    renamed = on(presses, call, [opened, called], outputs, notice, **HIDE_PROGRESS)
    renamed.then(None, [opened, notice], js=RENAMED)
    gr.on([find.change, listing.change], fn=None, inputs=find, js=NARROW)
    on(card.act, act, None, outputs, notice, concurrency_limit=1, **HIDE_PROGRESS)
    on(listing.act, act, None, outputs, notice, **HIDE_PROGRESS).then(None, js=TO_CARD)
    if not workspace.read_only:
        form.connect(outputs, draw)


def _why_missing(workspace: Workspace, name: str) -> str:
    """What is wrong with an address that names an encoder which is not listed; empty if it is."""
    if not name or (choices.read(name) or name) in service.names(workspace, rankers=True):
        return ""
    try:
        parse(name)
    except UserError as error:
        return parts.problem(error)
    return parts.problem(UserError(f"{name!r} is not in the list.", code="unknown"))


class _Form:
    """A spec in the first row, and a builder of specs in the panel; hidden from visitors."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._controls = Controls(SPEC)
        with parts.bar(TITLE, DESCRIPTION):
            if not workspace.read_only:
                self._controls.render("spec")
                # Not among the controls: no address may tick it.
                self._sends = gr.Checkbox(visible=False, elem_id="send-texts", min_width=280)
                self._add = gr.Button("Add encoder", variant="primary", elem_id="add")
                with parts.more("Build a spec"):
                    self._choices, self._join = builder.build(workspace)
        self._verdict = web.answer(elem_id="verdict")
        self.notice = parts.notice()

    def connect(self, outputs: Sequence[Any], draw: Callable[[str], dict[Any, Any]]) -> None:
        """Attach the events: check a typed spec, write a built one, add it to the list."""
        workspace, controls, choices = self._workspace, self._controls, self._choices
        spec, sends, notice = controls["spec"], self._sends, self.notice

        def compose(values: Values) -> Answer:
            ready = gr.update(interactive=bool(builder.source(values)))
            return {spec: builder.compose(values) or gr.skip(), self._join: ready}

        def save(inputs: Values) -> Answer:
            name = service.add(workspace, inputs.spec, send_texts=inputs.sends)["name"]
            return {**draw(name), notice: parts.say(f"Added {name}.", "t-good"), **asks(name)}

        def read(inputs: Values) -> Answer:
            return {self._verdict: web.value(_verdict(inputs.spec)), **asks(inputs.spec)}

        def asks(text: str) -> dict[Any, Any]:
            """Show the checkbox if a spec would send texts to hosts that are not allowed."""
            hosts = ", ".join(service.would_send_to(workspace, text))
            label = f"Send the texts it encodes to {hosts}"
            return {sends: gr.update(visible=bool(hosts), value=False, label=label)}

        inputs, built = {**controls, "sends": sends}, [box.change for box in choices.values()]
        on(built, compose, choices, [spec, self._join], notice, **ONE_AT_A_TIME)
        on(spec.change, read, controls, [self._verdict, sends], notice, **ONE_AT_A_TIME)
        adds = [self._add.click, spec.submit]
        on(adds, save, inputs, [*outputs, sends], notice, show_progress_on=self._add)
        on_load(lambda request: {spec: address.first(request, "spec")}, [spec], notice)
        controls.keep()


CHECKS: dict[str, tuple[Any, Any]] = {
    "audit": (AUDIT, AuditSpec),
    "coverage": (COVERAGE, CoverageSpec),
    "thresholds": (THRESHOLDS, ThresholdsSpec),
}
"""Button of an encoder -> the question that it asks."""


def _table(workspace: Workspace, rows: Mapping[str, dict[str, Any]]) -> Table:
    """The listed encoders."""
    results = [row for row in workspace.store.results.table() if row["error"] is None]
    tasks = Counter(encoder for encoder, _ in {(row["encoder"], row["task"]) for row in results})
    heads = ("Encoder", "Kind", "Dimensions", "Parameters", "Pooling", "Tasks evaluated", "Remark")
    cells = [
        (
            Action(name, "open", name, f"Open {name}", opens="encoder"),
            KINDS.get(row.get("kind") or "", row.get("kind")),
            row.get("dim"),
            row.get("parameters"),
            row.get("pooling"),
            tasks[name],
            next(iter(row.get("warnings") or []), row.get("problem")) or "",
        )
        for name, row in rows.items()
    ]
    return Table("theodolite-encoders", heads, cells)


def _card(workspace: Workspace, row: Mapping[str, Any]) -> Card:
    """One encoder, and what can be done with it."""
    name, actions = row["name"], []
    uses = USES if not workspace.read_only else {page: USES[page] for page in list(USES)[1:]}
    if row.get("kind") in MODELS:
        actions.append(Action("Audit settings", "audit", name, f"Audit settings of {name}"))
    if "vectors:" in name:
        actions.append(Action("Check coverage", "coverage", name, f"Check coverage of {name}"))
    actions.append(Action("Thresholds", "thresholds", name, f"Thresholds of {name}"))
    actions.append(Action("Remove", "remove", name, f"Remove {name}"))
    links = [Link(label, page, {"encoder": name}) for page, label in uses.items()]
    buttons = [] if workspace.read_only else [Actions(actions)]
    return Card(name, [*_about(row), Links(links), *buttons])


def _verdict(spec: str) -> list[Block]:
    """The facts of a spec before it is added."""
    if not spec.strip():
        return []
    try:
        info = describe(spec)
    except UserError as error:
        return [Text("", f"{error.message} {error.hint}")]
    return [Card(info["spec"], _about(info))]


def _about(info: Mapping[str, Any]) -> list[Block]:
    """What is known of an encoder."""
    own = [f"{name} “{text}”" for name, text in (info.get("prompts") or {}).items()]
    if len(own) > MAX_PROMPTS:
        own[MAX_PROMPTS:] = [f"{len(own) - MAX_PROMPTS} more"]
    none = {"": "none", TASK_DATA: "of the task", None: ""}  # a prompt is not known if it is None
    prompts = {name: info.get(name) for name in ("prompt", "query_prompt")}
    known = {
        "folder": info["name"].removeprefix("dir:") if info.get("label") else "",
        "kind": KINDS.get(info.get("kind") or "", info.get("kind")),
        "dimensions": formats.count(info["dim"]) if info.get("dim") else "",
        "parameters": formats.compact(info["parameters"]) if info.get("parameters") else "",
        "size": formats.size(info["bytes"]) if info.get("bytes") else "",
        "reads": formats.plural(info["max_tokens"], "token") if info.get("max_tokens") else "",
        "pooling": ": ".join([info.get("pooling") or "", *(info.get("why") or [])]),
        **{name.replace("_", " "): none.get(text, f"“{text}”") for name, text in prompts.items()},
        "its own prompts": ", ".join(own),
        "problem": info.get("problem"),
    }
    facts = [(name, str(text)) for name, text in known.items() if text]
    return [Facts(facts), Caveats([Caveat(text) for text in info.get("warnings") or []])]
