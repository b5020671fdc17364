"""Which decoder is better after the same CPU time: our Transformer or the paper's LSTMs.

    THEODOLITE_DATA=... python -m studies.architectures FOLDER [--minutes N] [--encoder NAME]
                                                           [--only NAME ...] [--rates NAME=RATE ...]

All architectures are trained on the corpus of the shipped decoders (`studies.decoders`), with
the same vectors and tokens. Each first tries some learning rates for a small part of the time and
keeps the one with the lowest held-out loss, unless its rate is given: a short trial may choose too
high a rate. The number of updates that fit into the time is measured first, so that each schedule
ends with the time. Then all are trained side by side, one update at a time, the one with the least
time spent first, so that other load slows all alike. The clock is CPU seconds of updates alone;
`FOLDER/architectures/curves.json` has them with the loss at each evaluation.

The decoders are compared on held-out sentences of every source, including an unseen one, with the
beams and intervals of the page *Diagnose*. Ours is better if the lower end of its interval is above
the upper end of the other's.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.claims import at_least, claim
from studies.decoder_texts import prepare
from studies.decoders import shown, tell
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding.dataset import DecoderDataset, sentences_of, with_vectors
from theodolite.engine.decoding.diagnosis import NAMES
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import DecoderTrainer, vocabulary_of
from theodolite.engine.decoding.vocabulary import Vocabulary
from theodolite.engine.diagnose import diagnose
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.training.record import table

OURS = "prefix"
CONTESTANTS = (OURS, "lstm", "lstm-mos")
RATES = (2e-3, 4e-3, 8e-3, 16e-3)
PIECES = 512
"""Tokens of an update: within a minute all learned more from small updates than with 2,048."""
TRIAL = 1 / 20
"""Share of the training time for the trial of each learning rate."""
PROBED = 6
"""Updates timed to estimate how many fit into the time."""
LOOKS = 20
SENTENCES = 100
"""Held-out sentences of each source."""
METRICS = ("bleu", "token_f1", "id", "round_trip")


@dataclass(frozen=True)
class Learned:
    """The training data shared by all architectures."""

    spec: DecoderSpec
    dataset: DecoderDataset
    vocabulary: Vocabulary
    encoder: Encoder
    hash: str

    def run(self, **changes: object) -> DecoderTrainer:
        """Set up a training with changes to the spec."""
        spec = replace(self.spec, **changes)
        shutil.rmtree(spec.working_folder, ignore_errors=True)
        shutil.rmtree(spec.out, ignore_errors=True)
        return DecoderTrainer(
            spec, self.dataset, self.vocabulary, self.encoder.fingerprint, self.hash
        )


@dataclass
class Contestant:
    """A training and the time it has spent.

    Attributes:
        run: the training.
        seconds: CPU seconds of its updates.
        curve: CPU seconds and held-out loss at each evaluation.
    """

    run: DecoderTrainer
    seconds: float = 0.0
    curve: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open the batches."""
        self.batches: Iterator[np.ndarray] = self.run.batches(0)

    def update(self) -> bool:
        """Make one update; return False if none is left."""
        rows = next(self.batches, None)
        if rows is None:
            return False
        began = time.process_time()
        self.run.update(rows)
        self.seconds += time.process_time() - began
        every = max(1, self.run.steps // LOOKS)
        if self.run.step % every == 0 or self.run.step == self.run.steps:
            list(self.run.evaluate())  # keeps the weights if they are the best
            self.curve.append((self.seconds, self.run.state.curve[-1][1]))
        return True


def learned(root: Path, folder: Path, name: str) -> Learned:
    """Prepare the corpus, its vocabulary and its vectors."""
    text = prepare(root, folder)
    out = folder / "architectures"
    spec = DecoderSpec(name, (str(text),), str(out / "unused"), batch_tokens=PIECES, device="cpu")
    encoder = Workspace(folder / "store").load(name)
    sentences = sentences_of(spec, Catalog(), out)
    vectors = encoder.encode(sentences.texts)
    vocabulary = vocabulary_of(spec, sentences.texts[: -spec.held_out])
    dataset = with_vectors(spec, sentences.texts, vectors, vocabulary)
    return Learned(spec, dataset, vocabulary, encoder, sentences.hash)


def paces(given: Learned, names: Sequence[str]) -> dict[str, float]:
    """Median CPU seconds per update of each architecture, measured in turns."""
    runs = {name: Contestant(given.run(architecture=name)) for name in names}
    turns: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(PROBED + 1):
        for name, one in runs.items():
            before = one.seconds
            one.update()
            turns[name].append(one.seconds - before)
    return {name: statistics.median(seconds[1:]) for name, seconds in turns.items()}


def passes(given: Learned, pace: float, seconds: float) -> float:
    """The number of epochs that fit into the seconds."""
    return max(1.0, seconds / pace) / given.run().epoch


def side_by_side(contestants: dict[str, Contestant]) -> None:
    """Train all to the end, always updating the one with the least time spent."""
    left = dict(contestants)
    said = time.monotonic()
    while left:
        name = min(left, key=lambda name: left[name].seconds)
        if not left[name].update():
            del left[name]
        if time.monotonic() - said > 60:
            said = time.monotonic()
            tell(
                "; ".join(
                    f"{name} {one.run.step} of {one.run.steps}, {one.seconds:.0f} s, "
                    f"{one.curve[-1][1] if one.curve else float('nan'):.3f}"
                    for name, one in contestants.items()
                )
            )


def best_rate(given: Learned, name: str, epochs: float) -> float:
    """The learning rate with the lowest loss after a short training."""
    trials = {}
    for rate in RATES:
        run = given.run(architecture=name, learning_rate=rate, epochs=epochs)
        for rows in run.batches(0):
            run.update(rows)
        loss, _ = run.score()
        tell(f"{name}: rate {rate:g}, {run.steps} updates: {loss:.3f}")
        trials[loss] = rate
    return trials[min(trials)]


def trained(
    given: Learned, folder: Path, names: Sequence[str], minutes: float, rates: dict[str, float]
) -> dict[str, Contestant]:
    """Train all architectures at their learning rates, and write their decoders to the folder."""
    contestants = {}
    for name, pace in paces(given, names).items():
        tell(f"{name}: {PIECES / pace:.0f} pieces a CPU second")
        rate = rates.get(name) or best_rate(given, name, passes(given, pace, 60 * minutes * TRIAL))
        contestants[name] = Contestant(
            given.run(
                architecture=name,
                learning_rate=rate,
                epochs=passes(given, pace, 60 * minutes),
                out=str(folder / "architectures" / name),
            )
        )
    side_by_side(contestants)
    for one in contestants.values():
        list(one.run.events())  # no update is left, so this only writes the decoder
    return contestants


def judged(given: Learned, folder: Path, contestants: dict[str, Contestant]) -> bool:
    """Print the diagnoses on held-out sentences and the claims; return whether ours is better."""
    sentences = [
        line
        for file in sorted((folder / "held-out").glob("*.txt"))
        for line in file.read_text("utf-8").splitlines()[:SENTENCES]
    ]
    rows, found = [], {}
    for name, one in contestants.items():
        decoder = open_decoder(folder / "architectures" / name)
        found[name] = diagnose(decoder, given.encoder, sentences, []).figures("decoder")
        rows.append(
            (
                name,
                f"{decoder.facts['parameters']:,}",
                f"{one.seconds:.0f}",
                f"{one.run.steps:,}",
                f"{one.run.spec.learning_rate:g}",
                f"{one.curve[-1][1]:.3f}",
                *(shown(found[name][metric]) for metric in METRICS),
            )
        )
    head = (
        "architecture",
        "parameters",
        "CPU s",
        "updates",
        "rate",
        "loss",
        *(NAMES[metric] for metric in METRICS),
    )
    print(f"\n{table(head, rows)}\n\n{len(sentences):,} held-out sentences\n")
    met = []
    ours = contestants.get(OURS)
    for name, other in contestants.items():
        if ours is None or other is ours:
            continue
        for metric in ("bleu", "token_f1"):
            apart = found[OURS][metric].low - found[name][metric].high
            met.append(
                at_least(f"{NAMES[metric]}, ours above {name}, interval to interval", apart, 0.0)
            )
        as_good = [s for s, loss in ours.curve if loss <= other.curve[-1][1]]
        ratio = other.seconds / as_good[0] if as_good else 0.0
        met.append(claim(f"architectures.as-good-as-{name}", [ratio], 1.0, "cpu"))
    return all(met)


def named_rate(text: str) -> tuple[str, float]:
    """Parse an architecture and its learning rate from `NAME=RATE`."""
    name, rate = text.split("=")
    return name, float(rate)


def main() -> int:
    """Train, measure, print; return 1 if ours is not better."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=20.0, help="CPU time of each training")
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--only", nargs="*", default=CONTESTANTS, choices=CONTESTANTS)
    parser.add_argument(
        "--rates",
        nargs="*",
        default=[],
        type=named_rate,
        metavar="NAME=RATE",
        help="given, instead of trying some",
    )
    given = parser.parse_args()
    root = Catalog().root
    if not os.environ.get("THEODOLITE_DATA") or root is None:
        print("THEODOLITE_DATA is not set: no sentences to learn from.")
        return 0
    torch.set_num_threads(1)
    material = learned(root, given.folder, given.encoder)
    contestants = trained(material, given.folder, given.only, given.minutes, dict(given.rates))
    curves = {name: one.curve for name, one in contestants.items()}
    (given.folder / "architectures" / "curves.json").write_text(json.dumps(curves), "utf-8")
    return 0 if judged(material, given.folder, contestants) else 1


if __name__ == "__main__":
    sys.exit(main())
