"""Post-processing steps: centre, whiten, reduce, remove, normalise, quantise.

Fitted in float64 on the vectors of a named data set, in the order of the spec: a step is fitted on
the output of the steps before it. Every sentence counts as often as the data has it, as in the
whitening of Su et al. and for `@task`; see `engine.protocol.FITTED_ON`.
Steps are wrapped around an encoder, so they re-use its cached vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.engine.encoders.base import Encoder, VectorCache, encoder_repr
from theodolite.engine.encoders.cached import MemoryCache
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.prompts import PromptTask
from theodolite.engine.encoders.sides import bind_task, query_side
from theodolite.engine.encoders.spec import TASK_DATA, StepSpec
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress

DatasetSource = Callable[[str], tuple[Sequence[str], str]]
"""From a data set's name to its sentences and their hash."""

BLOCK = 16_384
_INT8 = 127


@dataclass(frozen=True)
class LinearMap:
    """x -> (x - mean) @ matrix, both float64; None leaves that part out."""

    mean: np.ndarray | None = None  # (d,)
    matrix: np.ndarray | None = None  # (d, k)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Apply to float64 (n, d)."""
        x = x if self.mean is None else x - self.mean
        return x if self.matrix is None else x @ self.matrix


Transform = Callable[[np.ndarray], np.ndarray]


def normalise(x: np.ndarray) -> np.ndarray:
    """Scale rows to unit length; a zero row stays zero."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.divide(x, norms, out=np.zeros_like(x), where=norms > 0)


def fit_center(x: np.ndarray) -> LinearMap:
    """Subtract the mean of x (n, d)."""
    return LinearMap(mean=x.mean(0))


def fit_whiten(x: np.ndarray, k: int | None = None) -> LinearMap:
    """BERT-whitening (Su et al. 2021, algorithm 1): subtract the mean, multiply by U S^(-1/2).

    U and S are the eigenvectors and eigenvalues of the covariance (divisor n - 1, as `np.cov`), the
    largest first; the first k columns are kept. A direction in which x does not vary gets the
    weight zero rather than a division by zero.
    """
    mean, vectors, variances = _principal(x)
    scale = np.zeros_like(variances)
    varies = variances > variances[0] * 1e-12
    scale[varies] = variances[varies] ** -0.5
    return LinearMap(mean, (vectors * scale)[:, :k])


def fit_pca(x: np.ndarray, k: int) -> LinearMap:
    """The first k principal components of x (n, d), centred on its mean."""
    mean, vectors, _ = _principal(x)
    return LinearMap(mean, vectors[:, :k])


def fit_drop(x: np.ndarray, k: int) -> LinearMap:
    """Subtract the mean, then remove the first k principal components ('all-but-the-top').

    Mu and Viswanath 2018, algorithm 1, except that the components are taken out of the centred
    vector (they take them out of the vector itself, which differs by one constant vector). Not what
    SIF does: see `fit_common`.
    """
    mean, vectors, _ = _principal(x)
    top = vectors[:, :k]
    return LinearMap(mean, np.eye(x.shape[1]) - top @ top.T)


def fit_common(x: np.ndarray, k: int) -> LinearMap:
    """Remove the first k right singular vectors of x (n, d), which is not centred.

    Arora, Liang and Ma 2017, algorithm 1, lines 4 to 6, for k = 1. Without centring the first
    direction is close to that of the mean, so `drop:1` removes one direction more than SIF does.
    """
    _, top = np.linalg.eigh(x.T @ x)
    top = top[:, ::-1][:, :k]
    return LinearMap(matrix=np.eye(x.shape[1]) - top @ top.T)


def random_projection(dim: int, k: int, seed: int) -> LinearMap:
    """Gaussian matrix (dim, k) of variance 1/k, which keeps lengths in expectation."""
    matrix = np.random.default_rng(seed).standard_normal((dim, k)) / np.sqrt(k)
    return LinearMap(matrix=matrix)


def fit_int8(x: np.ndarray) -> Transform:
    """Round each dimension to 255 steps, scaled by its largest absolute value in x (n, d).

    The values are those that the integers stand for, integer times scale; larger ones are clipped.
    """
    scale = np.abs(x).max(axis=0) / _INT8
    scale[scale == 0.0] = 1.0
    return lambda y: np.clip(np.rint(y / scale), -_INT8, _INT8) * scale


def binary(x: np.ndarray) -> np.ndarray:
    """Keep the signs alone, 1 or -1: their cosine is 1 - 2 Hamming / d."""
    return np.where(x > 0, 1.0, -1.0)


def _principal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean (d,); the covariance's eigenvectors as columns and eigenvalues (d,), descending."""
    mean = x.mean(0)
    variances, vectors = np.linalg.eigh(np.cov(x, rowvar=False).reshape(x.shape[1], -1))
    variances, vectors = np.maximum(variances[::-1], 0), vectors[:, ::-1]
    # An eigenvector has no sign of its own: make its largest entry positive.
    signs = np.sign(vectors[np.abs(vectors).argmax(0), range(len(vectors))])
    return mean, vectors * signs, variances


