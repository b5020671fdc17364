"""Views of the decode pages: a card per encoder, the table of an expression, interpolation text.

All outside text is escaped. Knows nothing of how a sentence was decoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from theodolite.app.pages.decode.answer import word_diff_of
from theodolite.app.pages.decode.service import DecodeResult, NoDecoder, training_time
from theodolite.app.surfaces import document
from theodolite.app.web import address, parts
from theodolite.app.web.parts import cosine

if TYPE_CHECKING:
    from theodolite.app.pages.decode.service import Step
    from theodolite.app.workspace import Workspace
    from theodolite.engine.errors import UserError

Shown: TypeAlias = DecodeResult | tuple[str, str]
"""The result of an encoder, or (its spec, HTML shown in place of it)."""


def cards(found: Sequence[Shown]) -> str:
    """One card per encoder."""
    return document.word_diffs(
        [one if isinstance(one, tuple) else word_diff_of(one) for one in found]
    )


def alike(left: str, right: str) -> bool:
    """Whether two sentences have the same words, ignoring case and punctuation."""
    first, second = (re.findall(r"\w+", text.casefold()) for text in (left, right))
    return bool(first) and first == second


def calculated(
    expression: str, used: Mapping[str, str], answer: str, found: Sequence[Shown]
) -> str:
    """A table of each encoder's result, with the expected answer below.

    Args:
        expression: over names.
        used: the names in the expression, with their sentences.
        answer: the expected answer; empty if unknown.
        found: as in `cards`.
    """
    person = (
        f'<p class="t-person">A person might say: <span dir="auto">{escape(answer)}</span></p>'
        if answer
        else ""
    )
    rows = [_row(one, used, answer) for one in found]
    title = f"What decoders say of {expression.strip()[:60]}"
    table = parts.table(("Encoder", "z, as decoded", "Cosine"), rows, title, numbers=(2,))
    return f'<div class="t-calculated">{table}{person}</div>'


def _row(one: Shown, used: Mapping[str, str], answer: str) -> tuple[str, str, str]:
    if isinstance(one, tuple):
        return document.change(one[0]), one[1], ""
    shown = escape(one.sentence) or '<span class="t-muted">nothing at all</span>'
    marks = "".join(
        parts.tag(f"{name} again") for name, text in used.items() if alike(text, one.sentence)
    )
    if alike(answer, one.sentence):
        marks += parts.tag("as a person might write it", "good")
    if one.cut:
        marks += parts.tag("cut at the maximum length", "warn")
    sentence = f'<p class="t-sentence" dir="auto">{shown} {marks}</p>{document.others(one.others)}'
    shipped = f" {parts.SHIPPED}" if one.seconds is None else ""
    return f"{document.change(one.encoder)}{shipped}", sentence, cosine(one.cosine)


def interpolated(
    steps: Sequence[Step], headline: str, lacking: str = "", collection: str | None = None
) -> str:
    """The text of an interpolation.

    Args:
        steps: the decoded points.
        headline: a summary of the chart; plain text.
        lacking: why no real sentences can be shown; empty if they are.
        collection: the data set of the real sentences.
    """
    first = steps[0].result
    shipped = f" {parts.SHIPPED}" if first.seconds is None else ""
    below = [f"<p>{escape(headline)}{shipped}</p>"]
    if known := next((step.result.known for step in steps if step.result.known), 0):
        below.append(
            f'<p class="t-small t-muted">The decoder {escape(first.decoder)} knows '
            f"sentences of at most {known} words.</p>"
        )
    if lacking:
        to = escape(address.link("search", **{"in": collection, "encoder": first.encoder}))
        below.append(
            f'<p class="t-small t-muted">{escape(lacking)} <a href="{to}">Search</a> does that '
            "once; then the nearest real sentences stand beneath each step.</p>"
        )
    return f'<div class="t-said">{"".join(below)}</div>'


def instead(workspace: Workspace, encoder: str, problem: UserError) -> str:
    """The HTML in place of a result: the error, or the way to train a decoder."""
    if not isinstance(problem, NoDecoder):
        return parts.problem(problem)
    return no_decoder(workspace, encoder)


def no_decoder(workspace: Workspace, encoder: str) -> str:
    """A notice that the encoder has no decoder, with a link to train one."""
    if workspace.read_only:
        more = "Visitors cannot train one; choose another encoder."
        link = ""
    else:
        more = "A decoder is trained once, in the background."
        if took := training_time(workspace, encoder):
            more += f" For this encoder this takes {took}, as an estimate."
        to = escape(address.link("train-decoder", encoder=encoder))
        link = f'<p><a class="t-button" href="{to}">Train a decoder</a></p>'
    return (
        f'<div class="t-notice t-lacking" role="status"><p><strong>No decoder for '
        f'<span class="t-spec">{escape(encoder)}</span> yet.</strong></p>'
        f"<p>{escape(more)}</p>{link}</div>"
    )
