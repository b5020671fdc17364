"""Views of the decode pages: a card per encoder.

All outside text is escaped. Knows nothing of how a sentence was decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from theodolite.app.pages.decode.answer import AnalogySpec, calculated_card, word_diff_of
from theodolite.app.pages.decode.service import DecodeResult, NoDecoder, training_time
from theodolite.app.surfaces import document
from theodolite.app.web import address, parts

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.errors import UserError

Shown: TypeAlias = DecodeResult | tuple[str, str]
"""The result of an encoder, or (its spec, HTML shown in place of it)."""


def cards(found: Sequence[Shown]) -> str:
    """One card per encoder."""
    return document.word_diffs(
        [one if isinstance(one, tuple) else word_diff_of(one) for one in found]
    )


def calculated(found: Sequence[Shown], spec: AnalogySpec) -> str:
    """One card per encoder, and what a person might say."""
    cards = [one if isinstance(one, tuple) else calculated_card(one, spec) for one in found]
    below = f"A person might say: {spec.expected}"
    return document.word_diffs(cards) + (parts.heading("", below) if spec.expected else "")


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
