"""Train, diagnose and describe the shipped decoders, from text whose licences allow it.

    THEODOLITE_DATA=... python -m studies.decoders FOLDER [--only ENCODER ...] [--threads 1]
                                                      [--on parts|windows|whole]
                                                      [--ship FOLDER] [--prove N] [--show]

Sources are Wikipedia sentences (CC BY-SA 4.0), film reviews (CC BY 4.0), State of the Union and
inaugural addresses (public domain) and English sentences of Tatoeba (CC BY 2.0 FR). The last part
of each source is held out before it is cut into clauses, so that neighbouring sentences, which are
about the same things, stay on one side. An interrupted run continues when called again; a decoder
that is shipped already is only diagnosed again.

A trained decoder is written as int8 into the folder of shipped decoders, diagnosed there on every
source and on an unseen one (`UNSEEN`, ABC's rural and science news), with the nearest training
sentence as the baseline, and gets a card with these figures and the expressions of the page
*Arithmetic*, not selected. A decoder without a list of known words gets that of the training text,
provided it was trained on it.

With `--on`, training of the shipped decoders continues: with `parts` on the parts of long clauses
that `train.txt` leaves out, and on its sentences again; with `windows` on words from anywhere in a
sentence as well; with `whole`, last, on whole sentences only. Each begins from what ships, in a
folder of its own. The previous decoders are kept in `FOLDER/before` and diagnosed as well, and
their figures are printed beside the new ones. The nearest training sentence is one of the largest
of the texts.

Last, it prints how well each encoder's sentences are reconstructed: the paper finds that averaged
vectors keep words and lose their order (high PERM, low Id/PERM; section 3).
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from studies.decoder_texts import UNSEEN, prepare, prepare_more, prepare_whole, prepare_windows
from theodolite.app.pages.decode.analogies import PRESETS
from theodolite.app.workspace import Workspace, default_data
from theodolite.engine.datasets import Catalog
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.arithmetic import evaluate
from theodolite.engine.decoding.dataset import sentences_of
from theodolite.engine.decoding.diagnosis import NAMES, Diagnosis, Figure
from theodolite.engine.decoding.facts import SHIPPED
from theodolite.engine.decoding.folder import card
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.decoding.vocabulary import words_of
from theodolite.engine.diagnose import diagnose
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.training.events import (
    Evaluated,
    Finished,
    Noted,
    Started,
    Stepped,
)
from theodolite.engine.training.record import plain, table

ENCODERS: dict[str, dict[str, Any]] = {
    "wordllama": {"epochs": 2.5},
    "minilm": {"epochs": 2.5},
    "random:256": {"epochs": 4.0, "width": 128},
}
"""Settings of each decoder's training; the width of the baseline's is limited by `MOST`."""
LEARNING_RATE = 3e-3
"""For few epochs; one and a half times the rate for more of them."""
ON_USUALLY: dict[str, Any] = {"learning_rate": 1.5e-3, "warmup": 100, "precision": "bf16"}


@dataclass(frozen=True)
class Stage:
    """A continued training of the shipped decoders.

    Attributes:
        prepare: writes its text, given the data folder and that of the texts.
        text: what that text is, for the card.
        settings: by encoder.
    """

    prepare: Callable[[Path, Path], Path]
    text: str
    settings: Mapping[str, dict[str, Any]]


STAGES = {
    "parts": Stage(
        prepare_more,
        "with long clauses in pieces",
        {"wordllama": {"epochs": 1.6}, "minilm": {"epochs": 1.0}},
    ),
    "windows": Stage(
        prepare_windows,
        "with pieces from anywhere in a sentence",
        {"wordllama": {"epochs": 1.0}, "minilm": {"epochs": 2.0}},
    ),
    "whole": Stage(
        prepare_whole,
        "with whole sentences only",
        {
            "wordllama": {"epochs": 2.0, "learning_rate": 7e-4, "warmup": 50},
            "minilm": {"epochs": 1.0, "learning_rate": 3e-4, "warmup": 50},
        },
    ),
}
"""Name -> continued training, in the order in which the shipped decoders went through them."""
BEFORE = "before"
"""Folder of the previously shipped decoders."""
MOST = 25 * 10**6
"""Most bytes of all shipped decoders together."""
METRICS = ("bleu", "token_f1", "round_trip")
SPELT = 100
"""Sentences per source that are searched for invented words."""
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


def train(spec: DecoderSpec, encoder: Encoder) -> None:
    """Train a decoder, or continue its training, and report progress."""
    name = spec.encoder
    for event in train_decoder(spec, encoder=encoder):
        said = ""
        match event:
            case Started() | Noted() | Finished():
                said = str(event)
            case Stepped() if event.step % 100 == 0:
                said = (
                    f"step {event.step} of {event.steps}: loss {event.loss:.3f}, "
                    f"{event.sentences_per_second:.0f} sentences/s, "
                    f"{event.seconds_left / 60:.0f} min left"
                )
            case Evaluated():
                shown = "".join(f"\n    {a}\n    -> {b}" for a, b in event.samples)
                said = f"step {event.step}: held out {event.loss:.3f}{shown}"
        if said:
            tell(f"{name}: {said}")


def spec_of(name: str, text: Path, out: Path) -> DecoderSpec:
    """The spec of a decoder trained from random weights."""
    settings = {"learning_rate": LEARNING_RATE} | ENCODERS[name]
    return DecoderSpec(name, (str(text),), str(out), **settings)


def spec_on(name: str, stage: str, text: Path, out: Path, start: Path) -> DecoderSpec:
    """The spec of a decoder whose training continues, in a stage of `STAGES`."""
    settings = ON_USUALLY | STAGES[stage].settings[name] | {"start": str(start)}
    return DecoderSpec(name, (str(text),), str(out), **settings)


def file_name(encoder: str) -> str:
    """The file name of a starter encoder, such as `random-256`, without invalid characters."""
    return encoder.replace(":", "-")


def ship(trained: Path, target: Path, before: Path | None = None) -> None:
    """Write a decoder as int8, without absolute paths.

    Args:
        trained: its folder.
        target: the folder to write.
        before: the decoder whose training was continued; its training is noted in the facts.
    """
    model, vocabulary, facts = folders.read(trained)
    if before:
        then = folders.facts_of(before)
        kept = ("sentences", "data_hash", "steps", "before")
        facts["before"] = {name: then[name] for name in kept if name in then}
    facts["spec"] = DecoderSpec.from_dict(facts["spec"]).relative_paths().to_dict()
    folders.write(target, model, vocabulary, facts, small=True)


def hold(target: Path, text: Path) -> None:
    """Add the known words of the training text to a decoder without known words."""
    facts = folders.facts_of(target)
    if facts.get("known_words"):
        return
    spec = replace(DecoderSpec.from_dict(facts["spec"]), train=(str(text),))
    sentences = sentences_of(spec, Catalog(None), text.parent)
    if sentences.hash != facts["data_hash"]:
        sys.exit(f"{target.name} did not learn from {text}: train it again.")
    folders.write_words(target, facts, words_of(sentences.texts[: -spec.held_out]))


def prove(
    encoder: Encoder, target: Path, folder: Path, most: int | None, known: Sequence[str]
) -> dict[str, Diagnosis]:
    """Diagnose a decoder on every held-out file, and write the diagnoses to `folder`.

    Args:
        encoder: the decoder's encoder.
        target: folder of the decoder.
        folder: the folder from which `figures_of` reads.
        most: most sentences of each file; None for all.
        known: training sentences, to search for the nearest ones.
    """
    decoder = open_decoder(target)
    found = {}
    for file in held_out(folder):
        sentences = file.read_text("utf-8").splitlines()[:most]
        found[file.stem] = diagnose(decoder, encoder, sentences, known)
        kept = json.dumps(found[file.stem].to_dict(), ensure_ascii=False)
        (folder / f"{file_name(encoder.name)}-{file.stem}.json").write_text(kept, "utf-8")
        tell(f"{encoder.name}: {file.stem} diagnosed")
    return found


def held_out(folder: Path) -> list[Path]:
    """The held-out files; the previous decoders share them."""
    return sorted((folder if folder.name != BEFORE else folder.parent).glob("held-out/*.txt"))


def figures_of(folder: Path, name: str, source: str) -> dict[str, Figure]:
    """Figures of an encoder's decoder on a source; empty if it was not diagnosed."""
    kept = folder / f"{file_name(name)}-{source}.json"
    if not kept.exists():
        return {}
    return Diagnosis.from_dict(json.loads(kept.read_text("utf-8"))).figures("decoder")


