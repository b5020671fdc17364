"""A training run: the steps of the paper, in their order.

    for event in train(TrainSpec("unsup", "minilm", "wiki.txt", "my-encoder")):
        print(event)

One update (Gao, Yao and Chen 2021, section 3): a batch of examples becomes columns of sentences,
these become vectors, the objective compares them, AdamW (Loshchilov and Hutter 2019; betas 0.9 and
0.999, epsilon 1e-8) moves the weights on a linear schedule, both as in transformers' trainer. Every
`dev_every` updates the dev set is scored, and the best weights are kept (appendix A). The loop
around the updates is that of encoders and decoders alike (`engine.training.loop`).

A killed run resumes when it is started again: its checkpoint lies in a folder beside that of the
encoder, `NAME.training`, until the encoder is written. On a CPU it ends with exactly the weights of
an uninterrupted run.
"""

import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from theodolite.engine import memory
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.training import devices, export
from theodolite.engine.training.checkpoint import lock
from theodolite.engine.training.dev import DevScore, DevSet
from theodolite.engine.training.devices import Precision, Ranks
from theodolite.engine.training.events import Evaluated, Event, Finished, Noted, Started, Stepped
from theodolite.engine.training.examples import Examples, examples_of
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.loop import State, Trainer, never
from theodolite.engine.training.model import TrainingModel, open_model
from theodolite.engine.training.objectives import Column, objective_of
from theodolite.engine.training.record import Record, earlier, last_event
from theodolite.engine.training.spec import Sampler, TrainSpec
from theodolite.engine.training.static import distil

CURVE = 2000
"""Reports kept for the model card; beyond that, every second one is dropped."""


def train(
    spec: TrainSpec, catalog: Catalog | None = None, *, stop: Callable[[], bool] = never
) -> Iterator[Event]:
    """Train an encoder, or resume its training.

    Args:
        spec: the settings of the run.
        catalog: where data sets come from; by default the starter set and THEODOLITE_DATA.
        stop: called before every update; once true, the best weights so far become the encoder.

    Yields:
        `Started` first and `Finished` last; for an encoder that exists already, `Noted` and
        `Finished` alone. Of several processes (`torchrun`), only rank 0 yields.
    """
    ranks = Ranks.of_environment()
    if ranks.world_size > 1 and spec.is_alone:
        replace(spec, processes=ranks.world_size)  # refuses it, as it does with `processes`
    precision = Precision.of(spec, ranks.local_rank, ranks.world_size)
    devices.begin(ranks, precision.device)
    try:
        record = earlier(spec.out_folder, spec.hash)
        # Held before the data are unpacked in there: refused, they leave no folder behind.
        with lock(spec.working_folder) if ranks.rank == 0 else nullcontext():
            catalog = catalog or Catalog()
            examples = examples_of(spec, catalog, spec.working_folder)
            devices.barrier()  # the folder may be removed once all have unpacked what is in there
            if record is not None:
                if ranks.rank == 0:
                    yield from _repeat(spec, record, examples)
                return
            dev = None if spec.dev is None else DevSet.open(spec.dev, catalog)
            if spec.objective == "static":
                yield from distil(spec, examples, dev, stop)
                return
            model = open_model(spec, examples)
            trainer = EncoderTrainer(spec, model, examples, dev, precision, ranks)
            for event in trainer.events(stop):
                if ranks.rank == 0:
                    yield event
    finally:
        devices.end()


def _repeat(spec: TrainSpec, record: dict[str, Any], examples: Examples) -> Iterator[Event]:
    """The last events of a run, killed or repeated, that has written its encoder."""
    folder = spec.out_folder
    if record["data_hash"] != examples.hash:
        raise UserError(
            f"{folder} is the encoder of the same settings, but of other training data.",
            "Choose another folder; nothing is overwritten.",
            code="conflict",
        )
    shutil.rmtree(spec.working_folder, ignore_errors=True)
    last = last_event(record, folder)
    yield Noted(last.step, f"{last.out} already exists, from this same run.")
    yield last


