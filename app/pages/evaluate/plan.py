"""What an evaluation will do, before it is started, and what came of it. For the page Evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.components import protocol_card
from app.components.actions import button
from app.pages.evaluate import command_line as command
from app.pages.evaluate import suites
from app.pages.overview import spread
from app.pages.overview.service import metric
from app.web import address, parts

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.protocols.protocol import Protocol

Key = tuple[str, str, int]
"""Encoder, task, seed."""


@dataclass(frozen=True)
class Plan:
    """Encoders on tasks.

    Attributes:
        encoders: specs.
        tasks: names.
        seed: the first one; None is each protocol's own.
        protocol: for all tasks; empty is each task's own.
        seeds: how many in a row; what draws nothing is measured once.
    """

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    seed: int | None = None
    protocol: str = ""
    seeds: int = 1

    @property
    def command(self) -> str:
        """The same on the command line."""
        return command.evaluate(self.encoders, self.tasks, self.protocol, self.seed, self.seeds)

    def possible(self, workspace: Workspace) -> Plan:
        """The same without the tasks that the protocol does not say how to score."""
        left_out = suites.uncovered(workspace, self.tasks, self.protocol)
        return replace(self, tasks=tuple(task for task in self.tasks if task not in left_out))

    def keys(self) -> list[Key]:
        """Every result that is asked for, task by task."""
        from engine.tasks import seeds_of

        return [
            (name, task, self._own(task).seed if seed is None else seed)
            for task in self.tasks
            for name in self.encoders
            for seed in seeds_of(task, self.protocol or None, self.seed, self.seeds)
        ]

    def _own(self, task: str) -> Protocol:
        """The protocol that a task is measured under."""
        from engine import protocols
        from engine.tasks import named

        return protocols.get(self.protocol or named(task).protocol)

    def rows(self, workspace: Workspace) -> list[Mapping[str, Any]]:
        """What the store has of these encoders and tasks under the plan's protocols, any seed."""
        found = workspace.store.results.table(encoders=self.encoders, tasks=self.tasks)
        names = {task: self._own(task).name for task in self.tasks}
        return [row for row in found if row["protocol"] == names[row["task"]]]

    def protocols(self) -> dict[str, list[str]]:
        """Protocol -> the tasks measured under it."""
        used: dict[str, list[str]] = {}
        for task in self.tasks:
            used.setdefault(self._own(task).name, []).append(task)
        return used


def summary(workspace: Workspace, asked: Plan) -> str:
    """What pressing the button would do, and the command that does the same."""
    if not asked.encoders or not asked.tasks:
        lacking = "an encoder" if not asked.encoders else "a task"
        return f'<p class="t-muted">Tick {lacking} to go on.</p>'
    plan = asked.possible(workspace)
    left_out = _left_out(asked, plan)
    if not plan.tasks:
        return f'<div class="t-plan">{left_out}</div>'
    keys = plan.keys()
    known = len(set(keys) & {_key(r) for r in plan.rows(workspace) if r["error"] is None})
    seeds = f", {plan.seeds} seeds where something is drawn" if plan.seeds > 1 else ""
    product = (
        f"{formats.plural(len(plan.encoders), 'encoder')} on "
        f"{formats.plural(len(plan.tasks), 'task')}{seeds}: {formats.plural(len(keys), 'result')}"
    )
    stored = "none of them in the store yet"
    if known:
        stored = f"{known} of {len(keys)} already in the store, not measured again"
    return (
        f'<div class="t-plan">{left_out}<p role="status">{product}, {stored}.</p>'
        f'<pre class="t-command" tabindex="0" aria-label="The same on the command line">'
        f"{escape(plan.command)}</pre></div>"
    )


def _left_out(asked: Plan, plan: Plan) -> str:
    """Which tasks the protocol does not cover, in words."""
    lacking = [task for task in asked.tasks if task not in plan.tasks]
    if not lacking:
        return ""
    text = (
        f"{asked.protocol} does not say how to score {', '.join(lacking)}, so they are left out. "
        "Choose another protocol, or each task's own."
    )
    return f'<div class="t-notice t-warn"><p>{escape(text)}</p></div>'


