"""Decoding in published pages: examples, computed by the decoders of the published encoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from app import decoders
from app.pages.decode import example
from app.pages.decode.analogies import PRESETS
from app.pages.search import service as search
from app.web.frozen import Published, View
from engine.errors import UserError

SENTENCES = (
    example.SENTENCE, "The old dog slept by the fire.", "I love this film.",
    "The train was late again.",
)  # fmt: skip
PAIRS = (example.ENDS, ("I love this film.", "The train was late again."))
TITLES = ("Tense", "Number", "Negation", "Opposite")
ANALOGIES = (example.ANALOGY, *(one for one in PRESETS if one.title in TITLES))


def carry(published: Published) -> None:
    """List the decoders of published encoders, in the order that they have here."""
    small = published.workspace.store.decoders
    for row in reversed(published.source.store.decoders.list()):
        if public := published.encoders.get(row["encoder"]):
            # A decoder is called as its folder is.
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
    """A few sentences, and what each encoder's vector kept of them."""
    encoders = tuple(("encoder", name) for name in _decoded(published))
    return [View(text, (*encoders, ("q", text))) for text in SENTENCES if encoders]


def interpolations(published: Published) -> list[View]:
    """The way between two sentences in each encoder's space; a second one in the first's."""
    found = []
    for place, name in enumerate(_decoded(published)):
        near = _near(published, name)
        for a, b in PAIRS[: 1 if place else None]:
            query = (("encoder", name), ("a", a), ("b", b), ("in", near))
            found.append(View(f"{name} · {a} – {b}", query))
    return found


def _near(published: Published, encoder: str) -> str:
    """The collection whose real sentences stand beside the steps, where they are encoded."""
    for name in published.data.values():
        with suppress(UserError):  # its texts stay at home
            if not search.lacking(published.workspace, encoder, name):
                return name
    return "none"


def analogies(published: Published) -> list[View]:
    """A few expressions, and what each decoder says of them."""
    encoders = tuple(("encoder", name) for name in _decoded(published))
    return [
        View(one.title, (*encoders, ("x", one.expression), ("let", one.lines)))
        for one in ANALOGIES
        if encoders
    ]
