"""Whether a comparison can be trusted: the null check, and how ranks move with the conditions."""

from typing import Any

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.results import invent_all
from theodolite.app.pages.compare import null_check, stability
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import load
from theodolite.engine.encoders.noisy import Noisy
from theodolite.engine.stats import bootstrap


@pytest.fixture
def clustered(workspace: Workspace) -> Workspace:
    """With 400 sentences of made-up words, four labels that share half of them."""
    rng, rows = np.random.default_rng(0), ["text,label"]
    for place in range(400):
        own = [f"w{place % 4}{word}" for word in rng.integers(0, 3, 3)]
        common = [f"c{word}" for word in rng.integers(0, 30, 3)]
        rows.append(f"{' '.join([*own, *common, str(place)])},topic {place % 4}")
    mapping = {"kind": "labels", "format": "csv", "columns": {"text": "text", "label": "label"}}
    content = "\n".join(rows).encode()
    workspace.store.uploads.add("own", "labels", content, mapping=mapping, filename="own.csv")
    return workspace


def checked(workspace: Workspace, pairs: int) -> null_check.NullRate:
    """The rate of one k-means, which a little noise leads to other clusters."""
    *_, rate = null_check.null_check(
        workspace, "random:32", [("upload:own/cluster", "mteb-v1", 42)], pairs
    )
    return rate


