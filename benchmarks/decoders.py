"""The decoders that ship, from text whose terms allow it: their corpus, training and proof.

    THEODOLITE_DATA=... python -m benchmarks.decoders FOLDER [--only ENCODER ...] [--threads 1]

Sources are Wikipedia sentences (CC BY-SA 4.0), film reviews (CC BY 4.0), State of the Union and
inaugural addresses (public domain) and English sentences of Tatoeba (CC BY 2.0 FR). Of each the
last part is held out before anything is cut into clauses; neighbours in a source stay on one side,
for they tell of the same things. Called again, it goes on where it was.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from pathlib import Path

import torch

from engine.datasets import Catalog
from engine.decoding.events import Finished, Looked, Noted, Started, Stepped
from engine.decoding.spec import DecoderSpec
from engine.decoding.text import corpus
from engine.decoding.train import train_decoder

SOURCES = ("wiki_split", "movie_reviews", "speeches")
UNSEEN = "abc"
"""Never learned from."""
HELD_OUT = 1000
ENCODERS = {"wordllama": 6.0, "minilm": 6.0}
"""With the passes over the corpus that each decoder is trained for."""


def lines(root: Path, source: str) -> list[str]:
    """The lines of an unlabelled file."""
    with gzip.open(root / "unlabelled" / f"{source}.txt.gz", "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def tatoeba(root: Path) -> list[str]:
    """English sentences of all language pairs, each once."""
    found: dict[str, None] = {}
    for path in sorted((root / "mteb" / "bitext" / "tatoeba").glob("*.eng*")):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            found.update(dict.fromkeys(file.read().splitlines()))
    return list(found)


def prepare(root: Path, folder: Path) -> Path:
    """Write `train.txt` and `held-out/SOURCE.txt` once; return the former."""
    train = folder / "train.txt"
    if train.exists():
        return train
    (folder / "held-out").mkdir(parents=True, exist_ok=True)
    texts = {name: lines(root, name) for name in SOURCES} | {"tatoeba": tatoeba(root)}
    learned: dict[str, None] = {}
    held: dict[str, list[str]] = {}
    for name, source in texts.items():
        at = len(source) - max(len(source) // 10, 4 * HELD_OUT)
        learned.update(dict.fromkeys(corpus(source[:at])))
        held[name] = corpus(source[at:], cut=False)
    held[UNSEEN] = corpus(lines(root, UNSEEN), cut=False)
    for name, sentences in held.items():
        apart = [s for s in sentences if s not in learned and len(s.split()) >= 3][:HELD_OUT]
        (folder / "held-out" / f"{name}.txt").write_text("\n".join(apart) + "\n", "utf-8")
    train.write_text("\n".join(learned) + "\n", "utf-8")
    return train


def main() -> None:
    """Prepare what is missing, train what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(ENCODERS))
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    catalog = Catalog()
    if catalog.root is None:
        sys.exit("Set THEODOLITE_DATA to the data folder.")
    train = prepare(catalog.root, given.folder)
    for encoder in given.only:
        out = given.folder / encoder
        if out.exists():
            continue
        spec = DecoderSpec(encoder, (str(train),), str(out), epochs=ENCODERS[encoder])
        for event in train_decoder(spec, catalog):
            said = ""
            match event:
                case Started() | Noted() | Finished():
                    said = str(event)
                case Stepped() if event.step % 500 == 0:
                    said = (f"step {event.step} of {event.steps}: loss {event.loss:.3f}, "
                            f"{event.pieces_per_second:.0f} pieces/s, "
                            f"{event.seconds_left / 60:.0f} min left")  # fmt: skip
                case Looked():
                    shown = "".join(f"\n    {a}\n    -> {b}" for a, b in event.samples)
                    said = f"step {event.step}: held out {event.loss:.3f}{shown}"
            if said:
                print(
                    f"{time.strftime('%H:%M:%S')}  {encoder}: {said}", file=sys.stderr, flush=True
                )


if __name__ == "__main__":
    main()
