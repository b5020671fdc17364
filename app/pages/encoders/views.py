"""The listed encoders, and the facts of a spec, as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.pages.encoders import service
from theodolite.app.web import address, parts
from theodolite.engine.encoders.facts import LATER
from theodolite.engine.encoders.spec import TASK_DATA
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

MAX_PROMPTS = 6
"""Most of a model's own prompts shown."""
WITH_POOLING = ("hf", "dir", "minilm")
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


def verdict(text: str) -> str:
    """The facts of a spec before it is added."""
    from theodolite.engine.encoders import describe

    if not text.strip():
        return ""
    try:
        info = describe(text)
    except UserError as error:
        hint = f"<p>{escape(error.hint)}</p>" if error.hint else ""
        return f'<div class="t-notice" role="status"><p>{escape(error.message)}</p>{hint}</div>'
    name = f'<p><span class="t-spec">{escape(info["spec"])}</span></p>'
    known = _facts(info)
    usable = info["available"] or info["problem"] == LATER
    kind = "t-good" if usable else "t-warn"
    return (
        f'<div class="t-notice {kind}" role="status">{name}<p>{escape(known)}</p>'
        f"{_own_prompts(info)}</div>" + parts.warn(info.get("warnings") or [])
    )


def _facts(info: dict[str, Any]) -> str:
    """The facts in one line."""
    kind = info.get("kind") or ""
    facts = [KINDS.get(kind, kind)]
    if info.get("dim"):
        facts.append(f"{formats.count(info['dim'])} dimensions")
    if info.get("parameters"):
        facts.append(f"{formats.compact(info['parameters'])} parameters")
    if info.get("bytes"):
        facts.append(formats.size(info["bytes"]))
    if info.get("pooling") and not info.get("why"):
        facts.append(f"pooling {info['pooling']}")
    facts += [
        f"{label} {_quoted(info[name])}"
        for name, label in (("prompt", "prompt"), ("query_prompt", "query prompt"))
        if name in info
    ]
    if info.get("problem"):
        facts.append(info["problem"])
    return " · ".join(fact for fact in facts if fact)


def _quoted(prompt: str) -> str:
    """A prompt in quotation marks; no prompt and the task's prompt in words."""
    return {"": "none", TASK_DATA: "of the task"}.get(prompt, f"“{prompt}”")


def _own_prompts(info: dict[str, Any]) -> str:
    """The prompts that the model's files name."""
    own = info.get("prompts") or {}
    listed = [f"{escape(name)} <code>{escape(text)}</code>" for name, text in own.items()]
    if len(listed) > MAX_PROMPTS:
        listed[MAX_PROMPTS:] = [f"and {len(listed) - MAX_PROMPTS} more"]
    return f'<p class="t-small">Its own prompts: {", ".join(listed)}</p>' if listed else ""


USES = (("Search", "search"), ("Map", "map"), ("Geometry", "geometry"), ("Decode", "decode"))
"""Pages that an encoder can be opened on."""


def listing(workspace: Workspace, opened: str = "") -> str:
    """Every listed encoder with its actions; the opened one comes first."""
    kept = service.listed(workspace)
    if not kept:
        return parts.empty("No encoders yet", "Add one above; three come with the starter set.")
    evaluated: dict[str, set[str]] = {}
    for row in workspace.store.results.table():
        if row["error"] is None:
            evaluated.setdefault(row["encoder"], set()).add(row["task"])
    rows = "".join(
        _entry(row, len(evaluated.get(row["name"], ())), workspace.read_only, row["name"] == opened)
        for row in sorted(kept, key=lambda row: row["name"] != opened)
    )
    return f'<ul class="t-runs t-encoders" aria-label="Encoders">{rows}</ul>'


def _entry(row: dict[str, Any], tasks: int, read_only: bool, opened: bool) -> str:
    name = row["name"]
    verbs = ""
    if not read_only:
        link = address.link("evaluate", encoder=name)
        verbs = f'<a class="t-button t-small-button" href="{escape(link)}">Evaluate</a>'
        if row.get("kind") in WITH_POOLING:
            verbs += button("Audit settings", "audit", name, about=f"Audit settings of {name}")
        if "vectors:" in name:
            verbs += button("Check coverage", "coverage", name, about=f"Check coverage of {name}")
        verbs += button("Remove", "remove", name, about=f"Remove {name}")
    why = "".join(
        f"<p>Pooling {escape(str(row.get('pooling')))}: {escape(reason)}</p>"
        for reason in row.get("why") or []
    )
    evaluated = f"evaluated on {formats.plural(tasks, 'task')}" if tasks else "not evaluated yet"
    mark = ' class="t-open"' if opened else ""
    return (
        f'<li{mark} data-text="{escape(name.casefold())}">'
        f'<div><strong class="t-spec">{escape(name)}</strong>'
        f"<p>{escape(_facts(row))}</p>{why}{_own_prompts(row)}{_uses(name) if opened else ''}"
        f"{parts.warn(row.get('warnings') or [])}</div>"
        f'<div class="t-muted t-small">{evaluated}</div><div class="t-verbs">{verbs}</div></li>'
    )


def _uses(name: str) -> str:
    links = (
        f'<a href="{escape(address.link(path, encoder=name))}">{label}</a>' for label, path in USES
    )
    return f"<p>{' · '.join(links)}</p>"
