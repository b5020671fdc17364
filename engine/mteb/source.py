"""MTEB's models as encoders, `mteb:NAME`: loaded and prompted by its own code.

The model's code chooses the prompt, which may depend on the task, so each task and each side of a
search is a separate source. Without a task a model is prompted as for STS.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.float32 import exact_float32
from theodolite.engine.encoders.prompts import TWO_SIDED, PromptTask, Side
from theodolite.engine.encoders.sides import PromptedByTask, TwoSided
from theodolite.engine.encoders.source import Source, clean
from theodolite.engine.encoders.transformer import quiet
from theodolite.engine.encoders.weights import weights
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import models
from theodolite.engine.mteb.own_tasks import UNKNOWN_LANGUAGE
from theodolite.engine.mteb.package import lazy_import
from theodolite.engine.progress import Progress
from theodolite.engine.protocols.package import version

_BATCH = 32
"""The default batch size of `mteb.evaluate`."""
_PLAIN = "STS"
_SEARCHES = {name: "Retrieval" for name in TWO_SIDED}
"""Task type -> the type whose class it shares."""


class ModelSource(Source):
    """One side of a model, for a type of task or for one of MTEB's tasks.

    Args:
        name: canonical spec of the encoder.
        meta: MTEB's metadata of the model.
        task: the task; only its type counts where MTEB does not know its name.
        side: the side to encode; None for a task without sides.
        device: see `load`.
    """

    def __init__(
        self, name: str, meta: Any, task: PromptTask, side: Side | None, device: str | None
    ) -> None:
        self.name = name
        self._meta, self._side, self._device = meta, side, device
        known = lazy_import("get_tasks._TASKS_REGISTRY")
        self._task = _class(task.name if task.name in known else "", task.type or _PLAIN).metadata
        key = self._task.name, self._task.type, side
        self.fingerprint = fingerprint("mteb", version(), meta.name, meta.revision, *key)
        self._weights = weights("mteb", meta.name, meta.revision, device)
        self.dim = (
            meta.embed_dim if isinstance(meta.embed_dim, int) else self._encode_side([""]).shape[1]
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """A note if MTEB compares this model's vectors by another similarity than the cosine."""
        by = self._meta.similarity_fn_name
        if by in (None, "cosine"):
            return ()
        return (f"MTEB compares vectors of {self._meta.name} by {by!s}; here it is the cosine.",)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = self._encode_side(sentences)
        if vectors.shape != (len(sentences), self.dim):
            raise UserError(
                f"{self._meta.name} gave vectors of shape {vectors.shape} for {len(sentences)} "
                f"texts; MTEB says that it has {self.dim} dimensions.",
                f"MTEB's entry of the model is wrong: try hf:{self._meta.name}.",
                code="mismatch",
            )
        return vectors

    def _encode_side(self, sentences: Sequence[str]) -> np.ndarray:
        from datasets import Dataset
        from torch.utils.data import DataLoader

        texts = Dataset.from_dict({"text": [clean(sentence) for sentence in sentences]})
        side = self._side and lazy_import("types.PromptType")(self._side)
        with self._weights.lock, quiet():
            model = self._weights.get(lambda: models.load(self._meta, self._device))
            with exact_float32():
                vectors = model.encode(
                    DataLoader(texts, batch_size=_BATCH),
                    task_metadata=self._task,
                    hf_split="test",
                    hf_subset="default",
                    prompt_type=side,
                    batch_size=_BATCH,
                    show_progress_bar=False,
                )
        if hasattr(vectors, "detach"):
            vectors = vectors.detach().cpu().float()
        return np.asarray(vectors, np.float32)


class Model(PromptedByTask):
    """A model from MTEB's registry, before the task is known."""

    def __init__(
        self,
        spec: str,
        model: str,
        encoder: Callable[[Source], Encoder],
        device: str | None,
    ) -> None:
        meta = models.dense(model)

        def side(task: PromptTask, side: Side | None) -> Encoder:
            return encoder(ModelSource(spec, meta, task, side, device))

        def sides(task: PromptTask) -> TwoSided:
            if task.type not in TWO_SIDED:
                return TwoSided(spec, side(task, None), side(task, None), "mteb's")
            return TwoSided(spec, side(task, "document"), side(task, "query"), "mteb's")

        super().__init__(spec, side(PromptTask(), None), sides)

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        return self.plain.encode(sentences, progress)


@cache
def _class(name: str, kind: str) -> Any:
    """Return a task's MTEB class; kept, because MTEB searches the classes for a type's prompt."""
    if name:
        return lazy_import("get_tasks._TASKS_REGISTRY")[name]
    base = lazy_import(f"abstasks.AbsTask{_SEARCHES.get(kind, kind)}")
    metadata = lazy_import("abstasks.task_metadata.TaskMetadata")(
        name=f"Theodolite{kind}",
        description="A task that is not MTEB's own.",
        type=kind,
        dataset={"path": "theodolite/any", "revision": "1"},
        eval_langs=[UNKNOWN_LANGUAGE],
        main_score="main_score",
    )
    return type(base.__name__, (base,), {"metadata": metadata})
