"""A training of a decoder between its first update and its last."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch

from engine import memory
from engine.decoding import folder as folders
from engine.decoding.card import anywhere
from engine.decoding.events import Finished, Looked, Noted, Started, Stepped
from engine.decoding.generate import greedy
from engine.decoding.material import Material
from engine.decoding.spec import DecoderSpec, out_folder, working_folder
from engine.decoding.vocabulary import Words
from engine.errors import UserError
from engine.training import checkpoint
from engine.training.events import Event
from engine.training.meter import Meter
from engine.training.precision import Precision

SAMPLES = 5
"""Sentences shown at each look with what became of them."""
LOOKS = 40
"""At the sentences kept apart, in a whole training."""
SAVE_SECONDS = 180.0
"""The longest between two checkpoints."""
SAVE_SHARE = 0.05
"""Of the time, that checkpoints at looks may take."""
BUCKET = 50
"""Batches that are sorted by length together: little padding, and still in random order."""
BASE_SHARE = 0.05
"""Of the learning rate, for the weights of a language model that is there already."""


def never() -> bool:
    """Go on to the end."""
    return False


class Run:
    """A training in the making.

    Args:
        spec: everything that is asked.
        material: what it learns from.
        vocabulary: its pieces.
        fingerprint: of the encoder whose vectors they are.
        data_hash: of the sentences.
        precision: where and how precisely it computes; by default what suits the device.

    Raises:
        UserError: the working folder is another training's, or there is no such device.
    """

    def __init__(
        self, spec: DecoderSpec, material: Material, vocabulary: Words, fingerprint: str,
        data_hash: str, precision: Precision | None = None,
    ) -> None:  # fmt: skip
        self.spec, self.material, self.vocabulary = spec, material, vocabulary
        self.folder = working_folder(spec)
        self.precision = precision or Precision.on(spec.device)
        self.device, self.scaler = self.precision.device, self.precision.scaler()
        torch.manual_seed(spec.seed)
        model, self.sizes = folders.fresh(spec, material, vocabulary)
        self.model = model.to(self.device)
        self.optimiser = _optimiser(self.model, spec)
        self.rng = np.random.default_rng(spec.seed)
        lengths = np.array([len(p) for p in material.pieces[: material.learned]])
        self.lengths: np.ndarray = lengths
        self.epoch = len(_epoch(lengths, spec.batch_tokens, 0, 0))
        self.steps = max(1, round(self.epoch * spec.epochs))
        self.look_every = max(1, self.steps // LOOKS)
        self.state: dict[str, Any] = {
            "spec": spec.to_dict(), "fingerprint": fingerprint, "data_hash": data_hash, "step": 0,
            "seconds": 0.0, "best": None, "curve": [], "notes": [],
            "scaler": {},
        }  # fmt: skip
        self.best: checkpoint.Weights | None = None
        self._resume()
        self.meter = Meter(
            self.step, self.steps, self.state["seconds"], self.device,
            skips=self.scaler.is_enabled(),
        )  # fmt: skip
        self._pieces, self._reported = 0, time.perf_counter()
        self._saved, self._save_seconds = time.perf_counter(), 0.0

    @property
    def step(self) -> int:
        """Updates made."""
        return int(self.state["step"])

    def events(self, stop: Callable[[], bool] = never) -> Iterator[Event]:
        """Train to the end and write the decoder."""
        count = sum(p.numel() for p in self.model.parameters())
        yield Started(self.step, self.steps, self.material.learned, count, str(self.device))
        self.model.train()
        why = "done"
        for rows in self.batches(self.step):
            if stop():
                why = "stopped"
                break
            self.update(rows)
            looking = self.step % self.look_every == 0 or self.step == self.steps
            saving = time.perf_counter() - self._saved > SAVE_SECONDS
            if looking or saving or self.meter.due:
                yield from self._report()
            if looking:
                yield from self._looked()
            # Nothing is kept of weights that may be no numbers.
            if self.meter.trouble:
                break
            if saving or (looking and self._may_save()):
                self._save()
        yield from self._finish(why)

    def batches(self, start: int) -> Iterator[np.ndarray]:
        """Positions of the sentences of each update from `start` on."""
        left = self.steps - start
        for number in range(start // self.epoch, math.ceil(self.steps / self.epoch)):
            batches = _epoch(self.lengths, self.spec.batch_tokens, self.spec.seed, number)
            first = start - number * self.epoch if number == start // self.epoch else 0
            yield from islice(batches[first:], left)
            left -= len(batches) - first

    def update(self, rows: np.ndarray) -> None:
        """One update from the sentences in some rows."""
        rate = self.spec.learning_rate * self._share()
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["share"]
        points = self.material.points(rows)
        if self.spec.noise:
            drawn = self.rng.normal(0, self.spec.noise, points.shape)
            points = points + torch.from_numpy(drawn).float()
        loss = self._gradients(points, self.material.ids(rows))
        self.scaler.unscale_(self.optimiser)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.optimiser.zero_grad(set_to_none=True)
        self.state["step"] += 1
        self._pieces += self.material.count(rows)
        self.meter.add(loss.detach(), norm.detach(), len(rows), rate)

    def _gradients(self, points: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Add the gradients of some sentences to the weights; return the loss."""
        try:
            with self.precision.autocast():
                loss = self.model.loss(memory.to_device(points, self.device), ids)
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        except (RuntimeError, MemoryError) as error:
            if not memory.ran_out(error):
                raise
            raise UserError(
                f"{ids.numel():,} pieces at once do not fit the memory of {self.device}.",
                "Take fewer pieces for an update, shorter sentences or a smaller decoder.",
            ) from error
        return loss

    def _share(self) -> float:
        """Of the highest learning rate: up in a line, down along a cosine."""
        step, warmup = self.step, min(self.spec.warmup, self.steps // 2)
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, self.steps - warmup)))

    def _report(self) -> Iterator[Event]:
        """Loss and speed since the last report; what went wrong is left in `meter.trouble`."""
        report = self.meter.read()
        now = time.perf_counter()
        if report is not None:
            pace = self._pieces / max(now - self._reported, 1e-9)
            yield Stepped(report.step, self.steps, report.loss, pace, report.seconds,
                          report.seconds_left)  # fmt: skip
        self._pieces, self._reported = 0, now

    def _looked(self) -> Iterator[Event]:
        """A look, if what was learned so far can be looked at."""
        if not self.meter.trouble:
            found = self.look()
            if not self.meter.trouble:
                yield found

    @torch.no_grad()
    def look(self) -> Looked:
        """Loss of the sentences kept apart, and what became of some of them."""
        began = time.perf_counter()
        self.model.eval()
        material = self.material
        apart = np.arange(material.learned, len(material.sentences))
        total, count = 0.0, 0
        for start in range(0, len(apart), 64):
            rows = apart[start : start + 64]
            points, ids = material.points(rows), material.ids(rows)
            pieces = material.count(rows)
            loss = float(self.model.loss(points.to(self.device), ids))
            total, count = total + pieces * loss, count + pieces
        loss = total / count
        shown = apart[:SAMPLES]
        written = greedy(
            self.model, material.points(shown).to(self.device), self.model.positions - 1
        )
        samples = tuple(
            (material.sentences[row], self.vocabulary.text(found.ids))
            for row, found in zip(shown, written, strict=True)
        )
        self.model.train()
        if not math.isfinite(loss):
            self.meter.trouble = f"After step {self.step} the held-out loss was {loss}."
        else:
            self.state["curve"].append([self.step, loss])
            if self.state["best"] is None or loss < self.state["best"][1]:
                self.state["best"] = [self.step, loss]
                self.best = checkpoint.weights_of(self.model)
        self._reported += time.perf_counter() - began
        self.meter.pause(time.perf_counter() - began)
        return Looked(self.step, loss, samples)

    def _may_save(self) -> bool:
        """Whether a checkpoint now takes little of the time since the last."""
        return self._save_seconds <= SAVE_SHARE * (time.perf_counter() - self._saved)

    def _save(self) -> None:
        """Write a checkpoint.

        Raises:
            UserError: it could not be written; the one before is whole.
        """
        began = time.perf_counter()
        self.state |= {"seconds": self.meter.seconds, "scaler": self.scaler.state_dict()}
        # The best weights of this very step are the model's own.
        best = None if self.state["best"] and self.state["best"][0] == self.step else self.best
        checkpoint.save(self.folder, self.model, self.optimiser, self.rng, self.state, best)
        memory.empty_cache(self.device)
        self._saved = time.perf_counter()
        self._save_seconds = self._saved - began
        self._reported += self._save_seconds
        self.meter.pause(self._save_seconds)

    def _resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        kept = checkpoint.peek(self.folder)
        if kept is None:
            return
        then = DecoderSpec.from_dict(kept["spec"]).to_dict()
        other = [
            name.replace("_", " ")
            for name, value in self.state["spec"].items()
            if name != "out" and then.get(name) != value
        ]
        other += ["training sentences"] * (kept["data_hash"] != self.state["data_hash"])
        other += ["encoder's weights"] * (kept["fingerprint"] != self.state["fingerprint"])
        if other:
            raise UserError(
                f"{self.folder} holds a training that was broken off at step {kept['step']}, with "
                f"another {', '.join(other)}.",
                "Give the same settings to go on, choose another folder to train into, or remove "
                "it.",
            )
        kept, self.best = checkpoint.load(self.folder, self.model, self.optimiser, self.rng)
        self.state |= {name: kept[name] for name in self.state if name in kept}
        if self.state["scaler"]:
            self.scaler.load_state_dict(self.state["scaler"])
        if self.state["best"] and self.state["best"][0] == self.step:
            self.best = checkpoint.weights_of(self.model)

    def _finish(self, why: str) -> Iterator[Event]:
        """Put the best weights back and write the decoder."""
        yield from self._report()
        looked = bool(self.state["curve"]) and self.state["curve"][-1][0] == self.step
        if not looked:
            yield from self._looked()  # stopped between two looks: these weights may be the best
        if self.meter.trouble:
            why = "diverged"
            yield self._back_to_good()
        else:
            self._save()
        if self.best is not None:
            checkpoint.put_back(self.model, self.best)
        yield self._written(why)

    def _back_to_good(self) -> Noted:
        """After a loss that was no number: the best weights there were."""
        trouble = self.meter.trouble
        hint = "A lower learning rate may hold it."
        if self.best is None:
            raise UserError(f"{trouble} Nothing had been learned before.", hint)
        note = f"{trouble} The weights of step {self.state['best'][0]} are kept. {hint}"
        self.state["notes"].append(note)
        return Noted(note)

    def _written(self, why: str) -> Finished:
        """Write the decoder, remove the checkpoint, and tell where it is."""
        spec, material, state = self.spec, self.material, self.state
        (best_step, best_loss), seconds = state["best"], self.meter.seconds
        facts = {
            "architecture": spec.architecture, "sizes": self.sizes, "encoder": spec.encoder,
            "dim": int(material.vectors.shape[1]), "fingerprint": state["fingerprint"],
            "mean": material.mean.tolist(), "scale": material.scale, "words": spec.words,
            "sentences": material.learned, "held_out": len(material.sentences) - material.learned,
            "spec": anywhere(spec).to_dict(), "hash": spec.hash, "data_hash": state["data_hash"],
            "steps": self.step, "step": best_step, "loss": best_loss,
            "seconds": seconds, "curve": state["curve"], "notes": state["notes"],
            "why": why,
        }  # fmt: skip
        out, part = out_folder(spec), self.folder / "written"
        try:
            shutil.rmtree(part, ignore_errors=True)
            folders.write(part, self.model, self.vocabulary, facts)
            part.rename(out)
        except OSError as error:
            raise UserError(
                f"The decoder could not be written to {out}: {error.strerror or error}.",
                "Make room there and start the same training again: it goes on from its "
                "checkpoint.",
            ) from error
        shutil.rmtree(self.folder, ignore_errors=True)
        return Finished(self.step, best_step, best_loss, seconds, str(out), why)


def _optimiser(model: torch.nn.Module, spec: DecoderSpec) -> torch.optim.AdamW:
    """AdamW; each group has its share of the learning rate."""
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for n, p in named if n.startswith("base.") == of_base], "share": share}
        for of_base, share in ((False, 1.0), (True, BASE_SHARE))
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]], spec.learning_rate, betas=(0.9, 0.98),
        weight_decay=0.01, fused=named[0][1].device.type in ("cpu", "cuda"),
    )  # fmt: skip


def _epoch(lengths: np.ndarray, tokens: int, seed: int, number: int) -> list[np.ndarray]:
    """The batches of one pass: alike in length, of about `tokens` pieces, in random order.

    Every pass has as many.
    """
    rng = np.random.default_rng([seed, number])
    order = rng.permutation(len(lengths))
    size = max(1, int(tokens / lengths.mean()))
    found: list[np.ndarray] = []
    for start in range(0, len(order), size * BUCKET):
        near = order[start : start + size * BUCKET]
        near = near[np.argsort(lengths[near], kind="stable")]
        found += [near[i : i + size] for i in range(0, len(near), size)]
    return [found[i] for i in rng.permutation(len(found))]
