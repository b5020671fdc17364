"""What the tests of the pages of decoding share."""

from __future__ import annotations

from tests.fakes.decoders import known_sentences
from theodolite.app import decoders
from theodolite.app.pages.encoders import service as encoders

ENCODER, WITHOUT = "random:64", "random:100"
FIRST, SECOND = known_sentences()[0], known_sentences()[3]


def registered(workspace, folder):
    """The decoder of random:64 among those of the store, and an encoder that has none."""
    encoders.add(workspace, WITHOUT)
    return decoders.register(workspace, folder)
