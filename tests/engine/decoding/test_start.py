"""A decoder that learns on from another's weights."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.errors import refused
from tests.fakes.decoders import small_spec
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.estimate import estimate
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.decoding.vocabulary import Vocabulary
from theodolite.engine.encoders import load
from theodolite.engine.errors import Code
from theodolite.engine.training.events import Finished, Started


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> DecoderSpec:
    """A training that is over."""
    spec = small_spec(tmp_path_factory.mktemp("first") / "out")
    assert isinstance(list(train_decoder(spec))[-1], Finished)
    return spec


@pytest.fixture
def spec(first: DecoderSpec, tmp_path: Path) -> DecoderSpec:
    """One of other sentences that begins where it ended."""
    file, words = tmp_path / "more.txt", "cat dog fire king zebra road house tree song man".split()
    pairs = itertools.product(words, words)
    file.write_text("".join(f"the {a} sleeps by the {b}\n" for a, b in pairs), "utf-8")
    return replace(first, train=(str(file),), start=first.out, out=str(tmp_path / "on"))


def test_it_begins_with_the_weights_tokens_and_standardisation(
    first: DecoderSpec, spec: DecoderSpec
) -> None:
    """At a rate of nearly none the same decoder comes out, with the words of both texts."""
    list(train_decoder(replace(spec, learning_rate=1e-12, dropout=0.3)))
    one, other = (load_file(Path(s.out) / "model.safetensors") for s in (first, spec))
    torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)
    before, after = open_decoder(first.out_folder), open_decoder(spec.out_folder)
    assert before.vocabulary.to_json() == after.vocabulary.to_json()
    assert all(before.facts[name] == after.facts[name] for name in ("mean", "scale"))
    assert after.facts["sizes"] == before.facts["sizes"] | {"dropout": 0.3}
    card = (spec.out_folder / "README.md").read_text("utf-8")
    assert "began with the weights of the decoder `out`" in card


def test_what_it_knew_it_knows_still(first: DecoderSpec) -> None:
    """The words that decoding is held to are those of both texts."""
    tokens = Vocabulary(folders.read(first.out_folder)[1].tokenizer, ["cat", "zebra"])  # type: ignore[attr-defined]
    both = folders.with_known_words(tokens, ["the cat sleeps"], ["the zebra sleeps"])
    assert both.known_words is not None
    assert list(both.known_words.words) == ["cat", "sleeps", "the", "zebra"]
    assert folders.with_known_words(tokens, ["the cat"], ["other words here"]).known_words is None


def test_it_learns_on(first: DecoderSpec, spec: DecoderSpec) -> None:
    """From the loss that the weights have, not from that of random ones; the estimate is of it."""
    spec = replace(spec, train=first.train, learning_rate=1e-3, seed=first.seed, warmup=1)
    estimated = estimate(spec, load(spec.encoder), seconds=0.1)
    list(train_decoder(spec))
    before, after = (open_decoder(each.out_folder).facts for each in (first, spec))
    assert estimated.parameters == before["parameters"]
    assert after["curve"][0][1] < before["curve"][0][1]
    assert after["loss"] < before["loss"]


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"encoder": "random:64"}, "mismatch", "random:32"),
        ({"architecture": "lstm"}, "mismatch", "architecture prefix, not lstm"),
        ({"vocabulary": 400}, "mismatch", "vocabulary 300, not 400"),
        ({"width": None}, "mismatch", "width 32"),
        ({"layers": 2}, "mismatch", "layers 1, not 2"),
        ({"start": "nowhere"}, "no-file", "nowhere"),
    ],
)
def test_a_decoder_that_does_not_fit_is_told(
    spec: DecoderSpec, changes: dict[str, object], code: Code, named: str
) -> None:
    """Before anything is encoded, and by the estimate."""
    other = replace(spec, **changes)  # type: ignore[arg-type]
    for attempt in (train_decoder, partial(estimate, encoder=load(other.encoder), seconds=0.1)):
        with refused(code, named):
            list(attempt(other))
    assert not other.out_folder.exists()


def test_longer_sentences_than_it_has_places_for_are_left_out(
    first: DecoderSpec, spec: DecoderSpec
) -> None:
    """They would be beyond its positions."""
    places = open_decoder(first.out_folder).facts["sizes"]["positions"]
    long = " ".join(["zzzzzzzz"] * 8)
    assert len(folders.read(first.out_folder)[1].ids([long])[0]) > places + 1
    with Path(spec.train[0]).open("a") as text:
        text.write(f"{long}\n{long} end\n")
    assert any("of very many tokens were left out" in str(event) for event in train_decoder(spec))
    assert open_decoder(spec.out_folder).facts["sizes"]["positions"] == places


def test_it_tells_what_the_training_then_is(tmp_path: Path) -> None:
    """Sentences, parameters and updates, nearly; and nothing stays of the probe."""
    spec = small_spec(tmp_path / "out")
    state = torch.get_rng_state()
    estimated = estimate(spec, load("random:32"), seconds=0.3)
    assert torch.equal(torch.get_rng_state(), state)
    assert list(tmp_path.iterdir()) == []
    started = next(e for e in train_decoder(spec) if isinstance(e, Started))
    # A sentence of very many pieces, which is left out, may be beyond those the probe looks at.
    assert estimated.sentences == pytest.approx(started.examples, rel=0.02)
    assert estimated.parameters == pytest.approx(started.parameters, rel=0.02)
    assert estimated.steps == pytest.approx(started.steps, rel=0.25)
    # By hand: at its speed, every piece of its share of the sentences is learned once.
    learning = estimated.steps * spec.batch_tokens / estimated.pieces_per_second
    assert estimated.seconds > estimated.encoding + 0.8 * learning
    assert estimated.encoding == pytest.approx(
        (estimated.sentences + spec.held_out) / estimated.sentences_per_second
    )
