"""The difference between two sentences as HTML: words kept, moved, lost or new.

Outside text is escaped. Marks differ in shape and wording, not in colour alone.
"""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from theodolite.app import formats
from theodolite.engine.decoding.differing import Fate, Word

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


def mark(words: Sequence[Word]) -> str:
    """A sentence with its words marked as kept, moved, lost or new, as HTML."""
    runs: list[str] = []
    for fate, run in groupby(words, key=lambda word: word.fate):
        held = list(run)
        text = "".join((" " if word.apart else "") + word.text for word in held)
        before, after = _TAGS[fate]
        # A word that began its own sentence may follow a lost one.
        parted = held[0].apart or (runs and held[0].text[0].isalnum())
        runs.append(f"{' ' if parted else ''}{before}{escape(text.strip())}{after}")
    return "".join(runs).strip()


def tally(words: Sequence[Word]) -> str:
    """Summarise in plain text, as in `6 of 7 words kept in place. Lost: this. New: that.`."""
    real = [word for word in words if word.text[0].isalnum()]
    had = [word for word in real if word.fate != "new"]
    by: dict[str, list[str]] = {fate: [w.text for w in real if w.fate == fate] for fate in _TAGS}
    if words and all(word.fate == "kept" for word in words):
        return f"All of it came back, {formats.plural(len(had), 'word')}."
    if had and len(by["kept"]) == len(had) and not by["new"]:
        return f"All {formats.plural(len(had), 'word')} kept; the marks between them differ."
    counts = ["The sentence has no words."]
    if had:
        counts = [f"{len(by['kept'])} of {formats.plural(len(had), 'word')} kept in place."]
    for fate in ("moved", "lost", "new"):
        name = fate.capitalize()
        if by[fate]:
            counts.append(f"{name}: {', '.join(by[fate][:12])}{'…' if len(by[fate]) > 12 else ''}.")
    return " ".join(counts)
