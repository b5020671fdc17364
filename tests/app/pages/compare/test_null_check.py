"""Whether the verdicts of a comparison can be trusted: the null check."""

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from theodolite.app.pages.compare import null_check
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
    *_, last = null_check.null_check(
        workspace, "random:32", [("upload:own/cluster", "mteb-v1", 42)], pairs
    )
    (rate,) = last.rates
    return rate


def test_equal_encoders_are_not_told_apart(
    clustered: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the luck of k-means in the test; without it the check fails.

    With more noise than usual, so that few pairs tell.
    """
    monkeypatch.setattr(null_check, "NOISE", 0.1)
    rate = checked(clustered, 8)
    assert (rate.pairs, rate.test, rate.error) == (8, "bootstrap", None)
    assert rate.holds, rate
    monkeypatch.setattr(bootstrap, "_luck_of", lambda _: None)
    assert not checked(clustered, 8).holds


def test_the_bound_is_binomial() -> None:
    """Of 100 verdicts at 5 %, at most 11 are wrong in 99 of 100 cases (tables of the binomial)."""
    for wrong in (11, 12):
        rate = null_check.NullRate("Emotions", "p", "bootstrap", 100, wrong)
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
        *_, last = null_check.null_check(workspace, "random:32", measured, seconds=seconds)
        (rate,) = last.rates
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
