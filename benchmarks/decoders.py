"""The decoders that ship, from text whose terms allow it: their corpus, training and proof.

    THEODOLITE_DATA=... python -m benchmarks.decoders FOLDER [--only ENCODER ...] [--threads 1]
                                                      [--ship FOLDER] [--prove N] [--show]

Sources are Wikipedia sentences (CC BY-SA 4.0), film reviews (CC BY 4.0), State of the Union and
inaugural addresses (public domain) and English sentences of Tatoeba (CC BY 2.0 FR). Of each the
last part is held out before anything is cut into clauses; neighbours in a source stay on one side,
for they tell of the same things. Called again, it goes on where it was; one that ships already is
measured again, not trained again.

A trained decoder is written as int8 into the folder of those that ship, diagnosed as it lies there
on every source and on one it never saw (`UNSEEN`, ABC's rural and science news), beside the nearest
training sentence, and gets its card with that proof and with the expressions of the page
*Arithmetic* as they come. One without the words that decoding is held to gets those of the training
text, if it is the text that it learned. In the end it prints what each encoder's vectors keep: the
paper finds that averaged vectors keep words and lose their order (high PERM, low Id/PERM; section
3).
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from app.pages.decode.analogies import PRESETS
from app.workspace import Workspace, default_data
from engine.datasets import Catalog
from engine.decode import open_decoder
from engine.decoding import folder as folders
from engine.decoding import shipped
from engine.decoding.arithmetic import evaluate
from engine.decoding.card import card
from engine.decoding.dataset import sentences_of
from engine.decoding.diagnosis import NAMES, Diagnosis, Figure
from engine.decoding.events import DecoderEvaluated, DecoderFinished, DecoderStarted, DecoderStepped
from engine.decoding.known_words import words_of
from engine.decoding.spec import DecoderSpec
from engine.decoding.text import clauses, corpus, tidy
from engine.decoding.train import train_decoder
from engine.diagnose import diagnose
from engine.encoders.base import Encoder
from engine.training.card import plain, table
from engine.training.events import Noted

SOURCES = ("wiki_split", "movie_reviews", "speeches")
PHRASES = frozenset(
    "and but or nor that which who whom whose where when while because although as if than for "
    "with without in into to by from of on upon at after before about over under through".split()
)
"""Words before which a long clause is cut."""
UNSEEN = "abc"
"""Never learned from."""
HELD_OUT = 1000
ENCODERS: dict[str, dict[str, Any]] = {
    "wordllama": {"epochs": 2.5}, "minilm": {"epochs": 2.5},
    "random:256": {"epochs": 4.0, "width": 128},
}  # fmt: skip
"""With what differs in the training of each decoder: the baseline's gets the room that is left."""
LEARNING_RATE = 3e-3
"""For few passes; half as much again as what more of them ask for."""
SHIPPED = Path(shipped.__file__).with_suffix("")
MOST = 25 * 10**6
"""Bytes of all decoders that ship."""
METRICS = ("bleu", "token_f1", "round_trip")
KEPT = ("id", "perm", "id_perm", "token_f1")
SOURCE = (
    "Sentences of Wikipedia (WikiSplit, CC BY-SA 4.0), of film reviews (CC BY 4.0), of State of "
    "the Union and inaugural addresses (public domain), and English ones of Tatoeba (CC BY 2.0 FR)"
)
TERMS = (
    "The weights are given under CC BY-SA 4.0, as the strictest of the training texts asks; their "
    "authors are Wikipedia's, the reviews', the speeches' and Tatoeba's. The code that reads them "
    "is under Apache 2.0."
)


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


