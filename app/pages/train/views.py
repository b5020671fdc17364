"""The panels beside the training form, as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from theodolite.app.pages.train.launch import on_several_machines
from theodolite.app.web import parts
from theodolite.engine.errors import UserError


def about(text: str) -> str:
    """The description of a preset."""
    return f'<p class="t-small t-muted">{escape(text)}</p>' if text else ""


def wrong(error: UserError) -> str:
    """The error that keeps the form from being a spec, shown while it is filled in."""
    notice = f'<div class="t-notice t-bad" role="status"><p>{escape(error.message)}</p>'
    return notice + f"<p>{escape(error.hint)}</p></div>"


def plan(facts: Mapping[str, str], time: str) -> str:
    """The plan, with the estimated time where known."""
    notice = ""
    if time:
        notice = (
            f'<p class="t-small" role="status">It takes <strong>{escape(time)}</strong>, going by '
            "the size of the text and what this machine showed before.</p>"
        )
    return f"{_facts(facts)}{notice}"


def command(words: Sequence[str]) -> str:
    """The equivalent command; for an encoder also the one for several machines."""
    block = parts.command(words)
    if words[1] != "train":
        return block
    several = parts.command(
        on_several_machines(words),
        "Run on each machine, with its own --node-rank. HOST is the address of the first "
        "one; all need the training data and shared access to the folder.",
    )
    return f"{block}<details><summary>On several machines</summary>{several}</details>"


def cost(facts: Mapping[str, str], notes: Sequence[str]) -> str:
    """The estimated cost and its caveats."""
    return f'<div role="status">{_facts(facts)}</div>{parts.warn(notes)}'


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return f'<dl class="t-facts">{rows}</dl>'
