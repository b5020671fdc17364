"""MTEB's suites as HTML: the list, and one of them with all its tasks. For the page Data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.pages.data import suites, views
from theodolite.app.pages.data.suites import Suite
from theodolite.app.suites import Suites, text_size
from theodolite.app.web import address, parts
from theodolite.engine.mteb.package import INSTALL
from theodolite.engine.mteb.suites import SuiteInfo, SuiteTask
from theodolite.engine.protocols.package import version

TITLE = "MTEB's suites"
MAX_LANGUAGES = 3
READING = (
    "Sizes are those of the scored text according to MTEB; downloads may be compressed or "
    "contain more. Data come from the Hugging Face hub at the revision that MTEB names, and "
    "are kept in its cache. If a data set needs a login, accept its terms there, then run: "
    "hf auth login."
)


def listing(known: Suites | None, opened: str) -> str:
    """All suites as lines; a button that lists them if they are not loaded."""
    here = version()
    if here is None:
        lead = f"Tasks and data of the package mteb, which is not installed. {INSTALL}"
        return parts.heading(TITLE, lead)
    lead = f"Scored by the code of mteb {here}. Nothing is downloaded unless you ask for it."
    if known is None:
        go = button("List them", "list", "", about="List MTEB's suites")
        return f"{parts.heading(TITLE, lead)}{go}"
    rows = "".join(_line(one, one.name == opened) for one in known.listed)
    number = f' <small class="t-muted">{len(known.listed)}</small>'
    return (
        f"<section>{parts.heading(TITLE, lead, beside=number)}"
        f'<ul class="t-sets" aria-label="{TITLE}">{rows}</ul></section>'
    )


def _line(one: SuiteInfo, opened: bool) -> str:
    name = button(
        one.name,
        "open",
        one.name,
        about=f"Show the tasks of {one.name}",
        kind="link",
        param=("suite", "" if opened else one.name),
    )
    searched = " ".join((one.name, one.description, *one.languages, "suite mteb")).casefold()
    return (
        f'<li class="{"t-open" if opened else ""}" data-text="{escape(searched)}"><div>{name}</div>'
        f"<div>{escape(one.description.partition('. ')[0].rstrip('.'))}.</div>"
        f"<div>{formats.plural(one.tasks, 'task')}</div><div>{_languages(one.languages)}</div></li>"
    )


def _languages(codes: Sequence[str]) -> str:
    if len(codes) > MAX_LANGUAGES:
        return formats.plural(len(codes), "language")
    return escape(", ".join(codes))


def card(found: Suite, visitor: bool) -> str:
    """One suite: the state of its data, and a table of its tasks."""
    about, lacking = found.about, found.lacking
    kinds = Counter(task.type for task in found.tasks)
    facts = {
        "data": suites.in_words(found),
        "types": ", ".join(f"{name} {n}" for name, n in kinds.most_common()),
        "languages": _languages(about.languages),
        "what it is": about.description,
    }
    if lacking and not visitor:
        facts["room"] = f"{formats.size(found.free)} are free below {found.folder}"
    heads = ("Task", "Type", "Languages", "Examples", "Text", "Licence", "Data")
    rows = [_row(task, about.name, visitor) for task in found.tasks]
    table = parts.table(heads, rows, f"Tasks of {about.name}", (3, 4), stacked=True)
    close = button("Close", "open", "", about="Close the suite", param=("suite", ""), kind="link")
    reading = f'<p class="t-small t-muted">{escape(READING)}</p>'
    return views.card(
        "Suite",
        about.name,
        formats.plural(about.tasks, "task"),
        facts.items(),
        f"{table}{reading}",
        "" if visitor else _actions(found),
        close,
    )


def _actions(found: Suite) -> str:
    name, lacking = found.about.name, found.lacking
    here = [task.task for task in found.tasks if task.here and not task.problem]
    fetch = (
        button(
            f"Fetch {formats.plural(len(lacking), 'task')}, about {text_size(lacking)}",
            "fetch",
            "",
            about=f"Fetch the data of {name} that are not here",
        )
        if lacking
        else ""
    )
    if not here:
        return fetch
    state = address.link("evaluate", task=here, protocol="")
    many = formats.plural(len(here), "task")
    return f'<a class="t-button" href="{escape(state)}">Evaluate on {many}</a>{fetch}'


def _row(task: SuiteTask, suite: str, visitor: bool) -> tuple[str, ...]:
    return (
        f'<span class="t-spec">{escape(task.task.removeprefix("mteb:"))}</span>',
        escape(task.type),
        _languages(task.languages),
        formats.count(task.examples),
        formats.size(task.bytes),
        escape(task.licence) or f'<span class="t-muted">{formats.MISSING}</span>',
        _data(task, suite, visitor),
    )


def _data(task: SuiteTask, suite: str, visitor: bool) -> str:
    if task.problem:
        return escape(task.problem)
    if task.here:
        return parts.tag("here", "good")
    login = f" {parts.tag('login', 'warn')}" if task.access == "login" else ""
    if visitor:
        return f"not here{login}"
    about = f"Fetch the data of {task.task} of {suite}"
    return button("Fetch", "fetch", task.task, about=about, kind="link") + login
