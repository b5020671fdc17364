"""Decode vectors of an embedding space into sentences (vec2sent).

decoder = open_decoder(Path("decoders/minilm"))
decoder.decode(encoder.encode(["A man plays a guitar."]))[0].sentence
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch

from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.folder import DecoderModel
from theodolite.engine.decoding.generate import Candidate, beam, greedy, reference_beam, sample
from theodolite.engine.decoding.text import words
from theodolite.engine.decoding.vocabulary import KnownWords, Vocabulary
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.given import text
from theodolite.engine.space.geometry import cosine

Method = Literal["greedy", "beam", "sample", "vec2sent-ref"]
BATCH = 64
FOUND = 0.9999
"""Cosine from which a sentence needs no correction: its vector is the target but for rounding."""


@dataclass(frozen=True)
class Decoded:
    """The sentence decoded from a vector.

    Attributes:
        sentence: the best by cosine with the vector where an encoder was given, else by score.
        cosine: of its own vector with the target; None without an encoder.
        score: as in `engine.decoding.generate.Candidate`.
        cut: whether it had not ended at the decoder's maximum length.
        others: the other candidates, ranked in the same way.
    """

    sentence: str
    cosine: float | None
    score: float
    cut: bool
    others: tuple[Decoded, ...] = ()


class Decoder:
    """A trained decoder.

    Attributes:
        facts: the content of `decoder.json`: encoder, dim, words, training.
        dim: of the vectors it takes.
    """

    def __init__(self, model: DecoderModel, vocabulary: Vocabulary, facts: dict[str, Any]) -> None:
        self.model, self.vocabulary, self.facts = model, vocabulary, facts
        self.dim = int(facts["dim"])
        self._steps = folders.steps_of(model)
        self._mean = np.asarray(facts["mean"], np.float32)
        self._scale = np.float32(facts["scale"])

    def decode(
        self,
        vectors: np.ndarray,
        *,
        encoder: Encoder | None = None,
        targets: np.ndarray | None = None,
        method: Method = "beam",
        beams: int = 5,
        temperature: float = 1.0,
        top_p: float = 0.9,
        seed: int = 0,
        known_words: bool = True,
    ) -> list[Decoded]:
        """Decode vectors into sentences.

        Args:
            vectors: float (n, dim), in the encoder's own scale.
            encoder: encodes the candidates again, to rank them by cosine with their vector.
            targets: float (n, dim), used for the cosine in place of `vectors`.
            method: greedy, beam, sampling, or the reference code's own beam.
            beams: width of the beam, or number of samples.
            temperature: of the sampling.
            top_p: of the sampling.
            seed: of the sampling.
            known_words: write only words of the training text, where the decoder has their list;
                ignored by the reference code's beam.
        """
        points = self._check(vectors)
        if encoder is not None and encoder.dim != self.dim:
            raise UserError(
                f"{encoder.name} has {encoder.dim} dimensions.",
                f"This decoder reads vectors of {self.dim}: those of {self.facts['encoder']}.",
                code="mismatch",
            )
        _check_how(method, beams, temperature, top_p)
        generator = torch.Generator().manual_seed(seed)
        words = self.vocabulary.known_words if known_words else None
        candidates: list[list[Candidate]] = []
        with torch.inference_mode():
            for start in range(0, len(points), BATCH):
                part = torch.from_numpy(points[start : start + BATCH])
                candidates += self._candidates(
                    part, method, beams, temperature, top_p, generator, words
                )
        return self._rank(candidates, vectors if targets is None else targets, encoder)

    def correct(
        self,
        vectors: np.ndarray,
        encoder: Encoder,
        *,
        rounds: int = 5,
        step: float = 0.5,
        **how: Any,
    ) -> list[Decoded]:
        """Decode repeatedly, each time with a corrected query, and keep the best by cosine.

        The loop of vec2text (Morris et al. 2023) without a trained corrector: the query moves by
        `step` times the gap between the target and the vector of the decoded sentence. A vector
        is done when the cosine of its sentence reaches `FOUND`.

        Args:
            vectors: float (n, dim).
            encoder: the encoder that gave the vectors.
            rounds: corrections after the first decoding, 0 to 50; none with the method
                `vec2sent-ref`, as the released code has none.
            step: share of the gap, above 0, at most 2.
            **how: as for `decode`.
        """
        if not 0 <= rounds <= 50 or not 0 < step <= 2:
            raise UserError(
                f"{rounds} corrections with step {step} are not possible.",
                "Choose from 0 to 50 of them, and a share above 0 and at most 2.",
            )
        targets = np.asarray(vectors, np.float32)
        best = self.decode(targets, encoder=encoder, **how)
        query, latest = targets.copy(), list(best)
        for _ in range(0 if how.get("method") == "vec2sent-ref" else rounds):
            left = [row for row, decoded in enumerate(best) if _near(decoded) < FOUND]
            if not left:
                break
            again = encoder.encode([latest[row].sentence for row in left])
            query[left] += step * (targets[left] - again)
            decoded = self.decode(query[left], encoder=encoder, targets=targets[left], **how)
            for row, new in zip(left, decoded, strict=True):
                latest[row] = new
                if _near(new) > _near(best[row]):
                    best[row] = new
        return best

    def too_long(self, sentence: str) -> bool:
        """Return whether a sentence has more words than those that the decoder learned from."""
        known = self.facts.get("words")
        return known is not None and words(sentence) > int(known)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits over everything that decides what is decoded."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(self.vocabulary.to_json().encode())
        if known := self.vocabulary.known_words:
            digest.update("\n".join(known.words).encode())
        digest.update(self._mean.tobytes() + self._scale.tobytes())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.float().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def _check(self, vectors: np.ndarray) -> np.ndarray:
        points = np.asarray(vectors, np.float32)
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise UserError(
                f"Vectors of shape {points.shape} were given.",
                f"This decoder reads vectors of {self.dim} dimensions, one a row.",
                code="mismatch",
            )
        if not np.isfinite(points).all():
            raise UserError(
                "A vector contains NaN or infinity.", "Leave it out.", code="not-finite"
            )
        return (points - self._mean) / self._scale

    def _candidates(
        self,
        points: torch.Tensor,
        method: Method,
        beams: int,
        temperature: float,
        top_p: float,
        generator: torch.Generator,
        words: KnownWords | None,
    ) -> list[list[Candidate]]:
        model, longest = self._steps, self.model.positions - 1
        if method == "greedy":
            return [[candidate] for candidate in greedy(model, points, longest, words=words)]
        if method == "beam":
            return beam(model, points, longest, width=beams, words=words)
        if method == "sample":
            many = points.repeat_interleave(beams, 0)
            samples = sample(
                model,
                many,
                longest,
                temperature=temperature,
                top_p=top_p,
                generator=generator,
                words=words,
            )
            return [samples[i : i + beams] for i in range(0, len(samples), beams)]
        return [reference_beam(model, point, longest=longest) for point in points]

    def _rank(
        self, beams: list[list[Candidate]], targets: np.ndarray, encoder: Encoder | None
    ) -> list[Decoded]:
        """The candidates of each vector as sentences, each once, the best first."""
        rows = [self._sentences(candidates) for candidates in beams]
        if encoder is not None and rows:
            flat = [one.sentence for row in rows for one in row]
            owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
            near = iter(cosine(encoder.encode(flat), np.asarray(targets)[owners]).tolist())
            rows = [[replace(one, cosine=next(near)) for one in row] for row in rows]
            rows = [sorted(row, key=_near, reverse=True) for row in rows]
        return [replace(row[0], others=tuple(row[1:])) for row in rows]

    def _sentences(self, candidates: list[Candidate]) -> list[Decoded]:
        """Detokenize candidates; of several that spell the same sentence, keep the best."""
        sentences: dict[str, Decoded] = {}
        for candidate in sorted(candidates, key=lambda c: -c.score):
            text = self.vocabulary.text(candidate.ids)
            sentences.setdefault(text, Decoded(text, None, candidate.score, not candidate.ended))
        return list(sentences.values())


def open_decoder(folder: Path | str) -> Decoder:
    """Read a decoder's folder."""
    return Decoder(
        *folders.read(folder if isinstance(folder, Path) else Path(text(folder, "folder")))
    )


