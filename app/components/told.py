"""What decoders said, a card an encoder: the sentence, what became of its words, other candidates.

Plain HTML with everything from outside escaped. Marks are told by shape and by word, not by colour
alone. Knows nothing of how a sentence was decoded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import groupby

from app import formats
from app.pages.decode.service import Other, Said
from app.web import parts
from engine.decoding.differing import Fate, Word

_TAGS: dict[Fate, tuple[str, str]] = {
    "kept": ("", ""),
    "moved": ('<span class="t-moved">', "</span>"),
    "lost": ("<del>", "</del>"),
    "new": ("<ins>", "</ins>"),
}
LEGEND = (
    '<p class="t-legend">Words kept, <span class="t-moved">moved</span>, <del>lost</del>, '
    "<ins>new</ins>.</p>"
)


def cards(found: Sequence[Said | tuple[str, str]]) -> str:
    """One card an encoder.

    Args:
        found: what was said, or (encoder, HTML that stands in its place).
    """
    body = "".join(
        _framed(one[0], one[1]) if isinstance(one, tuple) else card(one) for one in found
    )
    return f'<div class="t-columns t-told">{body}</div>'


def card(said: Said) -> str:
    """One card; a problem must have been made HTML by the page, see `cards`."""
    sentence = marked(said.words) if said.words else escape(said.sentence)
    shown = sentence or '<span class="t-muted">nothing at all</span>'
    tally = f'<p class="t-tally">{escape(tallied(said.words))}</p>' if said.words else ""
    return _framed(
        said.encoder,
        f'<div class="t-telling"><p class="t-sentence" dir="auto">{shown}</p>'
        f"{cosine(said.cosine)}</div>{tally}{_limits(said)}{others(said.others)}",
        _time(said.seconds),
    )


def marked(words: Sequence[Word]) -> str:
    """A sentence with what became of its words, as HTML."""
    runs: list[str] = []
    for fate, run in groupby(words, key=lambda word: word.fate):
        held = list(run)
        text = "".join((" " if word.apart else "") + word.text for word in held)
        before, after = _TAGS[fate]
        # A word that began its own sentence may stand behind one that was lost.
        parted = held[0].apart or (runs and held[0].text[0].isalnum())
        runs.append(f"{' ' if parted else ''}{before}{escape(text.strip())}{after}")
    return "".join(runs).strip()


def tallied(words: Sequence[Word]) -> str:
    """Say it in words, plain text: `6 of 7 words kept in place. Lost: this. New: that.`."""
    real = [word for word in words if word.text[0].isalnum()]
    had = [word for word in real if word.fate != "new"]
    by: dict[str, list[str]] = {fate: [w.text for w in real if w.fate == fate] for fate in _TAGS}
    if words and all(word.fate == "kept" for word in words):
        return f"All of it came back, {formats.plural(len(had), 'word')}."
    if had and len(by["kept"]) == len(had) and not by["new"]:
        return f"All {formats.plural(len(had), 'word')} kept; the marks between them differ."
    said = [f"{len(by['kept'])} of {formats.plural(len(had), 'word')} kept in place."]
    for fate in ("moved", "lost", "new"):
        name = fate.capitalize()
        if by[fate]:
            said.append(f"{name}: {', '.join(by[fate][:12])}{'…' if len(by[fate]) > 12 else ''}.")
    return " ".join(said)


def cosine(value: float | None) -> str:
    """A number with a bar under it; nothing for None."""
    if value is None:
        return ""
    width = round(100 * min(1.0, max(0.0, value)))
    return (
        f'<span class="t-cosine" aria-label="cosine {number(value)}">{number(value)}'
        f'<i style="--share:{width}%"></i></span>'
    )


def number(value: float) -> str:
    """Three decimals and a real minus."""
    shown = f"{value:.3f}"
    return "0.000" if shown == "-0.000" else shown.replace("-", "−")


def others(found: Sequence[Other]) -> str:
    """The other candidates, folded away; nothing for none."""
    if not found:
        return ""
    items = "".join(
        f'<li><span dir="auto">{escape(one.sentence) or "nothing"}</span>{cosine(one.cosine)}</li>'
        for one in found
    )
    title = formats.plural(len(found), "other candidate")
    return f'<details class="t-others"><summary>{title}</summary><ol>{items}</ol></details>'


def alike(left: str, right: str) -> bool:
    """Whether two sentences have the same words, whatever their case and marks."""
    first, second = (re.findall(r"\w+", text.casefold()) for text in (left, right))
    return bool(first) and first == second


def _framed(encoder: str, body: str, beside: str = "") -> str:
    small = f"<small>{escape(beside)}</small>" if beside else ""
    return (
        f'<section class="t-column" aria-label="{escape(encoder)}"><header>'
        f'<span class="t-spec">{escape(encoder)}</span>{small}</header>{body}</section>'
    )


def _limits(said: Said) -> str:
    """What to know before judging: a sentence that is too long, an end that was not reached."""
    if said.longer:
        return _note(
            f"The sentence has {said.given} words and this decoder knows sentences of at most "
            f"{said.known}: what it says is cut short."
        )
    if said.cut:
        return _note("It was still going on at the greatest length that this decoder can say.")
    return ""


def _note(text: str) -> str:
    return f'<p class="t-note">{parts.tag("cut", "warn")} {escape(text)}</p>'


def _time(seconds: float) -> str:
    return f"{round(1000 * seconds)} ms" if seconds < 1 else formats.duration(seconds)
