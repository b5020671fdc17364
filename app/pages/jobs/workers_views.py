"""Workers as HTML: one row each, homes, and what is waiting."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.pages.jobs.workers import WorkerNow, Workers
from theodolite.app.web import parts

START = "theodolite worker --fleet postgresql://user@host/database --data FOLDER"
_NAMED = 6
"""Data sets named before the others are counted."""


def status(found: Workers) -> str:
    """The numbers of workers and of busy ones, in one line."""
    busy = sum(bool(one.doing) for one in found.workers)
    text = f"{formats.plural(len(found.workers), 'worker')}, {busy} at work"
    if not found.workers:
        text = "No worker is running yet, so jobs are waiting"
    if found.fleet:
        text += f"; fleet at {found.fleet}, {formats.plural(len(found.homes), 'home')}"
    return f'<p class="t-status" role="status">{escape(text)}</p>'


def workers(found: Workers) -> str:
    """A row per worker: its current work, capabilities, start and last heartbeat."""
    problem = parts.warn([found.problem]) if found.problem else ""
    if not found.workers:
        return problem + parts.heading(
            "No worker is running",
            "The app starts one; start more from a terminal:",
            html="<p><code>theodolite worker</code></p>",
        )
    rows = [
        (
            f'<strong>{escape(one.slot)}</strong><br><small class="t-muted">{escape(one.host)}'
            f"{', this machine' if one.local else ''}</small>",
            _now(one),
            _has(one.has),
            _ago(one.started),
            _ago(one.seen),
        )
        for one in found.workers
    ]
    heads = ("Worker", "Now", "Has", "Started", "Last seen")
    return problem + parts.table(heads, rows, "Workers", stacked=True)


def waiting(found: Workers) -> str:
    """The waiting runs, with their workers or reasons for waiting; empty when there are none."""
    if not found.waiting:
        return ""
    rows = [
        (
            escape(one.title),
            escape(one.home or "this machine"),
            formats.count(one.parts),
            escape(one.why),
        )
        for one in found.waiting
    ]
    heads = ("Run", "Home", "Parts", "At work, or waiting for")
    return parts.heading("To do") + parts.table(heads, rows, "What is waiting", (2,), stacked=True)


def homes(found: Workers) -> str:
    """The homes which give work to the fleet, or how to start a fleet."""
    if not found.fleet:
        return parts.heading(
            "More machines",
            "Evaluations and trainings can be spread over machines that share a Postgres "
            "database: start the app with --fleet URL, and on each of the other machines run:",
            html=f"<p><code>{START}</code></p>",
        )
    rows = [(escape(name), f"{silent:.0f} s ago") for name, silent in found.homes.items()]
    if not rows:
        return ""
    return parts.heading("Homes") + parts.table(("Home", "Last seen"), rows, "Homes", stacked=True)


def _ago(moment: float | None) -> str:
    """How long ago, on one line: the column beside it takes all the room it is given."""
    return formats.ago(moment).replace(" ", "\N{NO-BREAK SPACE}")


def _now(one: WorkerNow) -> str:
    if not one.doing:
        return parts.tag("free")
    begun = "" if one.since is None else f", begun {formats.ago(one.since)}"
    return (
        f'{escape(one.doing)}<br><small class="t-muted">{one.share or 0.0:.0%} done{begun}</small>'
    )


def _has(has: Mapping[str, Any]) -> str:
    """Devices, memory, extras and data; hashes are tooltips of the data sets' names."""
    data: Mapping[str, str] = has.get("data", {})
    named = [
        f'<span title="{escape(digest or "not read yet")}">{escape(name)}</span>'
        for name, digest in list(data.items())[:_NAMED]
    ]
    more = [formats.plural(len(data) - _NAMED, "more data set")] if len(data) > _NAMED else []
    machine = ", ".join(
        [
            *map(str, has.get("devices", ())),
            formats.plural(int(has.get("cores", 1)), "core"),
            formats.size(has.get("memory")),
        ]
    )
    lines = {
        "Machine": escape(machine),
        "Takes": escape(", ".join(has.get("only", ()))),
        "Extras": escape(", ".join(has.get("packages", {}))),
        "Files at": escape(has.get("files", "")),
        "Data": ", ".join([*named, *more]),
    }
    facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in lines.items() if value)
    return f'<dl class="t-facts">{facts}</dl>'