def cards(workspace: Workspace, asked: Plan) -> str:
    """The card of every protocol in use, closed."""
    from engine import protocols

    used = asked.possible(workspace).protocols()
    if asked.protocol and not used:
        used = {asked.protocol: []}
    return "".join(
        f'<details class="t-protocol"><summary>Protocol <strong>{escape(name)}</strong> '
        f"<span>{escape(_some(tasks))}</span></summary>{protocol_card.card(name)}</details>"
        for name, tasks in used.items()
        if name in protocols.PROTOCOLS
    )


def _some(tasks: Sequence[str]) -> str:
    """Names, and how many more beyond six."""
    more = f" and {len(tasks) - 6} more" if len(tasks) > 6 else ""
    return ", ".join(tasks[:6]) + more


def results(workspace: Workspace, asked: Plan) -> str:
    """The results that are there, errors as rows with a way to try again.

    A task with several seeds is one row, of the first seed, beside the spread over all.
    """
    plan = asked.possible(workspace)
    stored = plan.rows(workspace)
    found = {_key(row): row for row in stored}
    keys = plan.keys()
    there = [key for key in keys if key in found]
    if not there:
        return ""
    spreads = spread.spreads(stored)
    first = {key[:2]: key for key in reversed(there) if found[key]["error"] is None}
    shown = [key for key in there if found[key]["error"] is not None or first[key[:2]] == key]
    rows = [
        _row(found[key], spreads.get((*key[:2], found[key]["protocol"])), workspace.read_only)
        for key in shown
    ]
    heads: tuple[str, ...] = (
        *("Task", "Encoder", "Score", "Spread", "Metric", "Examples", "Protocol", "Time"),
    )
    numbers: tuple[int, ...] = (2, 5, 7)
    if not any(row[3] for row in rows):
        heads, rows = heads[:3] + heads[4:], [row[:3] + row[4:] for row in rows]
        numbers = (2, 4, 6)
    under = {"protocol": plan.protocol} if plan.protocol else {}
    links = "".join(
        f'<a class="t-button" href="{escape(address.link(path, **state))}">{label}</a>'
        for label, path, state in (
            ("Compare them", "compare", {"encoder": plan.encoders, "task": plan.tasks} | under),
            ("See all scores", "", {}),
        )
    )
    left = len(keys) - len(there)
    more = f'<p class="t-muted">{formats.plural(left, "result")} not there yet.</p>' if left else ""
    return (
        f'<div class="t-section"><h2>Results</h2></div>'
        f"{parts.table(heads, rows, 'Results', numbers)}{more}"
        f'<p class="t-actions">{links}</p>'
    )


def _row(row: Mapping[str, Any], over: spread.Spread | None, read_only: bool) -> tuple[str, ...]:
    task = escape(row["task"])
    name = f'<span class="t-spec">{escape(row["encoder"])}</span>'
    protocol, seconds = escape(row["protocol"]), formats.duration(row["seconds"])
    if row["error"] is None:
        moved = ""
        if over is not None:
            moved = (
                f"{escape(spread.words(over))}<br><small>mean {formats.score(over.mean)}, "
                f"{formats.score(over.lowest)} to {formats.score(over.highest)}</small>"
            )
        facts = (escape(metric(dict(row))), formats.count(row["n"]))
        return (task, name, formats.score(row["score"]), moved, *facts, protocol, seconds)
    hint = f"<br><small>{escape(row['hint'])}</small>" if row["hint"] else ""
    about = f"Measure {row['encoder']} on {row['task']} again"
    again = "" if read_only else button("Try again", "again", key_text(row), about=about)
    problem = f'<span class="t-run-error">{escape(row["error"])}</span>{hint}'
    none = formats.MISSING
    return (task, name, none, "", f"{problem} {again}", none, protocol, seconds)


def _key(row: Mapping[str, Any]) -> Key:
    return row["encoder"], row["task"], row["seed"]


def key_text(row: Mapping[str, Any]) -> str:
    """An encoder, a task and a seed as one text: none holds a line break."""
    return "\n".join((row["encoder"], row["task"], str(row["seed"])))