class EncoderTrainer(Trainer):
    """Trains an encoder.

    Args:
        spec: of the run.
        model: in training mode; moved to the device.
        examples: training examples, without prompts.
        dev: selects the best weights; None keeps the last.
        precision: device and precision.
        ranks: rank of this process.
    """

    spec: TrainSpec
    model: TrainingModel
    remedy: ClassVar[str] = "A lower learning rate, or a smaller max grad norm, may hold it."

    def __init__(
        self,
        spec: TrainSpec,
        model: TrainingModel,
        examples: Examples,
        dev: DevSet | None,
        precision: Precision,
        ranks: Ranks | None = None,
    ) -> None:
        ranks = ranks or Ranks()
        _check_batch(spec, examples, ranks)
        self.examples, self.dev = examples.with_prompts(model.column_prompts), dev
        self.notes = (*model.base.notes, *self.examples.notes)
        self.eval_every = None if dev is None else spec.dev_every
        self.scored, self.patience = f"the dev score of {spec.dev}", spec.patience
        self.objective = objective_of(spec)
        model = model.to(precision.device)
        devices.copy_from_first(model)
        self.objective.begin(model)
        # Order and weights are the same on all ranks; dropout masks and augmentations are not.
        rng = devices.seed(spec.seed, ranks.rank)
        state = State(spec.to_dict(), examples.hash, micro_batch=spec.micro_batch)
        steps = steps_of(spec, *(examples.sizes or (examples.count,)))
        super().__init__(spec, model, adamw(model, spec), rng, state, steps, precision, ranks)

    def opening(self) -> Iterator[Event]:
        """Yield the start, notes on the examples, and notes on resuming."""
        yield Started(
            step=self.step,
            steps=self.steps,
            examples=self.examples.count,
            parameters=sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            device=str(self.precision.device),
            precision=self.precision.name,
            data_hash=self.examples.hash,
        )
        if self.step == 0:
            yield from (Noted(0, note) for note in self.notes)
            yield from self._score_base()
        yield from self.resumed

    def batches(self, start: int) -> Iterator[np.ndarray]:
        """Yield the positions of the examples of each update from `start` on."""
        spec = self.spec
        sizes = self.examples.sizes or (self.examples.count,)
        return batches(
            sizes, spec.batch_size, self.steps, spec.seed, start=start, sampler=spec.sampler
        )

    def update(self, batch: np.ndarray) -> list[Noted]:
        """Make one update; note when the micro-batch had to be reduced to fit the memory.

        Args:
            batch: int64 (batch_size,), positions of the examples.
        """
        notes = []
        examples = [self.examples[i] for i in self.ranks.shard(batch)]
        columns = self.objective.columns(examples, self.model, self.rng)
        counts = self.ranks.counts(len(batch))
        while (loss := self._gradients(columns, counts)) is None:
            notes.append(self.reduce_micro_batch(len(examples)))
        parameters = list(self.model.parameters())
        devices.sum_gradients(parameters)
        rate = learning_rate(self.spec, self.step, self.steps)
        norm = self.move(rate, self.spec.max_grad_norm)
        self.meter.add(loss, norm, len(columns) * len(batch), rate)
        return notes

    def _gradients(self, columns: list[Column], counts: list[int]) -> torch.Tensor | None:
        """The loss of a batch, a scalar on the device; None if memory ran out."""
        try:
            with self.precision.autocast():
                return backward(
                    self.model,
                    self.objective,
                    columns,
                    self.state.micro_batch,
                    self.rng,
                    counts=counts,
                    scaled=self.scaler.scale,
                )
        except (RuntimeError, MemoryError) as error:
            if memory.ran_out(error):
                return None  # drops the error, which keeps alive what did not fit
            compiler = ("torch._dynamo", "torch._ind")
            if self.spec.compile and type(error).__module__.startswith(compiler):
                raise UserError(
                    f"The model cannot be compiled here: {first_line(error)}",
                    "Train without compiling it, which changes the speed alone.",
                    code="unsupported",
                ) from error
            raise

    def reduce_micro_batch(self, examples: int) -> Noted:
        """Pass half as many examples through the model at once from now on.

        Args:
            examples: of the batch that did not fit.
        """
        self.optimiser.zero_grad(set_to_none=True)
        device = self.precision.device
        memory.empty_cache(device)
        size = min(self.state.micro_batch or examples, examples)
        # The other ranks wait for this one within the update, so it cannot be restarted.
        if size == 1 or self.ranks.world_size > 1:
            raise UserError(
                f"A micro-batch of {size} does not fit the memory of {device}.",
                "Lower the micro-batch or the max length, or let gradient checkpointing compute "
                "activations again.",
                code="too-large",
            )
        self.state.micro_batch = (size + 1) // 2
        return self.note(
            f"{size} examples at once did not fit the memory of {device}: it is "
            f"{self.state.micro_batch} from here on. The loss is still that of the whole batch."
        )

    def score(self) -> tuple[float, Evaluated]:
        """Score the dev set."""
        score = self._dev_score()
        return score.spearman, Evaluated(self.step, self.is_best(score.spearman), *score)

    def _dev_score(self, *, as_base: bool = False) -> DevScore:
        dev = cast("DevSet", self.dev)  # without one `eval_every` is None
        sentences = [self.model.column_prompts[0] + sentence for sentence in dev.sentences]
        return dev.score(self.model.encode(sentences, as_base=as_base))

    def _score_base(self) -> Iterator[Event]:
        """Score the model before its first update: what training has to improve on."""
        if self.dev is None or self.ranks.rank > 0 or self.spec.base.startswith("new:"):
            return
        began = time.perf_counter()
        score = self._dev_score(as_base=True)
        self.meter.pause(time.perf_counter() - began)
        if math.isfinite(score.spearman):
            self.state.base_score = score.spearman
            event = Evaluated(0, False, *score)
            self.remember(event)
            yield event

    def remember(self, event: Stepped | Evaluated) -> None:
        """Add a report or a score to the curve; of many reports, drop every second one."""
        curve = self.state.curve
        if len(curve) >= CURVE:
            curve = [e for i, e in enumerate(curve) if i % 2 or e["kind"] == Evaluated.kind]
        self.state.curve = [*curve, event.to_dict()]

    def export(self, why: str) -> Finished:
        """Write the encoder, remove the checkpoint, and return the last event."""
        state = self.state
        best_step = self.step if state.best_step is None else state.best_step
        record = Record(
            spec=self.spec,
            data_hash=state.data_hash,
            examples=self.examples.count,
            notes=(*self.notes, *state.notes),
            steps=self.step,
            best_step=best_step,
            best_score=state.best_score,
            base_score=state.base_score,
            seconds=self.meter.seconds,
            why=why,
            curve=state.curve,
        )
        export.write(self.model, record)
        shutil.rmtree(self.folder, ignore_errors=True)
        return last_event(record.to_dict(), self.spec.out_folder)