def split(root: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Of each source the lines to learn from, and the last, which are held out."""
    texts = {name: lines(root, name) for name in SOURCES} | {"tatoeba": tatoeba(root)}
    at = {name: len(text) - max(len(text) // 10, 4 * HELD_OUT) for name, text in texts.items()}
    return {name: (text[: at[name]], text[at[name] :]) for name, text in texts.items()}


def parts(clause: str, least: int = 4, most: int = 14) -> Iterator[str]:
    """A long clause in pieces of `least` to `most` words, cut before words that begin a phrase.

    >>> list(parts("the old dog slept by the fire in the house of the king", 3, 6))
    ['the old dog slept', 'by the fire in the house', 'of the king']
    """
    left = clause.split()
    while len(left) > most:
        at = (i for i in range(most, least - 1, -1) if left[i].lower() in PHRASES)
        cut = next(at, most)
        yield " ".join(left[:cut])
        left = left[cut:]
    if len(left) >= least:
        yield " ".join(left)


def prepare_more(root: Path, folder: Path) -> Path:
    """Write `more.txt` once, to learn on from; return it.

    Half of the words are in clauses of more than 14 words, which `train.txt` leaves out: here they
    are in pieces. Beside them stand its whole sentences, so that these are not forgotten.
    """
    more = folder / "more.txt"
    if more.exists():
        return more
    files = (folder / "held-out").glob("*.txt")
    held = {sentence for file in files for sentence in file.read_text("utf-8").splitlines()}
    found: dict[str, None] = {}
    for source, _ in split(root).values():
        found.update(dict.fromkeys(corpus(source, cut=False)))
        for clause in (c for line in source for c in clauses(tidy(line), 15, sys.maxsize)):
            found.update(dict.fromkeys(corpus(parts(clause), cut=False)))
    more.write_text("\n".join(s for s in found if s not in held) + "\n", "utf-8")
    return more


def prepare(root: Path, folder: Path) -> Path:
    """Write `train.txt` and `held-out/SOURCE.txt` once; return the former."""
    train = folder / "train.txt"
    if train.exists():
        return train
    (folder / "held-out").mkdir(parents=True, exist_ok=True)
    learned: dict[str, None] = {}
    held: dict[str, list[str]] = {}
    for name, (source, last) in split(root).items():
        learned.update(dict.fromkeys(corpus(source)))
        held[name] = corpus(last, cut=False)
    held[UNSEEN] = corpus(lines(root, UNSEEN), cut=False)
    for name, sentences in held.items():
        apart = [s for s in sentences if s not in learned and len(s.split()) >= 3][:HELD_OUT]
        (folder / "held-out" / f"{name}.txt").write_text("\n".join(apart) + "\n", "utf-8")
    train.write_text("\n".join(learned) + "\n", "utf-8")
    return train


def train(name: str, text: Path, out: Path, encoder: Encoder) -> None:
    """Train a decoder, or go on with one, and tell how it goes."""
    spec = DecoderSpec(name, (str(text),), str(out), learning_rate=LEARNING_RATE, **ENCODERS[name])
    for event in train_decoder(spec, encoder=encoder):
        said = ""
        match event:
            case DecoderStarted() | Noted() | DecoderFinished():
                said = str(event)
            case DecoderStepped() if event.step % 100 == 0:
                said = (f"step {event.step} of {event.steps}: loss {event.loss:.3f}, "
                        f"{event.pieces_per_second:.0f} pieces/s, "
                        f"{event.seconds_left / 60:.0f} min left")  # fmt: skip
            case DecoderEvaluated():
                shown = "".join(f"\n    {a}\n    -> {b}" for a, b in event.samples)
                said = f"step {event.step}: held out {event.loss:.3f}{shown}"
        if said:
            tell(f"{name}: {said}")


def file_name(encoder: str) -> str:
    """Of a starter encoder, without what some file systems refuse: `random-256`."""
    return encoder.replace(":", "-")


def ship(trained: Path, target: Path) -> None:
    """Write a decoder as int8, without the folders of this machine."""
    model, vocabulary, facts = folders.read(trained)
    facts["spec"] = DecoderSpec.from_dict(facts["spec"]).relative_paths().to_dict()
    folders.write(target, model, vocabulary, facts, small=True)


def hold(target: Path, text: Path) -> None:
    """Give a decoder that ships without known words those of its training text."""
    facts = folders.facts_of(target)
    if facts.get("known_words"):
        return
    spec = replace(DecoderSpec.from_dict(facts["spec"]), train=(str(text),))
    sentences = sentences_of(spec, Catalog(None), text.parent)
    if sentences.hash != facts["data_hash"]:
        sys.exit(f"{target.name} did not learn from {text}: train it again.")
    folders.write_words(target, facts, words_of(sentences.texts[: -spec.held_out]))


def prove(encoder: Encoder, target: Path, folder: Path, most: int | None) -> dict[str, Diagnosis]:
    """Diagnose a decoder on every held-out file; `most` sentences of each, None for all."""
    decoder = open_decoder(target)
    known = (folder / "train.txt").read_text("utf-8").splitlines()
    found = {}
    for file in sorted((folder / "held-out").glob("*.txt")):
        sentences = file.read_text("utf-8").splitlines()[:most]
        found[file.stem] = diagnose(decoder, encoder, sentences, known)
        tell(f"{encoder.name}: {file.stem} diagnosed")
    return found


def analogies(encoder: Encoder, target: Path) -> str:
    """The section of a card with every expression that the page offers, as it comes."""
    decoder = open_decoder(target)
    rows = []
    for preset in PRESETS:
        vectors = dict(zip("abc", encoder.encode(list(preset.sentences)), strict=False))
        point = evaluate(preset.expression, vectors)[None]
        said = decoder.decode(point.astype(np.float32), encoder=encoder)[0]
        given = [*preset.sentences, ""][:3]
        says = (f"**{plain(said.sentence)}**", f"{said.cosine:.3f}")
        rows.append((preset.expression, *given, preset.answer, *says))
    head = ("point", "a", "b", "c", "a person might say", "it says", "cosine")
    return "\n\n".join(("## Arithmetic, as it comes", table(head, rows), "The cosine is that of "
                        "the vector of what it says to the point."))  # fmt: skip


def proof(found: dict[str, Diagnosis]) -> str:
    """The table of a card: figures with their 95 % intervals, and whether they stand apart."""
    rows = []
    for source, diagnosis in found.items():
        own, near = diagnosis.figures("decoder"), diagnosis.figures("nearest")
        for metric in METRICS:
            apart = own[metric].low > near[metric].high
            name = f"{source} (never seen)" if source == UNSEEN else source
            n = next(row.n for row in diagnosis.rows if row.system == "decoder" and not row.length)
            rows.append((name, str(n), NAMES[metric], shown(own[metric]), shown(near[metric]),
                         "yes" if apart else "**no**"))  # fmt: skip
    head = ("sentences of", "n", "figure", "decoder", "nearest training sentence", "apart")
    return "\n\n".join((
        "## What comes back",
        table(head, rows),
        "On held-out sentences, as the decoder lies here, with 95 % intervals; *apart*: whether "
        "the lower end of the decoder's is above the upper end of the other's.",
    ))  # fmt: skip


def keeps(folder: Path) -> str:
    """A table of what comes back, an encoder beside the other on the same sentences."""
    rows = []
    for source in sorted(file.stem for file in (folder / "held-out").glob("*.txt")):
        for name in ENCODERS:
            kept = folder / f"{file_name(name)}-{source}.json"
            if kept.exists():
                own = Diagnosis.from_dict(json.loads(kept.read_text("utf-8"))).figures("decoder")
                rows.append((source, name, *(shown(own[metric]) for metric in KEPT)))
    return table(("sentences of", "encoder", *(NAMES[metric] for metric in KEPT)), rows)


def shown(figure: Figure) -> str:
    """A number with its interval; a cosine has three digits."""
    digits = 3 if figure.metric == "round_trip" else 1
    value, low, high = (f"{x:.{digits}f}" for x in (figure.value, figure.low, figure.high))
    return f"{value} ({low} to {high})"


def tell(said: str) -> None:
    """A line with the time."""
    print(f"{time.strftime('%H:%M:%S')}  {said}", file=sys.stderr, flush=True)


def main() -> None:
    """Prepare what is missing, train what is missing; write, prove and describe what is trained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(ENCODERS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ship", type=Path, default=SHIPPED, help="where int8 decoders go")
    parser.add_argument("--prove", type=int, default=None, help="sentences a source, at most")
    parser.add_argument("--show", action="store_true", help="do nothing, tell what was found")
    given = parser.parse_args()
    if given.show:
        print(keeps(given.folder))
        return
    torch.set_num_threads(given.threads)
    root = default_data()
    if root is None:
        sys.exit("Set THEODOLITE_DATA to the data folder.")
    text = prepare(root, given.folder)
    workspace = Workspace(given.folder / "store")  # keeps the vectors when a training is broken off
    for name in given.only:
        trained, target = given.folder / file_name(name), given.ship / file_name(name)
        encoder = workspace.load(name)
        if not target.exists():
            if not trained.exists():
                train(name, text, trained, encoder)
            ship(trained, target)
        hold(target, text)
        found = prove(encoder, target, given.folder, given.prove)
        facts = folders.facts_of(target)
        for source, diagnosis in found.items():
            kept = given.folder / f"{file_name(name)}-{source}.json"
            kept.write_text(json.dumps(diagnosis.to_dict(), ensure_ascii=False), "utf-8")
        told_of = "\n\n".join((proof(found), analogies(encoder, target)))
        told = card(facts, source=SOURCE, terms=TERMS, proof=told_of)
        (target / "README.md").write_text(told, "utf-8")
        print(told_of)
    print(f"\n{keeps(given.folder)}")
    size = sum(file.stat().st_size for file in given.ship.rglob("*") if file.is_file())
    print(f"\n{size / 1e6:.1f} MB ship, of at most {MOST / 1e6:.0f}.")


if __name__ == "__main__":
    main()
