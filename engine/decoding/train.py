"""Training of a decoder: vectors in, their own sentences out (Vec2Sent, section 2).

    for event in train_decoder(DecoderSpec("minilm", ("sentences.txt",), "my-decoder")):
        print(event)

The loss is the cross entropy of the next token given the vector and the tokens before it. Vectors
are standardised by the mean of each dimension and one deviation for all, so that one learning rate
suits every encoder. Some sentences are held out, and the weights with the lowest loss on them are
kept.

A killed run resumes from its checkpoint when it is started again, and on a CPU ends with exactly
the weights of an uninterrupted one. The checkpoint lies beside the folder, in `NAME.training`,
until the decoder is written.
"""

import math
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch

from theodolite.engine import memory
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.causal import base_vocabulary
from theodolite.engine.decoding.dataset import (
    DecoderDataset,
    DecoderTexts,
    sentences_of,
    with_vectors,
)
from theodolite.engine.decoding.facts import facts_of
from theodolite.engine.decoding.generate import greedy
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.vocabulary import Vocabulary
from theodolite.engine.encoders import load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.paths import expand
from theodolite.engine.training.checkpoint import flush_all, lock
from theodolite.engine.training.devices import Precision
from theodolite.engine.training.events import (
    Encoded,
    Evaluated,
    Event,
    Finished,
    Noted,
    Started,
    Stepped,
)
from theodolite.engine.training.loop import State, Trainer, never

SAMPLES = 5
"""Held-out sentences shown at each evaluation with their reconstructions."""
AT_ONCE = 4096
"""Sentences encoded between two reports of progress."""
EVALUATIONS = 40
"""Number of evaluations in a whole training."""
BUCKET = 50
"""Batches sorted by length together: little padding, and still a random order."""
BASE_SHARE = 0.05
"""Share of the learning rate for the weights of an existing language model."""
FIXED = ("architecture", "vocabulary", "width", "layers")
"""Settings fixed by the weights that a training starts from."""
Sized = tuple[folders.DecoderModel, dict[str, Any]]
"""A model, and the sizes with which `build` makes another."""


def train_decoder(
    spec: DecoderSpec,
    catalog: Catalog | None = None,
    *,
    encoder: Encoder | None = None,
    stop: Callable[[], bool] = never,
) -> Iterator[Event]:
    """Train a decoder, or resume its training.

    Args:
        spec: the settings of the training.
        catalog: where data sets come from.
        encoder: loaded already, perhaps with a cache; by default `spec.encoder` is loaded.
        stop: called before every update; once true, the best weights so far become the decoder.

    Yields:
        `Noted` and `Encoded`, then `Started`, and `Finished` last; for a decoder that exists
        already, with the same settings and data, `Noted` and `Finished` alone. Stopped before the
        first update it ends without `Finished`, as there is nothing to keep.
    """
    with lock(spec.working_folder):
        sentences = sentences_of(spec, catalog or Catalog(), spec.working_folder)
        if last := _last_event(spec, sentences):
            yield Noted(last.step, f"{last.out} already exists, from this same training.")
            yield last
            return
        yield from _train(spec, sentences, encoder or load(spec.encoder), stop)


def _train(
    spec: DecoderSpec, sentences: DecoderTexts, encoder: Encoder, stop: Callable[[], bool]
) -> Iterator[Event]:
    yield from (Noted(0, note) for note in sentences.notes)
    before = _start(spec, encoder)
    vectors = yield from _encode(sentences.texts, encoder, stop)
    if vectors is None:
        yield Noted(0, "Stopped before the first update: there is no decoder.")
        return
    texts, held_out = sentences.texts[: -spec.held_out], sentences.texts[-spec.held_out :]
    start, vocabulary, facts = before or (None, vocabulary_of(spec, texts), None)
    vocabulary = vocabulary.knowing(texts, held_out)
    dataset = with_vectors(spec, sentences.texts, vectors, vocabulary, facts)
    if left := len(sentences.texts) - len(dataset.sentences):
        yield Noted(0, f"{left:,} sentences of very many tokens were left out.")
    trainer = DecoderTrainer(
        spec,
        dataset,
        vocabulary,
        encoder.fingerprint,
        sentences.hash,
        start=start,
    )
    yield from trainer.events(stop)


