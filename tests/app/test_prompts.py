"""Prompts of a model where they are used: in a search, in an evaluation and on its card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.engine.encoders.models import save_sentence_transformer
from theodolite.app import vectors
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.pages.overview import views
from theodolite.app.pages.search import service as search
from theodolite.app.workspace import Workspace

PROMPTS = {"query": "the cat ", "document": "a ", "STS": "dog "}
TOPICS = "starter-topics"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with prompts for both sides of a search, and for a type of task."""
    return save_sentence_transformer(tmp_path_factory.mktemp("st") / "model", prompts=PROMPTS)


@pytest.mark.parametrize("options", ["prompt=document&query_prompt=query", "prompt=@task"])
def test_a_search_asks_with_the_query_prompt(
    starter: Workspace, folder: Path, options: str
) -> None:
    """Among sentences that were encoded with that of documents."""
    spec = f"dir:{folder}?{options}"
    sentences, _ = starter.catalog.sentences(TOPICS)
    query = "a dog ran on the mat"
    (hits,) = search.nearest(starter, spec, TOPICS, [query], 5)
    theirs = SentenceTransformer(str(folder), device="cpu")
    expected = theirs.similarity(theirs.encode_query([query]), theirs.encode_document(sentences))
    cosines = expected.numpy()[0]
    np.testing.assert_allclose([hit.cosine for hit in hits], np.sort(cosines)[::-1][:5], atol=1e-5)
    np.testing.assert_allclose(
        cosines[[hit.index for hit in hits]], [hit.cosine for hit in hits], atol=1e-5
    )
    assert vectors.missing(starter, spec, TOPICS) == 0


def test_a_result_says_which_prompt_it_was_evaluated_with(starter: Workspace, folder: Path) -> None:
    """That of the task where the task decides; its score is that of the spec that names it."""
    stated = evaluated(starter, f"dir:{folder}?prompt=STS", "StarterSTS", None, None)
    decided = evaluated(starter, f"dir:{folder}?prompt=@task", "StarterSTS", None, None)
    for row in (stated, decided):
        assert row["error"] is None
        assert row["details"]["prompts"] == {"prompt": "dog "}
        assert "<dt>prompt</dt><dd><code>dog </code></dd>" in views.card(starter, row["id"])
    assert decided["score"] == stated["score"]
    assert decided["fingerprint"] != stated["fingerprint"]
    again = evaluated(starter, f"dir:{folder}?prompt=@task", "StarterSTS", None, None)
    assert again["id"] == decided["id"]
    plain = evaluated(starter, f"dir:{folder}", "StarterSTS", None, None)
    assert "prompts" not in plain["details"]
    assert "<dt>prompt</dt>" not in views.card(starter, plain["id"])
