"""What an evaluation will do, before it is started, and what came of it. For the page Evaluate."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from app import address, formats, parts, scores
from app.components.actions import button
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace


@dataclass(frozen=True)
class Plan:
    """Encoders on tasks, with one seed for all or each protocol's own."""

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    seed: int | None

    @property
    def command(self) -> str:
        """The same on the command line."""
        words = ["theodolite", "evaluate", *self.encoders, "--tasks", ",".join(self.tasks)]
        if self.seed is not None:
            words += ["--seed", str(self.seed)]
        return shlex.join(words)


def task_groups(workspace: Workspace, wanted: Sequence[str] = ()) -> dict[str, list[str]]:
    """Tasks whose data is here: `starter`, `sts` (SimCSE's seven), `senteval` and `others`.

    Args:
        workspace: whose catalog is asked.
        wanted: tasks to offer beside them when they can be named, such as one on a hub file.
    """
    from engine.tasks import SEVEN, STARTER, TASKS, available

    here = [task.name for task in available(workspace.catalog)]
    here += [t for t in wanted if t not in here and t not in TASKS and nameable(workspace, t)]
    return {
        "starter": [name for name in STARTER if name in here],
        "sts": [name for name in SEVEN if name in here],
        "senteval": [t for t in here if t in TASKS and t not in (*STARTER, *SEVEN)],
        "others": [name for name in here if name not in TASKS],
    }


def nameable(workspace: Workspace, task: str) -> bool:
    """Whether a name from an address is a task at all."""
    from engine.tasks import get

    try:
        get(task, workspace.catalog)
    except UserError:
        return False
    return True


def measured(workspace: Workspace, plan: Plan) -> dict[tuple[str, str], Mapping[str, Any]]:
    """(encoder, task) -> the store's row under the task's own protocol and the plan's seed."""
    from engine import protocols, tasks

    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    rows = workspace.store.results.table(encoders=list(plan.encoders), tasks=list(plan.tasks))
    for row in rows:
        protocol = protocols.get(tasks.get(row["task"], workspace.catalog).protocol)
        seed = protocol.seed if plan.seed is None else plan.seed
        if row["protocol"] == protocol.name and row["seed"] == seed:
            found[row["encoder"], row["task"]] = row
    return found


def summary(workspace: Workspace, plan: Plan) -> str:
    """What pressing the button would do, and the command that does the same."""
    if not plan.encoders or not plan.tasks:
        lacking = "an encoder" if not plan.encoders else "a task"
        return f'<p class="t-muted">Tick {lacking} to go on.</p>'
    wanted = len(plan.encoders) * len(plan.tasks)
    known = sum(row["error"] is None for row in measured(workspace, plan).values())
    product = (
        f"{formats.plural(len(plan.encoders), 'encoder')} on "
        f"{formats.plural(len(plan.tasks), 'task')}: {formats.plural(wanted, 'result')}"
    )
    stored = "none of them in the store yet"
    if known:
        stored = f"{known} of {wanted} already in the store, not measured again"
    return (
        f'<div class="t-plan"><p role="status">{product}, {stored}.</p>'
        f'<pre class="t-command" tabindex="0" aria-label="The same on the command line">'
        f"{escape(plan.command)}</pre></div>"
    )


def results(workspace: Workspace, plan: Plan) -> str:
    """The results that are there, errors as rows with a way to try again."""
    found = measured(workspace, plan)
    order = [(name, task) for task in plan.tasks for name in plan.encoders]
    rows = [_row(found[key], workspace.read_only) for key in order if key in found]
    if not rows:
        return ""
    heads = ("Task", "Encoder", "Score", "Measure", "Examples", "Protocol", "Took")
    links = "".join(
        f'<a class="t-button" href="{escape(address.link(path, **state))}">{label}</a>'
        for label, path, state in (
            ("Compare them", "compare", {"encoder": plan.encoders, "task": plan.tasks}),
            ("See all scores", "", {}),
        )
    )
    left = len(order) - len(rows)
    more = f'<p class="t-muted">{formats.plural(left, "result")} not there yet.</p>' if left else ""
    return (
        f'<div class="t-section"><h2>Results</h2></div>'
        f"{parts.table(heads, rows, 'Results', (2, 4, 6))}{more}"
        f'<p class="t-actions">{links}</p>'
    )


def _row(row: Mapping[str, Any], read_only: bool) -> tuple[str, ...]:
    task = escape(row["task"])
    name = f'<span class="t-spec">{escape(row["encoder"])}</span>'
    protocol = f'{escape(row["protocol"])} <small class="t-muted">seed {row["seed"]}</small>'
    took = formats.duration(row["seconds"])
    if row["error"] is None:
        facts = (escape(scores.measure(dict(row))), formats.count(row["n"]))
        return (task, name, formats.score(row["score"]), *facts, protocol, took)
    hint = f"<br><small>{escape(row['hint'])}</small>" if row["hint"] else ""
    about = f"Measure {row['encoder']} on {row['task']} again"
    again = "" if read_only else button("Try again", "again", key(row), about=about)
    problem = f'<span class="t-run-error">{escape(row["error"])}</span>{hint}'
    return (task, name, formats.MISSING, f"{problem} {again}", formats.MISSING, protocol, took)


def key(row: Mapping[str, Any]) -> str:
    """An encoder and a task as one text: neither holds a line break."""
    return f"{row['encoder']}\n{row['task']}"
