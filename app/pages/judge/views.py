"""A question of a session as HTML, with the buttons and keys that answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.pages.judge.session import Question, Session, shown
from theodolite.app.pages.judge.spec import MAX_ENCODERS, JudgeSpec
from theodolite.app.web import address, parts

BUTTONS = {
    "relevance": (("relevant", "Relevant", "j 1", "J"), ("not", "Not relevant", "k 0", "K")),
    "preference": (
        ("left", "Left is better", "j 1 ArrowLeft", "←"),
        ("neither", "No difference", "0", "0"),
        ("right", "Right is better", "k 2 ArrowRight", "→"),
    ),
}
"""Mode -> mark, label of its button, keys that press it, key shown."""


def question(current: Question | None, board: Mapping[str, Any], *, ended: bool) -> str:
    """The next question, with the buttons and their keys; what can be done once judging ended."""
    label, ask = "Question", "Which list answers better?"
    if board["mode"] == "relevance":
        ask = "Is this relevant?"
    if ended:
        body = parts.empty("Judging has ended", "The names are shown beside.")
    elif current is None:
        body = parts.empty("Everything is judged", "The difference is now known exactly.")
    else:
        label = f"Question {current.position + 1}"
        place = current.position
        buttons = "".join(
            _with_key(
                button(f"{word} {key}", "mark", f"{place}:{mark}", about=word, keys=keys), key
            )
            for mark, word, keys, key in BUTTONS[board["mode"]]
        )
        body = (
            f"{_texts(current.query, current.texts)}"
            f'<div class="t-judge-marks" role="group" aria-label="{ask}">{buttons}'
            f"{_undo(board)}</div>"
        )
    undo = _undo(board) if current is None and not ended else ""
    return (
        f'<section class="t-judge" aria-label="{label}">{body}{undo}'
        f'<p class="t-judge-links">{_ways(board, ended)}</p></section>'
    )


def _with_key(html: str, key: str) -> str:
    return html.replace(f" {key}</button>", f"<kbd>{key}</kbd></button>")


def _undo(board: Mapping[str, Any]) -> str:
    if not board["judges"]:
        return ""
    made = button("Undo U", "undo", board["id"], about="Undo the last mark", kind="link", keys="u")
    return _with_key(made, "U")


def _ways(board: Mapping[str, Any], ended: bool) -> str:
    """Buttons that end judging, save the marks, and ask the second judge."""
    ways = [("Judge on, without names" if ended else "End judging and show the names", "names")]
    if ended and board["mode"] == "relevance" and board["marks"]:
        ways.append(("Save as a data set", "keep"))
    if board["second"] and board["second"]["left"]:
        ways.append(("Ask the second judge for the rest", "second"))
    return "".join(button(text, act, board["id"], about=text, kind="link") for text, act in ways)


def _texts(query: str, texts: Sequence[Sequence[str]]) -> str:
    head = f'<p class="t-small t-muted">Query</p><h2 dir="auto">{escape(query)}</h2>'
    if len(texts) == 1:
        ((text,),) = texts
        return f'{head}<p class="t-judge-text" dir="auto">{escape(text)}</p>'
    lists = "".join(
        f'<section aria-label="{side}"><h3>{side}</h3><ol>'
        + "".join(f'<li dir="auto">{escape(text)}</li>' for text in one)
        + "</ol></section>"
        for side, one in zip(("Left", "Right"), texts, strict=True)
    )
    return f'{head}<div class="t-judge-lists">{lists}</div>'


def last(board: Mapping[str, Any], by: str) -> str:
    """The last question of a read-only session."""
    found = board["last"]
    if not found:
        return ""
    if board["mode"] == "relevance":
        grade = "relevant" if found["mark"] >= 0.5 else "not relevant"
    else:
        grade = {1.0: "left is better", -1.0: "right is better"}.get(found["mark"], "no difference")
    return (
        '<section class="t-judge" aria-label="The last question">'
        f"{_texts(found['query'], found['texts'])}"
        f'<p class="t-muted">{escape(by)}: <strong>{grade}</strong></p></section>'
    )


def unjudged(spec: JudgeSpec, encoder: str, counts: Mapping[str, int]) -> str:
    """How many documents of another encoder are unjudged, and how to judge them."""
    name, rest = f"<code>{escape(encoder)}</code>", counts["returned"] - counts["unjudged"]
    text = (
        f"Of the top {spec.k} of {name} for "
        f"{formats.plural(counts['queries'], 'judged query', 'judged queries')} "
        f"<strong>{counts['unjudged']:,} of "
        f"{formats.plural(counts['returned'], 'document')}</strong> are unjudged; they never "
        "count as wrong. "
    )
    if rest:
        text += f"The others: {counts['relevant']:,} relevant, {counts['not_relevant']:,} not. "
    joins = encoder not in spec.encoders and len(spec.encoders) < MAX_ENCODERS
    if counts["unjudged"] and joins and not spec.queries:
        again = {"draw": str(spec.draw), "k": str(spec.k), "seed": str(spec.seed)}
        page = address.link(
            "judge", encoder=[*spec.encoders, encoder], **{"in": spec.collection}, **again
        )
        text += f'<a href="{escape(page)}">Begin a session with it</a> to mark them.'
    return f'<p class="t-muted">{text}</p>'


def disagreements(found: Session, positions: Sequence[int]) -> str:
    """The disagreements between judges, with buttons that settle them."""
    rows = []
    for position in positions[:20]:
        current = shown(found, position)
        buttons = "".join(
            button(label, "settle", f"{position}:{word}", about=f"Settle as: {label}")
            for word, label, _, _ in BUTTONS[found.spec.mode]
        )
        rows.append(f"<li>{_texts(current.query, current.texts)}<p>{buttons}</p></li>")
    if not rows:
        return ""
    title = parts.heading(
        "Judges disagree", "Choose which mark counts; until then the mean counts."
    )
    return f'{title}<ul class="t-judge-settle">{"".join(rows)}</ul>'


def preparing(alive: bool) -> str:
    """A placeholder for a session that does not exist yet."""
    if alive:
        text = (
            "The first question appears when all have answered. You can close the page until then."
        )
        return parts.empty("Querying the encoders", text)
    return parts.empty(
        "This session could not be started",
        "The reason is given above. Retry it, or start another.",
    )


EXAMPLE = (
    '<p class="t-muted">An example: a script that knows the labels judged the starter set.</p>'
)
BEGIN = (
    '<p class="t-muted">Choose encoders and a collection above, and start a session of your '
    "own.</p>"
)
