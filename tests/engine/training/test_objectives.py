"""Every objective, its views and gradients, against NumPy, SciPy, autograd and numbers by hand."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from weakref import WeakSet

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from safetensors.torch import load_file
from scipy.special import log_softmax
from sklearn.metrics.pairwise import cosine_similarity, linear_kernel
from torch.nn.utils.rnn import pad_sequence

from tests.errors import refused
from tests.fakes.ranks import BASE, CASES, EXAMPLES, case, masked_case, tiny_model
from tests.fakes.runs import tiny_run, tiny_spec
from theodolite.engine.training import TrainSpec, augment, mlm
from theodolite.engine.training.devices import Ranks, widest
from theodolite.engine.training.gradients import backward, mask_tokens
from theodolite.engine.training.model import TrainingModel
from theodolite.engine.training.objectives import Column, Objective, in_batch_loss, objective_of


def spec(objective: str = "unsup", **changes: object) -> TrainSpec:
    """A spec with only what an objective reads."""
    return TrainSpec(objective, BASE, "train.txt", "out", **({"dropout": 0.0} | changes))


def three_columns(dtype: torch.dtype) -> list[torch.Tensor]:
    """Six random vectors of each column."""
    return list(torch.from_numpy(default_rng(3).normal(size=(3, 6, 5))).to(dtype))


def by_scipy(
    columns: list[torch.Tensor], temperature: float, similarity: str, weight: float
) -> float:
    """Equations 5 and 8; the weight is added to the score of the own hard negative."""
    first, *others = (column.double().numpy() for column in columns)
    of = {"cosine": cosine_similarity, "dot": linear_kernel}[similarity]
    weights = [0 * np.eye(6), weight * np.eye(6)]
    scores = [of(first, v) / temperature + w for v, w in zip(others, weights, strict=False)]
    return -log_softmax(np.hstack(scores), axis=1).diagonal().mean()


@pytest.mark.parametrize(
    ("dtype", "within"),
    [(torch.float64, 1e-6), (torch.float32, 1e-5), (torch.bfloat16, 1e-5)],
)
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("temperature", [0.05, 1.0])
@pytest.mark.parametrize("weight", [None, 0.0, 1.0, -0.7])
def test_the_loss_is_that_of_the_equations(
    dtype: torch.dtype, within: float, similarity: str, temperature: float, weight: float | None
) -> None:
    """`weight` None is equation 4 (no hard negatives), 0 equation 5, others equation 8.

    Vectors in half precision are compared in full, even under autocast.
    """
    columns = three_columns(dtype)[: 2 if weight is None else 3]
    half = dtype == torch.bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        loss = in_batch_loss(
            *columns,
            temperature=temperature,
            similarity=similarity,
            hard_negative_weight=weight or 0.0,
        )
    expected = by_scipy(columns, temperature, similarity, weight or 0.0)
    assert loss.dtype == (torch.float32 if half else dtype)
    assert float(loss) == pytest.approx(expected, rel=within, abs=within)


@pytest.mark.parametrize(("name", "columns"), [("unsup", 2), ("sup", 3), ("next-sentence", 2)])
def test_an_objective_hands_its_settings_to_the_loss(name: str, columns: int) -> None:
    """Temperature, similarity and weights of the spec."""
    vectors = three_columns(torch.float64)[:columns]
    objective = objective_of(
        spec(name, temperature=0.3, similarity="dot", hard_negative_weight=0.5, mlm_weight=0.1)
    )
    expected = pytest.approx(by_scipy(vectors, 0.3, "dot", 0.5), rel=1e-9)
    assert float(objective.loss(vectors)) == expected
    assert (objective.mlm_weight, objective.mlm_probability) == (0.1, 0.15)


@pytest.mark.parametrize(
    ("name", "changes", "width", "parts", "sides"),
    [
        ("unsup", {}, 3, [0, 0], [0, 0]),
        ("unsup", {"dual": True}, 3, [0, 0], [0, 1]),
        ("sup", {"dual": True}, 3, [0, 1, 2], [0, 1, 1]),
        ("sup", {}, 3, [0, 1, 2], [0, 0, 0]),
        ("sup", {}, 2, [0, 1], [0, 0]),
        ("sup", {"hard_negatives": False}, 3, [0, 1], [0, 0]),
    ],
)
def test_the_columns_of_an_objective_and_their_sides(name, changes, width, parts, sides) -> None:
    """Which part of an example they are, and by which encoder, f_theta1 or f_theta2 of table 2."""
    model, examples = tiny_model(spec()), [triplet[:width] for triplet in EXAMPLES]
    columns = objective_of(spec(name, **changes)).columns(examples, model, default_rng(0))
    expected = [model.ids([triplet[part] for triplet in EXAMPLES]) for part in parts]
    assert [(c.ids, c.side) for c in columns] == list(zip(expected, sides, strict=True))


def test_one_of_the_next_three_sentences_is_drawn_each_as_often() -> None:
    """Table 2's "next 3 sentences"."""
    model, examples = tiny_model(spec()), [("a", "man", "cat", "dog")] * 3000
    first, second = objective_of(spec("next-sentence")).columns(examples, model, default_rng(0))
    assert first.ids == model.ids(["a"] * 3000)
    words = Counter(model.tokenizer.convert_ids_to_tokens([ids[1] for ids in second.ids]))
    assert words == pytest.approx(dict.fromkeys(("man", "cat", "dog"), 1000), abs=100)


