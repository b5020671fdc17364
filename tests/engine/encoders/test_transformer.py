"""Transformers: every pooling against transformers' own hidden states, computed plainly."""

import threading

import numpy as np
import pytest
import torch

from tests.engine.encoders.models import (
    SENTENCES,
    edit_config,
    save,
    save_sentence_transformer,
)
from tests.fakes.allocation import Allocation
from theodolite.engine.encoders import describe, load
from theodolite.engine.encoders.batching import TokenBudget, batches, padded
from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.pooling import States, pool
from theodolite.engine.encoders.spec import POOLINGS
from theodolite.engine.encoders.transformer import make
from theodolite.engine.errors import UserError


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A tiny BERT."""
    return save(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def folders(bert, tmp_path_factory):
    """One of each family."""
    return {
        "bert": bert,
        "roberta": save(tmp_path_factory.mktemp("roberta"), "roberta"),
        "gpt2": save(tmp_path_factory.mktemp("gpt2"), "gpt2"),
    }


def plainly(folder, pooling, sentence, layer=-1):
    """One sentence at a time, without padding, from transformers' own outputs."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder).eval()
    words = AutoTokenizer.from_pretrained(folder)(sentence, return_tensors="pt")
    with torch.inference_mode():
        out = model(input_ids=words["input_ids"], output_hidden_states=True)
    states = [s[0].numpy() for s in out.hidden_states]
    vector = {
        "pooler_output": lambda: out.pooler_output[0].numpy(),
        "cls_token": lambda: states[layer][0],
        "avg": lambda: states[layer].mean(0),
        "avg_top2": lambda: ((states[-1] + states[-2]) / 2).mean(0),
        "avg_first_last": lambda: ((states[1] + states[-1]) / 2).mean(0),
        "avg_first_last_2021": lambda: ((states[0] + states[-1]) / 2).mean(0),
        "max": lambda: states[layer].max(0),
        "last": lambda: states[layer][-1],
    }[pooling]
    return vector()


@pytest.mark.parametrize(
    ("family", "pooling"),
    [
        (f, p)
        for f in ("bert", "roberta", "gpt2")
        for p in POOLINGS
        if (f, p) != ("gpt2", "pooler_output")
    ],
)
def test_every_pooling_is_what_it_says(folders, family, pooling):
    """Batches of several lengths give what each sentence gives alone."""
    rows = load(f"dir:{folders[family]}?pooling={pooling}", device="cpu").encode(SENTENCES)
    expected = [plainly(folders[family], pooling, s) for s in SENTENCES]
    np.testing.assert_allclose(rows, expected, atol=1e-5)


@pytest.mark.parametrize("layer", [0, 1, 3, -2])
def test_a_layer_stands_for_the_last(bert, layer):
    """0 is the embedding output."""
    rows = load(f"dir:{bert}?pooling=avg&layer={layer}", device="cpu").encode(SENTENCES)
    expected = [plainly(bert, "avg", s, layer) for s in SENTENCES]
    np.testing.assert_allclose(rows, expected, atol=1e-5)


def test_pooling_does_not_mind_the_side_of_the_padding():
    """The last token is the last one of the text, on either side."""
    x = torch.arange(12.0).reshape(1, 6, 2)
    right, left = torch.tensor([[1, 1, 1, 1, 0, 0]]), torch.tensor([[0, 0, 1, 1, 1, 1]])
    assert pool(States([x], None, right), "last").tolist() == [[6, 7]]
    assert pool(States([x], None, left), "last").tolist() == [[10, 11]]
    assert pool(States([-x], None, left), "max").tolist() == [[-4, -5]]
    assert pool(States([x], None, right), "avg").tolist() == [[3, 4]]


