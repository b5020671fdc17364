"""Every contrastive objective, against NumPy, sentence-transformers and numbers by hand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

from tests.fakes.training import TinyModel
from theodolite.engine.errors import UserError
from theodolite.engine.training import TrainSpec, objectives
from theodolite.engine.training.objectives import Column, objective_of
from theodolite.engine.training.objectives.contrastive import in_batch_loss

TRIPLETS = [
    ("a man sits on the mat", "the man sits", "nobody sits"),
    ("a red cat sleeps", "the small cat sleeps near the table", "the dog runs"),
    ("they leave quietly", "then they leave", "they sings while rain falls and falls"),
]


def spec(objective: str = "unsup", **changes: object) -> TrainSpec:
    """A spec with only what an objective reads."""
    return TrainSpec(objective, "base", "train.txt", "out", **changes)  # type: ignore[arg-type]


def three_columns(dtype: torch.dtype) -> list[torch.Tensor]:
    """Six random vectors of each column."""
    rng = np.random.default_rng(3)
    return [torch.from_numpy(rng.normal(size=(6, 5))).to(dtype) for _ in range(3)]


def by_numpy(
    first: np.ndarray,
    second: np.ndarray,
    hard: np.ndarray | None,
    temperature: float,
    similarity: str,
    alpha: float,
) -> float:
    """Equations 5 and 8 term by term; alpha multiplies the own hard negative's exponential."""

    def s(u: np.ndarray, v: np.ndarray) -> float:
        scale = np.linalg.norm(u) * np.linalg.norm(v) if similarity == "cosine" else 1.0
        return float(u @ v) / scale / temperature

    losses = []
    for i in range(len(first)):
        below = 0.0
        for j in range(len(second)):
            below += np.exp(s(first[i], second[j]))
            if hard is not None:
                below += (alpha if i == j else 1.0) * np.exp(s(first[i], hard[j]))
        losses.append(-np.log(np.exp(s(first[i], second[i])) / below))
    return float(np.mean(losses))


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("temperature", [0.05, 1.0])
@pytest.mark.parametrize("weight", [None, 0.0, 1.0, -0.7])
def test_the_loss_is_that_of_the_equations(
    dtype: torch.dtype, within: float, similarity: str, temperature: float, weight: float | None
) -> None:
    """`weight` None is equation 4 (no hard negatives), 0 equation 5, others equation 8."""
    first, second, hard = three_columns(dtype)
    found = in_batch_loss(
        first,
        second,
        None if weight is None else hard,
        temperature=temperature,
        similarity=similarity,
        hard_negative_weight=weight or 0.0,
    )
    expected = by_numpy(
        first.double().numpy(),
        second.double().numpy(),
        None if weight is None else hard.double().numpy(),
        temperature,
        similarity,
        np.exp(weight or 0.0),
    )
    assert found.dtype == dtype
    assert float(found) == pytest.approx(expected, rel=within, abs=within)


def test_a_weight_of_log_alpha_is_alpha_copies_of_the_own_negative() -> None:
    """One pair: -log(e^1 / (e^1 + 3 e^0)) with alpha 3, worked by hand: 0.743668."""
    first, hard = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    found = in_batch_loss(first, first, hard, temperature=1.0, hard_negative_weight=np.log(3))
    assert float(found) == pytest.approx(0.743668, abs=1e-6)


def test_half_precision_is_compared_in_full_even_under_autocast() -> None:
    """The loss of bfloat16 vectors is that of their values."""
    first, second, hard = (column.bfloat16() for column in three_columns(torch.float64))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = in_batch_loss(first, second, hard, temperature=0.05)
    columns = [column.double().numpy() for column in (first, second, hard)]
    assert found.dtype == torch.float32
    assert float(found) == pytest.approx(by_numpy(*columns, 0.05, "cosine", 1.0), rel=1e-5)


class Given(torch.nn.Module):
    """Stands where sentence-transformers expects a model; its features are the vectors."""

    def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The vectors themselves."""
        return features


@pytest.mark.parametrize("columns", [2, 3])
def test_supervised_equals_the_ranking_loss_of_sentence_transformers(columns: int) -> None:
    """Scale 20 is temperature 0.05; with hard negatives both take all of the batch's."""
    vectors = three_columns(torch.float64)[:columns]
    theirs = MultipleNegativesRankingLoss(Given(), scale=20.0)
    expected = theirs([{"sentence_embedding": column} for column in vectors], torch.empty(0))
    found = objective_of(spec("sup", temperature=0.05)).loss(vectors)
    assert float(found) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", ["unsup", "sup", "next-sentence"])
def test_an_objective_hands_its_settings_to_the_loss(name: str) -> None:
    """Temperature, similarity and weights of the spec."""
    vectors = three_columns(torch.float64)
    wanted = 3 if name == "sup" else 2
    objective = objective_of(
        spec(name, temperature=0.3, similarity="dot", hard_negative_weight=0.5, mlm_weight=0.1)
    )
    numbers = [column.numpy() for column in vectors[:wanted]]
    first, second, hard = numbers if wanted == 3 else [*numbers, None]
    expected = by_numpy(first, second, hard, 0.3, "dot", np.exp(0.5))
    assert float(objective.loss(vectors[:wanted])) == pytest.approx(expected, rel=1e-9)
    assert (objective.mlm_weight, objective.mlm_probability) == (0.1, 0.15)