@pytest.mark.parametrize("changes", [{"dual": True}, {"augmentation": "crop"}])
def test_a_fixed_mask_is_refused_where_the_passes_differ(changes: dict[str, object]) -> None:
    """There is no same mask for sentences of different lengths."""
    with refused("conflict"):
        objective_of(spec(fixed_mask=True, **changes))


@pytest.mark.parametrize(
    ("vectors", "expected"), [(torch.ones(1, 4), 0.0), (torch.zeros(2, 4), np.log(2))]
)
def test_a_batch_of_one_and_vectors_of_zeros_give_numbers(
    vectors: torch.Tensor, expected: float
) -> None:
    """Nothing to tell apart is no loss; all cosines of zeros are 0."""
    vectors.requires_grad_()
    loss = in_batch_loss(vectors, vectors, temperature=0.05)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-6)
    assert vectors.grad is not None and bool(vectors.grad.isfinite().all())


def test_fifteen_percent_are_chosen_of_which_80_10_10() -> None:
    """Devlin et al. 2019, section 3.1; special tokens never, wherever they stand."""
    before = default_rng(1).integers(0, 1000, size=(2000, 32))
    masked = mlm.mask(
        before.tolist(),
        default_rng(0),
        probability=0.15,
        mask_id=4,
        special={0, 1, 2, 3, 4},
        vocabulary=1000,
    )
    seen, labels = np.array(masked.ids), np.array(masked.labels)
    chosen = labels != mlm.IGNORED
    assert masked.count == chosen.sum() and not chosen[before < 5].any()
    assert chosen[before >= 5].mean() == pytest.approx(0.15, abs=0.005)
    np.testing.assert_array_equal(np.where(chosen, labels, seen), before)
    other = chosen & (seen != 4) & (seen != before)
    shares = [where.sum() / chosen.sum() for where in (chosen & (seen == 4), other)]
    assert shares == pytest.approx([0.8, 0.1], abs=0.01)
    # Random tokens are spread over the whole vocabulary.
    assert seen[other].mean() == pytest.approx(500, abs=40)


SENTENCES = [
    "a man sits on the mat",
    "nobody sings",
    "the small red cat sleeps near the table while rain falls",
    "then they leave quietly",
]


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_the_loss_of_mlm_is_that_of_scipy_and_of_transformers(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, within: float
) -> None:
    """`BertForMaskedLM` has the same weights and the padded batch.

    Scores are computed for the chosen tokens alone, not rows of the vocabulary for nothing.
    """
    model = tiny_model(spec("mlm"), dtype)
    masked = mask_tokens([Column(model.ids(SENTENCES))], model, default_rng(0), 0.4)
    scores = model.mlm_logits(model.token_states(masked.ids)[0]).detach().double().numpy()
    labels = np.concatenate(masked.labels)
    chosen = np.flatnonzero(labels != mlm.IGNORED)
    summed = -log_softmax(scores, axis=1)[chosen, labels[chosen]].sum()
    padded, wanted = (
        pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=fill)
        for rows, fill in ((masked.ids, 0), (masked.labels, mlm.IGNORED))
    )
    by_transformers = model.encoders[0](padded, (padded != 0).long(), labels=wanted).loss
    rows, whole = [], model.mlm_logits
    monkeypatch.setattr(
        model, "mlm_logits", lambda states: rows.append(len(states)) or whole(states)
    )
    loss = float(mlm.mlm_loss(model, masked).detach())
    assert rows == [masked.count] == [len(chosen)]
    assert loss == pytest.approx(summed, rel=within)
    assert loss / masked.count == pytest.approx(float(by_transformers.detach()), abs=within)


