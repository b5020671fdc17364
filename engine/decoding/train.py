"""Training of a decoder: vectors in, their own sentences out (Vec2Sent, section 2).

    for event in train_decoder(DecoderSpec("minilm", ("sentences.txt",), "my-decoder")):
        print(event)

The loss is the cross entropy of the next piece given the vector and the pieces before it. Vectors
are standardised by the mean of each dimension and one deviation for all, so that one learning rate
suits every encoder. A killed run goes on from its checkpoint when it is started again.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from engine.datasets.catalog import Catalog
from engine.decoding import folder as folders
from engine.decoding.events import DecoderEvent, Finished, Looked, Noted, Started, Stepped
from engine.decoding.folder import DecoderModel
from engine.decoding.generate import greedy
from engine.decoding.spec import DecoderSpec
from engine.decoding.text import corpus
from engine.decoding.vocabulary import PAD, Vocabulary
from engine.encoders import load
from engine.encoders.base import Encoder
from engine.encoders.transformer import default_device
from engine.errors import UserError
from engine.training import checkpoint
from engine.training.examples import open_examples

DEV = 500
"""Sentences kept apart for the looks, the last of the corpus in its shuffled order."""
SAMPLES = 5
"""Of those, shown at each look with what became of them."""
LOOK_SECONDS = 60.0
SAVE_SECONDS = 180.0
REPORT_EVERY = 20
BUCKET = 50
"""Batches that are sorted by length together: little padding, and still in random order."""


@dataclass(frozen=True)
class Material:
    """What a decoder learns from.

    Attributes:
        vocabulary: learned from the training sentences.
        sentences: all, those kept apart last.
        pieces: int32 ids of each.
        vectors: float32 (n, dim), standardised.
        mean: float32 (dim,).
        scale: one number.
        learned: how many sentences are learned from, the first.
    """

    vocabulary: Vocabulary
    sentences: list[str]
    pieces: list[np.ndarray]
    vectors: np.ndarray
    mean: np.ndarray
    scale: float
    learned: int


def never() -> bool:
    """Go on to the end."""
    return False


def train_decoder(
    spec: DecoderSpec,
    catalog: Catalog | None = None,
    *,
    encoder: Encoder | None = None,
    stop: Callable[[], bool] = never,
) -> Iterator[DecoderEvent]:
    """Train a decoder, or go on with one.

    Args:
        spec: everything that is asked.
        catalog: where data sets come from.
        encoder: loaded already, perhaps with a cache; by default `spec.encoder` is loaded.
        stop: asked before every update; once true, what there is becomes the decoder.

    Yields:
        `Started` first and `Finished` last.

    Raises:
        UserError: something asked cannot be done, or the folder is taken.
    """
    out = Path(spec.out).expanduser().absolute()
    if out.exists():
        raise UserError(f"{out} is there already.", "Name another folder, or remove it.")
    encoder = encoder or load(spec.encoder)
    working = out.with_name(out.name + ".training")
    working.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    sentences = _sentences(spec, catalog or Catalog(), working)
    material = prepare(spec, sentences, encoder)
    yield Noted(f"{len(sentences)} sentences read and encoded in "
                f"{time.perf_counter() - began:.0f} s.")  # fmt: skip
    yield from Run(spec, material, encoder, working).events(stop)


def _sentences(spec: DecoderSpec, catalog: Catalog, working: Path) -> list[str]:
    lines: list[str] = []
    for name in spec.train:
        examples = open_examples(name, "mlm", catalog, folder=working)
        lines += [examples[i][0] for i in range(len(examples))]
    found = corpus(lines, most=spec.words, cut=spec.clauses)[: spec.limit]
    if len(found) <= 2 * DEV:
        raise UserError(
            f"{len(found)} sentences of at most {spec.words} words are left to learn from.",
            f"A decoder needs more than {2 * DEV}, and useful ones tens of thousands.",
        )
    order = np.random.default_rng(spec.seed).permutation(len(found))
    return [found[i] for i in order]


def prepare(
    spec: DecoderSpec, sentences: list[str], encoder: Encoder, *, apart: int = DEV
) -> Material:
    """Pieces and standardised vectors of the sentences, the last `apart` of them kept apart."""
    learned = len(sentences) - apart
    vocabulary = Vocabulary.learn(sentences[:learned], spec.vocabulary)
    vectors = encoder.encode(sentences)
    mean = vectors[:learned].mean(0, dtype=np.float64).astype(np.float32)
    scale = float((vectors[:learned] - mean).std(dtype=np.float64)) or 1.0
    pieces = vocabulary.ids(sentences)
    return Material(vocabulary, sentences, pieces, (vectors - mean) / scale, mean, scale, learned)


class Run:
    """A training in the making.

    Args:
        spec: everything that is asked.
        material: what it learns from.
        encoder: whose vectors they are.
        working: where checkpoints lie.
    """

    def __init__(
        self, spec: DecoderSpec, material: Material, encoder: Encoder, working: Path
    ) -> None:
        self.spec, self.material, self.encoder, self.working = spec, material, encoder, working
        self.device = torch.device(spec.device or default_device())
        torch.manual_seed(spec.seed)
        self.sizes: dict[str, Any] = {
            "width": spec.width, "layers": spec.layers, "dropout": spec.dropout,
            "positions": max(len(p) for p in material.pieces),
        }  # fmt: skip
        dim = material.vectors.shape[1]
        self.model: DecoderModel = folders.build(
            spec.architecture, dim, len(material.vocabulary), self.sizes
        ).to(self.device)
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), spec.learning_rate, betas=(0.9, 0.98), weight_decay=0.01,
            fused=True,
        )  # fmt: skip
        self.rng = np.random.default_rng(spec.seed)
        self.epoch = len(_epoch(material.pieces[: material.learned], spec.batch_tokens, 0, 0))
        self.steps = max(1, round(self.epoch * spec.epochs))
        self.state: dict[str, Any] = {
            "spec": spec.to_dict(), "step": 0, "seconds": 0.0, "best": None, "curve": []
        }  # fmt: skip
        self.best: checkpoint.Weights | None = None
        if (found := checkpoint.peek(working)) and found["spec"] == self.state["spec"]:
            self.state, self.best = checkpoint.load(working, self.model, self.optimiser, self.rng)

    def events(self, stop: Callable[[], bool] = never) -> Iterator[DecoderEvent]:
        """Train to the end and write the decoder."""
        state = self.state
        count = sum(p.numel() for p in self.model.parameters())
        yield Started(state["step"], self.steps, self.material.learned, count, str(self.device))
        self.model.train()
        began = looked = saved = reported = time.perf_counter()
        before, losses, pieces = state["seconds"], [], 0
        for batch in self._batches(state["step"]):
            if stop():
                break
            loss, count = self._update(batch)
            losses.append(loss)
            pieces += count
            state["step"] += 1
            now = time.perf_counter()
            state["seconds"] = before + now - began
            if state["step"] % REPORT_EVERY == 0:
                mean = torch.stack(losses).mean().item()
                left = (self.steps - state["step"]) * (now - reported) / len(losses)
                yield Stepped(state["step"], self.steps, mean, pieces / (now - reported),
                              state["seconds"], left)  # fmt: skip
                if not math.isfinite(mean):
                    yield Noted(f"The loss was no number at step {state['step']}: stopped.")
                    break
                losses, pieces, reported = [], 0, now
            if now - looked > LOOK_SECONDS:
                yield self.look()
                looked = time.perf_counter()
            if now - saved > SAVE_SECONDS:
                checkpoint.save(
                    self.working, self.model, self.optimiser, self.rng, state, self.best
                )
                saved = time.perf_counter()
        yield self.look()
        yield self._finish()

    def _batches(self, start: int) -> Iterator[np.ndarray]:
        """Positions of the sentences of each update from `start` on."""
        pieces = self.material.pieces[: self.material.learned]
        left = self.steps - start
        for number in range(start // self.epoch, math.ceil(self.steps / self.epoch)):
            batches = _epoch(pieces, self.spec.batch_tokens, self.spec.seed, number)
            first = start - number * self.epoch if number == start // self.epoch else 0
            yield from islice(batches[first:], left)
            left -= len(batches) - first

    def _update(self, batch: np.ndarray) -> tuple[Tensor, int]:
        for group in self.optimiser.param_groups:
            group["lr"] = self.spec.learning_rate * self._share()
        vectors = self.material.vectors[batch]
        if self.spec.noise:
            vectors = vectors + self.rng.normal(0, self.spec.noise, vectors.shape)
        loss, count = self._loss(torch.as_tensor(vectors, dtype=torch.float32), batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.detach(), count

    def _share(self) -> float:
        """Of the highest learning rate: up in a line, down along a cosine."""
        step, warmup = self.state["step"], self.spec.warmup
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, self.steps - warmup)))

    def _loss(self, vectors: Tensor, rows: np.ndarray) -> tuple[Tensor, int]:
        """Mean cross entropy of the pieces of some sentences, and how many they are."""
        ids = _padded([self.material.pieces[i] for i in rows]).to(self.device)
        states = self.model.states(vectors.to(self.device), ids[:, :-1])
        following = ids[:, 1:]
        real = following != PAD
        logits = self.model.logits(states[real])
        return F.cross_entropy(logits, following[real]), int(real.sum())

    @torch.no_grad()
    def look(self) -> Looked:
        """Loss of the sentences kept apart, and what became of some of them."""
        self.model.eval()
        material = self.material
        apart = np.arange(material.learned, len(material.sentences))
        vectors = torch.as_tensor(material.vectors[apart])
        loss = self._loss(vectors, apart)[0].item()
        longest = max(len(p) for p in material.pieces)
        written = greedy(self.model, vectors[:SAMPLES].to(self.device), longest - 1)
        samples = [
            (material.sentences[row], material.vocabulary.text(found.ids))
            for row, found in zip(apart, written, strict=False)
        ]
        self.model.train()
        best = self.state["best"]
        if best is None or loss < best[1]:
            self.state["best"] = (self.state["step"], loss)
            self.best = checkpoint.weights_of(self.model)
        self.state["curve"].append((self.state["step"], loss))
        return Looked(self.state["step"], loss, tuple(samples))

    def _finish(self) -> Finished:
        """Write the decoder of the best look."""
        if self.best is not None:
            checkpoint.put_back(self.model, self.best)
        material, state = self.material, self.state
        facts = {
            "architecture": self.spec.architecture, "sizes": self.sizes,
            "dim": int(material.vectors.shape[1]), "encoder": self.spec.encoder,
            "fingerprint": self.encoder.fingerprint, "mean": material.mean.tolist(),
            "scale": material.scale, "words": self.spec.words, "spec": self.spec.to_dict(),
            "sentences": material.learned, "step": state["best"][0], "loss": state["best"][1],
            "seconds": state["seconds"], "curve": state["curve"],
        }  # fmt: skip
        written = self.working / "written"
        folders.write(written, self.model.cpu(), material.vocabulary, facts)
        out = Path(self.spec.out).expanduser().absolute()
        written.rename(out)
        shutil.rmtree(self.working)
        return Finished(state["step"], state["best"][0], state["best"][1], state["seconds"],
                        str(out))  # fmt: skip


def _epoch(pieces: list[np.ndarray], tokens: int, seed: int, number: int) -> list[np.ndarray]:
    """The batches of one pass: alike in length, of about `tokens` pieces, in random order."""
    rng = np.random.default_rng([seed, number])
    lengths = np.array([len(p) for p in pieces])
    order = rng.permutation(len(pieces))
    size = max(1, int(tokens / lengths.mean()))
    found: list[np.ndarray] = []
    for start in range(0, len(order), size * BUCKET):
        near = order[start : start + size * BUCKET]
        near = near[np.argsort(lengths[near], kind="stable")]
        found += [near[i : i + size] for i in range(0, len(near), size)]
    return [found[i] for i in rng.permutation(len(found))]


def _padded(rows: list[np.ndarray]) -> Tensor:
    """int64 (n, longest)."""
    out = torch.full((len(rows), max(map(len, rows))), PAD, dtype=torch.long)
    for row, ids in enumerate(rows):
        out[row, : len(ids)] = torch.from_numpy(ids.astype(np.int64))
    return out
