"""A session as HTML: the question, without names, and the estimates so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.pages.judge import second, service
from theodolite.app.pages.judge.service import JudgeSpec, Question, Session
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
WIDE, HIGH = 600, 190
_MEANING = (
    '<p class="t-small t-muted">First minus second, in points out of 100, after each mark. The '
    "band is a 95 % confidence sequence: it holds for all pairs together, however often you look."
    "</p>"
)


def question(current: Question | None, board: Mapping[str, Any]) -> str:
    """The next question, with the buttons and their keys."""
    if current is None:
        over = parts.empty("Everything is judged", "The difference is now known exactly.")
        return f'<section class="t-judge" aria-label="Question">{over}{_undo(board)}</section>'
    mode = board["mode"]
    ask = "Is this relevant?" if mode == "relevance" else "Which list answers better?"
    buttons = "".join(
        button(
            f"{label} {key}", "mark", f"{current.position}:{word}", about=label, keys=keys
        ).replace(f" {key}</button>", f"<kbd>{key}</kbd></button>")
        for word, label, keys, key in BUTTONS[mode]
    )
    return (
        f'<section class="t-judge" aria-label="Question {current.position + 1}">'
        f"{_texts(current.query, current.texts)}"
        f'<div class="t-judge-marks" role="group" aria-label="{ask}">{buttons}{_undo(board)}'
        "</div></section>"
    )


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


def _undo(board: Mapping[str, Any]) -> str:
    if not board["judges"]:
        return ""
    made = button("Undo U", "undo", board["id"], about="Undo the last mark", kind="link", keys="u")
    return made.replace(" U</button>", "<kbd>U</kbd></button>")


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


def findings(board: Mapping[str, Any], *, names: bool, visitor: bool, marking: bool = False) -> str:
    """The estimate of each pair, and whether enough is judged."""
    labels = {
        name: name if names else f"Encoder {chr(65 + at)}" for at, name in enumerate(board["blind"])
    }
    possible = board["marks"] + board["left"]
    marks = (
        f"{board['marks']:,} of at most {formats.plural(possible, 'mark')} on "
        f"{escape(board['collection'])}"
    )
    verdict = (
        '<strong class="t-judge-enough">You have judged enough.</strong>'
        if board["enough"]
        else "<strong>Not enough yet.</strong>"
    )
    order = list(labels)
    pairs = "".join(
        _pair(pair, labels, board["margin"])
        for pair in sorted(
            board["pairs"],
            key=lambda pair: sorted((order.index(pair["a"]), order.index(pair["b"]))),
        )
    )
    reveal = button(
        "Hide names" if names else "Show names",
        "names",
        board["id"],
        kind="link",
        about="Hide the encoders' names" if names else "Show which encoder is which",
    )
    if not board["id"]:  # the example shows its names
        reveal = ""
    export = ""
    if board["mode"] == "relevance" and board["marks"] and not visitor:
        export = button(
            "Use as data set",
            "keep",
            board["id"],
            about="Turn the marks into a data set",
            kind="link",
        )
    return (
        '<section class="t-judge-found" aria-label="What the marks say">'
        f'<p role="status">{verdict} {marks}.{_judges(board)}</p>'
        f"{pairs}"
        f"{_MEANING if board['marks'] else ''}{_second(board, visitor, marking)}"
        f'<p class="t-judge-links">{reveal}{export}</p>{parts.warn(board["warnings"])}</section>'
    )


def _second(board: Mapping[str, Any], visitor: bool, marking: bool) -> str:
    """Progress and agreement of the second judge."""
    found = board["second"]
    if not found:
        return ""
    asks = button(
        "Ask for the rest",
        "second",
        board["id"],
        kind="link",
        about="Ask the second judge for the rest",
    )
    text = " ".join(second.in_words(found, marking=marking))
    return (
        f'<p class="t-small t-muted t-judge-second">Second judge: '
        f"<code>{escape(found['model'])}</code>. {escape(text)} "
        f"{asks if found['left'] and not visitor and not marking else ''}</p>"
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
    joins = encoder not in spec.encoders and len(spec.encoders) < service.MAX_ENCODERS
    if counts["unjudged"] and joins and not spec.queries:
        again = {"draw": str(spec.draw), "k": str(spec.k), "seed": str(spec.seed)}
        page = address.link(
            "judge", encoder=[*spec.encoders, encoder], collection=spec.collection, **again
        )
        text += f'<a href="{escape(page)}">Begin a session with it</a> to mark them.'
    return f'<p class="t-muted">{text}</p>'


def _judges(board: Mapping[str, Any]) -> str:
    if len(board["judges"]) < 2:
        return ""
    agree = formats.score(board["alpha"])
    return f" {len(board['judges'])} judges, Krippendorff's alpha {agree}."


def _pair(pair: Mapping[str, Any], labels: Mapping[str, str], margin: float) -> str:
    """A pair in words and as a chart over the marks, in the order of the (blind) labels."""
    turn = list(labels).index(pair["a"]) > list(labels).index(pair["b"])
    first, second = (labels[pair[side]] for side in ("ba" if turn else "ab"))
    path = [(0.0 - d, -high, -low) if turn else (d, low, high) for d, low, high in pair["path"]]
    difference, low, high = path[-1]
    if pair["verdict"] in (pair["a"], pair["b"]):
        better = labels[pair["verdict"]]
        worse = second if better == first else first
        words = f"<strong>{escape(better)}</strong> is better than {escape(worse)}"
    elif pair["verdict"] == "alike":
        words = f"{escape(first)} and {escape(second)} differ by less than {margin:g} points"
    else:
        words = f"{escape(first)} or {escape(second)}: undecided"
        if len(path) == 1:
            return f'<div class="t-judge-pair"><p>{words}</p></div>'
    numbers = (
        f"{formats.signed(difference)} points, {formats.signed(low)} to {formats.signed(high)}"
    )
    if alone := pair.get("without_second"):
        sides = (alone["difference"], alone["low"], alone["high"])
        middle, low, high = (0.0 - sides[0], -sides[2], -sides[1]) if turn else sides
        numbers += (
            f"</small><br><small>Without the second judge: {formats.signed(middle)} points, "
            f"{formats.signed(low)} to {formats.signed(high)}"
        )
    return (
        f'<div class="t-judge-pair"><p>{words}<br><small>{numbers}</small></p>{_drawn(path)}</div>'
    )


def _drawn(path: Sequence[tuple[float, float, float]]) -> str:
    """A chart of estimate and interval over the marks; the words beside it say the same."""
    top = max(5.0, max(max(abs(low), abs(high)) for _, low, high in path[len(path) // 8 :]))
    xs = [WIDE * i / max(1, len(path) - 1) for i in range(len(path))]

    def y(value: float) -> float:
        return HIGH / 2 * (1 - max(-1.0, min(1.0, value / top)))

    def points(at: int) -> list[str]:
        return [f"{x:.1f},{y(row[at]):.1f}" for x, row in zip(xs, path, strict=True)]

    band = " ".join([*points(1), *reversed(points(2))])
    return (
        f'<div class="t-judge-drawn" aria-hidden="true">'
        f'<svg viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none">'
        f'<polygon points="{band}"/><line x1="0" x2="{WIDE}" y1="{HIGH / 2}" y2="{HIGH / 2}"/>'
        f'<polyline points="{" ".join(points(0))}"/></svg>'
        f"<small>+{top:.0f}</small><small>−{top:.0f}</small></div>"
    )


def disagreements(found: Session, positions: Sequence[int], shown: Sequence[Question]) -> str:
    """The disagreements between judges, with buttons that settle them."""
    rows = []
    for position, current in zip(positions[:20], shown, strict=False):
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
    '<p class="t-muted">An example: a script that knows the labels judged the starter set. Choose '
    "encoders and a collection above, and start a session of your own.</p>"
)


def whole(left: str, right: str, below: str = "", before: str = "") -> str:
    """The whole page: the question beside the findings."""
    return f'{before}<div class="t-judging">{left}{right}</div>{below}'
