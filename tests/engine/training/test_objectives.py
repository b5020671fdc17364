"""Every contrastive objective, against NumPy, sentence-transformers and numbers by hand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

from tests.engine.training.test_gradients import draws
from tests.errors import refused
from tests.fakes.training import SPECIAL, TinyModel
from theodolite.engine.training import TrainSpec, objectives
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.objectives import Column, objective_of
from theodolite.engine.training.objectives.augment import (
    ChangedWords,
    ReplacedTokens,
    _drawn,
    crop,
    delete,
    delete_one,
)
from theodolite.engine.training.objectives.contrastive import in_batch_loss
from theodolite.engine.training.objectives.mlm import IGNORED, Masked, mask, mask_tokens, mlm_loss
from theodolite.engine.training.precision import widest

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


def test_the_columns_of_an_objective_and_their_sides() -> None:
    """Table 2's f_theta1 and f_theta2; the third column is left out, or missing."""
    model, rng = TinyModel(), np.random.default_rng(0)
    for wanted, sides in (
        (spec("unsup", dual=True), [0, 1]),
        (spec("sup", dual=True), [0, 1, 1]),
        (spec("sup"), [0, 0, 0]),
        (spec("sup", hard_negatives=False), [0, 0]),
    ):
        assert [column.side for column in columns_of(objective_of(wanted), model)] == sides
    assert len(objective_of(spec("sup")).columns([row[:2] for row in TRIPLETS], model, rng)) == 2


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
    with refused("conflict"):
        objective_of(spec(fixed_mask=True, **changes))


def test_a_batch_of_one_and_vectors_of_zeros_give_numbers() -> None:
    """Nothing to tell apart is no loss; all cosines of zeros are 0."""
    for vectors, expected in ((torch.ones(1, 4), 0.0), (torch.zeros(2, 4), np.log(2))):
        vectors.requires_grad_()
        loss = in_batch_loss(vectors, vectors, temperature=0.05)
        loss.backward()
        assert float(loss.detach()) == pytest.approx(expected, abs=1e-6)
        assert vectors.grad is not None and bool(vectors.grad.isfinite().all())


def test_the_examples_of_every_objective_run() -> None:
    """The doctests of the package."""
    names = [module.name for module in pkgutil.iter_modules(objectives.__path__)]
    modules = [importlib.import_module(f"{objectives.__name__}.{name}") for name in names]
    with_examples = 0
    for module in [objectives, *modules]:
        result = doctest.testmod(module)
        assert result.failed == 0, module.__name__
        with_examples += result.attempted > 0
    assert with_examples >= 6


SENTENCES = [
    "a man sits on the mat",
    "nobody sings",
    "the small red cat sleeps near the table while rain falls",
    "then they leave quietly",
]


def many(n: int = 2000) -> tuple[np.ndarray, Masked]:
    """N sentences of 30 tokens between 2 and 3, and what `mask` makes of them."""
    ids = [[2, *row, 3] for row in draws(1).integers(5, 1000, size=(n, 30)).tolist()]
    masked = mask(
        ids, draws(), probability=0.15, mask_id=4, special={0, 1, 2, 3, 4}, vocabulary=1000
    )
    return np.array(ids), masked


def test_fifteen_percent_are_chosen_of_which_80_10_10() -> None:
    """Devlin et al. 2019, section 3.1."""
    before, masked = many()
    seen, labels = np.array(masked.ids), np.array(masked.labels)
    chosen = labels != IGNORED
    assert chosen[:, 1:-1].mean() == pytest.approx(0.15, abs=0.005)
    assert (labels[chosen] == before[chosen]).all()
    assert (seen[~chosen] == before[~chosen]).all()
    assert masked.chosen == chosen.sum()
    assert (seen[chosen] == 4).mean() == pytest.approx(0.8, abs=0.01)
    other = chosen & (seen != 4) & (seen != before)
    assert other.sum() / chosen.sum() == pytest.approx(0.1, abs=0.01)
    assert (chosen & (seen == before)).sum() / chosen.sum() == pytest.approx(0.1, abs=0.01)
    # Random tokens are spread over the whole vocabulary.
    assert seen[other].mean() == pytest.approx(500, abs=40)


def test_special_tokens_are_never_chosen() -> None:
    """Wherever they stand in the sentence."""
    rng = draws()
    for _ in range(50):
        masked = mask(
            [[2, 1, 7, 0, 3]],
            rng,
            probability=0.9,
            mask_id=4,
            special={0, 1, 2, 3, 4},
            vocabulary=9,
        )
        assert [masked.labels[0][place] for place in (0, 1, 3, 4)] == [IGNORED] * 4
        assert [masked.ids[0][place] for place in (0, 1, 3, 4)] == [2, 1, 0, 3]


