"""How well a decoder reconstructs sentences, compared with two baselines (Vec2Sent, section 3).

    found = diagnose(open_decoder(folder), load("minilm"), held_out, learned_from)
    found.figures()["bleu"].value

A space that keeps words and loses their order shows a high PERM and a low Id/PERM. The decoder's
figures mean something only where they differ from those of the baselines.
"""

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from theodolite.engine.decode import Decoded, Decoder
from theodolite.engine.decoding import diagnostics
from theodolite.engine.decoding.diagnosis import (
    NAMES,
    SYSTEMS,
    DecodedSample,
    Diagnosis,
    Figure,
    FigureRow,
    System,
    to_result,
)
from theodolite.engine.decoding.diagnostics import word_mover_scores
from theodolite.engine.decoding.text import words as count_words
from theodolite.engine.encoders import Encoder, load
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.engine.protocols.vec2sent import VEC2SENT
from theodolite.engine.space.geometry import cosine

__all__ = ["Diagnosis", "diagnose", "to_result"]

LENGTHS = ((1, 4), (5, 7), (8, 10), (11, 14), (15, None))
"""Bins of sentence length in words, both ends included."""
MOVER = "wordllama"
"""Supplies the word vectors of the Word Mover's score: the same for all encoders, to rank them."""
SAMPLES = 20
DRAWS = 1000
BEAMS = 5
BATCH = 64


@dataclass(frozen=True, eq=False)
class _Given:
    """The sentences that a system returned for the references, and the values of each."""

    references: Sequence[str]
    sentences: Sequence[str]
    values: Mapping[str, np.ndarray]


def diagnose(
    decoder: Decoder,
    encoder: Encoder,
    sentences: Sequence[str],
    known: Sequence[str],
    *,
    words: Encoder | None = None,
    seed: int | None = None,
    tick: ProgressCallback | None = None,
) -> Diagnosis:
    """Encode sentences, decode them, and score the reconstructions, under protocol `vec2sent`.

    Args:
        decoder: the decoder to diagnose.
        encoder: the encoder that it was trained for.
        sentences: two or more that the decoder was not trained on.
        known: its training sentences, or some of them, for the baseline of the nearest one; empty
            leaves that baseline out.
        words: supplies the vectors of the Word Mover's score; None takes `MOVER`, and leaves the
            score out where it is not installed.
        seed: None is the protocol's.
        tick: called with the share done.
    """
    began = time.perf_counter()
    seed = VEC2SENT.seed if seed is None else seed
    references = _check(sentences)
    notes: list[str] = []
    tell = tick or nobody
    words = words or _mover_words(notes)
    vectors, decoded = _reproduce(decoder, encoder, references, lambda share: tell(0.4 * share))
    back: dict[System, list[str]] = {"decoder": [one.sentence for one in decoded]}
    near: dict[System, np.ndarray] = {
        "decoder": np.array([one.cosine for one in decoded], np.float64)
    }
    other = _others(len(references), seed)
    back["another"] = [back["decoder"][row] for row in other]
    near["another"] = cosine(encoder.encode(back["another"]), vectors)
    if known:
        back["nearest"], near["nearest"] = _nearest(
            encoder, vectors, known, lambda share: tell(0.4 + 0.3 * share)
        )
    else:
        notes.append("No training sentences were given: how near they come is not known.")
    by_system: dict[System, _Given] = {}
    for system in (system for system in SYSTEMS if system in back):
        by_system[system] = _measure(references, back[system], near[system], words)
        tell(0.7 + 0.1 * len(by_system))
    mover = f"mover-{words.name}" if words else ""
    rows = _figure_rows(by_system, mover, seed)
    notes += _notes(decoder, encoder, references, known, decoded, rows)
    tell(1.0)
    return Diagnosis(
        encoder=encoder.name,
        dim=encoder.dim,
        fingerprint=_hash(encoder.fingerprint, decoder.fingerprint),
        data_hash=_hash(*references),
        decoder={name: decoder.facts.get(name) for name in ("architecture", "sentences", "words")}
        | {"fingerprint": decoder.fingerprint},
        mover=mover,
        known=len(known),
        rows=rows,
        samples=_samples(references, decoded, back.get("nearest"), near.get("nearest"), seed),
        notes=tuple(notes),
        seed=seed,
        seconds=time.perf_counter() - began,
        examples=by_system["decoder"].values,
    )


def _check(sentences: Sequence[str]) -> list[str]:
    stripped = [sentence.strip() for sentence in sentences]
    if len(stripped) < 2:
        raise UserError(
            f"{len(stripped)} sentences cannot be measured.", "Give two or more.", code="too-few"
        )
    if "" in stripped:
        raise UserError(
            f"Sentence {stripped.index('') + 1} is empty.", "Leave it out.", code="missing"
        )
    return stripped


def _mover_words(notes: list[str]) -> Encoder | None:
    try:
        return load(MOVER)
    except UserError as error:
        notes.append(f"There is no Word Mover's score: {error}")
        return None


def _reproduce(
    decoder: Decoder, encoder: Encoder, references: Sequence[str], tell: ProgressCallback
) -> tuple[np.ndarray, list[Decoded]]:
    """Encode and decode the references, with progress after each batch."""
    vectors = encoder.encode(references)
    decoded: list[Decoded] = []
    for start in range(0, len(references), BATCH):
        part = vectors[start : start + BATCH]
        decoded += decoder.decode(part, encoder=encoder, method="beam", beams=BEAMS)
        tell(len(decoded) / len(references))
    return vectors, [
        replace(one, cut=one.cut or decoder.too_long(sentence))
        for one, sentence in zip(decoded, references, strict=True)
    ]


