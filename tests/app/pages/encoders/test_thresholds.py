"""`theodolite encoders thresholds`, and the card on Encoders."""

from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.uploads import beir
from theodolite.app.pages.encoders.thresholds import CUTS, DEFAULT, ThresholdsSpec, thresholds
from theodolite.app.workspace import Workspace


def answer(workspace: Workspace, *given: str | None):
    *_, last = thresholds(workspace, ThresholdsSpec(*given), lambda job: False)
    return last


def test_the_cut_offs_of_the_shipped_pairs(starter: Workspace) -> None:
    """Recall is counted by hand on the pairs from grade 4 on."""
    found = answer(starter, "random:64")
    assert found.n == 480 and found.same == 160
    rows = {row["purpose"]: row for row in found.rows()}
    assert rows["Retrieval"]["recall"] >= 0.95 and rows["Retrieval"]["like"] is None
    (part,) = starter.catalog.load("starter-pairs").parts.values()
    a, b = (starter.load("random:64").encode(side) for side in (part.left, part.right))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    above = cosines >= rows["Retrieval"]["cosine"] - 1e-6
    assert above[part.gold >= 4].mean() == pytest.approx(rows["Retrieval"]["recall"])
    assert (part.gold >= 4)[above].mean() == pytest.approx(rows["Retrieval"]["precision"])
    assert rows["Semantic cache"]["cosine"] is None
    assert any("Semantic cache: no cut-off" in text for text in found.warnings())


def test_cosines_are_translated_to_another_encoder(starter: Workspace) -> None:
    found = answer(starter, "random:64", "starter-pairs", "random:32")
    assert len(found.rows()) == 5 + len(CUTS) and "random:32" in found.finding
    untold = [row for row in found.rows() if row["cosine"] is not None and row["like"] is None]
    assert untold and any("About 200" in text for text in found.warnings())


def test_what_has_no_pairs_is_refused(starter: Workspace) -> None:
    with refused("wrong-kind", "starter-topics"):
        answer(starter, "random:64", "starter-topics")


def test_equal_vectors_have_no_cut_offs(starter: Workspace, tmp_path: Path) -> None:
    sentences = [*dict.fromkeys(starter.catalog.load("starter-pairs").sentences)]
    np.savez(tmp_path / "one.npz", sentences=sentences, vectors=np.ones((len(sentences), 4)))
    equal = f"vectors:{tmp_path / 'one.npz'}"
    for encoder, like in ((equal, None), ("random:4", equal)):
        with refused("unsupported", "same vector"):
            answer(starter, encoder, DEFAULT, like)


@pytest.mark.parametrize(("other", "purposes"), [(1, 2), (0, 5)])
def test_judged_documents_are_pairs(other: int, purposes: int, tmp_path: Path) -> None:
    """Where none is judged irrelevant, only a recall can be guaranteed."""
    *_, judged = beir(tmp_path / "data" / "mteb" / "retrieval" / "mine")
    lines = [f"q{i}\td{i + 300}\t{other}\n" for i in range(40)]
    judged.write_text(judged.read_text() + "".join(lines))
    workspace = Workspace(tmp_path / "store", tmp_path / "data")
    found = answer(workspace, "random:64", "mine")
    assert (found.same, len(found.rows())) == (40 + sum(other for _ in lines), purposes)

    workspace.close()