class SteppedEncoder:
    """An encoder with steps after it.

    Args:
        name: canonical spec of the whole.
        encoder: the encoder that the steps are applied to.
        steps: at least one.
        data: where fitted steps find their sentences.
        task: sentences and hash that `@task` stands for, once they are known.
        cache: keeps what takes long to fit; None for memory.
    """

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        steps: Sequence[StepSpec],
        data: DatasetSource,
        task: tuple[Sequence[str], str] | None = None,
        cache: VectorCache | None = None,
    ) -> None:
        self.name = name
        self.encoder = encoder
        self.steps = tuple(steps)
        self.dim = encoder.dim
        self._data = data
        self._task = task
        self._cache = cache or MemoryCache()
        self._lock = threading.Lock()
        self._fitted: list[Transform] | None = None
        hashes = []
        for step in self.steps:
            self.dim = _dim_after(step, self.dim)
            hashes.append(f"{step}:{self._hash(step.data)}")
        self.fingerprint = fingerprint("steps", encoder.fingerprint, *hashes)

    __repr__ = encoder_repr

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the underlying encoder."""
        return self.encoder.warnings

    @property
    def needs_task(self) -> bool:
        """True while `@task` is not bound."""
        fitted = self._task is None and any(s.data == TASK_DATA for s in self.steps)
        return fitted or bool(getattr(self.encoder, "needs_task", False))

    def bind(
        self, sentences: Sequence[str], data_hash: str, task: PromptTask | None = None
    ) -> SteppedEncoder:
        """A copy with `@task` bound to these sentences and this task."""
        inner = bind_task(self.encoder, sentences, data_hash, task)
        task_data = (sentences, data_hash)
        return SteppedEncoder(self.name, inner, self.steps, self._data, task_data, self._cache)

    @property
    def queries(self) -> SteppedQueries | None:
        """The query side through the same steps, where the underlying encoder has one."""
        side = query_side(self.encoder)
        return None if side is self.encoder else SteppedQueries(self, side)

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`; the first call fits the steps."""
        return self.after(self.encoder, sentences, progress)

    def after(
        self, encoder: Encoder, sentences: Sequence[str], progress: Progress | None = None
    ) -> np.ndarray:
        """Apply the steps, fitted on the vectors of `encode`, to the vectors of an encoder."""
        with self._lock:
            if self._fitted is None:
                self._fitted = self._fit()
        vectors = encoder.encode(sentences, progress)
        out = np.empty((len(vectors), self.dim), np.float32)
        for start in range(0, len(vectors), BLOCK):
            block = vectors[start : start + BLOCK].astype(np.float64)
            for transform in self._fitted:
                block = transform(block)
            out[start : start + BLOCK] = block
        return out

    def _fit(self) -> list[Transform]:
        transforms: list[Transform] = []
        for step in self.steps:
            x = np.empty((0, self.encoder.dim))
            if step.data:
                x = self.encoder.encode(self._sentences(step.data)).astype(np.float64)
                if len(x) < 2:
                    raise UserError(
                        f"{step} has {len(x)} sentences to fit on.",
                        "Give two or more.",
                        code="too-few",
                    )
            for transform in transforms:
                x = transform(x)
            if step.name == "flow":
                from theodolite.engine.encoders import flow

                transforms.append(flow.fitted(x, self.fingerprint, self._cache).moved)
            else:
                transforms.append(_fit_step(step, x))
        return transforms

    def _sentences(self, data: str) -> Sequence[str]:
        if data != TASK_DATA:
            return self._data(data)[0]
        if self._task is None:
            raise UserError(
                f"{self.name} is fitted on the sentences of a task and can only encode within one.",
                "Evaluate it on a task, or name a data set instead of @task.",
                code="missing",
            )
        return self._task[0]

    def _hash(self, data: str) -> str:
        if data == TASK_DATA:
            return self._task[1] if self._task else TASK_DATA
        return self._data(data)[1] if data else ""