def begun(**changes: object) -> tuple[TrainingModel, Objective, list[Column]]:
    """A model, its objective and the columns of the sentences."""
    own = spec(**changes)
    model, objective = tiny_model(own), objective_of(own)
    columns = objective.columns([(text,) for text in SENTENCES], model, default_rng(0))
    return model, objective, columns


def test_of_which_tokens_none_is_predicted() -> None:
    """Where nothing is chosen there is no loss and no NaN; a second encoder has no part in MLM."""
    model, objective, columns = begun(objective="mlm", mlm_probability=1e-9)
    assert float(backward(model, objective, columns, 2, default_rng(0))) == 0.0
    assert not any(bool(gradient.any()) for gradient in gradients(model).values())
    model, _, columns = begun(dual=True, mlm_weight=0.1)
    assert len(mask_tokens(columns, model, default_rng(0), 0.15).ids) == len(SENTENCES)


WORDS = [str(place) for place in range(20)]


@pytest.mark.parametrize("change", [augment.crop, augment.delete])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
def test_a_share_of_the_words_goes_from_anywhere_in_their_order(
    change, rate: float, rng: np.random.Generator
) -> None:
    """Table 1: "keep 100 - k % of the length" in one run, "delete k % words"."""
    gone: set[str] = set()
    for seed in range(200):
        kept = change(WORDS, rate, default_rng(seed))
        assert len(kept) == round(20 * (1 - rate))
        run = WORDS[int(kept[0]) :][: len(kept)]
        assert kept == (run if change is augment.crop else sorted(kept, key=int))
        gone |= set(WORDS) - set(kept)
    cut = round(20 * rate)
    assert gone == ({*WORDS[:cut], *WORDS[-cut:]} if change is augment.crop else set(WORDS))
    # A share that is no whole number is met on average: of 7 words 0.7, 1.4 or 2.1.
    assert np.mean([7 - len(change(WORDS[:7], rate, rng)) for _ in range(5000)]) == pytest.approx(
        7 * rate, abs=0.03
    )


def test_delete_one_takes_each_word_as_often(rng: np.random.Generator) -> None:
    """Table 1: "delete one word", whatever the rate."""
    kept = [augment.delete_one(WORDS[:4], 0.9, rng) for _ in range(4000)]
    assert {len(words) for words in kept} == {3}
    counts = Counter(word for words in kept for word in words)
    assert counts == pytest.approx(dict.fromkeys(WORDS[:4], 3000), abs=100)


@pytest.mark.parametrize("change", ["crop", "delete", "delete-one"])
@pytest.mark.parametrize("sentence", ["", "   ", "cat", "a cat", "猫がマットの上に座る"])
def test_something_of_a_sentence_always_stays(change: str, sentence: str) -> None:
    """Also of none, of one word, and of a script without spaces."""
    plain = SimpleNamespace(ids=list)  # instead of tokens, the sentences
    (changed,) = augment.ChangedWords(change, 0.99)([sentence], [], plain, default_rng(0))
    assert changed == sentence if len(sentence.split()) < 2 else len(changed.split()) == 1


def shuffled(n: int) -> list[str]:
    """N sentences of the same ten known words."""
    words, rng = "a red cat sleeps near the table while rain falls".split(), default_rng(9)
    return [" ".join(rng.permutation(words)) for _ in range(n)]


