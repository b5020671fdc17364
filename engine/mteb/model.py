"""An encoder as an mteb model, for `mteb.evaluate`.

    import mteb, theodolite as th

    mteb.evaluate(th.mteb("wordllama"), mteb.get_task("STSBenchmark"))

All sentences of a call are encoded at once, so that the encoder can sort, batch and cache them. The
revision is the encoder's fingerprint, so MTEB's own cache of results never mixes up two encoders.

Documents are searched by our own search, which gives MTEB's scores and encodes the documents in
chunks. MTEB would accept a classifier of ours too, but its logistic regression stops after 100
iterations, converged or not; one that continues gives other scores, so MTEB's is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from theodolite.engine.encoders import Encoder, VectorCache, is_encoder, load
from theodolite.engine.encoders.prompts import PromptTask
from theodolite.engine.encoders.sides import bind_task, query_side, similarity_of
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.package import check_installed, lazy_import
from theodolite.engine.mteb.results import model_name
from theodolite.engine.progress import Progress
from theodolite.engine.search.ranked import comparable, compare, first_of_each

TextProgress = Callable[[int], None]
"""Called with the number of sentences encoded so far, repeats counted."""


def mteb(encoder: str | Encoder, cache: VectorCache | None = None) -> Model:
    """Return a model that `mteb.evaluate` accepts.

    Args:
        encoder: a spec, or a loaded encoder.
        cache: as for `engine.load`; used with a spec.
    """
    check_installed()
    if not is_encoder(encoder):
        encoder = load(encoder, cache=cache)  # type: ignore[arg-type]
    return Model(encoder)


class Model:
    """An encoder with the interfaces of MTEB's encoder and search protocols."""

    def __init__(self, encoder: Encoder, progress: TextProgress | None = None) -> None:
        self.encoder = encoder
        self._progress = progress
        self._done = 0
        self.mteb_model_meta = meta_of(encoder)
        self._by = similarity_of(encoder)
        # Looked up once: reranking needs them for every query.
        if self._by == "cosine":
            self.similarity = lazy_import("similarity_functions.cos_sim")
            self.similarity_pairwise = lazy_import("similarity_functions.pairwise_cos_sim")
        else:  # MTEB leaves it to the model
            from sentence_transformers.util import SimilarityFunction

            self.similarity = SimilarityFunction.to_similarity_fn(self._by)
            self.similarity_pairwise = SimilarityFunction.to_similarity_pairwise_fn(self._by)

    def encode(
        self,
        inputs: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **options: Any,
    ) -> np.ndarray:
        """Encode a loader of batches, each with a list `text`, into float32 (n, dim)."""
        sentences = texts(inputs, task_metadata.name)
        side = getattr(prompt_type, "value", prompt_type)
        encoder = self._of_side(task_metadata, side)
        vectors = np.asarray(encoder.encode(sentences, self._callback()))
        if vectors.shape != (len(sentences), self.encoder.dim) or not np.isfinite(vectors).all():
            raise UserError(
                f"{self.encoder.name} gave vectors of shape {vectors.shape}, or values that are "
                f"not finite, for {len(sentences)} texts of {task_metadata.name}.",
                "No score is computed from such vectors. Try dtype float32, and check the weights.",
                code="not-finite",
            )
        self._done += len(sentences)
        return vectors

    def _of_side(self, task: Any, side: str | None) -> Encoder:
        """Return the encoder of queries or documents, with its prompts for the task."""
        bound = bind_task(self.encoder, [], "", PromptTask(task.name, task.type))
        return query_side(bound) if side == "query" else bound

    def _callback(self) -> Progress | None:
        progress, before = self._progress, self._done
        return None if progress is None else lambda done, total: progress(before + done)

    def index(self, corpus: Any, **_: Any) -> None:
        """Set the documents for `search`: a table with `id` and the columns of text."""
        self._corpus = corpus

    def search(
        self,
        queries: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        top_k: int,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        **_: Any,
    ) -> dict[str, dict[str, float]]:
        """Return query -> document -> similarity, for the top k or for all documents to rerank."""
        loader, sides = (
            lazy_import("_create_dataloaders.create_dataloader"),
            lazy_import("types.PromptType"),
        )

        def encode(rows: Any, side: str) -> np.ndarray:
            options = {"task_metadata": task_metadata, "prompt_type": sides(side)}
            return self.encode(
                loader(rows, **options), hf_split=hf_split, hf_subset=hf_subset, **options
            )

        corpus, keys, names = self._corpus, list(queries["id"]), list(self._corpus["id"])
        encoded = encode(queries, "query")
        if top_ranked is None:
            documents = _Pieces(len(names), lambda rows: encode(corpus.select(rows), "document"))
            pieces: Any = documents  # with what the search uses of an array
            scores, at = first_of_each(encoded, pieces, top_k, similarity=self._by)
            hits = (([names[i] for i in row], of) for row, of in zip(at, scores, strict=True))
        else:
            place = {name: i for i, name in enumerate(names)}
            left, right = (
                comparable(rows, self._by) for rows in (encoded, encode(corpus, "document"))
            )
            candidates = (
                [name for name in top_ranked.get(key, ()) if name in place] for key in keys
            )
            hits = (
                (some, _to_each(one, right[[place[name] for name in some]], self._by).numpy())
                for one, some in zip(left, candidates, strict=True)
            )
        return {
            key: dict(zip(some, of.tolist(), strict=True))
            for key, (some, of) in zip(keys, hits, strict=True)
        }


class _Pieces:
    """Vectors of documents, encoded a slice at a time on access."""

    def __init__(self, n: int, encode: Callable[[range], np.ndarray]) -> None:
        self._n, self._encode = n, encode

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._encode(range(*rows.indices(self._n)))


def _to_each(one: torch.Tensor, rows: torch.Tensor, similarity: str) -> torch.Tensor:
    """Return the similarity of a vector to each row, a product as MTEB computes it."""
    if similarity in ("cosine", "dot"):
        return rows @ one
    return compare(one[None], rows, similarity)[0]


def meta_of(encoder: Encoder) -> Any:
    """Return MTEB's metadata of an encoder: name, revision and dimension."""
    return lazy_import("models.model_meta.ModelMeta").create_empty(
        {
            "name": model_name(encoder.name),
            "revision": encoder.fingerprint,
            "embed_dim": encoder.dim,
            "similarity_fn_name": lazy_import("models.model_meta.ScoringFunction")(
                similarity_of(encoder)
            ),
        }
    )


def texts(inputs: Iterable[Any], task: str) -> list[str]:
    """Return the texts of a loader in order, directly from its table where it has one."""
    dataset = getattr(inputs, "dataset", None)
    columns = getattr(dataset, "column_names", None)
    column: list[str] | None = None
    if dataset is not None and columns is not None and "text" in columns:
        column = list(dataset["text"])
    elif columns is None:
        column = [text for batch in inputs for text in batch["text"]]
    if column is None or not all(isinstance(text, str) for text in column):
        raise UserError(
            f"{task} is not a task on texts alone.",
            "Encoders here read text; choose a text task.",
            code="unsupported",
        )
    return column