def prepared(dtype: torch.dtype = torch.float64) -> tuple[TinyModel, Masked]:
    """A model, and four sentences with tokens hidden."""
    model = TinyModel(dtype=dtype)
    return model, mask_tokens([Column(model.ids(SENTENCES))], model, draws(), 0.4)


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_the_loss_is_that_of_numpy(dtype: torch.dtype, within: float) -> None:
    """Minus the logarithm of the softmax, at the chosen tokens."""
    model, masked = prepared(dtype)
    with torch.no_grad():
        found = float(mlm_loss(model, masked))
        states, _ = model.token_states(masked.ids)
        scores = model.mlm_logits(states).double().numpy()
    labels = np.concatenate(masked.labels)
    expected = 0.0
    for row, label in zip(scores, labels, strict=True):
        if label != IGNORED:
            expected += np.log(np.exp(row).sum()) - row[label]
    assert found == pytest.approx(expected, rel=within)


def test_scores_are_computed_for_the_chosen_tokens_alone(monkeypatch) -> None:
    """Elsewhere a row as long as the vocabulary would be made for nothing."""
    model, masked = prepared()
    rows = []
    whole = model.mlm_logits
    monkeypatch.setattr(
        model, "mlm_logits", lambda states: rows.append(len(states)) or whole(states)
    )
    mlm_loss(model, masked)
    assert rows == [masked.chosen]


def test_nothing_chosen_is_no_loss_and_no_nan() -> None:
    """A mean over no tokens."""
    model = TinyModel()
    objective = objective_of(TrainSpec("mlm", "base", "t", "out", mlm_probability=1e-9))
    columns = objective.columns([(text,) for text in SENTENCES], model, draws())
    assert float(backward(model, objective, columns, 2, draws())) == 0.0
    assert all(
        bool((parameter.grad == 0).all())
        for parameter in model.parameters()
        if parameter.grad is not None
    )


@pytest.mark.parametrize("size", [None, 1, 3])
@pytest.mark.parametrize("name", ["mlm", "unsup"])
def test_mlm_is_the_mean_over_the_batch_in_any_micro_batches(name: str, size: int | None) -> None:
    """Not a mean of means: micro-batches have different numbers of chosen tokens.

    Of `unsup` it is added with its weight, over both copies (table D.1).
    """
    model = TinyModel()
    weights = {"mlm_weight": 0.1} if name == "unsup" else {}
    objective = objective_of(TrainSpec(name, "base", "t", "out", mlm_probability=0.4, **weights))
    columns = objective.columns([(text,) for text in SENTENCES], model, draws())
    masked = mask_tokens(columns, model, draws(2), 0.4)
    expected = mlm_loss(model, masked) / masked.chosen
    if name == "unsup":
        assert len(masked.ids) == 2 * len(SENTENCES)
        vectors = [model.vectors(column.ids) for column in columns]
        expected = objective.loss(vectors) + 0.1 * expected
    expected.backward()

    other = TinyModel()
    found = backward(other, objective, columns, size, draws(2))
    assert float(found) == pytest.approx(float(expected.detach()), abs=1e-12)
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        if theirs.grad is not None:
            torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-9, atol=1e-12)


def test_a_second_encoder_has_no_part_in_mlm() -> None:
    """Only the sentences of the first one are hidden from it."""
    model = TinyModel(dual=True)
    objective = objective_of(TrainSpec("unsup", "base", "t", "out", dual=True, mlm_weight=0.1))
    columns = objective.columns([(text,) for text in SENTENCES], model, draws())
    assert len(mask_tokens(columns, model, draws(), 0.15).ids) == len(SENTENCES)


WORDS = [str(place) for place in range(20)]


@pytest.mark.parametrize("change", [crop, delete])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
def test_a_share_of_the_words_goes_from_anywhere_in_their_order(change, rate: float) -> None:
    """Table 1: "keep 100 - k % of the length" in one run, "delete k % words"."""
    gone: set[str] = set()
    for seed in range(200):
        kept = change(WORDS, rate, draws(seed))
        assert len(kept) == round(20 * (1 - rate))
        start = int(kept[0])
        assert kept == (
            WORDS[start : start + len(kept)] if change is crop else sorted(kept, key=int)
        )
        gone |= set(WORDS) - set(kept)
    cut = round(20 * rate)
    assert gone == ({*WORDS[:cut], *WORDS[-cut:]} if change is crop else set(WORDS))


