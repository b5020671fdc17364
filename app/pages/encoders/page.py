"""The page *Encoders*: those that are kept, and a way to write a new one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.actions import actions, button
from app.pages.encoders import builder
from app.web import address, parts
from app.web.events import PageEvent
from app.web.parts import ONE_AT_A_TIME
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Encoders"
PATH = "encoders"

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


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(
        "Encoders",
        "An encoder turns text into vectors. It is written as a short text that works the same "
        "here, on the command line and in Python.",
    )
    notice = parts.notice()
    listing = actions(elem_id="encoders")
    checked = parts.static("", elem_id="poolings")
    parts.on_load(parts.telling(lambda: _listing(workspace), 1), None, [listing, notice])

    def act(event: PageEvent) -> Iterator[tuple[Any, ...]]:
        if workspace.read_only:
            return
        if event.act == "remove":
            workspace.store.encoders.remove(event.id)
            yield _listing(workspace), "", parts.say(f"Removed {event.id}. Its results are kept.")
        elif event.act == "poolings":
            yield gr.skip(), "", parts.say(f"Measuring every pooling of {event.id} …")
            yield gr.skip(), _poolings(workspace, event.id)
        elif event.act == "coverage":
            for drawn in _coverage(workspace, event.id):
                yield gr.skip(), drawn

    listing.act(parts.telling(act, 2), None, [listing, checked, notice],
                show_progress="hidden", concurrency_limit=1)  # fmt: skip
    if not workspace.read_only:
        _add(workspace, listing)


def _add(workspace: Workspace, listing: gr.HTML) -> None:
    """The form: a spec, and a builder that writes one."""
    parts.section(
        "Add an encoder",
        "Write its spec, or have it written by the choices below. Nothing is downloaded yet.",
    )
    with gr.Group():
        spec = gr.Textbox(
            label="Spec", placeholder="hf:bert-base-uncased?pooling=cls_token | normalise",
            elem_id="spec", elem_classes=["t-mono"], max_lines=1,
        )  # fmt: skip
    verdict = parts.static("", elem_id="verdict")
    add = gr.Button("Add encoder", variant="primary", elem_id="add")
    added = parts.notice()
    controls, join = builder.build(workspace)

    def compose(*choices: Any) -> tuple[Any, Any]:
        ready = bool(builder.source(*choices[:5]))
        return builder.compose(*choices) or gr.skip(), gr.update(interactive=ready)

    gr.on(
        [control.change for control in controls], compose, controls, [spec, join], **ONE_AT_A_TIME
    )
    spec.change(parts.telling(_verdict, 1), spec, [verdict, added], **ONE_AT_A_TIME)
    address.keep({"spec": spec})

    def load(request: gr.Request) -> Any:
        return address.first(request, "spec") or gr.skip()  # somebody may be writing already

    parts.on_load(load, None, spec)

    def save(text: str) -> tuple[Any, ...]:
        row = workspace.add_encoder(text)
        return _listing(workspace), parts.say(f"Added {row['name']}.", "t-good")

    gr.on([add.click, spec.submit], parts.telling(save, 1), spec, [listing, added])


def _verdict(text: str) -> str:
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
        f'<div class="t-notice {kind}" role="status">{name}<p>{escape(known)}</p></div>'
        + parts.warn(info.get("warnings") or [])
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
    if info.get("problem"):
        facts.append(info["problem"])
    return " · ".join(fact for fact in facts if fact)


def _listing(workspace: Workspace) -> str:
    kept = workspace.store.encoders.list()
    if not kept:
        return parts.empty("No encoders yet", "Add one below; three come with the starter set.")
    measured: dict[str, set[str]] = {}
    for row in workspace.store.results.table():
        if row["error"] is None:
            measured.setdefault(row["encoder"], set()).add(row["task"])
    rows = "".join(
        _entry(dict(row), len(measured.get(row["name"], ())), workspace.read_only) for row in kept
    )
    return f'<ul class="t-runs t-encoders" aria-label="Encoders">{rows}</ul>'


def _entry(row: dict[str, Any], tasks: int, read_only: bool) -> str:
    name, info = row["name"], row["info"]
    verbs = ""
    if not read_only:
        link = address.link("evaluate", encoder=name)
        verbs = f'<a class="t-button t-small-button" href="{escape(link)}">Evaluate</a>'
        if info.get("kind") in WITH_POOLING:
            verbs += button("Check poolings", "poolings", name, about=f"Check poolings of {name}")
        if "vectors:" in name:
            verbs += button("Check coverage", "coverage", name, about=f"Check coverage of {name}")
        verbs += button("Remove", "remove", name, about=f"Remove {name}")
    why = "".join(
        f"<p>Pooling {escape(str(info.get('pooling')))}: {escape(reason)}</p>"
        for reason in info.get("why") or []
    )
    measured = f"measured on {formats.plural(tasks, 'task')}" if tasks else "not measured yet"
    return (
        f'<li><div><strong class="t-spec">{escape(name)}</strong><p>{escape(_facts(info))}</p>{why}'
        f"{parts.warn(info.get('warnings') or [])}</div>"
        f'<div class="t-muted t-small">{measured}</div><div class="t-verbs">{verbs}</div></li>'
    )


def _poolings(workspace: Workspace, name: str) -> str:
    """Measure every pooling of one encoder and show them, best first."""
    from app.pages.encoders.pooling_check import check_on_dev

    source = name.split("|")[0].strip()
    measured_on, rows = check_on_dev(workspace, source)
    cells = [
        (f"<code>{escape(row['pooling'])}</code>", formats.score(row["spearman"])) for row in rows
    ]
    seconds = formats.duration(rows[0]["seconds"]) if rows else ""
    table = parts.table(("Pooling", "Spearman"), cells, "Poolings, the best first", (1,))
    return (
        f'<section class="t-card" aria-label="Poolings"><h2>Poolings '
        f'<small class="t-spec">{escape(source)}</small></h2>'
        f"<p>Measured on {escape(measured_on)} in {escape(seconds)}, all from one pass through the "
        f"model. Choose by this, then report on the test split.</p>{table}</section>"
    )


def _coverage(workspace: Workspace, name: str) -> Iterator[str]:
    """Count, task by task, the sentences that a file of vectors lacks."""
    from app.pages.evaluate.coverage import coverage
    from engine import tasks

    wanted = [task.name for task in tasks.available(workspace.catalog)]
    start, rows = time.monotonic(), []
    yield parts.bar(None, f"Coverage of {name}")
    for row in coverage(workspace, name, wanted):
        rows.append(row)
        left = (time.monotonic() - start) / len(rows) * (len(wanted) - len(rows))
        said = f"{len(rows)} of {len(wanted)} tasks, {formats.time_left(left)}"
        bar = parts.bar(len(rows) / len(wanted), f"Coverage of {name}")
        yield f'{bar}<p class="t-muted">{escape(said)}</p>'
    yield _covered(name, rows)


def _covered(name: str, rows: list[dict[str, Any]]) -> str:
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