def test_a_prompt_is_put_before_the_text(bert):
    """And decides the fingerprint."""
    prompted = load(f"dir:{bert}?pooling=avg&prompt=the%20", device="cpu")
    plain = load(f"dir:{bert}?pooling=avg", device="cpu")
    np.testing.assert_allclose(prompted.encode(["cat"]), plain.encode(["the cat"]), atol=1e-6)
    assert prompted.fingerprint != plain.fingerprint


@pytest.mark.parametrize(("family", "limit"), [("bert", 24), ("roberta", 24), ("gpt2", 24)])
def test_texts_are_cut_at_the_models_last_position_and_it_is_said(folders, family, limit):
    """Not before: RoBERTa's table has two places more than it has positions."""
    encoder = load(f"dir:{folders[family]}?pooling=avg", device="cpu")
    encoder.encode(["cat " * 8])
    assert not any("cut" in w for w in encoder.warnings)
    encoder.encode(["cat " * 50_000, "dog " * 30])
    assert encoder.source.transformer.limit == limit
    assert any(f"2 texts were cut to {limit} tokens" in w for w in encoder.warnings)


def test_max_length_cuts_earlier_but_never_later(bert):
    """More than the model takes is refused."""
    short = load(f"dir:{bert}?pooling=avg&max_length=5", device="cpu").encode(["the cat ran on a"])
    np.testing.assert_allclose(short[0], plainly(bert, "avg", "the cat ran"), atol=1e-5)
    with pytest.raises(UserError, match="25 is more than the 24"):
        load(f"dir:{bert}?pooling=avg&max_length=25", device="cpu").encode(["a"])


def test_half_precision_is_another_encoder(bert):
    """Its vectors are close, its fingerprint is not the same."""
    full = load(f"dir:{bert}?pooling=avg", device="cpu")
    half = load(f"dir:{bert}?pooling=avg&dtype=bfloat16", device="cpu")
    assert full.fingerprint != half.fingerprint
    np.testing.assert_allclose(half.encode(SENTENCES), full.encode(SENTENCES), atol=0.1)


def test_the_fingerprint_follows_the_files(bert, tmp_path):
    """Another folder with the same files has the same one; other weights have not."""
    first = load(f"dir:{bert}?pooling=avg", device="cpu").fingerprint
    assert load(f"dir:{save(tmp_path / 'same')}?pooling=avg", device="cpu").fingerprint == first
    assert load(f"dir:{bert}?pooling=max", device="cpu").fingerprint != first
    changed = save(tmp_path / "changed", initializer_range=0.5)
    assert load(f"dir:{changed}?pooling=avg", device="cpu").fingerprint != first