def test_replacements_are_drawn_with_the_chances_of_the_base() -> None:
    """One masked token, many draws: their shares are the softmax of the head's scores.

    A special token is never drawn.
    """
    model, replaced = tiny_model(spec("mlm")), augment.ReplacedTokens(0.999999)
    replaced.begin(model)
    row = model.ids(["cat"])[0]
    masked = torch.tensor([[row[0], model.tokenizer.mask_token_id, row[2]]])
    scores = model.encoders[0](masked).logits[0, 1].detach()
    scores[model.tokenizer.all_special_ids] = -torch.inf
    tokens = np.array(replaced([""] * 4000, [row] * 4000, model, default_rng(0)))[:, 1]
    counts = np.bincount(tokens, minlength=len(scores))
    assert counts == pytest.approx(4000 * scores.softmax(0).numpy(), abs=120)
    assert not counts[model.tokenizer.all_special_ids].any()


@pytest.mark.parametrize(
    ("name", "fewer"), [("crop", 3), ("delete", 3), ("delete-one", 1), ("mlm", 0)]
)
def test_only_the_second_copy_is_changed(name: str, fewer: int) -> None:
    """Words go before the sentence is split into tokens: the special ones are there."""
    own, texts = spec(augmentation=name, augmentation_rate=0.3), shuffled(10)
    model, objective = tiny_model(own), objective_of(own)
    objective.begin(model)
    first, second = objective.columns([(text,) for text in texts], model, default_rng(0))
    assert first.ids == model.ids(texts)
    assert {(len(row), row[0], row[-1]) for row in second.ids} == {(12 - fewer, 2, 3)}
    same = sum(mine == theirs for mine, theirs in zip(first.ids, second.ids, strict=True))
    # A token is replaced with 30 %: one sentence of ten may come through as it was.
    assert same <= (2 if name == "mlm" else 0)


def test_tokens_are_drawn_in_the_precision_of_the_device() -> None:
    """Apple's GPUs have no float64: chances there are float32."""
    widths = {"mps": torch.float32, "cuda": torch.float64}
    assert {name: widest(torch.device(name)) for name in widths} == widths
    chances = torch.tensor([[0.1, 0.9, 0.0], [0.0, 0.2, 0.8]])
    drawn, exact = (
        augment._sample_ids(each, default_rng(0)) for each in (chances, chances.double())
    )
    assert drawn.tolist() == exact.tolist()


# --- gradients of a batch in micro-batches: the same, in the memory of one ---


OBJECTIVES = {
    "unsup": {},
    "unsup, cropped": {"augmentation": "crop", "augmentation_rate": 0.3},
    "unsup, fixed mask": {"fixed_mask": True},
    "unsup, dual": {"dual": True},
    "unsup, mlm": {"augmentation": "delete-one", "mlm_weight": 0.1, "mlm_probability": 0.4},
    "sup": {"hard_negative_weight": 0.5},
    "sup, dual": {"dual": True},
    "sup, mean": {"pooling": "avg", "head": "none", "hard_negative_weight": 0.3},
    "next-sentence": {},
    "next-sentence, dual": {"dual": True},
    "mlm": {"mlm_probability": 0.4},
}


def spec_of(name: str, **changes: object) -> TrainSpec:
    """Of an objective, without dropout unless it is asked for."""
    return spec(name.split(",")[0], **OBJECTIVES[name] | changes)


