"""Prompts of a model in an evaluation and on its card."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.encoders.models import save_sentence_transformer
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.pages.overview import views
from theodolite.app.workspace import Workspace

PROMPTS = {"query": "the cat ", "document": "a ", "STS": "dog "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with prompts for both sides of a search, and for a type of task."""
    return save_sentence_transformer(tmp_path_factory.mktemp("st") / "model", prompts=PROMPTS)


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