def test_delete_one_takes_each_word_as_often() -> None:
    """Table 1: "delete one word", whatever the rate."""
    rng, gone = draws(), []
    for _ in range(4000):
        kept = delete_one(WORDS[:4], 0.9, rng)
        assert len(kept) == 3
        gone += set(WORDS[:4]) - set(kept)
    counts = [gone.count(word) for word in WORDS[:4]]
    assert counts == pytest.approx([1000] * 4, abs=100)


@pytest.mark.parametrize("change", [crop, delete])
def test_a_share_that_is_no_whole_number_is_met_on_average(change) -> None:
    """10 % of 7 words: 0.7 of a word."""
    rng = draws()
    gone = [7 - len(change(WORDS[:7], 0.1, rng)) for _ in range(5000)]
    assert set(gone) == {0, 1}
    assert np.mean(gone) == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("change", ["crop", "delete", "delete-one"])
@pytest.mark.parametrize("sentence", ["", "   ", "cat", "a cat", "猫がマットの上に座る"])
def test_something_of_a_sentence_always_stays(change: str, sentence: str) -> None:
    """Also of none, of one word, and of a script without spaces."""
    changed = ChangedWords(change, 0.99)._changed(sentence, draws())
    assert changed == sentence if len(sentence.split()) < 2 else len(changed.split()) == 1


def test_changed_words_are_tokenised_and_special_tokens_are_there() -> None:
    """Words go before the tokeniser sees the sentence."""
    model = TinyModel()
    sentences = ["a red cat sleeps near the table"] * 5
    ids = model.ids(sentences)
    changed = ChangedWords("delete-one", 0.0)(sentences, ids, model, draws())
    assert [len(row) for row in changed] == [len(ids[0]) - 1] * 5
    assert all((row[0], row[-1]) == (2, 3) for row in changed)


def sentences(n: int = 200) -> list[str]:
    """N sentences of ten known words each."""
    words = "a red cat sleeps near the table while rain falls".split()
    rng = draws(9)
    return [" ".join(rng.permutation(words)) for _ in range(n)]


def test_replaced_tokens_are_a_share_and_never_special() -> None:
    """Neither are special tokens replaced, nor is one drawn."""
    model = TinyModel()
    replaced = ReplacedTokens(0.15)
    replaced.begin(model)
    texts = sentences()
    ids = model.ids(texts)
    before = np.array(ids)
    after = np.array(replaced(texts, ids, model, draws()))
    assert (after[:, [0, -1]] == before[:, [0, -1]]).all()
    assert not np.isin(after[:, 1:-1], range(len(SPECIAL))).any()
    # The head has random weights: it hardly ever draws the same word again (31 to choose from).
    assert 0.09 < (after != before)[:, 1:-1].mean() < 0.16


def test_replacements_are_drawn_with_the_chances_of_the_base() -> None:
    """One masked token, many draws: their shares are the softmax of the head's scores."""
    model = TinyModel()
    replaced = ReplacedTokens(0.999999)
    replaced.begin(model)
    row = model.ids(["cat"])[0]
    masked = [row[0], model.tokenizer.mask_token_id, row[2]]
    with torch.no_grad():
        scores = model.bert(torch.tensor([masked])).logits[0, 1]
    scores[model.tokenizer.all_special_ids] = -torch.inf
    expected = scores.softmax(0).numpy()
    drawn = np.array(replaced([""] * 4000, [row] * 4000, model, draws()))[:, 1]
    found = np.bincount(drawn, minlength=len(expected)) / 4000
    assert found == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("name", ["crop", "delete", "delete-one", "mlm"])
def test_only_the_second_copy_is_changed(name: str) -> None:
    """The first is the sentence as it is."""
    model = TinyModel()
    spec = TrainSpec("unsup", "base", "t", "out", augmentation=name, augmentation_rate=0.3)
    objective = objective_of(spec)
    objective.begin(model)
    texts = sentences(10)
    first, second = objective.columns([(text,) for text in texts], model, draws())
    assert first.ids == model.ids(texts)
    changed = sum(mine != theirs for mine, theirs in zip(first.ids, second.ids, strict=True))
    # A token is replaced with 30 %: one sentence of ten may come through as it was.
    assert changed >= (8 if name == "mlm" else 10)


def test_tokens_are_drawn_in_the_precision_of_the_device() -> None:
    """Apple's GPUs have no float64: chances there are float32."""
    assert widest(torch.device("mps")) == torch.float32
    assert widest(torch.device("cuda")) == torch.float64
    chances = torch.tensor([[0.1, 0.9, 0.0], [0.0, 0.2, 0.8]])
    exact = _drawn(chances.double(), draws())
    assert _drawn(chances, draws()).tolist() == exact.tolist()