def test_equal_encoders_are_not_told_apart(
    clustered: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the luck of k-means in the test; without it the check fails.

    With more noise than usual, so that few pairs tell.
    """
    monkeypatch.setattr(null_check, "NOISE", 0.1)
    rate = checked(clustered, 15)
    assert (rate.pairs, rate.test, rate.error) == (15, "bootstrap", "")
    assert rate.holds, rate
    monkeypatch.setattr(bootstrap, "of_result", lambda _: None)
    assert not checked(clustered, 15).holds


def test_the_bound_is_binomial() -> None:
    """Of 100 verdicts at 5 %, at most 11 are wrong in 99 of 100 cases (tables of the binomial)."""
    for wrong in (11, 12):
        rate = null_check.NullRate("Emotions", "p", "bootstrap", 100, wrong, 100)
        assert (rate.most, rate.holds) == (11, wrong == 11)


def test_copies_have_noise_of_one_percent() -> None:
    """Equal sentences stay equal, every copy and call has noise of its own."""
    encoder, kept = load("random:64"), {}
    texts = ["one two", "three", "one two"]
    copies = [Noisy(encoder, 0.01, seed, kept) for seed in (0, 1)]
    first, again, second = (copy.encode(texts) for copy in (copies[0], *copies))
    np.testing.assert_array_equal(first[0], first[2])
    assert not np.array_equal(first, again) and not np.array_equal(first, second)
    plain = encoder.encode(texts)
    off = np.linalg.norm(first - plain, axis=1) / np.linalg.norm(plain, axis=1)
    assert np.all((off > 0.005) & (off < 0.015))


def test_what_cannot_be_checked_says_why(workspace: Workspace) -> None:
    """No difference to check, an error of the task, or a pair that takes too long."""
    with refused("no-result"):
        list(null_check.null_check(workspace, "random:32", []))
    for seconds, task, protocol in (
        (None, "upload:gone/cluster", "mteb-v1"),
        (-1, "StarterSTS", "simcse-2021"),
    ):
        measured = [(task, protocol, 0)]
        (rate,) = null_check.null_check(workspace, "random:32", measured, seconds=seconds)
        assert rate.error and not rate.pairs


def test_the_command_shows_the_rates(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the baseline, on the tasks that are compared."""
    monkeypatch.setattr(null_check, "PAIRS", 2)
    for name in ("random:32", "random:64"):
        evaluated(workspace, name, "StarterSearch")
    store = str(workspace.store.folder)
    command = ("compare", "random:32", "random:64", "--null-check", "--json", "--store", store)
    (row,) = objects(theodolite(*command))
    assert (row["task"], row["pairs"], row["holds"]) == ("StarterSearch", 2, True)


A, B, C = "random:32", "random:96", "wordllama"


def test_a_turn_with_the_classifier_is_told(workspace: Workspace) -> None:
    """A leads B on MRPC by logistic regression, B leads by the prototyping setting; C is last."""
    invent_all(workspace, {A: 0.8, B: 0.7, C: 0.5}, ["MRPC"])
    invent_all(workspace, {A: 0.7, B: 0.8, C: 0.5}, ["MRPC"], protocol="senteval-fast")
    found = stability.stability(workspace, "classifier", [A, B, C], ["MRPC"])
    assert found.ranks == {"senteval": {A: 1, B: 2, C: 3}, "senteval-fast": {A: 2, B: 1, C: 3}}
    agreement = found.agreements["senteval", "senteval-fast"]
    # Two pairs stay, one turns; 1 - 6 * 2 / (3 * 8).
    assert (agreement.kendall, agreement.spearman) == pytest.approx((1 / 3, 0.5))
    (said,) = stability.sentences(found, {})
    assert f"{A} leads under senteval, {B} under senteval-fast" in said
    (tied,) = stability.sentences(found, {"MRPC": {A: "a", B: "a", C: "b"}})
    assert "tie" in tied and "tie" not in said


@pytest.mark.parametrize(
    ("kind", "state"),
    [("classifier", {"protocol": "senteval-mlp"}), ("seed", {"seeds": "5"})],
)
def test_what_is_absent_is_named_with_the_way_there(
    workspace: Workspace, kind: Any, state: dict[str, str]
) -> None:
    """Nothing under a hidden layer, one seed alone: the link holds what to evaluate."""
    invent_all(workspace, {A: 0.8, B: 0.7}, ["MR"])
    found = stability.stability(workspace, kind, [A, B], ["MR"])
    (gap,) = found.missing
    assert not found.ranks and gap.path == "evaluate"
    assert gap.state.items() >= ({"encoder": [A, B], "task": ["MR"]} | state).items()


def test_only_what_all_conditions_have_is_ranked(workspace: Workspace) -> None:
    """CR has one condition, C one: both stay out, so that ranks are of the same encoders."""
    invent_all(workspace, {A: 0.8, B: 0.7, C: 0.5}, ["MR"])
    invent_all(workspace, {A: 0.8, B: 0.7}, ["MR"], protocol="senteval-fast")
    invent_all(workspace, {A: 0.8, B: 0.7, C: 0.5}, ["CR"])
    found = stability.stability(workspace, "classifier", [A, B, C], ["MR", "CR"])
    assert (found.encoders, found.tasks) == ((A, B), ("MR",))
    (said,) = stability.sentences(found, {})
    assert "No two encoders" in said


@pytest.mark.parametrize(
    ("kind", "results", "orders"),
    [
        (
            "normalisation",  # the protocol pitfalls keeps both scores; others keep none
            [
                ({A: 0.80}, {"protocol": "pitfalls", "znorm": 0.70}),
                ({B: 0.75}, {"protocol": "pitfalls", "znorm": 0.78}),
                ({A: 0.8, B: 0.7}, {}),
            ],
            {"plain": [A, B], "z-normalised": [B, A]},
        ),
        (
            "size",  # in their order; a variant belongs to the encoder it was made of
            [
                ({A: 0.8, B: 0.7}, {}),
                ({f"{A} | dims:64,pca,@task": 0.6, f"{B} | dims:64,pca,@task": 0.7}, {}),
                ({f"{A} | dims:8,pca,@task": 0.5, f"{B} | dims:8,pca,@task": 0.6}, {}),
            ],
            {"as they are": [A, B], "8, PCA": [B, A], "64, PCA": [B, A]},
        ),
        (
            "seed",
            [({A: 0.8, B: 0.7}, {}), ({A: 0.7, B: 0.8}, {"seed": 2})],
            {"seed 2": [B, A], "seed 1111": [A, B]},
        ),
    ],
    ids=["normalisation", "size", "seed"],
)
def test_each_condition_ranks_anew(
    workspace: Workspace, kind: Any, results: Any, orders: dict[str, list[str]]
) -> None:
    for scores, how in results:
        invent_all(workspace, scores, ["MR"], **how)
    found = stability.stability(workspace, kind, [A, B], ["MR"])
    ranked = [(name, sorted(ranks, key=ranks.__getitem__)) for name, ranks in found.ranks.items()]
    assert ranked == [*orders.items()]


def test_means_may_turn_where_no_task_does(workspace: Workspace) -> None:
    """A leads by much on MR and trails on CR; with another classifier it leads by little."""
    for protocol, mr, cr in (("senteval", 0.9, 0.6), ("senteval-fast", 0.72, 0.5)):
        invent_all(workspace, {A: mr, B: 0.7}, ["MR"], protocol=protocol)
        invent_all(workspace, {A: cr, B: 0.7}, ["CR"], protocol=protocol)
    found = stability.stability(workspace, "classifier", [A, B], ["MR", "CR"])
    turned, alike = stability.sentences(found, {})
    assert f"{A} leads {B} under senteval and trails under senteval-fast" in turned
    assert "No two encoders" in alike