def _others(n: int, seed: int) -> np.ndarray:
    """Draw a permutation without fixed points: int64 (n,)."""
    order = np.random.default_rng(seed).permutation(n)
    others = np.empty(n, np.int64)
    others[order] = np.roll(order, 1)
    return others


def _nearest(
    encoder: Encoder, vectors: np.ndarray, known: Sequence[str], tell: ProgressCallback
) -> tuple[list[str], np.ndarray]:
    from theodolite.engine.search.index import Index

    there = encoder.encode(known, lambda done, total: tell(done / max(total, 1)))
    _, places = Index(there).search(vectors, 1)
    return [known[i] for i in places[:, 0]], cosine(there[places[:, 0]], vectors)


def _measure(
    references: Sequence[str], back: Sequence[str], near: np.ndarray, words: Encoder | None
) -> _Given:
    values = {
        "identical": diagnostics.identical(references, back),
        "permuted": diagnostics.permuted(references, back),
        "token_f1": diagnostics.token_f1(references, back),
        "round_trip": near,
    }
    if words is not None:
        values["mover"] = word_mover_scores(references, back, words)
    return _Given(references, back, values)


def _figure_rows(
    by_system: Mapping[System, _Given], mover: str, seed: int
) -> tuple[FigureRow, ...]:
    lengths = np.array([count_words(sentence) for sentence in by_system["decoder"].references])
    groups = [("", np.ones(len(lengths), bool))]
    for low, high in LENGTHS:
        name = f"{low} to {high} words" if high else f"{low} or more words"
        groups.append((name, (lengths >= low) & (lengths <= (high or math.inf))))
    return tuple(
        FigureRow(
            system,
            name,
            int(rows.sum()),
            _figures(one, np.flatnonzero(rows), mover, seed, whole=not name),
        )
        for name, rows in groups
        if rows.any()
        for system, one in by_system.items()
    )


def _figures(
    measured: _Given, rows: np.ndarray, mover: str, seed: int, *, whole: bool
) -> tuple[Figure, ...]:
    references, back = (
        [side[i] for i in rows] for side in (measured.references, measured.sentences)
    )
    values = {name: column[rows] for name, column in measured.values.items()}
    times = diagnostics.resamples(len(rows), DRAWS, seed)

    def mean(metric: str, name: str, factor: float = 100.0) -> Figure:
        low, high = diagnostics.mean_interval(values[name], times)
        return Figure(metric, factor * float(values[name].mean()), factor * low, factor * high)

    same, permuted = values["identical"], values["permuted"]
    low, high = diagnostics.ratio_interval(same, permuted, times)
    order = 100.0 * diagnostics.kept_order(same, permuted), 100.0 * low, 100.0 * high
    figures = [mean("id", "identical"), mean("perm", "permuted"), Figure("id_perm", *order)]
    figures.append(
        Figure(
            "bleu",
            diagnostics.bleu(references, back),
            *diagnostics.bleu_interval(references, back, times),
        )
    )
    if whole:
        ends = diagnostics.reference_bleu_interval(references, back)
        figures.append(Figure("bleu-ref", diagnostics.reference_bleu(references, back), *ends))
    if mover:
        figures.append(mean(mover, "mover"))
    return (*figures, mean("token_f1", "token_f1"), mean("round_trip", "round_trip", 1.0))


def _samples(
    references: Sequence[str],
    decoded: Sequence[Decoded],
    nearest: Sequence[str] | None,
    near: np.ndarray | None,
    seed: int,
) -> tuple[DecodedSample, ...]:
    """Draw sentences at random, in their original order."""
    picked = np.sort(np.random.default_rng(seed).permutation(len(references))[:SAMPLES])
    samples = []
    for row in picked.tolist():
        one = decoded[row]
        sample = DecodedSample(references[row], one.sentence, float(one.cosine or 0.0), one.cut)
        if nearest is not None and near is not None:
            sample = replace(sample, nearest=nearest[row], nearest_cosine=float(near[row]))
        samples.append(sample)
    return tuple(samples)


def _notes(
    decoder: Decoder,
    encoder: Encoder,
    references: Sequence[str],
    known: Sequence[str],
    decoded: Sequence[Decoded],
    rows: Sequence[FigureRow],
) -> list[str]:
    """Write notes on the sentences, and on metrics where the decoder is no better."""
    notes = []
    trained_for = decoder.facts.get("fingerprint")
    if trained_for and trained_for != encoder.fingerprint:
        notes.append("The decoder was trained for another version of this encoder.")
    if known_count := len(set(references) & {sentence.strip() for sentence in known}):
        notes.append(
            f"{known_count:,} of {len(references):,} sentences are among those it learned from."
        )
    if cut := sum(one.cut for one in decoded):
        notes.append(
            f"{cut:,} of {len(references):,} sentences were cut or are longer than those "
            "that the decoder was trained on."
        )
    whole = {row.system: {f.metric: f for f in row.figures} for row in rows if not row.length}
    for system in [system for system in whole if system != "decoder"]:
        alike = [
            NAMES.get(name, name)
            for name, ours in whole["decoder"].items()
            if name != "id_perm" and not ours.low > whole[system][name].high
        ]
        if alike:
            notes.append(
                f"Not above the baseline “{SYSTEMS[system]}”, interval against interval: "
                f"{', '.join(alike)}."
            )
    return notes


def _hash(*texts: str) -> str:
    raw = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(raw, digest_size=16).hexdigest()
