"""From points of a space back to sentences (vec2sent).

decoder = open_decoder(Path("decoders/minilm"))
decoder.decode(encoder.encode(["A man plays a guitar."]))[0].sentence
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch

from engine.decoding import folder as folders
from engine.decoding.folder import DecoderModel
from engine.decoding.generate import Candidate, beam, greedy, reference_beam, sample
from engine.decoding.vocabulary import Vocabulary
from engine.encoders.base import Encoder
from engine.errors import UserError

Method = Literal["greedy", "beam", "sample", "vec2sent-ref"]
BATCH = 64


@dataclass(frozen=True)
class Decoded:
    """What a vector was decoded to.

    Attributes:
        sentence: the best by cosine to the vector where an encoder was given, else by score.
        cosine: of its own vector to the target; None without an encoder.
        score: as `engine.decoding.generate.Candidate` has it.
        cut: whether it was still going on at the decoder's greatest length.
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
        facts: what `decoder.json` says: encoder, dim, words, training.
        dim: of the vectors it takes.
    """

    def __init__(self, model: DecoderModel, vocabulary: Vocabulary, facts: dict[str, Any]) -> None:
        self.model, self.vocabulary, self.facts = model, vocabulary, facts
        self.dim = int(facts["dim"])
        self._mean = np.asarray(facts["mean"], np.float32)
        self._scale = np.float32(facts["scale"])

    def decode(
        self,
        vectors: np.ndarray,
        *,
        encoder: Encoder | None = None,
        method: Method = "beam",
        beams: int = 5,
        temperature: float = 1.0,
        top_p: float = 0.9,
        seed: int = 0,
    ) -> list[Decoded]:
        """The sentences of some points.

        Args:
            vectors: float (n, dim), in the encoder's own scale.
            encoder: encodes the candidates again, and ranks them by cosine to their vector.
            method: greedy, beam, sampling, or the reference code's own beam.
            beams: hypotheses of a beam, or samples drawn.
            temperature: of the sampling.
            top_p: of the sampling.
            seed: of the sampling.

        Raises:
            UserError: vectors of another dimension or with values that are no numbers, or a method
                or number that cannot be.
        """
        points = self._checked(vectors)
        if method not in get_args(Method):
            raise UserError(
                f"There is no method {method!r}.", f"Choose one of {', '.join(get_args(Method))}."
            )
        if not 1 <= beams <= 50:
            raise UserError(f"{beams} beams cannot be kept.", "Choose from 1 to 50.")
        if temperature <= 0 or not 0 < top_p <= 1:
            raise UserError(
                f"Sampling at temperature {temperature} from a share of {top_p} is not possible.",
                "The temperature is above 0, the share above 0 and at most 1.",
            )
        generator = torch.Generator().manual_seed(seed)
        found: list[list[Candidate]] = []
        with torch.inference_mode():
            for start in range(0, len(points), BATCH):
                part = torch.from_numpy(points[start : start + BATCH])
                found += self._candidates(part, method, beams, temperature, top_p, generator)
        return self._ranked(found, np.asarray(vectors, np.float32), encoder)

    def correct(
        self, vectors: np.ndarray, encoder: Encoder, *, rounds: int = 5, step: float = 0.5,
        **how: Any,
    ) -> list[Decoded]:  # fmt: skip
        """Decode, encode what came, move the query by what was missed, and keep the best by cosine.

        The loop of vec2text (Morris et al. 2023) without a corrector of its own: the query moves
        by `step` times the gap between the target and the vector of what was decoded.

        Args:
            vectors: float (n, dim).
            encoder: whose vectors they are.
            rounds: corrections after the first decoding.
            step: share of the gap.
            **how: as of `decode`.
        """
        targets = np.asarray(vectors, np.float32)
        best = self.decode(targets, encoder=encoder, **how)
        query, latest = targets.copy(), best
        for _ in range(rounds):
            again = encoder.encode([found.sentence for found in latest])
            query = query + step * (targets - again)
            latest = self._again(query, targets, encoder, how)
            best = [max(a, b, key=lambda d: d.cosine or -1.0)
                    for a, b in zip(best, latest, strict=True)]  # fmt: skip
        return best

    def _again(
        self, query: np.ndarray, targets: np.ndarray, encoder: Encoder, how: dict[str, Any]
    ) -> list[Decoded]:
        """Decode the queries; the cosines are those to the targets."""
        decoded = self.decode(query, **how)
        cosines = _cosines(encoder.encode([d.sentence for d in decoded]), targets)
        return [
            Decoded(d.sentence, float(c), d.score, d.cut)
            for d, c in zip(decoded, cosines, strict=True)
        ]

    def _checked(self, vectors: np.ndarray) -> np.ndarray:
        points = np.asarray(vectors, np.float32)
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise UserError(
                f"Vectors of shape {points.shape} were given.",
                f"This decoder reads vectors of {self.dim} dimensions, one a row.",
            )
        if not np.isfinite(points).all():
            raise UserError("A vector holds values that are no numbers.", "Leave it out.")
        return (points - self._mean) / self._scale

    def _candidates(
        self, points: torch.Tensor, method: Method, beams: int, temperature: float, top_p: float,
        generator: torch.Generator,
    ) -> list[list[Candidate]]:  # fmt: skip
        longest = self.model.positions - 1
        if method == "greedy":
            return [[found] for found in greedy(self.model, points, longest)]
        if method == "beam":
            return beam(self.model, points, longest, width=beams)
        if method == "sample":
            many = points.repeat_interleave(beams, 0)
            drawn = sample(self.model, many, longest, temperature=temperature, top_p=top_p,
                           generator=generator)  # fmt: skip
            return [drawn[i : i + beams] for i in range(0, len(drawn), beams)]
        return [reference_beam(self.model, point, longest=longest) for point in points]

    def _ranked(
        self, found: list[list[Candidate]], targets: np.ndarray, encoder: Encoder | None
    ) -> list[Decoded]:
        texts = [[self.vocabulary.text(c.ids) for c in candidates] for candidates in found]
        cosines: list[list[float | None]] = [[None] * len(row) for row in texts]
        if encoder is not None:
            flat = [text for row in texts for text in row]
            owners = np.repeat(np.arange(len(texts)), [len(row) for row in texts])
            values = iter(_cosines(encoder.encode(flat), targets[owners]).tolist())
            cosines = [[next(values) for _ in row] for row in texts]
        out = []
        for row, candidates, near in zip(texts, found, cosines, strict=True):
            ranked = [
                Decoded(text, cosine, candidate.score, not candidate.ended)
                for text, candidate, cosine in zip(row, candidates, near, strict=True)
            ]
            if encoder is not None:
                ranked.sort(key=lambda d: -(d.cosine or 0.0))
            first = ranked[0]
            others = tuple({d.sentence: d for d in ranked[1:] if d.sentence != first.sentence}
                           .values())  # fmt: skip
            out.append(Decoded(first.sentence, first.cosine, first.score, first.cut, others))
        return out


def open_decoder(folder: Path) -> Decoder:
    """Read a decoder's folder.

    Raises:
        UserError: it holds none, or a damaged one.
    """
    return Decoder(*folders.read(folder))


def interpolate(
    first: np.ndarray, second: np.ndarray, steps: int, *, spherical: bool = False
) -> np.ndarray:
    """Points between two vectors, both ends included.

    Args:
        first: float (d,).
        second: float (d,).
        steps: how many points, at least 2.
        spherical: along the great circle, lengths in proportion; else along the line.

    Returns:
        float32 (steps, d).
    """
    shares = np.linspace(0.0, 1.0, steps)[:, None]
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    sizes = np.linalg.norm(a), np.linalg.norm(b)
    if not spherical or min(sizes) == 0:
        return ((1 - shares) * a + shares * b).astype(np.float32)
    cosine = float(np.clip(a @ b / (sizes[0] * sizes[1]), -1.0, 1.0))
    angle = np.arccos(cosine)
    if np.sin(angle) < 1e-6:  # one direction, or opposite ones with no great circle of their own
        return ((1 - shares) * a + shares * b).astype(np.float32)
    turned = np.sin((1 - shares) * angle) * a / sizes[0] + np.sin(shares * angle) * b / sizes[1]
    lengths = (1 - shares) * sizes[0] + shares * sizes[1]
    return (turned / np.sin(angle) * lengths).astype(np.float32)


def _cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of rows, float64 (n,); 0 where one is the zero vector."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.divide((a * b).sum(1), sizes, out=np.zeros(len(a)), where=sizes > 0)
