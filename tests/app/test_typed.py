"""What people type is not kept on disk for ever; what data sets hold is."""

import numpy as np
import pytest

from theodolite.app import vectors
from theodolite.app.pages.decode.answer import (
    ANALOGY,
    DECODE,
    INTERPOLATE,
    AnalogySpec,
    DecodeSpec,
    InterpolateSpec,
)
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import service as retrieval
from theodolite.app.typed import Typed
from theodolite.app.workspace import Workspace

ENCODER = "random:64"
COLLECTION = "starter-topics"


def kept(workspace: Workspace) -> int:
    """Bytes of vectors on disk."""
    return sum(workspace.store.vectors.usage().values())


def test_what_is_decoded_is_not_kept(decoding: Workspace) -> None:
    """Neither sentences that are typed nor candidates of the decoder."""
    decoding.load(ENCODER).encode(["One sentence of a data set."])
    before = kept(decoding)
    named, encoders = ("a = Nine lives.", "b = Ten lives."), (ENCODER,)
    ends = {"first": "A first end here.", "second": "A second end there."}
    for question, spec in (
        (DECODE, DecodeSpec(sentences=("Some words that nobody wrote.",), encoders=encoders)),
        (INTERPOLATE, InterpolateSpec(**ends, encoder=ENCODER, steps=3)),
        (ANALOGY, AnalogySpec(expression="a - b", named=named, encoders=encoders)),
    ):
        assert question.last(decoding, spec, lambda job: False).rows()
    assert kept(decoding) == before > 0


@pytest.mark.parametrize("spec", [ENCODER, "random:32 + random:64"])
def test_what_is_searched_for_is_not_kept(workspace: Workspace, spec: str) -> None:
    """The collection is, and a query that is one of its sentences is not encoded again."""
    sentences, _ = workspace.catalog.sentences(COLLECTION)
    retrieval.nearest(workspace, spec, COLLECTION, [sentences[0]], retrieval.Limits(1))
    before = kept(workspace)
    assert before > 4 * 64 * len(sentences)
    retrieval.nearest(workspace, spec, COLLECTION, ["A query of mine."], retrieval.Limits(1))
    opened = retrieval.open_collection(workspace, spec, COLLECTION)
    opened.alike(["Like this one."], ["Not like it."], retrieval.Limits(1))
    found = MapSpec(spec, COLLECTION, "quick").make(workspace)
    maps.place(workspace, found, "A sentence that is placed.", 3)
    assert kept(workspace) == before


def test_what_a_step_is_fitted_on_is_kept(workspace: Workspace) -> None:
    """Though it is encoded because of a typed sentence."""
    sentences, _ = workspace.catalog.sentences("starter")
    Typed(workspace.load(f"{ENCODER} | center:starter")).encode(["A typed one."])
    assert vectors.missing(workspace, ENCODER, "starter-topics") == 0
    assert kept(workspace) < (4 * 64 + 200) * (len(sentences) + 1)
    (source,) = vectors.sources(workspace.load(ENCODER))
    assert vectors.uncached(source, ["A typed one."]) == ["A typed one."]


def test_vectors_are_those_of_the_encoder(workspace: Workspace) -> None:
    """Typed before, typed now, of a data set, twice, or none at all."""
    encoder = workspace.load(ENCODER)
    typed = Typed(encoder)
    encoder.encode(["kept"])
    typed.encode(["typed"])
    texts = ["typed", "kept", "new", "typed"]
    assert np.array_equal(typed.encode(texts), workspace.load(ENCODER).encode(texts))
    assert typed.encode([]).shape == (0, 64)
    assert (typed.name, typed.dim, typed.fingerprint) == (ENCODER, 64, encoder.fingerprint)
