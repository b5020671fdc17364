"""Training and decoding of our default decoder, against a plain PyTorch loop of the paper's.

    THEODOLITE_DATA=... python -m benchmarks.decode [--rounds N] [--tokens N] [--threads N]

The peer is a plain implementation of Vec2Sent's architecture: three LSTM layers of 1024, the vector
concatenated to every input, a mixture of five softmaxes over tied embeddings of 300, AdamW,
gradients clipped at 1, padded batches. All are trained on the same sentences in the same batches
with the same vocabulary, from random vectors, which take as long as any. `lstm-mos` is our own
training of the peer's architecture. In decoding, END is suppressed, so that all write the same
number of tokens.

All take turns, so that a busy machine slows all; a ratio is of one round, and the median is
reported with the lowest and highest. The clock of the ratios is CPU seconds, which other programs
disturb least; wall seconds are printed too. Last, the page Decode in Chromium: one sentence,
greedily.
"""

import argparse
import gzip
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.claims import claim, within
from theodolite.engine.datasets import Catalog
from theodolite.engine.decoding.dataset import DecoderDataset, with_vectors
from theodolite.engine.decoding.folder import steps_of
from theodolite.engine.decoding.generate import greedy
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.text import corpus
from theodolite.engine.decoding.train import DecoderTrainer
from theodolite.engine.decoding.vocabulary import BEGIN, END, PAD, Vocabulary

DIM = 384
SENTENCES = 6000
LENGTH = 14
"""Tokens that each sentence is decoded to, about the mean of the corpus."""
BATCHES = (1, 64)
TRAIN, DECODE = 3.0, 2.0
"""Least speed-up of our default decoder over the peer."""
PAGE_SECONDS = 0.3
"""Limit for one sentence on the page, decoded greedily."""
SHIPPED = "wordllama"
NUMBERS = ("Two", "Seven", "Many", "Some", "Forty", "Three", "Nine", "Few")
ANOTHER = """before => {
    const said = document.querySelector("#told .t-sentence")?.textContent;
    return said && said !== before;
}"""
Turn = tuple[float, float]  # wall seconds, CPU seconds


class Plain(nn.Module):
    """A plain implementation of the paper's decoder."""

    def __init__(self, dim: int, vocabulary: int, hidden: int) -> None:
        super().__init__()
        self.pieces = nn.Embedding(vocabulary, 300)
        self.lstm = nn.LSTM(300 + dim, hidden, 3, batch_first=True, dropout=0.4)
        self.latent = nn.Linear(hidden, 5 * 300)
        self.prior = nn.Linear(hidden, 5, bias=False)
        self.out = nn.Linear(300, vocabulary)
        self.out.weight = self.pieces.weight

    def forward(self, vectors: Tensor, ids: Tensor, state: object = None) -> tuple[Tensor, object]:
        """Log-probabilities (n, t, vocabulary) of the next tokens, and the state."""
        given = vectors[:, None].expand(-1, ids.shape[1], -1)
        hidden, state = self.lstm(torch.cat([self.pieces(ids), given], -1), state)
        experts = torch.tanh(self.latent(hidden)).unflatten(-1, (5, 300))
        chances = self.out(experts).softmax(-1)
        mixed = (chances * self.prior(hidden).softmax(-1)[..., None]).sum(-2)
        return (mixed + 1e-8).log(), state


def material(root: Path, spec: DecoderSpec) -> tuple[DecoderDataset, Vocabulary]:
    """Sentences of Wikipedia with random vectors, and their vocabulary."""
    with gzip.open(root / "unlabelled" / "wiki_split.txt.gz", "rt", encoding="utf-8") as file:
        lines = [line for _, line in zip(range(SENTENCES), file, strict=False)]
    sentences = corpus(lines, most=spec.words)
    vocabulary = Vocabulary.learn(sentences, spec.vocabulary)
    vectors = np.random.default_rng(0).standard_normal((len(sentences), DIM), dtype=np.float32)
    return with_vectors(spec, sentences, vectors, vocabulary), vocabulary


def clocks() -> Turn:
    """Read both clocks."""
    return time.perf_counter(), time.process_time()


def timed(work: Callable[[], object]) -> Turn:
    """Run a function; return its seconds on both clocks."""
    wall, cpu = clocks()
    work()
    now = clocks()
    return now[0] - wall, now[1] - cpu


def plain_update(model: Plain, learned: DecoderDataset) -> Callable[[np.ndarray], None]:
    """Return a function that makes one update of the plain loop."""
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3)

    def update(rows: np.ndarray) -> None:
        points, ids = learned.points(rows), learned.ids(rows)
        optimiser.zero_grad()
        chances, _ = model(points, ids[:, :-1])
        loss = F.nll_loss(chances.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=PAD)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return update


@torch.no_grad()
def plain_greedy(model: Plain, vectors: Tensor, longest: int) -> Tensor:
    """Decode greedily with the plain model."""
    last, state = torch.full((len(vectors), 1), BEGIN), None
    written = []
    for _ in range(longest + 1):
        chances, state = model(vectors, last, state)
        last = chances[:, -1:].argmax(-1)
        written.append(last)
    return torch.cat(written, 1)