class SteppedQueries:
    """Queries after the steps of the documents' encoder, which are fitted on documents alone.

    Args:
        documents: the encoder of documents, steps included.
        encoder: of queries, before the steps.
    """

    def __init__(self, documents: SteppedEncoder, encoder: Encoder) -> None:
        self._documents = documents
        self.encoder = encoder
        self.name, self.dim = documents.name, documents.dim
        self.fingerprint = fingerprint("queries", documents.fingerprint, encoder.fingerprint)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the underlying encoder."""
        return self.encoder.warnings

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        return self._documents.after(self.encoder, sentences, progress)


def _dim_after(step: StepSpec, dim: int) -> int:
    if step.k is None:
        return dim
    projects = step.name == "dims" and step.seed is not None
    # Removing all directions would leave only rounding errors.
    most = dim - 1 if step.name in ("drop", "common") else dim
    if step.k > most and not projects:
        raise UserError(
            f"{step} wants {step.k} of {dim} dimensions.", f"Give at most {most}.", code="too-large"
        )
    return dim if step.name in ("drop", "common") else step.k


def _fit_step(step: StepSpec, x: np.ndarray) -> Transform:
    match step.name:
        case "normalise":
            return normalise
        case "center":
            return fit_center(x)
        case "whiten":
            return fit_whiten(x, step.k)
        case "drop":
            return fit_drop(x, step.k or 0)
        case "common":
            return fit_common(x, step.k or 0)
        case "quantise":
            return fit_int8(x) if step.data else binary
        case "dims" if not step.data and step.seed is None:
            return lambda y: y[:, : step.k]
        case _ if step.seed is not None:
            return random_projection(x.shape[1], step.k or 0, step.seed)
        case _:
            return fit_pca(x, step.k or 0)


@dataclass(frozen=True)
class Compressed:
    """One way to make vectors smaller.

    Attributes:
        method: `first` (the first dimensions, as in Matryoshka training), `pca`, `int8`, `binary`.
        dim: number of dimensions kept.
        bytes: of one vector.
    """

    method: str
    dim: int
    bytes: float


METHODS = ("first", "pca", "int8", "binary")


def smaller(
    vectors: np.ndarray, sizes: Sequence[int], methods: Sequence[str] = METHODS
) -> Iterator[tuple[Compressed, np.ndarray]]:
    """Compress vectors by some methods to some sizes.

    PCA is fitted once, on these vectors; a size takes the first of its components. Lower precisions
    are applied to the first dimensions.

    Args:
        vectors: float32 (n, d), finite.
        sizes: at most d each.
        methods: some of `METHODS`.
    """
    turned, wide = None, vectors.astype(np.float64)
    if len(vectors) > 1 and "pca" in methods:
        turned = fit_pca(wide, vectors.shape[1])(wide)
    for k in sizes:
        first = np.ascontiguousarray(vectors[:, :k])
        if "first" in methods:
            yield Compressed("first", k, 4 * k), first
        if turned is not None and k < vectors.shape[1]:
            yield Compressed("pca", k, 4 * k), np.ascontiguousarray(turned[:, :k], np.float32)
        if "int8" in methods:
            some = np.ascontiguousarray(wide[:, :k])
            yield Compressed("int8", k, k), np.asarray(fit_int8(some)(some), np.float32)
        if "binary" in methods:
            yield Compressed("binary", k, k / 8), np.asarray(binary(first), np.float32)
