"""Decoding in published pages: examples decoded by the published encoders' decoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from theodolite.app import decoders
from theodolite.app.pages.decode import example
from theodolite.app.pages.decode.analogies import PRESETS
from theodolite.app.pages.decode.answer import (
    ANALOGY,
    DECODE,
    INTERPOLATE,
    AnalogySpec,
    DecodeSpec,
    InterpolateSpec,
)
from theodolite.app.pages.search import job as search
from theodolite.app.published import Published
from theodolite.app.surfaces.static import Static
from theodolite.engine.errors import UserError

SENTENCES = (
    example.SENTENCE,
    "The old dog slept by the fire.",
    "I love this film.",
    "The train was late again.",
)
PAIRS = (example.ENDS, ("I love this film.", "The train was late again."))
TITLES = ("Tense", "Number", "Negation", "Opposite")
ANALOGIES = (example.ANALOGY, *(one for one in PRESETS if one.title in TITLES))


def carry(published: Published) -> None:
    """Link and register the decoders of published encoders, in the order of the source store."""
    small = published.workspace.store.decoders
    for row in reversed(published.source.store.decoders.list()):
        if public := published.encoders.get(row["encoder"]):
            # A decoder takes its name from its folder.
            small.folder.mkdir(exist_ok=True)
            folder = small.folder / published.renamed(row["name"])
            if not folder.exists():
                folder.symlink_to(row["folder"].absolute(), target_is_directory=True)
            small.add(folder, public, row["fingerprint"], row["info"])


def _decoded(published: Published) -> tuple[str, ...]:
    """Published encoders that have a decoder."""
    found = []
    for name in published.encoders.values():
        with suppress(UserError):  # an encoder whose files are gone
            if decoders.decoder_of(published.workspace, name):
                found.append(name)
    return tuple(found)


def _round_trips(published: Published) -> Iterator[tuple[str, DecodeSpec]]:
    """A few sentences, decoded by each encoder's decoder."""
    if encoders := _decoded(published):
        for text in SENTENCES:
            yield text, DecodeSpec((text,), encoders)


def _interpolations(published: Published) -> Iterator[tuple[str, InterpolateSpec]]:
    """One interpolation per encoder; a second one for the first encoder."""
    for place, name in enumerate(_decoded(published)):
        near = _near(published, name)
        for a, b in PAIRS[: 1 if place else None]:
            yield f"{name} · {a} – {b}", InterpolateSpec(a, b, name, data=near)


def _near(published: Published, encoder: str) -> str | None:
    """The first published collection that this encoder has encoded."""
    for name in published.data.values():
        with suppress(UserError):  # its texts are not published
            if not search.lacking(published.workspace, encoder, name):
                return name
    return None


def _analogies(published: Published) -> Iterator[tuple[str, AnalogySpec]]:
    """A few expressions, decoded by each encoder's decoder."""
    if encoders := _decoded(published):
        for one in ANALOGIES:
            named = tuple(line for line in one.lines.splitlines())
            yield one.title, AnalogySpec(one.expression, named, encoders)


ROUND_TRIPS = Static(DECODE, _round_trips, carry)
INTERPOLATIONS = Static(INTERPOLATE, _interpolations, carry)
ARITHMETIC = Static(ANALOGY, _analogies, carry)
