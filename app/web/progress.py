"""The progress of runs on Overview and Jobs: share done, time left, outcome."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.names import labelled
from theodolite.app.web import address, parts
from theodolite.store.run_rows import LIVE, is_stopping

KINDS = {
    "queued": "",
    "running": "live",
    "done": "good",
    "partly failed": "warn",
    "failed": "bad",
    "cancelled": "",
    "left out": "",
}
TURN = "waiting for its turn"


def signature(runs: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """The fields of runs whose change redraws a page."""
    return [
        [
            run["id"],
            run["state"],
            run["attempt"],
            run["done"] + run["failed"],
            round(run["fraction"], 3),
            run["message"],
            formats.time_left(run["eta_seconds"]),
        ]
        for run in runs
    ]


def finished_part(marks: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The part of a signature that changes when a result may have been stored."""
    return [[mark[0], mark[3]] for mark in marks]


def how_far(run: Mapping[str, Any]) -> str:
    """`4 of 15 done, about 20 s left`, or the outcome of the run. Plain text."""
    if run["state"] == "queued":
        return str(run["message"]) or TURN
    units = f"{run['done']} of {run['total']} done" if run["total"] else ""
    if run["failed"]:
        units += f", {run['failed']} failed"
    if run["state"] == "running":
        message = [
            text for text in (units or "starting", formats.time_left(run["eta_seconds"])) if text
        ]
        return ", ".join(message)
    took = ""
    if run["started"] and run["finished"]:
        took = f"in {formats.duration(run['finished'] - run['started'])}"
    return " ".join(text for text in (units, took) if text)


def doing(run: Mapping[str, Any]) -> str:
    """What a run does now; empty while that is its only unit, whose label is the run's title."""
    return "" if run["message"] == run["title"] else str(run["message"])


def gauge(run: Mapping[str, Any]) -> str:
    """The progress bar of a run."""
    starting = run["state"] == "running" and not run["total"]
    return parts.progress_bar(None if starting else run["fraction"], run["title"])


def strip(runs: Sequence[Mapping[str, Any]]) -> str:
    """The unfinished runs, one line each; empty text when there are none."""
    lines = "".join(
        f'<li><a href="{escape(address.link("jobs", run=run["id"]))}">{escape(run["title"])}</a>'
        f"{gauge(run)}"
        f"<span>{escape(how_far(run))}</span></li>"
        for run in reversed(labelled(list(runs)))
    )
    return (
        f'<ul class="t-strip" role="status" aria-label="Work in progress">{lines}</ul>'
        if lines
        else ""
    )


def tag(run: Mapping[str, Any]) -> str:
    """A tag with the state of a run."""
    if is_stopping(run):
        return parts.tag("stopping", "live")
    return parts.tag(run["state"], KINDS[run["state"]])


def card(run: Mapping[str, Any], verbs: str = "") -> str:
    """One run: its title, state, progress, time left and error."""
    run = labelled(run)
    live = run["state"] in LIVE
    what = "" if live or not run["message"] else f". {run['message']}"
    present = ""
    if run["state"] == "running" and (now := doing(run)):
        bar = "" if run["total"] < 2 else parts.progress_bar(run["unit_fraction"], now)
        present = f'<div class="t-present"><span>{escape(now)}</span>{bar}</div>'
    if run["state"] == "queued":
        what = ". You can close this page meanwhile"
    far = f'<span class="t-muted">{escape(how_far(run) + what)}</span>'
    ended, moving = ("", f"<p>{far}</p>") if live else (far, "")
    log = address.link("jobs", run=run["id"])
    below = f'<div class="t-verbs">{verbs}</div>' if verbs else ""
    return (
        f'<div class="t-run" role="status"><p><strong>{escape(run["title"])}</strong> '
        f'{tag(run)}{ended}<a href="{escape(log)}">Log</a></p>{gauge(run) if live else ""}'
        f"{moving}{present}{parts.failure(run['error'], run['hint'])}{below}</div>"
    )
