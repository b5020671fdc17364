"""Tasks of mteb's own classes on data in memory, and what mteb scores on them: our oracle."""

from collections.abc import Callable, Mapping, Sequence

import mteb
import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTask, AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta
from mteb.similarity_functions import cos_sim, pairwise_cos_sim

from theodolite.engine.datasets import Retrieval
from theodolite.engine.encoders import Encoder

ENGLISH = ["eng-Latn"]
PAIRS = [
    ("a dog runs on the grass", "a puppy plays in the meadow", 4.5),
    ("a dog runs on the grass", "the stock market fell", 0.2),
    ("she reads a book", "a woman is reading", 4.0),
    ("he plays the guitar", "a man cooks rice", 1.0),
    ("the train was late", "the railway was delayed", 3.5),
]


def task_class(
    base: type,
    type_: str,
    main: str,
    data: Callable,
    languages=ENGLISH,
    **more,
):
    """A subclass of one of mteb's, whose data are made on demand."""

    def load_data(self, num_proc: int | None = None, **_) -> None:
        self.dataset, self.data_loaded = data(), True

    metadata = TaskMetadata(
        name="FewOfThem",
        description="A few rows.",
        type=type_,
        main_score=main,
        eval_langs=languages,
        dataset={"path": "none/here", "revision": "1"},
        modalities=["text"],
        license="mit",
    )
    return type("FewOfThem", (base,), {"metadata": metadata, "load_data": load_data, **more})


def loaded(kind):
    """A task of a class, with its rows."""
    task = kind()
    task.load_data()
    return task


def split(table: dict[str, list], name: str = "test"):
    """A table as the one split of a data set."""
    return DatasetDict({name: Dataset.from_dict(table)})


def similarity_task():
    """Scored pairs."""
    left, right, gold = map(list, zip(*PAIRS, strict=True))
    table = {"sentence1": left, "sentence2": right, "score": gold}
    return loaded(task_class(AbsTaskSTS, "STS", "cosine_spearman", lambda: split(table)))


def retrieval_data(documents: dict[str, str], queries: dict[str, str], judged, top=None, **more):
    """Queries and documents by id, as mteb holds them; `more` are columns of the queries."""
    return {
        "default": {
            "test": {
                "corpus": Dataset.from_dict(
                    {"id": list(documents), "text": list(documents.values())}
                ),
                "queries": Dataset.from_dict(
                    {"id": list(queries), "text": list(queries.values()), **more}
                ),
                "relevant_docs": judged,
                "top_ranked": top,
            }
        }
    }


class Plain:
    """What a script gives mteb: vectors by sentence, and mteb's own cosine."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.mteb_model_meta = ModelMeta.create_empty({"name": "a/plain", "revision": "1"})
        self.similarity, self.similarity_pairwise = cos_sim, pairwise_cos_sim

    def encode(self, inputs, **options) -> np.ndarray:
        return np.concatenate([self._encoder.encode(batch["text"]) for batch in inputs])


def by_mteb(model, task, cache=None):
    """The result of mteb's own run."""
    (found,) = mteb.evaluate(model, task, cache=cache, show_progress_bar=False).task_results
    return found


class Given(Plain):
    """A model whose vectors are known."""

    def __init__(self, sentences: Sequence[str], vectors: np.ndarray) -> None:
        super().__init__(self)
        self.known = dict(zip(sentences, vectors, strict=True))

    def encode(self, inputs, **options) -> np.ndarray:
        """Look up every text."""
        return np.stack([self.known[text] for batch in inputs for text in batch["text"]])


def scores(
    kind: type[AbsTask], type_: str, main: str, dataset, model: Given, **attributes
) -> Mapping:
    """Run a task of mteb's and return what it scores on `test`.

    Args:
        kind: the class of mteb's tasks.
        type_: as mteb spells it.
        main: name of the main score.
        dataset: what the class expects as `dataset`.
        model: gives the vectors.
        attributes: of the task, such as its number of samples.
    """
    task = loaded(task_class(kind, type_, main, lambda: dataset, **attributes))
    return task.evaluate(model, "test", encode_kwargs={"batch_size": 64})["default"]


def retrieval_of(data: Retrieval):
    """One of our data sets, as mteb holds it."""
    judged = {key: dict(of) for key, of in data.judgements["test"].items()}
    top = data.candidates and {key: list(of) for key, of in data.candidates.items()}
    return retrieval_data(dict(data.documents), dict(data.queries), judged, top)