def vocabulary_of(spec: DecoderSpec, sentences: Iterable[str]) -> Vocabulary:
    """Return the vocabulary of a new decoder: learned from its sentences, or that of its base."""
    if spec.base is not None:
        return base_vocabulary(spec.base)
    return Vocabulary.learn(sentences, spec.vocabulary)


def _encode(
    sentences: list[str], encoder: Encoder, stop: Callable[[], bool]
) -> Generator[Encoded, None, np.ndarray | None]:
    """Encode sentences a batch at a time; the generator returns their vectors.

    Args:
        sentences: n of them.
        encoder: of `dim` dimensions.
        stop: called before each batch.

    Returns:
        float32 (n, dim), or None if stopped.
    """
    vectors = np.empty((len(sentences), encoder.dim), np.float32)
    began = time.perf_counter()
    for start in range(0, len(sentences), AT_ONCE):
        if stop():
            return None
        part = slice(start, start + AT_ONCE)
        vectors[part] = encoder.encode(sentences[part])
        done = min(start + AT_ONCE, len(sentences))
        spent = time.perf_counter() - began
        yield Encoded(done, len(sentences), spent / done * (len(sentences) - done))
    return vectors


def _start(spec: DecoderSpec, encoder: Encoder) -> tuple[Sized, Vocabulary, dict[str, Any]] | None:
    """Open the decoder that a training starts from; None for random weights.

    Returns:
        The model and its sizes, with the dropout of the new training; its tokens and known words;
        the content of its `decoder.json`.
    """
    if spec.start is None:
        return None
    folder = expand(spec.start)
    model, vocabulary, facts = folders.read(folder)
    if (facts["fingerprint"], facts["dim"]) != (encoder.fingerprint, encoder.dim):
        raise UserError(
            f"The decoder {folder.name} reads vectors of {facts['encoder']} with the fingerprint "
            f"{facts['fingerprint']}, not those of {spec.encoder} ({encoder.fingerprint}).",
            "Continue with the encoder that it was trained for.",
            code="mismatch",
        )
    then = DecoderSpec.from_dict(facts["spec"])
    for name in FIXED:
        was, requested = getattr(then, name), getattr(spec, name)
        if was != requested:
            raise UserError(
                f"The decoder {folder.name} has the {name} {was or 'of its kind'}, not "
                f"{requested or 'that of its kind'}.",
                f"Give the same {name}, or no decoder to start from.",
                code="mismatch",
            )
    sizes = facts["sizes"] | {"dropout": spec.dropout}
    own = folders.build(spec.architecture, encoder.dim, len(vocabulary), sizes)
    own.load_state_dict(model.state_dict())
    return (own, sizes), vocabulary, facts


def _last_event(spec: DecoderSpec, sentences: DecoderTexts) -> Finished | None:
    """Return the last event of a training, killed or repeated, that has written its decoder."""
    out = spec.out_folder
    if not out.exists():
        return None
    try:
        facts = facts_of(out)
    except UserError:  # something else is there
        facts = {}
    if facts.get("hash") != spec.hash or facts.get("data_hash") != sentences.hash:
        raise UserError(
            f"{out} already exists, and is not the decoder with these settings and sentences.",
            "Name another folder, or remove it; nothing is overwritten.",
            code="conflict",
        )
    shutil.rmtree(spec.working_folder, ignore_errors=True)
    return folders.last_event(facts, out)