def twins(
    own: TrainSpec, dtype: torch.dtype = torch.float64
) -> tuple[torch.nn.Module, torch.nn.Module, Objective, list[Column]]:
    """Two models with the same weights, an objective, and its columns of five examples."""
    one, other, objective = tiny_model(own, dtype), tiny_model(own, dtype), objective_of(own)
    return one, other, objective, objective.columns(EXAMPLES, one, default_rng(4))


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Of every parameter that has one."""
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_same(
    model: torch.nn.Module,
    other: torch.nn.Module,
    times: float = 1.0,
    rtol: float = 1e-6,
    atol: float = 1e-10,
) -> None:
    """The gradients of a model are those of another, or so many times as large."""
    expected = {name: times * gradient for name, gradient in gradients(other).items()}
    assert len(expected) > 20
    torch.testing.assert_close(gradients(model), expected, rtol=rtol, atol=atol)


def assert_autograds(
    model: torch.nn.Module, loss: torch.Tensor, plain: torch.nn.Module, expected: torch.Tensor
) -> None:
    """Loss and gradients are those of one graph, which has not been passed through yet."""
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(model, plain)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_micro_batches_have_the_gradients_of_the_batch(name: str, size: int) -> None:
    """float64, dropout 0, also where the last micro-batch is smaller."""
    whole, cut, objective, columns = twins(spec_of(name))
    at_once, in_parts = (
        float(backward(model, objective, columns, some, default_rng(0)))
        for model, some in ((whole, None), (cut, size))
    )
    assert in_parts == pytest.approx(at_once, abs=1e-10)
    assert_same(cut, whole)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_whole_batch_is_one_forward_with_autograds_gradients(name: str) -> None:
    """All columns of an encoder pass through it together.

    MLM is the mean over all hidden tokens, of both copies where there are two (table D.1).
    """
    model, plain, objective, columns = twins(spec_of(name))
    forwards, vectors = [], model.vectors
    model.vectors = lambda ids, **how: forwards.append(len(ids)) or vectors(ids, **how)
    loss = backward(model, objective, columns, None, default_rng(0))
    sides = Counter(column.side for column in columns)
    assert forwards == [len(EXAMPLES) * count for count in sides.values()] * objective.contrasts
    expected = torch.zeros(())
    if objective.contrasts:
        expected = objective.loss([plain.vectors(c.ids, side=c.side) for c in columns])
    if objective.mlm_weight:
        masked = mask_tokens(columns, plain, default_rng(0), objective.mlm_probability)
        expected = expected + objective.mlm_weight * mlm.mlm_loss(plain, masked) / masked.count
    assert_autograds(model, loss, plain, expected)


def most_held(n: int, size: int | None) -> int:
    """Most bytes that graphs hold at once for their backward passes, of n like sentences."""
    model, held, bytes_held = tiny_model(spec_of("unsup", dropout=0.1)), WeakSet(), []
    column = Column(model.ids(["a man sits on the mat"]) * n)

    def hold(tensor: torch.Tensor) -> torch.Tensor:
        held.add(kept := tensor.detach())
        bytes_held.append(sum(one.nbytes for one in held))
        return kept

    with torch.autograd.graph.saved_tensors_hooks(hold, lambda kept: kept):
        backward(model, objective_of(spec_of("unsup")), [column, column], size, default_rng(0))
    return max(bytes_held)


def test_activations_are_held_for_one_micro_batch_only() -> None:
    """Four times the batch in micro-batches of the same size holds hardly more."""
    weights = most_held(1, None)
    small, large = most_held(8, 4), most_held(32, 4)
    assert most_held(32, None) - weights > 6 * (small - weights)
    assert large - weights < 1.2 * (small - weights)


@pytest.mark.parametrize("size", [None, 4])
def test_gradients_are_added_and_the_loss_is_scaled_for_the_backward_pass_alone(
    size: int | None,
) -> None:
    """Zeroing is left to the loop; fp16 scales the loss, but the true one is told."""
    once, scaled, objective, columns = twins(spec_of("unsup, mlm"))
    loss = backward(once, objective, columns, size, default_rng(0))
    for _ in range(2):
        same = backward(
            scaled, objective, columns, size, default_rng(0), scaled=lambda loss: 1024 * loss
        )
        assert float(loss) == float(same)
    assert_same(scaled, once, times=2048)


def test_under_autocast_micro_batches_reach_every_weight() -> None:
    """A cast made without a graph must not be used again with one."""
    whole, cut, objective, columns = twins(spec_of("unsup"), torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for model, size in ((whole, None), (cut, 4)):
            backward(model, objective, columns, size, default_rng(0))
    assert gradients(cut).keys() == gradients(whole).keys()


@pytest.mark.parametrize("mlm_weight", [0.0, 0.1])
def test_autocast_is_for_the_forward_pass_alone(mlm_weight: float) -> None:
    """The gradients are exactly those of a backward pass outside of it, as torch advises."""
    around, plain, objective, columns = twins(spec_of("sup", mlm_weight=mlm_weight), torch.float32)
    rows = [row for column in columns for row in column.ids]
    masked = mask_tokens(columns, plain, default_rng(0), 0.15)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        backward(around, objective, columns, None, default_rng(0))
        losses = [objective.loss(plain.vectors(rows).split(len(EXAMPLES)))]
        if mlm_weight:
            losses.append(mlm_weight * mlm.mlm_loss(plain, masked) / masked.count)
    for loss in losses:
        loss.backward()
    assert_same(around, plain, rtol=1e-5, atol=1e-6)


def test_with_dropout_both_passes_of_a_micro_batch_have_the_same_masks() -> None:
    """Against one graph over the same micro-batches, drawn from the same random state."""
    cached, graph, objective, columns = twins(spec_of("unsup", dropout=0.3))
    torch.manual_seed(11)
    loss = backward(cached, objective, columns, 2, default_rng(0))
    torch.manual_seed(11)
    cuts = [[column.ids[start : start + 2] for column in columns] for start in (0, 2, 4)]
    parts = [graph.vectors(one + other).split(len(one)) for one, other in cuts]
    expected = objective.loss([torch.cat(column) for column in zip(*parts, strict=True)])
    assert_autograds(cached, loss, graph, expected)


def test_one_pass_with_a_fixed_mask_is_two_with_the_same_random_state() -> None:
    """Also without padding: batch and places of the tokens are the same."""
    own = spec_of("unsup, fixed mask", dropout=0.1)
    once, twice, objective, columns = twins(own)
    torch.manual_seed(5)
    loss = backward(once, objective, columns, None, default_rng(0))
    torch.manual_seed(5)
    first = twice.vectors(columns[0].ids)
    torch.manual_seed(5)
    second = twice.vectors(columns[0].ids)
    assert torch.equal(first, second)
    expected = in_batch_loss(first, second, temperature=own.temperature)
    assert_autograds(once, loss, twice, expected)


def test_the_base_replaces_tokens_as_it_was_before_training() -> None:
    """The copy is the model's own, and stays when the model changes."""
    own = spec_of("unsup", augmentation="mlm", augmentation_rate=0.4, dropout=0.5)
    model, objective = tiny_model(own), objective_of(own)
    objective.begin(model)
    first, before = objective.columns(EXAMPLES, model, default_rng(0))
    for parameter in model.parameters():
        parameter.data.zero_()
    _, after = objective.columns(EXAMPLES, model, default_rng(0))
    assert after.ids == before.ids != first.ids


