"""The page *Leaks*: which texts of the tasks were in an encoder's training data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.pages.board import trained
from theodolite.app.pages.curate import leaks
from theodolite.app.pages.curate.leaks import LeakJob
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import background_call, parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.workspace import Workspace

TITLE = "Leaks"
PATH = "leaks"
DESCRIPTION = (
    "Which texts of the tasks were in an encoder's training data, as far as it is known and "
    "available here. A score on texts that were seen says little about unseen ones."
)
MAX_CHARACTERS, MAX_EXAMPLES = 240, 12
"""Characters of a text, and examples on the page; the CSV has all that are stored."""
READING = (
    "Looked for are the texts of the examples that a task's main score is over; of a retrieval or "
    "reranking its queries, and in a line of its own its documents (of more than 20 million "
    "characters those that answer a query). The same: word for word, but for case, spaces and end "
    "marks. Nearly: the character 5-grams of both, of letters and digits alone, have a Jaccard "
    "index of 0.8 at least (Broder 1997); none above it is missed. A sentence inside a longer text "
    "is not found."
)
NOT_SHIPPED = "This search ships with Theodolite; the texts themselves do not."
_SEVERAL: dict[str, Any] = {"multiselect": True, "choices": [], "elem_classes": ["t-wide"]}
CONTROLS = (
    choices.ENCODER,
    Control(
        "trained_on",
        "Trained on",
        gr.Dropdown,
        (),
        "Empty: those its files or MTEB name.",
        (),
        {"multiselect": True, "choices": []},
        key="in",
    ),
    Control(
        "tasks",
        "Tasks",
        gr.Dropdown,
        (),
        "Empty: those it was evaluated on, or all.",
        (),
        _SEVERAL,
        key="task",
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "trained_on")
        with parts.more():
            controls.render("tasks")
    notice = parts.notice()
    shown = {"headline": parts.static("", elem_id="headline", elem_classes=["t-answer"])}
    shown["look"] = gr.Button("Look", variant="primary", visible=False, elem_id="look")
    panel = RunPanel(workspace)
    shown["table"] = parts.static("", elem_id="leaks")
    shown["examples"] = parts.static("", elem_id="examples")

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        if not values.encoder:
            yield {"headline": choices.nothing()}
            return
        first = f"Looking up what {values.encoder} was trained on"
        yield from background_call.changes(
            lambda say: _shown(workspace, values), first, session, "headline"
        )
        # Importing mteb takes seconds, once, and seldom knows more.
        for _, more in background_call.followed(
            lambda say: [trained.look_up(workspace, [values.encoder])], first, session
        ):
            if more and more[0]:
                yield _shown(workspace, values)

    panel.connect(
        controls,
        shown,
        shown["headline"],
        shown["look"],
        notice,
        load=partial(_loaded, workspace),
        show=show,
        make=lambda values: leaks.run_look(workspace, LeakJob.of(*_chosen(workspace, values))),
    )


def _chosen(workspace: Workspace, values: Values) -> tuple[list[str], list[str]]:
    """The chosen tasks and training sets, or the default ones."""
    there = leaks.here(workspace, leaks.known(workspace, values.encoder))
    usual = list(dict.fromkeys(name for those in there.values() for name in those))
    return (
        list(values.tasks) or leaks.tasks(workspace, values.encoder),
        list(values.trained_on) or usual,
    )


def _shown(workspace: Workspace, values: Values) -> dict[str, Any]:
    names = leaks.known(workspace, values.encoder)
    summary = leaks.summary(values.encoder, names, leaks.here(workspace, names))
    tasks, sets = _chosen(workspace, values)
    example = [] if values.tasks or values.trained_on else leaks.example(workspace, values.encoder)
    shown = {
        "headline": finding(example, values.encoder, summary, shipped=True),
        "look": gr.update(visible=False),
        "table": table(example),
        "examples": "",
    }
    if not tasks or not sets:
        hint = parts.next_step(
            workspace.read_only,
            "see on the Board which tasks' data it was trained on",
            "Choose its training data above.",
        )
        empty = parts.empty("None of its training data is available here", f"{summary} {hint}")
        return shown if example else shown | {"headline": empty}
    found = leaks.found(workspace, LeakJob.of(tasks, sets))
    left = sum(leak is None for leak in found.values())
    there = leaks.ordered(found.values())
    go = gr.update(
        visible=bool(left) and not workspace.read_only,
        value=(
            f"Search for {len(tasks)} {'task' if len(tasks) == 1 else 'tasks'} in {len(sets)} "
            f"training {'set' if len(sets) == 1 else 'sets'}"
        ),
    )
    if not there:
        empty = parts.empty("Not checked for leaks yet", summary)
        return shown | {"look": go} | ({} if example else {"headline": empty})
    return {
        "headline": finding(there, values.encoder, summary),
        "look": go,
        "table": table(there),
        "examples": examples(there),
    }


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """Values of the controls from the address."""
    sets = [info.name for info in workspace.catalog.list()]
    offered = leaks.tasks(workspace)
    return {
        "encoder": choices.one(workspace, choices.first(workspace, values.encoder)),
        "trained_on": gr.update(
            choices=sets, value=[name for name in values.trained_on if name in sets]
        ),
        "tasks": gr.update(
            choices=offered, value=[name for name in values.tasks if name in offered]
        ),
    }


def finding(
    found: Sequence[leaks.Leak], encoder: str, summary: str, *, shipped: bool = False
) -> str:
    """The number of tasks with texts seen in training, and the worst of them."""
    compared = [leak for leak in found if not leak.problem]
    seen = list(dict.fromkeys(leak.task for leak in compared if leak.share))
    of = len({leak.task for leak in compared})
    if not compared:
        return parts.heading("Nothing could be compared", summary)
    if not seen:
        head = f"No text of {formats.plural(of, 'task')} occurs in the training data searched"
    else:
        worst = compared[0]
        verb = "shares" if len(seen) == 1 else "share"
        head = (
            f"{len(seen)} of {formats.plural(of, 'task')} {verb} texts with training data of "
            f"{encoder}: "
            f"{worst.share:.1%} of {worst.label} {'stands' if worst.same else 'nearly stands'} in "
            f"{worst.trained_on}"
        )
    beside = f" {parts.SHIPPED}" if shipped else ""
    return parts.heading(head, f"{NOT_SHIPPED} {summary}" if shipped else summary, beside=beside)


def table(found: Sequence[leaks.Leak]) -> str:
    """A row per task and training set that share texts, the largest share first."""
    listed = [leak for leak in found if leak.share or leak.problem]
    rest = len(found) - len(listed)
    heads = ("Task", "Stands in", "The same", "Nearly", "Of", "Share")
    rows = [
        (
            escape(leak.label),
            escape(leak.trained_on),
            *(
                (formats.MISSING,) * 3
                if leak.problem
                else tuple(map(formats.count, (leak.same, leak.nearly, leak.tested)))
            ),
            escape(leak.problem) if leak.problem else f"{leak.share:.1%}",
        )
        for leak in listed
    ]
    further = f"{formats.plural(rest, 'pair')} of a task and a training set share no text. "
    reading = (
        f'<p class="t-small t-muted t-below">{escape((further if rest else "") + READING)}</p>'
    )
    named = "Texts of tasks in training sets"
    shown = parts.table(heads, rows, named, (2, 3, 4, 5), stacked=True) if listed else ""
    return shown + reading


def examples(found: Sequence[leaks.Leak]) -> str:
    """Texts of the tasks beside their duplicates, a few of each pair; the CSV has all stored."""
    kept = [(leak, *one) for leak in found for one in leak.examples]
    if not kept:
        return ""
    each = max(1, MAX_EXAMPLES // sum(bool(leak.examples) for leak in found))
    shown = [(leak, *one) for leak in found for one in leak.examples[:each]][:MAX_EXAMPLES]
    heads = ("Task", "Its text", "In the training data", "Resemblance")
    rows = [
        (
            escape(leak.label),
            _cut(text),
            f'{_cut(twin)}<br><span class="t-muted">{escape(leak.trained_on)}</span>',
            "the same" if same else f"{alike:.2f}",
        )
        for leak, text, twin, alike, same in shown
    ]
    data = [["task", "text", "trained on", "its text", "resemblance", "the same"]]
    data += [
        [leak.label, text, leak.trained_on, twin, str(alike), str(same)]
        for leak, text, twin, alike, same in kept
    ]
    save = parts.csv_button("Download CSV", "theodolite-leaks.csv", data)
    return parts.table(heads, rows, "Texts seen in training", (3,), stacked=True) + save


def _cut(text: str) -> str:
    short = text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS].rstrip()}…"
    return f'<span dir="auto">{escape(short)}</span>'
