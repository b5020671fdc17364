"""Caption-image retrieval: ranks by hand and by sorting, training by a plain loop."""

import copy

import numpy as np
import pytest
import torch

from theodolite.engine.classifiers import ranking
from theodolite.engine.progress import nobody


def split(n: int, seed: int, noise: float = 0.6) -> ranking.Matched:
    """Images of 9 features; a caption is a noisy view of its image in 7 dimensions."""
    random = np.random.default_rng(seed)
    view = np.random.default_rng(0).normal(size=(9, 7))
    images = random.normal(size=(n, 9)).astype(np.float32)
    captions = np.repeat(images @ view, 5, axis=0) + noise * random.normal(size=(5 * n, 7))
    return ranking.Matched(captions.astype(np.float32), images)


def by_sorting(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place of an image's first caption, and of a caption's image, in a stable sort, reversed."""
    image, of_caption = np.arange(len(scores))[:, None], np.arange(5 * len(scores)) // 5
    captions = np.argsort(scores, axis=1, kind="stable")[:, ::-1]
    images = np.argsort(scores, axis=0, kind="stable")[::-1]
    return (captions // 5 == image).argmax(axis=1), (images == of_caption).argmax(axis=0)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_ranks_are_those_of_a_stable_sort(n: int, rng: np.random.Generator) -> None:
    """Against argsort, with many ties."""
    scores = rng.integers(0, 6, size=(n, 5 * n)).astype(float)
    for ours, theirs in zip(ranking.rank(scores), by_sorting(scores), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # A collapsed encoder finds one caption in n, not all of them.
    to_text, to_image = ranking.rank(np.ones((50, 250)))
    assert (to_text < 1).mean() == (to_image < 1).mean() == 1 / 50


def test_recalls_and_medians_by_hand() -> None:
    """Two folds of 2 and 1 images; the median is that of each fold, from 1, rounded down."""
    ranks = ranking.CaptionRanks(
        np.array([0, 6, 12]),
        np.array([0, 0, 4, 4, 9, 10, 0, 20, 3, 0, 2, 2, 2, 2, 50]),
        (2, 1),
    )
    by_hand = [[1 / 3, 1 / 3, 2 / 3], [4 / 15, 11 / 15, 12 / 15]]
    to_text, to_image = found = ranks.recalls()
    assert np.array(found) == pytest.approx(100 * np.array(by_hand))
    # Fold 1: ranks 0 and 6, median 3; captions 0 0 0 0 3 4 4 9 10 20, median 3.5.
    assert ranks.medians() == ((4 + 13) / 2, (4 + 3) / 2)
    expected = [
        (1 + np.mean([2 / 5, 4 / 5, 1])) / 2,
        (1 / 3 + np.mean([2 / 5, 3 / 5, 3 / 5])) / 2,
        (0 + np.mean([0, 4 / 5, 4 / 5])) / 2,
    ]
    assert ranks.by_image() == pytest.approx(expected)
    assert 100 * ranks.by_image().mean() == pytest.approx(np.mean(to_text + to_image))


# --- the training, written as plainly as it can be ---------------------------------------------


def plain(
    seed: int, dim: int = 1000
) -> tuple[torch.nn.ModuleDict, torch.optim.Optimizer, np.random.RandomState]:
    """Two layers of torch, and what trains them."""
    torch.manual_seed(seed)
    model = torch.nn.ModuleDict({"image": torch.nn.Linear(9, dim)})
    model["caption"] = torch.nn.Linear(7, dim)
    return model, torch.optim.Adam(model.parameters()), np.random.RandomState(seed)


def through(layer: torch.nn.Module, rows: np.ndarray) -> torch.Tensor:
    """Of length 1."""
    x = layer(torch.from_numpy(rows))
    return x / x.norm(dim=1, keepdim=True)


def plain_pass(
    model: torch.nn.ModuleDict,
    adam: torch.optim.Optimizer,
    random: np.random.RandomState,
    data: ranking.Matched,
) -> None:
    """One pass with numpy's own choices, every pair beside each of its contrasts."""
    images, captions = np.repeat(data.images, 5, axis=0), data.captions
    order = list(random.permutation(len(captions)))
    for start in range(0, len(order), 128):
        batch, outside = order[start : start + 128], order[:start] + order[start + 128 :]
        other_images = random.choice(outside, 30 * len(batch))
        other_captions = random.choice(outside, 30 * len(batch))
        pairs = np.repeat(batch, 30)
        u, u_other = (through(model["image"], images[rows]) for rows in (pairs, other_images))
        v, v_other = (through(model["caption"], captions[rows]) for rows in (pairs, other_captions))
        loss = torch.relu(0.2 - (u * v).sum(1) + (u * v_other).sum(1)).sum()
        loss = loss + torch.relu(0.2 - (u * v).sum(1) + (v * u_other).sum(1)).sum()
        adam.zero_grad()
        loss.backward()
        adam.step()


def plain_sum(model: torch.nn.ModuleDict, data: ranking.Matched) -> float:
    """The six recalls of one fold, added."""
    u, v = through(model["image"], data.images), through(model["caption"], data.captions)
    ranks = by_sorting((u @ v.T).detach().numpy())
    return sum(100 * np.mean(side < k) for side in ranks for k in (1, 5, 10))


@pytest.mark.parametrize("seed", [1111, pytest.param(7, marks=pytest.mark.long)])
def test_training_is_that_of_the_plain_loop(seed: int) -> None:
    """Same weights after some passes: start, shuffles, contrasts, loss and steps are the same."""
    data, (model, adam, random) = split(61, 3), plain(seed)
    ours = ranking.ProjectionHeads(9, 7, seed)
    for _ in range(2):
        plain_pass(model, adam, random, data)
        shares = list(ours.train(data))
    assert shares == pytest.approx([128 / 305, 256 / 305, 1.0])
    for layer, weights in zip(model.values(), ours.copied(), strict=True):
        expected = torch.cat([layer.weight.T, layer.bias[None]]).detach()
        torch.testing.assert_close(weights.cpu(), expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("noise", [20.0, pytest.param(0.6, marks=pytest.mark.long)])
def test_the_best_pass_is_kept_and_misses_add_up(
    noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain loop with the rule in words: stopped at the 4th miss in all, or after 21 passes."""
    splits = {"train": split(30, 3, noise), "dev": split(40, 4, noise), "test": split(20, 5, noise)}
    monkeypatch.setattr(ranking, "DIM", 50)
    model, adam, random = plain(1111, 50)
    best, kept, misses, passes = -1.0, model, 0, 0
    while misses < 4 and passes < 21:
        plain_pass(model, adam, random, splits["train"])
        passes += 1
        score = plain_sum(model, splits["dev"])
        if score > best:
            best, kept = score, copy.deepcopy(model)
        else:
            misses += 1
    dev, ranks, ours = ranking.fit(splits, 1111, nobody)
    assert (dev, ours) == (pytest.approx(best), passes)
    assert sum(map(sum, ranks.recalls())) == pytest.approx(plain_sum(kept, splits["test"]))


def test_images_beyond_five_folds_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a shorter last fold competes among itself."""
    monkeypatch.setattr(ranking, "FOLD", 10)
    model = ranking.ProjectionHeads(9, 7, 1)
    assert model.ranks(split(63, 3)).sizes == (10,) * 5
    data = split(23, 3)
    ranks, alone = (
        model.ranks(data),
        model.ranks(ranking.Matched(data.captions[100:], data.images[20:])),
    )
    assert ranks.sizes == (10, 10, 3) and alone.of_images.max() <= 2
    assert ranks.of_images[100:].tolist() == alone.of_images.tolist()