def interpolate(
    first: np.ndarray, second: np.ndarray, steps: int, *, spherical: bool = False
) -> np.ndarray:
    """Points between two vectors, both ends included.

    Args:
        first: float (d,).
        second: float (d,).
        steps: number of points, at least 2.
        spherical: along the great circle, lengths interpolated linearly; else along the line.

    Returns:
        float32 (steps, d).
    """
    if steps < 2:
        raise UserError(f"{steps} steps are too few.", "Choose 2 or more.", code="too-few")
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape:
        raise UserError(
            f"The ends have {a.size} and {b.size} dimensions.",
            "Both must be of one encoder.",
            code="mismatch",
        )
    shares = np.linspace(0.0, 1.0, steps)[:, None]
    line = ((1 - shares) * a + shares * b).astype(np.float32)
    sizes = np.linalg.norm(a), np.linalg.norm(b)
    if not spherical or min(sizes) == 0:
        return line
    angle = np.arccos(np.clip(a @ b / (sizes[0] * sizes[1]), -1.0, 1.0))
    if np.sin(angle) < 1e-6:  # the same direction, or opposite ones, without a unique great circle
        return line
    turned = np.sin((1 - shares) * angle) * a / sizes[0] + np.sin(shares * angle) * b / sizes[1]
    lengths = (1 - shares) * sizes[0] + shares * sizes[1]
    return (turned / np.sin(angle) * lengths).astype(np.float32)


def _check_how(method: str, beams: int, temperature: float, top_p: float) -> None:
    if method not in get_args(Method):
        raise UserError(
            f"There is no method {method!r}.",
            f"Choose one of {', '.join(get_args(Method))}.",
            code="unknown",
        )
    if not 1 <= beams <= 50:
        raise UserError(f"{beams} beams cannot be kept.", "Choose from 1 to 50.")
    if not 0 < temperature < math.inf or not 0 < top_p <= 1:
        raise UserError(
            f"Sampling at temperature {temperature} from a share of {top_p} is not possible.",
            "The temperature is above 0, the share above 0 and at most 1.",
        )


def _near(decoded: Decoded) -> float:
    return -1.0 if decoded.cosine is None else decoded.cosine