# --- two processes with half a batch each train as one with the whole ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What both wrote; five examples, so that the first has one more."""
    path, root = tmp_path_factory.mktemp("ranks"), Path(__file__).parents[3]
    subprocess.run([sys.executable, "-m", "tests.fakes.ranks", path], cwd=root, check=True)
    return path


@pytest.mark.parametrize("name", [*CASES, "mlm"])
def test_gradients_and_loss_are_those_of_one_process(folder: Path, name: str) -> None:
    """Summed over both, in float64; also where one has nothing to predict, or no example at all."""
    model, loss = masked_case(Ranks()) if name == "mlm" else case(name, Ranks())
    expected = gradients(model)
    assert any(gradient.any() for gradient in expected.values())
    for rank in (0, 1):
        found = load_file(folder / f"{name} {rank}.safetensors")
        assert float(found.pop("loss")) == pytest.approx(float(loss.detach()), abs=1e-10)
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-10)


def test_both_train_as_one(folder: Path, tmp_path: Path) -> None:
    """To a tenth of the learning rate, by which a wrong gradient moves weights at each update.

    All begin with the weights of the first: rank 0 had weights of five, rank 1 of six.
    """
    list(tiny_run(tiny_spec(tmp_path, dropout=0.0)).events())
    both, alone = (load_file(path / "encoder/model.safetensors") for path in (folder, tmp_path))
    torch.testing.assert_close(both, alone, atol=1e-4, rtol=0)
    firsts = [load_file(folder / f"first {rank}.safetensors")["weight"] for rank in (0, 1)]
    assert all(weight.eq(5).all() for weight in firsts)


def test_a_batch_is_sharded_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ranks take one more where it does not divide; with too few, one stands in.

    Who this is say the three variables that torchrun and accelerate set.
    """
    assert Ranks.of_environment() == Ranks(0, 1, 0)
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert Ranks.of_environment() == Ranks(5, 8, 1)
    ranks = [Ranks(rank, 3) for rank in range(3)]
    for size, parts, counts in (
        (7, [[10, 11, 12], [13, 14], [15, 16]], [3, 2, 2]),
        (2, [[10], [11], [10]], [1, 1, 0]),
    ):
        assert [rank.shard(np.arange(10, 10 + size)).tolist() for rank in ranks] == parts
        assert ranks[0].counts(size) == counts