def analogies(encoder: Encoder, target: Path) -> str:
    """The section of a card with the decoded expressions of all presets."""
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
    return "\n\n".join(
        (
            "## Arithmetic, as it comes",
            table(head, rows),
            "The cosine is that of the vector of what it says to the point.",
        )
    )


def proof(found: dict[str, Diagnosis]) -> str:
    """The section of a card with figures, 95 % intervals, and whether these are disjoint."""
    rows = []
    for source, diagnosis in found.items():
        own, near = diagnosis.figures("decoder"), diagnosis.figures("nearest")
        for metric in METRICS:
            apart = own[metric].low > near[metric].high
            name = f"{source} (never seen)" if source == UNSEEN else source
            n = next(row.n for row in diagnosis.rows if row.system == "decoder" and not row.length)
            rows.append(
                (
                    name,
                    str(n),
                    NAMES[metric],
                    shown(own[metric]),
                    shown(near[metric]),
                    "yes" if apart else "**no**",
                )
            )
    head = ("sentences of", "n", "figure", "decoder", "nearest training sentence", "apart")
    return "\n\n".join(
        (
            "## What comes back",
            table(head, rows),
            "On held-out sentences, as the decoder lies here, with 95 % intervals; *apart*: "
            "whether the lower end of the decoder's is above the upper end of the other's.",
        )
    )


