"""How ranks move with classifier, normalisation, size and seed, on invented results."""

from __future__ import annotations

import pytest

from tests.fakes.results import invent
from theodolite.app.pages.compare import stability
from theodolite.app.workspace import Workspace

A, B, C = "random:32", "random:96", "wordllama"


def put(workspace: Workspace, scores: dict[str, float], task: str, **how: object) -> None:
    """One result for each encoder."""
    for name, accuracy in scores.items():
        invent(workspace, name, task, accuracy, **how)  # type: ignore[arg-type]


def test_a_turn_with_the_classifier_is_told(workspace: Workspace) -> None:
    """A leads B on MRPC by logistic regression, B leads by the prototyping setting; C is last."""
    put(workspace, {A: 0.8, B: 0.7, C: 0.5}, "MRPC")
    put(workspace, {A: 0.7, B: 0.8, C: 0.5}, "MRPC", protocol="senteval-fast")
    found = stability.stability(workspace, "classifier", [A, B, C], ["MRPC"])
    assert found.ranks == {"senteval": {A: 1, B: 2, C: 3}, "senteval-fast": {A: 2, B: 1, C: 3}}
    agreement = found.agreements["senteval", "senteval-fast"]
    assert agreement.kendall == pytest.approx(1 / 3)  # two pairs stay, one turns
    assert agreement.spearman == pytest.approx(0.5)  # 1 - 6 * 2 / (3 * 8)
    (sentences,) = stability.sentences(found, {})
    assert sentences == (
        f"The order of {A} and {B} turns with the classifier on MRPC: {A} leads under senteval, "
        f"{B} under senteval-fast."
    )
    (tied,) = stability.sentences(found, {"MRPC": {A: "a", B: "a", C: "b"}})
    assert tied.endswith("and they tie there anyway.")


def test_what_is_absent_is_named_with_the_way_there(workspace: Workspace) -> None:
    """Nothing under a hidden layer: the link holds the encoders, the task and the protocol."""
    put(workspace, {A: 0.8, B: 0.7}, "MR")
    found = stability.stability(workspace, "classifier", [A, B], ["MR"])
    assert not found.ranks
    (gap,) = found.missing
    assert gap.state == {"encoder": [A, B], "task": ["MR"], "protocol": "senteval-mlp"}
    assert gap.path == "evaluate"


def test_only_what_all_conditions_have_is_ranked(workspace: Workspace) -> None:
    """CR has one condition, C one: both stay out, so that ranks are of the same encoders."""
    put(workspace, {A: 0.8, B: 0.7, C: 0.5}, "MR")
    put(workspace, {A: 0.8, B: 0.7}, "MR", protocol="senteval-fast")
    put(workspace, {A: 0.8, B: 0.7, C: 0.5}, "CR")
    found = stability.stability(workspace, "classifier", [A, B, C], ["MR", "CR"])
    assert (found.encoders, found.tasks) == ((A, B), ("MR",))
    sentences = stability.sentences(found, {})
    assert sentences == ["No two encoders swap ranks with the classifier on MR."]


def test_normalisation_is_read_from_one_result(workspace: Workspace) -> None:
    """The protocol pitfalls keeps both scores; others keep none."""
    invent(workspace, A, "MR", 0.80, protocol="pitfalls", znorm=0.70)
    invent(workspace, B, "MR", 0.75, protocol="pitfalls", znorm=0.78)
    put(workspace, {A: 0.8, B: 0.7}, "MR")
    found = stability.stability(workspace, "normalisation", [A, B], ["MR"])
    assert found.ranks == {"plain": {A: 1, B: 2}, "z-normalised": {A: 2, B: 1}}
    assert found.means["z-normalised"] == pytest.approx({A: 70.0, B: 78.0})


def test_sizes_are_those_of_the_variants(workspace: Workspace) -> None:
    """In the order of their size; a variant belongs to the encoder it was made of."""
    put(workspace, {A: 0.8, B: 0.7}, "MR")
    for size, accuracies in ((64, (0.6, 0.7)), (8, (0.5, 0.6))):
        for name, accuracy in zip((A, B), accuracies, strict=True):
            invent(workspace, f"{name} | dims:{size},pca,@task", "MR", accuracy)
    found = stability.stability(workspace, "size", [A, B], ["MR"])
    assert list(found.ranks) == ["as they are", "8, PCA", "64, PCA"]
    assert [ranks[A] for ranks in found.ranks.values()] == [1, 2, 2]


def test_seeds_are_conditions(workspace: Workspace) -> None:
    """Each seed ranks anew; one seed alone says how to get more."""
    put(workspace, {A: 0.8, B: 0.7}, "MR")
    alone = stability.stability(workspace, "seed", [A, B], ["MR"])
    assert not alone.ranks and alone.missing[0].state["seeds"] == "5"
    put(workspace, {A: 0.7, B: 0.8}, "MR", seed=2)
    found = stability.stability(workspace, "seed", [A, B], ["MR"])
    assert found.ranks == {"seed 2": {A: 2, B: 1}, "seed 1111": {A: 1, B: 2}}


def test_means_may_turn_where_no_task_does(workspace: Workspace) -> None:
    """A leads by much on MR and trails on CR; with another classifier it leads by little."""
    put(workspace, {A: 0.9, B: 0.7}, "MR")
    put(workspace, {A: 0.6, B: 0.7}, "CR")
    put(workspace, {A: 0.72, B: 0.7}, "MR", protocol="senteval-fast")
    put(workspace, {A: 0.5, B: 0.7}, "CR", protocol="senteval-fast")
    found = stability.stability(workspace, "classifier", [A, B], ["MR", "CR"])
    assert stability.sentences(found, {}) == [
        f"By the mean over 2 tasks, {A} leads {B} under senteval and trails under senteval-fast.",
        "No two encoders swap ranks with the classifier on any of these 2 tasks.",
    ]
