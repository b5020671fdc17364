"""How many more words come back from a vector when its decoding is corrected.

    THEODOLITE_DATA=... python -m studies.corrections FOLDER [--encoders minilm wordllama]
                                                         [--rounds 0 2 8] [--sentences 500]
                                                         [--sources tatoeba ...]

The shipped decoders, on the held-out sentences of each source that `studies.decoders` writes to
FOLDER (they are written if they are missing). A round of correction encodes the decoded sentence,
moves the query by half of what it misses, and decodes again; the best by cosine is kept.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch

from studies.decoder_texts import prepare
from studies.decoders import SHIPPED, file_name, held_out
from theodolite.app.workspace import default_data
from theodolite.engine.decode import Decoder, open_decoder
from theodolite.engine.decoding.diagnostics import (
    identical,
    mean_interval,
    permuted,
    resamples,
    token_f1,
)
from theodolite.engine.encoders import load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.training.record import table

MEASURES = {"Id": identical, "PERM": permuted, "Token F1": token_f1}


def row(decoder: Decoder, encoder: Encoder, sentences: list[str], rounds: int) -> list[str]:
    """The figures of some sentences, with 95 % intervals, and the CPU time of a sentence."""
    vectors = encoder.encode(sentences)
    began = time.process_time()
    found = decoder.correct(vectors, encoder, rounds=rounds)
    milliseconds = 1000 * (time.process_time() - began) / len(sentences)
    back, times = [one.sentence for one in found], resamples(len(sentences))
    told = []
    for measure in MEASURES.values():
        values = 100 * measure(sentences, back).astype(float)
        low, high = mean_interval(values, times)
        told.append(f"{values.mean():.1f} ({low:.1f} to {high:.1f})")
    cosine = np.mean([one.cosine for one in found if one.cosine is not None])
    return [*told, f"{cosine:.3f}", f"{milliseconds:.0f}"]


def main() -> None:
    """Print a row for each source, encoder and number of rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoders", nargs="*", default=["minilm", "wordllama"])
    parser.add_argument("--rounds", nargs="*", type=int, default=[0, 2, 8])
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--sources", nargs="*", help="all by default")
    given = parser.parse_args()
    root = default_data()
    if root is None:
        sys.exit("Set THEODOLITE_DATA to the data folder.")
    torch.set_num_threads(1)
    prepare(root, given.folder)
    rows = []
    for name in given.encoders:
        encoder = load(name)
        decoder = open_decoder(SHIPPED / file_name(name))
        for file in held_out(given.folder):
            if given.sources and file.stem not in given.sources:
                continue
            sentences = file.read_text("utf-8").splitlines()[: given.sentences]
            for rounds in given.rounds:
                rows.append(
                    [file.stem, name, str(rounds), *row(decoder, encoder, sentences, rounds)]
                )
                print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ("sentences of", "encoder", "corrections", *MEASURES, "Cosine", "CPU ms per sentence")
    print(table(head, rows))


if __name__ == "__main__":
    main()