class DecoderTrainer(Trainer):
    """Trains a decoder: the loss, the batches, and the evaluation on held-out sentences.

    Args:
        spec: the settings of the training.
        dataset: the training and held-out sentences.
        vocabulary: its tokens.
        fingerprint: of the encoder that gave the vectors.
        data_hash: of the sentences.
        precision: device and precision; by default those of the spec.
        start: the model to start from and its sizes; None for random weights.
    """

    spec: DecoderSpec
    model: folders.DecoderModel
    scored = "the held-out loss"
    lower_is_better: ClassVar[bool] = True
    identity: ClassVar[dict[str, str]] = Trainer.identity | {
        "fingerprint": "the encoder's weights have changed"
    }

    def __init__(
        self,
        spec: DecoderSpec,
        dataset: DecoderDataset,
        vocabulary: Vocabulary,
        fingerprint: str,
        data_hash: str,
        precision: Precision | None = None,
        start: Sized | None = None,
    ) -> None:
        self.dataset, self.vocabulary = dataset, vocabulary
        precision = precision or Precision.of(spec)
        torch.manual_seed(spec.seed)
        begun, self.sizes = start or folders.build_untrained(
            spec, dataset.vectors.shape[1], dataset.positions, len(vocabulary)
        )
        model = begun.to(precision.device).train()
        self.lengths: np.ndarray = np.array([len(t) for t in dataset.tokens[: dataset.learned]])
        self.epoch = len(_epoch(self.lengths, spec.batch_tokens, 0, 0))
        steps = max(1, round(self.epoch * spec.epochs))
        self.eval_every = max(1, steps // EVALUATIONS)
        state = State(spec.to_dict(), data_hash, fingerprint)
        rng = np.random.default_rng(spec.seed)
        super().__init__(spec, model, _optimiser(model, spec), rng, state, steps, precision)

    def opening(self) -> Iterator[Event]:
        """Yield the first event."""
        yield Started(
            step=self.step,
            steps=self.steps,
            examples=self.dataset.learned,
            parameters=sum(p.numel() for p in self.model.parameters()),
            device=str(self.precision.device),
            precision=self.precision.name,
            data_hash=self.state.data_hash,
        )

    def batches(self, start: int) -> Iterator[np.ndarray]:
        """Yield the positions of the sentences of each update, from update `start` on."""
        left = self.steps - start
        for number in range(start // self.epoch, math.ceil(self.steps / self.epoch)):
            batches = _epoch(self.lengths, self.spec.batch_tokens, self.spec.seed, number)
            first = start - number * self.epoch if number == start // self.epoch else 0
            yield from islice(batches[first:], left)
            left -= len(batches) - first

    def update(self, batch: np.ndarray) -> list[Noted]:
        """Make one update from the sentences at some positions."""
        rate = self.spec.learning_rate * self._share()
        points = self.dataset.points(batch)
        if self.spec.noise:
            noise = self.rng.normal(0, self.spec.noise, points.shape)
            points = points + torch.from_numpy(noise).float()
        loss = self._gradients(points, self.dataset.ids(batch))
        norm = self.move(rate, 1.0, self.model.parameters())
        self.meter.add(loss.detach(), norm, len(batch), rate)
        return []

    def _gradients(self, points: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Add the gradients of some sentences to the weights; return the loss."""
        device = self.precision.device
        try:
            with self.precision.autocast():
                loss = self.model.loss(memory.to_device(points, device), ids)
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        except (RuntimeError, MemoryError) as error:
            if not memory.ran_out(error):
                raise
            raise UserError(
                f"{ids.numel():,} tokens at once do not fit the memory of {device}.",
                "Take fewer tokens for an update, shorter sentences or a smaller decoder.",
                code="too-large",
            ) from error
        return loss

    def _share(self) -> float:
        """Share of the peak learning rate: linear warmup, then cosine decay."""
        step, warmup = self.step, min(self.spec.warmup, self.steps // 2)
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, self.steps - warmup)))

    @torch.no_grad()
    def score(self) -> tuple[float, Evaluated]:
        """Compute the held-out loss, and decode some of the held-out sentences."""
        self.model.eval()
        dataset, device = self.dataset, self.precision.device
        held_out = np.arange(dataset.learned, len(dataset.sentences))
        total, count = 0.0, 0
        for start in range(0, len(held_out), 64):
            rows = held_out[start : start + 64]
            points, ids = dataset.points(rows), dataset.ids(rows)
            tokens = dataset.count(rows)
            total += tokens * float(self.model.loss(points.to(device), ids))
            count += tokens
        first = held_out[:SAMPLES]
        points = dataset.points(first).to(device)
        written = greedy(folders.steps_of(self.model), points, self.model.positions - 1)
        samples = tuple(
            (dataset.sentences[row], self.vocabulary.text(decoded.ids))
            for row, decoded in zip(first, written, strict=True)
        )
        self.model.train()
        loss = total / count
        best = self.is_best(loss)
        return loss, Evaluated(self.step, best, loss=loss, samples=samples)

    def remember(self, event: Stepped | Evaluated) -> None:
        """Add a held-out loss to the curve."""
        if isinstance(event, Evaluated):
            self.state.curve.append([event.step, event.loss])

    def export(self, why: str) -> Finished:
        """Write the decoder, remove the checkpoint, and return the last event."""
        spec, dataset, state = self.spec, self.dataset, self.state
        if state.best_score is None:  # these weights are from a checkpoint before any evaluation
            state.best_score, _ = self.score()
        facts = {
            "architecture": spec.architecture,
            "sizes": self.sizes,
            "encoder": spec.encoder,
            "dim": int(dataset.vectors.shape[1]),
            "fingerprint": state.fingerprint,
            "mean": dataset.mean.tolist(),
            "scale": dataset.scale,
            "words": spec.words,
            "sentences": dataset.learned,
            "held_out": len(dataset.sentences) - dataset.learned,
            "spec": spec.relative_paths().to_dict(),
            "hash": spec.hash,
            "data_hash": state.data_hash,
            "steps": self.step,
            "step": state.best_step,
            "loss": state.best_score,
            "seconds": self.meter.seconds,
            "curve": state.curve,
            "notes": state.notes,
            "why": why,
        }
        out, part = spec.out_folder, self.folder / "written"
        try:
            shutil.rmtree(part, ignore_errors=True)
            folders.write(part, self.model, self.vocabulary, facts)
            flush_all(part)
            part.rename(out)
        except OSError as error:
            raise UserError(
                f"The decoder could not be written to {out}: {error.strerror or error}.",
                "Make room there and start the same training again: it goes on from its "
                "checkpoint.",
                code="no-file",
            ) from error
        shutil.rmtree(self.folder, ignore_errors=True)
        return folders.last_event(facts, out)


def _optimiser(model: torch.nn.Module, spec: DecoderSpec) -> torch.optim.AdamW:
    """AdamW; each group has its share of the learning rate."""
    parameters = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for n, p in parameters if n.startswith("base.") == of_base], "share": share}
        for of_base, share in ((False, 1.0), (True, BASE_SHARE))
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        spec.learning_rate,
        betas=(0.9, 0.98),
        weight_decay=0.01,
        fused=parameters[0][1].device.type in ("cpu", "cuda"),
    )


def _epoch(lengths: np.ndarray, tokens: int, seed: int, number: int) -> list[np.ndarray]:
    """The batches of one epoch: of similar length, about `tokens` tokens, in random order.

    Every epoch has the same number.
    """
    rng = np.random.default_rng([seed, number])
    order = rng.permutation(len(lengths))
    size = max(1, int(tokens / lengths.mean()))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), size * BUCKET):
        bucket = order[start : start + size * BUCKET]
        bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
        batches += [bucket[i : i + size] for i in range(0, len(bucket), size)]
    return [batches[i] for i in rng.permutation(len(batches))]
