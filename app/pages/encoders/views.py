"""The encoders that are kept, what is known of a spec, and what its checks found, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.components.actions import button
from app.pages.encoders import service
from app.web import address, parts
from engine.encoders.spec import TASK_DATA
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

MOST_PROMPTS = 6
"""Of a model's own that are shown."""
WITH_POOLING = ("hf", "dir", "minilm")
KINDS = {
    "minilm": "transformer",
    "hf": "transformer",
    "dir": "transformer",
    "wordllama": "static vectors",
    "words": "word vectors",
    "borep": "random projection",
    "random": "baseline",
    "vectors": "computed vectors",
}


def verdict(text: str) -> str:
    """What is known of a spec before it is added."""
    from engine.encoders import describe

    if not text.strip():
        return ""
    try:
        info = describe(text)
    except UserError as error:
        hint = f"<p>{escape(error.hint)}</p>" if error.hint else ""
        return f'<div class="t-notice" role="status"><p>{escape(error.message)}</p>{hint}</div>'
    name = f'<p><span class="t-spec">{escape(info["spec"])}</span></p>'
    known = _facts(info)
    usable = info["available"] or info["kind"] == "hf"  # the hub's are downloaded later
    kind = "t-good" if usable else "t-warn"
    return (
        f'<div class="t-notice {kind}" role="status">{name}<p>{escape(known)}</p>'
        f"{_own_prompts(info)}</div>" + parts.warn(info.get("warnings") or [])
    )


def _facts(info: dict[str, Any]) -> str:
    """One line of what is known."""
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
    """A prompt with its spaces; what stands for one is said in words."""
    return {"": "none", TASK_DATA: "of the task"}.get(prompt, f"“{prompt}”")


def _own_prompts(info: dict[str, Any]) -> str:
    """The prompts that the model's files name."""
    own = info.get("prompts") or {}
    listed = [f"{escape(name)} <code>{escape(text)}</code>" for name, text in own.items()]
    if len(listed) > MOST_PROMPTS:
        listed[MOST_PROMPTS:] = [f"and {len(listed) - MOST_PROMPTS} more"]
    return f'<p class="t-small">Its own prompts: {", ".join(listed)}</p>' if listed else ""


USES = (("Search", "search"), ("Map", "map"), ("Geometry", "geometry"), ("Decode", "decode"))
"""Pages that an encoder can be taken to."""


def listing(workspace: Workspace, opened: str = "") -> str:
    """Every encoder that is kept, and what can be done with it; the one opened comes first."""
    kept = service.listed(workspace)
    if not kept:
        return parts.empty("No encoders yet", "Add one above; three come with the starter set.")
    measured: dict[str, set[str]] = {}
    for row in workspace.store.results.table():
        if row["error"] is None:
            measured.setdefault(row["encoder"], set()).add(row["task"])
    rows = "".join(
        _entry(row, len(measured.get(row["name"], ())), workspace.read_only, row["name"] == opened)
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
            verbs += button("Check poolings", "poolings", name, about=f"Check poolings of {name}")
        if "vectors:" in name:
            verbs += button("Check coverage", "coverage", name, about=f"Check coverage of {name}")
        verbs += button("Remove", "remove", name, about=f"Remove {name}")
    why = "".join(
        f"<p>Pooling {escape(str(row.get('pooling')))}: {escape(reason)}</p>"
        for reason in row.get("why") or []
    )
    measured = f"measured on {formats.plural(tasks, 'task')}" if tasks else "not measured yet"
    mark = ' class="t-open"' if opened else ""
    return (
        f'<li{mark}><div><strong class="t-spec">{escape(name)}</strong>'
        f"<p>{escape(_facts(row))}</p>{why}{_own_prompts(row)}{_uses(name) if opened else ''}"
        f"{parts.warn(row.get('warnings') or [])}</div>"
        f'<div class="t-muted t-small">{measured}</div><div class="t-verbs">{verbs}</div></li>'
    )


def _uses(name: str) -> str:
    links = (
        f'<a href="{escape(address.link(path, encoder=name))}">{label}</a>' for label, path in USES
    )
    return f"<p>{' · '.join(links)}</p>"


def poolings(name: str, measured_on: str, rows: Sequence[dict[str, Any]]) -> str:
    """Every pooling of one encoder, the best first."""
    cells = [
        (f"<code>{escape(row['pooling'])}</code>", formats.score(row["spearman"])) for row in rows
    ]
    seconds = formats.duration(rows[0]["seconds"]) if rows else ""
    table = parts.table(("Pooling", "Spearman"), cells, "Poolings, the best first", (1,))
    return (
        f'<section class="t-card" aria-label="Poolings"><h2>Poolings '
        f'<small class="t-spec">{escape(service.source_of(name))}</small></h2>'
        f"<p>Measured on {escape(measured_on)} in {escape(seconds)}, all from one pass through the "
        f"model. Choose by this, then report on the test split.</p>{table}</section>"
    )


def coverage(name: str, rows: Sequence[dict[str, Any]]) -> str:
    """What a file of vectors lacks, task by task."""
    whole = sum(not row["lacking"] and not row["error"] for row in rows)
    cells = [
        (
            escape(row["task"]),
            formats.count(None if row["error"] else row["sentences"]),
            formats.count(None if row["error"] else row["lacking"]),
            f'<span dir="auto">{escape(row["error"] or row["first"])}</span>',
        )
        for row in sorted(rows, key=lambda row: (bool(row["error"]), row["lacking"]))
    ]
    columns = ("Task", "Sentences", "Lacking", "The first of them")
    table = parts.table(columns, cells, "What the file lacks, task by task", (1, 2))
    return (
        f'<section class="t-card" aria-label="Coverage"><h2>Coverage '
        f'<small class="t-spec">{escape(name)}</small></h2>'
        f"<p>It has every sentence of {whole or 'none'} of {formats.plural(len(rows), 'task')}. "
        f"Where it lacks some, nothing can be measured with it.</p>{table}</section>"
    )