def training(options: argparse.Namespace, root: Path, folder: Path) -> dict[str, list[Turn]]:
    """Training turns by contestant, without the first round."""
    spec = DecoderSpec(
        "minilm",
        ("unused",),
        str(folder / "unused"),
        vocabulary=options.vocabulary,
        batch_tokens=options.tokens,
        held_out=100,
        device="cpu",
    )
    learned, vocabulary = material(root, spec)
    width = {"width": options.hidden} if options.hidden != 1024 else {}
    runs = {
        "ours": DecoderTrainer(spec, learned, vocabulary, "", ""),
        "lstm-mos": DecoderTrainer(
            replace(spec, architecture="lstm-mos", **width), learned, vocabulary, "", ""
        ),
    }
    torch.manual_seed(0)
    plain = plain_update(Plain(DIM, len(vocabulary), options.hidden).train(), learned)
    updates = {"plain": plain, "lstm-mos": runs["lstm-mos"].update, "ours": runs["ours"].update}
    batches = list(runs["ours"].batches(0))[: options.rounds + 1]
    turns: dict[str, list[Turn]] = {name: [] for name in updates}
    for rows in batches:
        for name, update in updates.items():
            turns[name].append(timed(lambda u=update, r=rows: u(r)))  # type: ignore[misc]
    pieces = statistics.mean(learned.count(rows) for rows in batches[1:])
    told("training", "pieces/s", {name: (found[1:], pieces) for name, found in turns.items()})
    return {name: found[1:] for name, found in turns.items()}


def never_ending(model: nn.Module) -> nn.Module:
    """Change the model so that END is always less likely than some other token."""
    with torch.no_grad():
        model.pieces.weight[END] = 0.0  # type: ignore[union-attr, operator, index]
    return model.eval()


def decoding(
    options: argparse.Namespace, root: Path, folder: Path
) -> dict[int, dict[str, list[Turn]]]:
    """Decoding turns by batch size and contestant, without the first round."""
    spec = DecoderSpec(
        "minilm",
        ("unused",),
        str(folder / "unused"),
        vocabulary=options.vocabulary,
        held_out=100,
        device="cpu",
    )
    learned, vocabulary = material(root, spec)
    torch.manual_seed(0)
    ours = DecoderTrainer(spec, learned, vocabulary, "", "").model
    never_ending(ours)
    steps = steps_of(ours)
    plain = Plain(DIM, len(vocabulary), options.hidden)
    never_ending(plain)
    found: dict[int, dict[str, list[Turn]]] = {}
    for size in BATCHES:
        points = torch.randn(size, DIM)
        works: dict[str, Callable[[], object]] = {
            "plain": lambda p=points: plain_greedy(plain, p, LENGTH),  # type: ignore[misc]
            "ours": lambda p=points: greedy(steps, p, LENGTH),  # type: ignore[misc]
        }
        found[size] = {name: [] for name in works}
        with torch.inference_mode():
            for _ in range(options.rounds + 1):
                for name, work in works.items():
                    found[size][name].append(timed(work))
        found[size] = {name: turns[1:] for name, turns in found[size].items()}
        told(
            f"decoding, batch {size}",
            "sentences/s",
            {name: (turns, float(size)) for name, turns in found[size].items()},
        )
    return found


def on_the_page(rounds: int) -> list[float]:
    """Seconds from Enter to the sentence that the shipped decoder writes greedily.

    In Chromium, with the app in a separate process; the first answer, which loads the encoder and
    its decoder, is not counted.
    """
    from playwright.sync_api import sync_playwright

    from benchmarks.startup import OURS, PATIENCE, chromium, served

    seconds = []
    with (
        tempfile.TemporaryDirectory() as store,
        served(OURS, Path(store)) as address,
        sync_playwright() as playwright,
    ):
        browser = chromium(playwright)
        page = browser.new_page()
        page.goto(f"{address}decode?encoder={SHIPPED}&method=greedy")
        said = page.locator("#told .t-sentence")
        said.first.wait_for(timeout=PATIENCE * 1000)  # the example
        for turn in range(rounds + 1):
            page.locator("#sentence textarea").fill(f"{NUMBERS[turn % len(NUMBERS)]} dogs slept.")
            before = said.first.inner_text()
            began = time.perf_counter()
            page.keyboard.press("Enter")
            page.wait_for_function(ANOTHER, arg=before, timeout=PATIENCE * 1000)
            seconds.append(time.perf_counter() - began)
            page.wait_for_timeout(300)
        browser.close()
    return seconds[1:]


def told(what: str, unit: str, turns: dict[str, tuple[list[Turn], float]]) -> None:
    """Print a table: the median seconds of a turn and the throughput of each contestant."""
    print(f"\n{what}, {torch.get_num_threads()} threads")
    print(f"{'':10}{'wall s':>9}{'CPU s':>9}{unit:>13}")
    for name, (found, amount) in turns.items():
        wall, cpu = (statistics.median(turn[clock] for turn in found) for clock in (0, 1))
        print(f"{name:10}{wall:9.3f}{cpu:9.3f}{amount / wall:13.1f}")


def ratios(turns: dict[str, list[Turn]], who: str = "ours") -> list[float]:
    """Ratios of CPU seconds, plain loop over `who`, turn by turn."""
    return [a[1] / b[1] for a, b in zip(turns["plain"], turns[who], strict=True)]


def main() -> int:
    """Measure, print tables and a JSON line per claim; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1024, help="pieces of an update")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--hidden", type=int, default=1024, help="of the peer's LSTM")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    root = Catalog().root
    if not os.environ.get("THEODOLITE_DATA") or root is None:
        print("THEODOLITE_DATA is not set: no sentences to learn from.")
        return 0
    if options.threads:
        torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as name:
        trained = training(options, root, Path(name))
        decoded = decoding(options, root, Path(name))
    singles = on_the_page(options.rounds)
    print(f"\none on the page: a median of {1000 * statistics.median(singles):.0f} ms\n")
    met = [
        claim("decode.train", ratios(trained), TRAIN, "cpu"),
        claim("decode.train.lstm-mos", ratios(trained, "lstm-mos"), 1.0, "cpu"),
        *(claim(f"decode.{size}", ratios(turns), DECODE, "cpu") for size, turns in decoded.items()),
        within("decode.page", PAGE_SECONDS, singles),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
