"""A training run: the steps of the paper, in their order.

    for event in train(TrainSpec("unsup", "minilm", "wiki.txt", "my-encoder")):
        print(event)

One update (Gao, Yao and Chen 2021, section 3): a batch of examples becomes columns of sentences,
these become vectors, the objective compares them, AdamW moves the weights. Every `dev_every`
updates the dev set is scored, and the best weights are kept (appendix A). The loop is in
`engine.training.loop`, what encoders put into it in `engine.training.encoder`.

A run that was killed goes on when it is started again: its checkpoint lies in a folder beside that
of the encoder, `NAME.training`, until the encoder is written. On a CPU it ends with the very
weights of an unbroken run.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext

from engine.datasets.catalog import Catalog
from engine.errors import UserError
from engine.training import distributed
from engine.training.dev import DevSet
from engine.training.distributed import Ranks
from engine.training.encoder import EncoderTrainer
from engine.training.events import Event, Finished, Noted
from engine.training.examples import Examples, examples_of
from engine.training.lock import lock
from engine.training.loop import never
from engine.training.model import open_model
from engine.training.precision import Precision
from engine.training.record import check_free, finished, read
from engine.training.spec import TrainSpec


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
            into it, a checkpoint could not be written, or the loss was NaN or infinity before there
            was one.
    """
    ranks = Ranks.of_environment()
    precision = Precision.of(spec, ranks.local_rank, ranks.world_size)
    distributed.begin(precision.device)
    try:
        check_free(spec.out_folder, spec)
        catalog = catalog or Catalog()
        examples = examples_of(spec, catalog, spec.working_folder)
        distributed.barrier()  # the folder may be removed once all have unpacked what is in there
        if last := _finished(spec, examples, ranks):
            if ranks.rank == 0:
                yield Noted(last.step, f"{last.out} already exists, from this same run.")
                yield last
            return
        dev = None if spec.dev is None else DevSet.open(spec.dev, catalog)
        model = open_model(spec, examples)
        with lock(spec.working_folder) if ranks.rank == 0 else nullcontext():
            trainer = EncoderTrainer(spec, model, examples, dev, precision, ranks)
            for event in trainer.events(stop):
                if ranks.rank == 0:
                    yield event
    finally:
        distributed.end()


def _finished(spec: TrainSpec, examples: Examples, ranks: Ranks) -> Finished | None:
    """What a run said last that was killed, or is asked for again, after it wrote its encoder."""
    folder = spec.out_folder
    record = read(folder)
    if record is None:
        return None
    if record["data_hash"] != examples.hash:
        raise UserError(
            f"{folder} is the encoder of the same settings, but of other training data.",
            "Choose another folder; nothing is overwritten.",
        )
    if ranks.rank == 0:
        shutil.rmtree(spec.working_folder, ignore_errors=True)
    return finished(record, folder)
