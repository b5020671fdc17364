"""How alike data sets are."""

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.workers import do_units
from theodolite.app.pages.data import similarity
from theodolite.app.pages.data.similarity import ALL, EXAMPLE, SimilaritySpec
from theodolite.app.workspace import Workspace

A = "random:32"


def test_topics_of_the_starter_set_are_there_at_once(workspace: Workspace) -> None:
    """As by hand: the cosine between the mean unit vectors of what was drawn."""
    spec = SimilaritySpec(EXAMPLE, A)
    assert len(similarity.find(workspace, spec).missing) == 20
    (found,) = similarity.answer(workspace, spec, lambda job: False)
    assert spec.is_stored(workspace) and len(found.compared) == 20
    data, means = workspace.catalog.load(EXAMPLE), []
    for one, _ in found.compared[:2]:
        vectors = workspace.load(A).encode(one.sample(data)).astype(float)
        means.append((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0))
    cosine = means[0] @ means[1] / np.linalg.norm(means[0]) / np.linalg.norm(means[1])
    assert found.cosines[0, 1] == pytest.approx(cosine)
    pairs = found.rows()
    assert len(pairs) == 190 and pairs[0]["cosine"] >= pairs[-1]["cosine"]


def test_all_data_sets_by_a_job_with_a_bar(workspace: Workspace) -> None:
    spec = SimilaritySpec(encoder=A, sentences=10)
    do_units(workspace, spec)
    found = similarity.find(workspace, spec)
    drawn = [(row.name, mean.sentences) for row, mean in found.compared]
    assert drawn == [("starter-pairs", 10), ("starter-topics", 10)]
    assert list(similarity.offered(workspace)) == [ALL, EXAMPLE]


def test_what_cannot_be_compared(workspace: Workspace) -> None:
    for code, encoder, compared, named in (
        ("wrong-kind", A, "starter-pairs", "starter-pairs"),
        ("unknown", A, "nothing", "nothing"),
        ("unsupported", "random:32 | center:@task", EXAMPLE, "center:@task"),
    ):
        with refused(code, named):
            similarity.find(workspace, SimilaritySpec(compared, encoder))
    for count in (9, 1001):
        with refused("invalid", count):
            SimilaritySpec(ALL, A, count)
