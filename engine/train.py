"""A training run: the steps of the paper, in their order.

    for event in train(TrainSpec("unsup", "minilm", "wiki.txt", "my-encoder")):
        print(event)

One update (Gao, Yao and Chen 2021, section 3): a batch of examples becomes columns of sentences,
these become vectors, the objective compares them, AdamW moves the weights. Every `dev_every`
updates the dev set is scored, and the best weights are kept (appendix A). The loop is in
`engine.training.loop`, what encoders put into it in `engine.training.encoder`.

A killed run resumes when it is started again: its checkpoint lies in a folder beside that of the
encoder, `NAME.training`, until the encoder is written. On a CPU it ends with exactly the weights of
an uninterrupted run.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.errors import UserError
from theodolite.engine.training import distributed
from theodolite.engine.training.checkpoint import lock
from theodolite.engine.training.dev import DevSet
from theodolite.engine.training.distributed import Ranks
from theodolite.engine.training.encoder import EncoderTrainer
from theodolite.engine.training.events import Event, Noted
from theodolite.engine.training.examples import Examples, examples_of
from theodolite.engine.training.loop import never
from theodolite.engine.training.model import open_model
from theodolite.engine.training.precision import Precision
from theodolite.engine.training.record import earlier, finished
from theodolite.engine.training.spec import TrainSpec


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
    precision = Precision.of(spec, ranks.local_rank, ranks.world_size)
    distributed.begin(ranks, precision.device)
    try:
        record = earlier(spec)
        catalog = catalog or Catalog()
        examples = examples_of(spec, catalog, spec.working_folder)
        distributed.barrier()  # the folder may be removed once all have unpacked what is in there
        if record is not None:
            if ranks.rank == 0:
                yield from _repeated(spec, record, examples)
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


def _repeated(spec: TrainSpec, record: dict[str, Any], examples: Examples) -> Iterator[Event]:
    """The last events of a run, killed or repeated, that has written its encoder."""
    folder = spec.out_folder
    if record["data_hash"] != examples.hash:
        raise UserError(
            f"{folder} is the encoder of the same settings, but of other training data.",
            "Choose another folder; nothing is overwritten.",
            code="conflict",
        )
    shutil.rmtree(spec.working_folder, ignore_errors=True)
    last = finished(record, folder)
    yield Noted(last.step, f"{last.out} already exists, from this same run.")
    yield last
