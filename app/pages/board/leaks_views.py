"""Views of the page Leaks: the share of each task that was seen in training, and the texts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from theodolite.app import formats
from theodolite.app.web import parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from theodolite.app.pages.board.leaks import Leak

SHOWN, MOST_EXAMPLES = 240, 12
"""Characters of a text, and examples on the page; the CSV has all that are stored."""
READING = (
    "Looked for are the texts of the examples that a task's main score is over; of a retrieval or "
    "reranking its queries, and in a line of its own its documents (of more than 20 million "
    "characters those that answer a query). The same: word for word, but for case, spaces and end "
    "marks. Nearly: the character 5-grams of both, of letters and digits alone, have a Jaccard "
    "index of 0.8 at least (Broder 1997); none above it is missed. A sentence inside a longer text "
    "is not found."
)


NOT_SHIPPED = "This search ships with Theodolite; the texts themselves do not."


def finding(leaks: Sequence[Leak], encoder: str, summary: str, *, shipped: bool = False) -> str:
    """The number of tasks with texts seen in training, and the worst of them."""
    compared = [leak for leak in leaks if not leak.problem]
    seen = list(dict.fromkeys(leak.task for leak in compared if leak.share))
    of = len({leak.task for leak in compared})
    if not compared:
        return parts.heading("Nothing could be compared", summary)
    if not seen:
        head = f"No text of {formats.plural(of, 'task')} occurs in the training data searched"
    else:
        worst = compared[0]
        verb = "shares" if len(seen) == 1 else "share"
        head = (
            f"{len(seen)} of {formats.plural(of, 'task')} {verb} texts with training data of "
            f"{encoder}: "
            f"{worst.share:.1%} of {worst.label} {'stands' if worst.same else 'nearly stands'} in "
            f"{worst.trained_on}"
        )
    beside = f" {parts.SHIPPED}" if shipped else ""
    return parts.heading(head, f"{NOT_SHIPPED} {summary}" if shipped else summary, beside=beside)


def table(leaks: Sequence[Leak]) -> str:
    """A row per task and training set that share texts, the largest share first."""
    listed = [leak for leak in leaks if leak.share or leak.problem]
    rest = len(leaks) - len(listed)
    heads = ("Task", "Stands in", "The same", "Nearly", "Of", "Share")
    rows = [
        (
            escape(leak.label),
            escape(leak.trained_on),
            *(
                (formats.MISSING,) * 3
                if leak.problem
                else tuple(map(formats.count, (leak.same, leak.nearly, leak.tested)))
            ),
            escape(leak.problem) if leak.problem else f"{leak.share:.1%}",
        )
        for leak in listed
    ]
    further = f"{formats.plural(rest, 'pair')} of a task and a training set share no text. "
    reading = (
        f'<p class="t-small t-muted t-below">{escape((further if rest else "") + READING)}</p>'
    )
    named = "Texts of tasks in training sets"
    shown = parts.table(heads, rows, named, (2, 3, 4, 5), stacked=True) if listed else ""
    return shown + reading


def examples(leaks: Sequence[Leak]) -> str:
    """Texts of the tasks beside their duplicates, a few of each pair; the CSV has all stored."""
    kept = [(leak, *one) for leak in leaks for one in leak.examples]
    if not kept:
        return ""
    each = max(1, MOST_EXAMPLES // sum(bool(leak.examples) for leak in leaks))
    shown = [(leak, *one) for leak in leaks for one in leak.examples[:each]][:MOST_EXAMPLES]
    heads = ("Task", "Its text", "In the training data", "Resemblance")
    rows = [
        (
            escape(leak.label),
            _short(text),
            _short(twin) + _where(leak),
            "the same" if same else f"{alike:.2f}",
        )
        for leak, text, twin, alike, same in shown
    ]
    data = [["task", "text", "trained on", "its text", "resemblance", "the same"]]
    data += [
        [leak.label, text, leak.trained_on, twin, str(alike), str(same)]
        for leak, text, twin, alike, same in kept
    ]
    save = parts.csv_button("Download CSV", "theodolite-leaks.csv", data)
    return parts.table(heads, rows, "Texts seen in training", (3,), stacked=True) + save


def _short(text: str) -> str:
    first = text if len(text) <= SHOWN else f"{text[:SHOWN].rstrip()}…"
    return f'<span dir="auto">{escape(first)}</span>'


def _where(leak: Leak) -> str:
    return f'<br><span class="t-muted">{escape(leak.trained_on)}</span>'
