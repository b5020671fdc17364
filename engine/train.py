"""A training run: what the paper describes, in the order in which it happens.

    for event in train(TrainSpec("unsup", "minilm", "wiki.txt", "my-encoder")):
        print(event)

One update (Gao, Yao and Chen 2021, section 3; here `one_update`): a batch of examples becomes
columns of sentences, these become vectors, the objective compares them, AdamW moves the weights.
Every `dev_every` updates the dev task is scored, and the best weights are kept (appendix A;
`_look`).

A run that was killed goes on when it is started again: its checkpoint lies in a folder beside that
of the encoder, `NAME.training`, until the encoder is written. On a CPU it ends with the very
weights of an unbroken run.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import numpy as np
import torch

from engine import memory
from engine.datasets.catalog import Catalog
from engine.errors import UserError, first_line
from engine.training import checkpoint, distributed, outcome
from engine.training.dev import DevSet
from engine.training.distributed import Ranks
from engine.training.events import Event, Finished, Looked, Noted
from engine.training.examples import Examples, examples_of
from engine.training.gradients import backward
from engine.training.lock import alone
from engine.training.loop import Run, out_folder, working_folder
from engine.training.model import open_model
from engine.training.objectives import Column
from engine.training.optimiser import learning_rate, update
from engine.training.order import batches
from engine.training.precision import Precision
from engine.training.spec import TrainSpec

_REASONS = ("", "stopped", "patience", "diverged")
_MEET_EVERY = 10
"""Updates after which several processes agree whether to stop and to save: it makes them wait."""


def never() -> bool:
    """Go on to the end."""
    return False


def train(
    spec: TrainSpec, catalog: Catalog | None = None, *, stop: Callable[[], bool] = never
) -> Iterator[Event]:
    """Train an encoder, or go on with one.

    Args:
        spec: everything that is asked.
        catalog: where data sets come from; by default the starter set and THEODOLITE_DATA.
        stop: asked before every update; once true, the best weights so far become the encoder.

    Yields:
        `Started` first and `Finished` last; of an encoder that is there already, the latter. Of
        several processes (`torchrun`) one speaks.

    Raises:
        UserError: something asked cannot be done, the folder is taken or another process trains
            into it, a checkpoint could not be written, or the loss was no number before there was
            one.
    """
    ranks = Ranks.of_environment()
    precision = Precision.of(spec, ranks.local_rank, ranks.world_size)
    distributed.begin(precision.device)
    try:
        outcome.check_free(out_folder(spec), spec)
        catalog = catalog or Catalog()
        examples = examples_of(spec, catalog, working_folder(spec))
        distributed.barrier()  # the folder may be removed once all have unpacked what is in there
        if finished := _finished(spec, examples, ranks):
            if ranks.rank == 0:
                yield Noted(finished.step, f"{finished.out} is there already, of this very run.")
                yield finished
            return
        dev = None if spec.dev is None else DevSet.open(spec.dev, catalog)
        model = open_model(spec, examples)
        with alone(working_folder(spec)) if ranks.rank == 0 else nullcontext():
            for event in events(Run(spec, model, examples, dev, precision, ranks), stop):
                if ranks.rank == 0:
                    yield event
    finally:
        distributed.end()


def _finished(spec: TrainSpec, examples: Examples, ranks: Ranks) -> Finished | None:
    """What a run said last that was killed, or is asked for again, after it wrote its encoder."""
    folder = out_folder(spec)
    record = outcome.read(folder)
    if record is None:
        return None
    if record["data_hash"] != examples.hash:
        raise UserError(
            f"{folder} is the encoder of the same settings, but of other training data.",
            "Choose another folder; nothing is overwritten.",
        )
    if ranks.rank == 0:
        shutil.rmtree(working_folder(spec), ignore_errors=True)
    return Finished(
        record["steps"],
        record["best_step"],
        record["best_score"],
        record["seconds"],
        str(folder),
        outcome.encoder_of(folder),
        record["why"],
    )


def events(run: Run, stop: Callable[[], bool] = never) -> Iterator[Event]:
    """Train a run to its end; from its checkpoint, if it has one."""
    spec, meter = run.spec, run.meter
    yield run.started()
    if run.step == 0:
        yield from (Noted(0, note) for note in run.examples.notes)
    yield from run.resumed
    why = ""
    order = batches(len(run.examples), spec.batch_size, run.steps, spec.seed, start=run.step)
    for batch in order:
        if why := _why_to_stop(run, stop):
            break
        yield from one_update(run, batch)
        last = run.step == run.steps
        looking = run.dev is not None and (last or run.step % spec.dev_every == 0)
        meeting = looking or _meeting(run)
        saving = meeting and run.must_save()
        if looking or saving or meter.due:
            yield from _report(run)
        # Nothing is kept of weights that may be no numbers.
        if looking and not meter.trouble:
            yield from _look(run)
        saving = saving or (looking and run.may_save())
        if meeting and _agreed(saving and not meter.trouble):
            run.save()
    yield from _finish(run, why or "done")


def _meeting(run: Run) -> bool:
    """Whether all processes agree on what is next after this update; one alone always does."""
    return run.ranks.world_size == 1 or run.step % _MEET_EVERY == 0


def _agreed(choice: bool) -> bool:
    """What rank 0 chooses: clocks and scores are its own."""
    return distributed.broadcast("yes" if choice else "no", ("yes", "no")) == "yes"


def one_update(run: Run, batch: np.ndarray) -> Iterator[Event]:
    """One update; tells when the batch had to be cut to fit the memory.

    Args:
        run: of which this is the next update.
        batch: int64 (batch_size,), positions of the examples.
    """
    examples = [run.examples[i] for i in run.ranks.shard(batch)]
    columns = run.objective.columns(examples, run.model, run.rng)
    counts = run.ranks.counts(len(batch))
    while (loss := _gradients(run, columns, counts)) is None:
        yield run.reduce_micro_batch(len(examples))
    distributed.sum_gradients(run.model.parameters())
    rate = learning_rate(run.spec, run.step, run.steps)
    norm = update(run.optimiser, run.scaler, rate, run.spec.max_grad_norm)
    run.state.step += 1
    run.meter.add(loss, norm, len(columns) * len(batch), rate)


def _gradients(run: Run, columns: list[Column], counts: list[int]) -> torch.Tensor | None:
    """The loss of a batch, a scalar on the device; None if memory ran out."""
    micro_batch, scaled = run.state.micro_batch, run.scaler.scale
    try:
        with run.precision.autocast():
            return backward(
                run.model,
                run.objective,
                columns,
                micro_batch,
                run.rng,
                counts=counts,
                scaled=scaled,
            )
    except (RuntimeError, MemoryError) as error:
        if memory.ran_out(error):
            return None  # the error is let go: it holds on to what did not fit
        if run.spec.compile and type(error).__module__.startswith(("torch._dynamo", "torch._ind")):
            raise UserError(
                f"The model cannot be compiled here: {first_line(error)}",
                "Train without compiling it, which changes the speed alone.",
            ) from error
        raise


def _report(run: Run) -> Iterator[Event]:
    """Losses and speed since the last report; what went wrong is left in `run.meter.trouble`."""
    stepped = run.meter.read()
    if stepped is not None:
        run.remember(stepped)
        yield stepped


def _look(run: Run) -> Iterator[Event]:
    """Score the dev task, and keep the weights if they are the best so far."""
    if run.dev is None or run.ranks.rank > 0:
        return
    began = time.perf_counter()
    spearman, alignment, uniformity = run.dev.score(run.model)
    if math.isnan(spearman):
        run.meter.trouble = f"After step {run.step} the vectors of {run.spec.dev} were nan."
        return
    best = run.state.best_score is None or spearman > run.state.best_score
    if best:
        run.best = checkpoint.weights_of(run.model)
        run.state.best_step, run.state.best_score, run.state.looks = run.step, spearman, 0
    else:
        run.state.looks += 1
    looked = Looked(run.step, spearman, alignment, uniformity, best)
    run.remember(looked)
    run.meter.pause(time.perf_counter() - began)
    yield looked


def _why_to_stop(run: Run, stop: Callable[[], bool]) -> str:
    """One of `_REASONS`; the same on all ranks."""
    if not _meeting(run):
        return ""
    why, patience = "", run.spec.patience
    if run.meter.trouble:
        why = "diverged"
    elif patience is not None and run.state.looks >= patience:
        why = "patience"
    elif stop():
        why = "stopped"
    return distributed.broadcast(why, _REASONS)


def _finish(run: Run, why: str) -> Iterator[Event]:
    """Put the best weights back and write the encoder."""
    yield from _report(run)
    if not run.meter.trouble and not run.looked:
        yield from _look(run)  # stopped between two looks: these weights may be the best
    if good := _agreed(not run.meter.trouble):
        run.save()
    if run.ranks.rank > 0:
        return
    if not good:
        why = "diverged"
        yield _back_to_good(run)
    if why == "patience":
        yield run.note(f"Stopped early: no better score in {run.state.looks} looks.")
    if run.best is not None:
        checkpoint.put_back(run.model, run.best)
    yield run.write(why)


def _back_to_good(run: Run) -> Noted:
    """After a loss that was no number: the best weights, or those of the last checkpoint."""
    trouble = run.meter.trouble
    hint = "A lower learning rate, or a smaller max grad norm, may hold it."
    if run.best is None:
        if checkpoint.peek(run.folder) is None:
            raise UserError(f"{trouble} No checkpoint had been written before.", hint)
        run.state.best_step = checkpoint.load_weights(run.folder, run.model)
    kept = f"Training stopped; the weights of step {run.state.best_step} are kept."
    return run.note(f"{trouble} {kept} {hint}")