def _check_batch(spec: TrainSpec, examples: Examples, ranks: Ranks) -> None:
    """Refuse a batch that cannot be sharded, or that has nothing to contrast with."""
    if spec.batch_size < ranks.world_size:
        raise UserError(
            f"A batch of {spec.batch_size} cannot be sharded over {ranks.world_size} processes.",
            "Raise the batch size, or start fewer processes.",
            code="too-few",
        )
    hard = spec.objective == "sup" and spec.hard_negatives and len(examples.columns) > 2
    if spec.objective != "mlm" and spec.batch_size == 1 and not hard:
        raise UserError(
            "With a batch size of 1 nothing can be learned: the other examples of a batch are the "
            "negatives, and without any the loss is 0 whatever the weights.",
            "Give a batch size of 2 or more; the paper takes 64. A small micro-batch saves memory.",
            code="too-few",
        )


def adamw(model: nn.Module, spec: TrainSpec) -> torch.optim.AdamW:
    """The optimiser of a model's trained parameters; biases and norms are not decayed."""
    trained = [p for p in model.parameters() if p.requires_grad]
    # Biases and the scales of norms are the parameters with a single dimension.
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": spec.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    # One kernel for all parameters; of the supported devices only Apple's lack it in older torch.
    fused = trained[0].device.type in ("cuda", "cpu")
    return torch.optim.AdamW(groups, lr=spec.learning_rate, eps=1e-8, fused=fused)