def columns_of(objective: objectives.Objective, model: TinyModel, seed: int = 0) -> list[Column]:
    """The views of three triplets."""
    return objective.columns(TRIPLETS, model, np.random.default_rng(seed))


def test_an_unsupervised_sentence_is_its_own_partner() -> None:
    """The same tokens twice, in the same encoder."""
    model = TinyModel()
    first, second = columns_of(objective_of(spec("unsup")), model)
    assert first.ids == second.ids == model.ids([triplet[0] for triplet in TRIPLETS])
    assert (first.side, second.side) == (0, 0)


def test_a_dual_encoder_takes_all_but_the_first_column_to_the_second_side() -> None:
    """Table 2's f_theta1 and f_theta2."""
    model = TinyModel()
    assert [c.side for c in columns_of(objective_of(spec("unsup", dual=True)), model)] == [0, 1]
    assert [c.side for c in columns_of(objective_of(spec("sup", dual=True)), model)] == [0, 1, 1]


def test_hard_negatives_are_used_when_there_are_any_and_they_are_wanted() -> None:
    """The third column is left out, or missing."""
    model, rng = TinyModel(), np.random.default_rng(0)
    pairs = [triplet[:2] for triplet in TRIPLETS]
    assert len(columns_of(objective_of(spec("sup")), model)) == 3
    assert len(columns_of(objective_of(spec("sup", hard_negatives=False)), model)) == 2
    assert len(objective_of(spec("sup")).columns(pairs, model, rng)) == 2


def test_one_of_the_next_three_sentences_is_drawn_each_as_often() -> None:
    """Table 2's "next 3 sentences"."""
    model, rng = TinyModel(), np.random.default_rng(0)
    examples = [("a", "man", "cat", "dog")] * 3000
    first, second = objective_of(spec("next-sentence")).columns(examples, model, rng)
    words = model.tokenizer.convert_ids_to_tokens([ids[1] for ids in second.ids])
    assert {ids[1] for ids in first.ids} == set(model.tokenizer.convert_tokens_to_ids(["a"]))
    assert {word: words.count(word) for word in ("man", "cat", "dog")} == pytest.approx(
        dict.fromkeys(("man", "cat", "dog"), 1000), abs=100
    )
    assert sum(words.count(word) for word in ("man", "cat", "dog")) == 3000


def test_one_pass_with_a_fixed_mask_has_the_gradients_of_two_with_the_same_random_state() -> None:
    """Table 3's "Fixed 0.1": two passes whose dropout starts from one random state."""
    objective = objective_of(spec("unsup", fixed_mask=True))
    once, twice = TinyModel(dropout=0.1), TinyModel(dropout=0.1)
    (column,) = columns_of(objective, once)

    torch.manual_seed(5)
    loss = objective.loss([once.vectors(column.ids)])
    loss.backward()

    passes = []
    for _ in range(2):
        torch.manual_seed(5)
        passes.append(twice.vectors(column.ids))
    other = in_batch_loss(*passes, temperature=0.05)
    other.backward()

    assert torch.equal(passes[0], passes[1])
    assert float(loss.detach()) == pytest.approx(float(other.detach()), abs=1e-12)
    compared = 0
    for mine, theirs in zip(once.parameters(), twice.parameters(), strict=True):
        if mine.grad is not None:
            torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-9, atol=1e-12)
            compared += 1
    assert compared > 20


def test_copies_in_one_forward_have_masks_of_their_own() -> None:
    """What unsupervised SimCSE lives on."""
    model = TinyModel(dropout=0.1)
    first, second = columns_of(objective_of(spec("unsup")), model)
    torch.manual_seed(0)
    both = model.vectors(first.ids + second.ids).detach()
    assert not torch.allclose(both[:3], both[3:])


@pytest.mark.parametrize("changes", [{"dual": True}, {"augmentation": "crop"}])
def test_a_fixed_mask_is_refused_where_the_passes_differ(changes: dict[str, object]) -> None:
    """There is no same mask for sentences of different lengths."""
    with pytest.raises(UserError, match="same dropout mask twice"):
        objective_of(spec(fixed_mask=True, **changes))


def test_a_batch_of_one_has_nothing_to_tell_apart() -> None:
    """Loss and gradient are zero, and numbers."""
    one = torch.ones(1, 4, dtype=torch.float64, requires_grad=True)
    loss = in_batch_loss(one, one, temperature=0.05)
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert one.grad is not None and bool((one.grad == 0).all())


def test_a_vector_of_zeros_gives_a_number() -> None:
    """It has no direction; all cosines are 0."""
    zeros = torch.zeros(2, 4, requires_grad=True)
    loss = in_batch_loss(zeros, zeros, temperature=0.05)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(np.log(2), abs=1e-6)
    assert zeros.grad is not None and bool(zeros.grad.isfinite().all())


def test_the_examples_of_every_objective_run() -> None:
    """The doctests of the package."""
    names = [module.name for module in pkgutil.iter_modules(objectives.__path__)]
    modules = [importlib.import_module(f"{objectives.__name__}.{name}") for name in names]
    with_examples = 0
    for module in [objectives, *modules]:
        result = doctest.testmod(module)
        assert result.failed == 0, module.__name__
        with_examples += result.attempted > 0
    assert with_examples >= 7
