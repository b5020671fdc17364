"""The listed encoders, the facts of a spec, and the results of its checks, as HTML."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
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
    from theodolite.engine.encoders.audit import Audit

_EXAMPLES = {"Spearman": ("pair", "pairs"), "nDCG@10": ("query", "queries")}
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
        f'<li{mark}><div><strong class="t-spec">{escape(name)}</strong>'
        f"<p>{escape(_facts(row))}</p>{why}{_own_prompts(row)}{_uses(name) if opened else ''}"
        f"{parts.warn(row.get('warnings') or [])}</div>"
        f'<div class="t-muted t-small">{evaluated}</div><div class="t-verbs">{verbs}</div></li>'
    )


def _uses(name: str) -> str:
    links = (
        f'<a href="{escape(address.link(path, encoder=name))}">{label}</a>' for label, path in USES
    )
    return f"<p>{' · '.join(links)}</p>"


def auditing(name: str, steps: Iterator[tuple[float, str] | Audit]) -> Iterator[str]:
    """Yield the progress of an audit, then its result."""
    started = time.monotonic()
    for step in steps:
        if not isinstance(step, tuple):
            yield audit(name, step, time.monotonic() - started)
            return
        share, what = step
        bar = parts.progress_bar(share, f"Audit of {name}")
        text = escape(f"Measuring {what} …")
        yield f'{bar}<p class="t-muted" role="status">{text}</p>'


def audit(name: str, made: Audit, seconds: float) -> str:
    """The effect of every setting of an encoder, against the encoder as given."""
    rows, titles = service.audit_rows(made), _titles()
    known = [row for row in rows if row["score"] is not None]
    reach = max(max(abs(row["low"]), abs(row["high"]), 1.0) for row in known)
    cells = [
        (
            escape(titles[row["group"]]),
            _setting(row),
            formats.score(row["score"]),
            formats.signed(row["lost"]) if row["lost"] else "best",
            formats.signed(row["change"]),
            _interval(row, reach),
            _verdict(row),
        )
        if row["score"] is not None
        else (
            escape(titles[row["group"]]),
            _setting(row),
            *([formats.MISSING] * 4),
            f'<span class="t-run-error">{escape(str(row["error"]))}</span>',
        )
        for row in rows
    ]
    heads = ("", "Setting", made.metric, "Lost", "Change", "95 % interval", "Verdict")
    table = parts.table(heads, cells, "Settings and their effect", (2, 3, 4), sortable=False)
    examples = formats.plural(made.n, *_EXAMPLES[made.metric])
    notes = "".join(f"<li>{escape(note)}</li>" for note in made.notes)
    return (
        f'<section class="t-card t-audit" aria-label="Setting audit"><h2>Settings '
        f'<small class="t-spec">{escape(service.source_of(name))}</small></h2>'
        f"<p><strong>{escape(_finding(rows))}</strong></p>"
        f'<p class="t-muted">Measured on {examples} of {escape(made.measured_on)} in '
        f"{formats.duration(seconds)}. Lost: points against the best. Change: points against the "
        "spec as asked; where its interval holds 0 it may be noise. Choose by this, then report on "
        f"other data.</p>{parts.warn(made.warnings)}{table}"
        f'<ul class="t-muted t-small">{notes}</ul></section>'
    )


def _titles() -> dict[str, str]:
    """Group -> title of the setting."""
    from theodolite.engine.encoders.audit import GROUPS

    return {"asked": "", **{str(name): title for name, title in GROUPS.items()}}


def _finding(rows: Sequence[dict[str, Any]]) -> str:
    """The result of an audit in a sentence."""
    better = [row for row in rows if row["verdict"] == "better"]
    worse = sum(row["verdict"] == "worse" for row in rows)
    others = f" {formats.plural(worse, 'setting is', 'settings are')} worse." if worse else ""
    if not better:
        return f"No setting is significantly better than yours.{others}"
    best = max(better, key=lambda row: row["score"])
    what = f"{_titles()[best['group']]} “{best['setting']}”"
    return f"{what} is better than yours: {_points(best)}.{others}"


def _points(row: dict[str, Any]) -> str:
    change, low, high = (formats.signed(row[name]) for name in ("change", "low", "high"))
    return f"{change} points, with an interval from {low} to {high}"


def _setting(row: dict[str, Any]) -> str:
    """The setting's name, linked to the form; settings outside the spec have no link."""
    label = escape(row["setting"])
    if row["group"] in ("asked", "length"):
        return label
    link = address.link("encoders", spec=row["spec"])
    return f'<a href="{escape(link)}" title="{escape(row["spec"])}">{label}</a>'


def _interval(row: dict[str, Any], reach: float) -> str:
    """The interval in numbers, and drawn to one scale for all rows."""
    low, at, high = (50.0 + 50.0 * row[name] / reach for name in ("low", "change", "high"))
    text = f"{formats.signed(row['low'])} to {formats.signed(row['high'])}"
    kind = {"better": " t-good", "worse": " t-bad"}.get(row["verdict"], "")
    places = f"--low:{low:.1f}%;--high:{high:.1f}%;--at:{at:.1f}%"
    return (
        f'<span class="t-interval{kind}"><i style="{places}"></i></span>'
        f'<small class="t-muted">{text}</small>'
    )


def _verdict(row: dict[str, Any]) -> str:
    kinds = {"better": "good", "worse": "bad"}
    if row["verdict"] in kinds:
        return parts.tag(row["verdict"], kinds[row["verdict"]])
    return f'<span class="t-muted t-small">{escape(row["verdict"])}</span>'


def coverage(name: str, rows: Sequence[dict[str, Any]]) -> str:
    """The sentences that a file of vectors lacks, task by task."""
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
    table = parts.table(columns, cells, "Missing sentences by task", (1, 2))
    return (
        f'<section class="t-card" aria-label="Coverage"><h2>Coverage '
        f'<small class="t-spec">{escape(name)}</small></h2>'
        f"<p>It has every sentence of {whole or 'none'} of {formats.plural(len(rows), 'task')}. "
        f"Where it lacks some, it cannot be evaluated.</p>{table}</section>"
    )