def test_weights_as_bin_give_the_same_vectors(bert, tmp_path):
    """Read with tensors only."""
    from safetensors.torch import load_file

    folder = save(tmp_path / "bin")
    tensors = load_file(folder / "model.safetensors")
    torch.save(tensors, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    rows = load(f"dir:{folder}?pooling=pooler_output", device="cpu").encode(SENTENCES)
    expected = load(f"dir:{bert}?pooling=pooler_output", device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(rows, expected, atol=1e-6)


class Evil:
    """Unpickling it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_with_code_is_refused_and_not_run(tmp_path):
    """The message says so."""
    folder = save(tmp_path / "evil")
    (folder / "model.safetensors").unlink()
    torch.save({"x": Evil(tmp_path / "made")}, folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="pickle"):
        load(f"dir:{folder}?pooling=avg", device="cpu").encode(["a"])
    assert not (tmp_path / "made").exists()


def test_bad_folders_get_a_sentence(tmp_path):
    """Missing, empty, without weights, with code, cut short, incomplete."""
    with pytest.raises(UserError, match="no folder"):
        load(f"dir:{tmp_path / 'none'}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no model"):
        load(f"dir:{tmp_path / 'empty'}")
    bare = save(tmp_path / "bare")
    weights = (bare / "model.safetensors").read_bytes()
    (bare / "model.safetensors").unlink()
    with pytest.raises(UserError, match="no weights"):
        load(f"dir:{bare}")
    (bare / "model.safetensors").write_bytes(weights[:2000])
    with pytest.raises(UserError, match=r"damaged|cannot be loaded"):
        load(f"dir:{bare}?pooling=avg", device="cpu").encode(["a"])
    coded = edit_config(save(tmp_path / "coded"), auto_map={"AutoModel": "m.M"})
    with pytest.raises(UserError, match="never run"):
        load(f"dir:{coded}")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json cannot be read"):
        load(f"dir:{tmp_path / 'bad'}")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", "[1, 2]"),
        ("modules.json", '{"0": "Transformer"}'),
        ("modules.json", '["Transformer"]'),
        ("modules.json", '[{"path": "../elsewhere", "type": "sentence_transformers.models.X"}]'),
        ("tokenizer_config.json", "7"),
        ("model.safetensors", "\2\0\0\0\0\0\0\0[]"),
        ("model.safetensors", '\x07\0\0\0\0\0\0\0{"a":1}'),
    ],
)
def test_files_of_another_shape_get_a_sentence(tmp_path, file, content):
    """JSON that is no model's, wherever it is looked for, and paths that lead out of the folder."""
    folder = save(tmp_path / "m")
    (folder / file).write_bytes(content.encode())
    with pytest.raises(UserError, match=file.replace(".", r"\.")):
        load(f"dir:{folder}")
    assert not describe(f"dir:{folder}")["available"]


@pytest.mark.parametrize("options", ["", "?pooling=avg"])
def test_a_folder_without_a_vocabulary_is_refused(tmp_path, options):
    """An empty one would be made up, and every word be the unknown one."""
    make = save if options else save_sentence_transformer
    folder = make(tmp_path / "m")
    for file in folder.rglob("token*"):
        file.unlink()
    with pytest.raises(UserError, match="no vocabulary"):
        load(f"dir:{folder}{options}", device="cpu").encode(["a cat", "a dog"])


def test_missing_tensors_are_never_random(tmp_path):
    """A checkpoint with fewer layers than its config says is refused."""
    folder = edit_config(save(tmp_path / "m"), num_hidden_layers=4)
    with pytest.raises(UserError, match=r"lacks .* random"):
        load(f"dir:{folder}?pooling=avg", device="cpu").encode(["a"])


def test_a_model_that_gives_nan_is_reported(tmp_path):
    """With the encoder and the first sentence."""
    from safetensors.torch import load_file, save_file

    folder = save(tmp_path / "nan")
    tensors = load_file(folder / "model.safetensors")
    tensors["embeddings.word_embeddings.weight"][5] = float("nan")  # the word 'cat'
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"dir:.* sentence 2 .*"):
        load(f"dir:{folder}?pooling=avg", device="cpu").encode(["the", "dog", "a cat", "cat"])


@pytest.mark.parametrize(
    ("options", "words"),
    [("pooling=avg&layer=4", "no layer 4"), ("pooling=pooler_output&layer=1", "its own layers")],
)
def test_a_layer_that_does_not_fit_is_refused(bert, options, words):
    """Before anything is loaded."""
    with pytest.raises(UserError, match=words):
        load(f"dir:{bert}?{options}")


def test_threads_share_a_model(bert):
    """Eight at once get what one alone gets, and the weights are there once."""
    encoders = [load(f"dir:{bert}?pooling=avg", device="cpu") for _ in range(8)]
    assert len({id(e.source) for e in encoders}) == 1
    rows: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda i=i, e=e: rows.update({i: e.encode(SENTENCES)}))
        for i, e in enumerate(encoders)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(8):
        np.testing.assert_allclose(rows[i], rows[0], atol=1e-6)


def test_batches_cover_every_text_once_within_the_budget():
    """Longest first; a text longer than the budget goes alone; no batch over budget."""
    rng = np.random.default_rng(0)
    lengths = [*rng.integers(1, 60, 500).tolist(), 5000]
    made = list(batches(lengths, lambda: 512))
    assert sorted(np.concatenate(made).tolist()) == list(range(501))
    sizes = [len(b) * max(lengths[i] for i in b) for b in made]
    assert made[0].tolist() == [500] and max(sizes[1:]) <= 512
    assert list(batches([], lambda: 512)) == []