def learning_rate(spec: TrainSpec, step: int, steps: int) -> float:
    """The learning rate of an update: linear warm-up, then linear decay towards 0.

    Args:
        spec: has the peak rate, and the share of the steps that warm up.
        step: updates made before this one, from 0.
        steps: updates in all.

    Examples:
        >>> spec = TrainSpec("unsup", "minilm", "a.txt", "out", learning_rate=0.8, warmup=0.5)
        >>> [learning_rate(spec, step, 8) for step in range(8)]
        [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 0.6000000000000001, 0.4, 0.2]
    """
    warming = math.ceil(spec.warmup * steps)
    if step < warming:
        return spec.learning_rate * (step / warming)
    return spec.learning_rate * ((steps - step) / max(1, steps - warming))


def steps_of(spec: TrainSpec, *sizes: int) -> int:
    """Return the number of updates of a run on data sets of so many examples.

    As transformers' trainer counts them, which SimCSE's is built on: a short last batch is a step.

    Example:
        >>> spec = TrainSpec("sup", "dir:base", "nli.csv", "out", batch_size=512, epochs=3)
        >>> steps_of(spec, 275_601)  # 539 batches an epoch
        1617
    """
    if spec.steps is not None:
        return spec.steps
    return max(1, math.ceil(spec.epochs * _an_epoch(sizes, spec.batch_size, spec.sampler)))


def _an_epoch(sizes: Sequence[int], batch_size: int, sampler: Sampler) -> int:
    """Batches of an epoch: all, or in turn until the first data set has no more."""
    counts = [math.ceil(n / batch_size) for n in sizes]
    return sum(counts) if sampler == "proportional" else min(counts) * len(counts)


def batches(
    sizes: Sequence[int],
    batch_size: int,
    steps: int,
    seed: int,
    start: int = 0,
    sampler: Sampler = "proportional",
) -> Iterator[np.ndarray]:
    """Yield the examples of each batch; with several data sets, a batch is of one of them.

    As sentence-transformers' samplers of several data sets: `proportional` takes every batch of all
    of them in random order, `round-robin` one of each in turn.

    Args:
        sizes: number of examples of each data set, which follow one another.
        batch_size: examples in a batch; the last batch of an epoch may hold fewer.
        steps: batches of the whole run.
        seed: decides the order, with the number of the epoch.
        start: batches already made, when a run resumes from a checkpoint.
        sampler: the order of the batches of several data sets.

    Yields:
        int64 (at most batch_size,), positions in all of them; over a proportional epoch, each once.
    """
    an_epoch, epoch = _an_epoch(sizes, batch_size, sampler), -1
    for step in range(start, steps):
        if step // an_epoch != epoch:
            epoch = step // an_epoch
            rng = np.random.default_rng([seed, epoch])
            orders = [rng.permutation(n) + sum(sizes[:place]) for place, n in enumerate(sizes)]
            counts = [math.ceil(n / batch_size) for n in sizes]
            if sampler == "proportional":
                turns = np.repeat(np.arange(len(sizes)), counts)
                turns = turns if len(sizes) == 1 else rng.permutation(turns)
            else:
                turns = np.tile(np.arange(len(sizes)), min(counts))
        at = step % an_epoch
        first = int(np.count_nonzero(turns[:at] == turns[at])) * batch_size
        yield orders[turns[at]][first : first + batch_size]
