"""Decoding in published pages: examples decoded by the published encoders' decoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from theodolite.app import decoders
from theodolite.app.pages.decode import example
from theodolite.app.pages.decode.analogies import PRESETS
from theodolite.app.pages.search import job as search
from theodolite.app.web.frozen import Published, View
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


def _decoded(published: Published) -> Iterator[str]:
    """Published encoders that have a decoder."""
    for name in published.encoders.values():
        with suppress(UserError):  # an encoder whose files are gone
            if decoders.decoder_of(published.workspace, name):
                yield name


def round_trips(published: Published) -> list[View]:
    """Views of a few sentences, decoded by each encoder's decoder."""
    encoders = tuple(("encoder", name) for name in _decoded(published))
    return [View(text, (*encoders, ("q", text))) for text in SENTENCES if encoders]


def interpolations(published: Published) -> list[View]:
    """Views of one interpolation per encoder; a second one for the first encoder."""
    found = []
    for place, name in enumerate(_decoded(published)):
        near = _near(published, name)
        for a, b in PAIRS[: 1 if place else None]:
            query = (("encoder", name), ("a", a), ("b", b), ("in", near))
            found.append(View(f"{name} · {a} – {b}", query))
    return found


def _near(published: Published, encoder: str) -> str:
    """The first published collection that this encoder has encoded, or `none`."""
    for name in published.data.values():
        with suppress(UserError):  # its texts are not published
            if not search.lacking(published.workspace, encoder, name):
                return name
    return "none"


def analogies(published: Published) -> list[View]:
    """Views of a few expressions, decoded by each encoder's decoder."""
    encoders = tuple(("encoder", name) for name in _decoded(published))
    return [
        View(one.title, (*encoders, ("x", one.expression), ("let", one.lines)))
        for one in ANALOGIES
        if encoders
    ]