def keeps(folder: Path) -> str:
    """A table of reconstruction figures by source and encoder.

    After continued training, each cell begins with the previous figure.
    """
    rows = []
    for file in held_out(folder):
        for name in ENCODERS:
            before = figures_of(folder / BEFORE, name, file.stem)
            if own := figures_of(folder, name, file.stem):
                told = (
                    f"{before[metric].value:.1f}, now {shown(own[metric])}"
                    if before
                    else shown(own[metric])
                    for metric in KEPT
                )
                rows.append((file.stem, name, *told))
    return table(("sentences of", "encoder", *(NAMES[metric] for metric in KEPT)), rows)


def misspelt(encoder: Encoder, target: Path, folder: Path, words: Sequence[str]) -> str:
    """Count the held-out sentences that are decoded with a word that no training text has."""
    decoder, known, told = open_decoder(target), set(words), []
    for file in held_out(folder):
        sentences = file.read_text("utf-8").splitlines()[:SPELT]
        back = decoder.decode(encoder.encode(sentences), encoder=encoder)
        wrong = sum(not known.issuperset(words_of([one.sentence])) for one in back)
        told.append(f"{file.stem} {wrong} of {len(back)}")
    return f"{target.parent.name}/{target.name}, with words that are none: {', '.join(told)}."


def shown(figure: Figure) -> str:
    """A figure with its interval as text; cosines have three decimals."""
    digits = 3 if figure.metric == "round_trip" else 1
    value, low, high = (f"{x:.{digits}f}" for x in (figure.value, figure.low, figure.high))
    return f"{value} ({low} to {high})"


def tell(said: str) -> None:
    """Print a line with the time to stderr."""
    print(f"{time.strftime('%H:%M:%S')}  {said}", file=sys.stderr, flush=True)


def trained(name: str, given: argparse.Namespace, encoder: Encoder, text: Path) -> Path:
    """Return the folder of a shipped decoder, after training and writing it if necessary."""
    own, target = given.folder / file_name(name), given.ship / file_name(name)
    if given.on:
        before = given.folder / BEFORE / file_name(name)
        if not before.exists():
            shutil.copytree(target, before)
        if not own.exists():
            train(spec_on(name, given.on, text, own, before), encoder)
        ship(own, target, before)
    elif not target.exists():
        if not own.exists():
            train(spec_of(name, text, own), encoder)
        ship(own, target)
    return target


def history(facts: dict[str, Any]) -> str:
    """What a decoder learned from before its last training; empty for a first training."""
    earlier: list[dict[str, Any]] = []
    while facts := facts.get("before", {}):
        earlier.insert(0, facts)
    told = [
        f"{one['sentences']:,} (content hash `{one['data_hash']}`) in {one['steps']:,} updates"
        for one in earlier
    ]
    if not told:
        return ""
    texts = [stage.text for stage in STAGES.values()]
    learned = "; then, ".join(
        [told[0], *(f"{text}, {many}" for text, many in zip(texts, told[1:], strict=False))]
    )
    return f". The decoder that it began from had learned {learned}; then, {texts[len(told) - 1]}"


def described(target: Path, encoder: Encoder, found: dict[str, Diagnosis]) -> str:
    """Write the card of a decoder; return its sections of figures and expressions."""
    facts = folders.facts_of(target)
    source = f"{SOURCE}{history(facts)}"
    told = "\n\n".join((proof(found), analogies(encoder, target)))
    text = card(facts, source=source, terms=TERMS, proof=told)
    (target / "README.md").write_text(text, "utf-8")
    return told


def main() -> None:
    """Prepare the texts, train missing decoders, then diagnose and describe all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--on", choices=STAGES, help="continue the training of those that ship")
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
    texts = [prepare(root, given.folder)]
    if given.on:
        stages = list(STAGES)[: list(STAGES).index(given.on) + 1]
        texts += [STAGES[stage].prepare(root, given.folder) for stage in stages]
    learned = [file.read_text("utf-8").splitlines() for file in texts]
    words = words_of(chain.from_iterable(learned))
    workspace = Workspace(given.folder / "store")  # keeps vectors if a training is interrupted
    for name in given.only or (STAGES[given.on].settings if given.on else ENCODERS):
        encoder = workspace.load(name)
        target = trained(name, given, encoder, texts[-1])
        hold(target, texts[0])
        found = prove(encoder, target, given.folder, given.prove, max(learned, key=len))
        print(described(target, encoder, found))
        before = given.folder / BEFORE
        if given.on:
            prove(encoder, before / file_name(name), before, given.prove, ())
        for folder in (before / file_name(name), target) if given.on else (target,):
            print(misspelt(encoder, folder, given.folder, words))
    print(f"\n{keeps(given.folder)}")
    size = sum(file.stat().st_size for file in given.ship.rglob("*") if file.is_file())
    print(f"\n{size / 1e6:.1f} MB ship, of at most {MOST / 1e6:.0f}.")


if __name__ == "__main__":
    main()