@pytest.mark.parametrize(("waiting", "chosen"), [(0.0, 1024), (5.0, 4096)])
def test_busy_cores_get_larger_batches(monkeypatch, waiting, chosen):
    """Where every batch costs waiting; elsewhere small ones, which stay in the cache."""
    clock = [0.0]
    monkeypatch.setattr("time.process_time", lambda: clock[0])

    def forward(ids):
        tokens = len(ids) * len(ids[0])
        clock[0] += tokens / 1000 * (1.2 if tokens > 2048 else 1.0) + waiting
        return ids

    budget = TokenBudget(torch.device("cpu"))
    texts = [[1] * 16] * 1600
    sizes = []
    for batch in budget.batches([16] * 1600):
        (made,) = budget.parts(forward, [texts[i] for i in batch])
        sizes.append(len(made) * 16)
    assert set(sizes[:10]) == {1024, 4096}
    assert budget.tokens() == chosen and set(sizes[10:-1]) == {chosen}
    fixed = TokenBudget(torch.device("cpu"), adapt=False)
    assert {len(b) * 16 for b in fixed.batches([16] * 1600)} == {1024}


def test_even_batches_need_no_mask():
    """And uneven ones are padded on the right."""
    ids, mask = padded([[1, 2], [3, 4]], pad=9)
    assert ids.tolist() == [[1, 2], [3, 4]] and mask is None
    ids, mask = padded([[1, 2], [3]], pad=9)
    assert ids.tolist() == [[1, 2], [3, 9]] and mask.tolist() == [[1, 1], [1, 0]]


LINES = [" ".join(["the cat sees a dog"] * (1 + i % 4)) for i in range(200)]


def opened(folder):
    """A source that shares neither its model nor its vectors with others."""
    return make("tiny", checkpoint_of(f"dir:{folder}")[1], pooling="avg", device="cpu")


def encoded(source, lines):
    """The vectors of some lines."""
    return np.concatenate(list(source.chunks(lines)))


def test_progress_is_told_after_each_batch(bert):
    """A chunk of a large model takes minutes: its vectors are the same, whoever listens."""
    source, told = opened(bert), []
    expected = encoded(source, LINES)
    np.testing.assert_array_equal(
        np.concatenate(list(source.watched(LINES, told.append))), expected
    )
    assert len(told) > 1
    assert told == sorted(told) and told[-1] == len(LINES)


def test_a_listener_can_stop_a_chunk(bert):
    """The model can be used again at once."""

    def stop(done: int) -> None:
        raise InterruptedError(f"after {done}")

    source = opened(bert)
    with pytest.raises(InterruptedError, match="after"):
        list(source.watched(LINES, stop))
    assert len(encoded(source, LINES)) == len(LINES)


def test_a_batch_that_does_not_fit_the_memory_is_halved(bert):
    """And so are those that follow, before they are tried; the vectors stay the same."""
    expected, source = encoded(opened(bert), LINES), opened(bert)
    memory = Allocation(source.transformer.model, most=150)
    np.testing.assert_allclose(encoded(source, LINES), expected, atol=1e-5)
    assert memory.failures == 3  # about 1,000 tokens, then 500 and 250
    np.testing.assert_allclose(encoded(source, LINES[:100]), expected[:100], atol=1e-5)
    assert memory.failures == 3


def test_a_text_that_does_not_fit_the_memory_is_told_with_its_length(bert):
    """There is nothing left to halve."""
    source = opened(bert)
    Allocation(source.transformer.model, most=10)
    with pytest.raises(UserError, match=r"A text of \d\d tokens does not fit the memory of cpu"):
        encoded(source, LINES)
