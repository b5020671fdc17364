"""Training examples by number, read on demand from a file or a data set.

    examples = open_examples("nli.csv.gz", "sup", Catalog(), folder=working_folder)
    examples[17]                            # ("A man is asleep.", "Someone sleeps.", "He runs.")

What an example is depends on the objective: one sentence (`unsup`, `mlm`); a sentence, its positive
and perhaps a hard negative (`sup`); a sentence and the one to three that follow it
(`next-sentence`). Faulty lines of a file are either left out and counted in `notes`, or refused:

* left out: empty lines, which are counted in a text file; rows with an empty sentence; rows with
  fewer cells than there are columns (SimCSE's loader trains on a blank in both cases, which teaches
  nothing); inference pairs without a label; repeated sentences of a table (`unsup`, `mlm`);
* refused, naming the line: rows with more cells than there are columns (a quote or a separator is
  wrong, so the cells cannot be assigned), broken quotes and JSON, text that is not UTF-8.
"""

from __future__ import annotations

from pathlib import Path

from theodolite.engine.datasets import hub
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.dialect import ENDINGS
from theodolite.engine.errors import UserError
from theodolite.engine.paths import named
from theodolite.engine.training.examples import data_sets, files
from theodolite.engine.training.examples.base import Examples, ExamplesSpec
from theodolite.engine.training.spec import ObjectiveName, TrainSpec

__all__ = ["Examples", "examples_of", "is_file", "open_examples"]


def open_examples(
    name: str,
    objective: ObjectiveName,
    catalog: Catalog,
    *,
    hard_negatives: bool = True,
    next_sentences: int = 1,
    limit: int | None = None,
    folder: Path,
) -> Examples:
    """Open training data.

    Args:
        name: a file (`.parquet`, or `.txt`, `.csv`, `.tsv`, `.jsonl`, each also `.gz`) or a data
            set of the catalog (`unlabelled/brown`, `nli`, `upload:mine`; `starter` for the shipped
            ones).
        objective: determines what an example is.
        catalog: where data sets come from.
        hard_negatives: keep the third column of `sup`, if there is one. Without it inference data
            give every entailment, not only those whose premise has a contradiction.
        next_sentences: number of following sentences in an example of `next-sentence`.
        limit: number of examples to keep, from the first; None for all.
        folder: where the sentences of a file are written, to be read by number.
    """
    wanted = ExamplesSpec(objective, hard_negatives, next_sentences, limit)
    if not is_file(name):
        examples = data_sets.examples(name, wanted, catalog)
    else:
        examples = files.examples(named(name), wanted, folder)
    if len(examples) < 2:
        raise _too_few(name, examples)
    return examples


def examples_of(spec: TrainSpec, catalog: Catalog, folder: Path) -> Examples:
    """Open the training data of a run; arguments and errors are those of `open_examples`."""
    return open_examples(
        spec.train,
        spec.objective,
        catalog,
        hard_negatives=spec.hard_negatives,
        next_sentences=spec.next_sentences,
        limit=spec.limit,
        folder=folder,
    )


def is_file(name: str) -> bool:
    """Return whether training data is named by a file, existing or not, rather than a data set."""
    if name.startswith(("upload:", hub.PREFIX)):
        return False
    return named(name).is_file() or name.lower().removesuffix(".gz").endswith(ENDINGS)


def _too_few(name: str, examples: Examples) -> UserError:
    what = "one example" if len(examples) else "no example"
    notes = f" ({' '.join(examples.notes)})" if examples.notes else ""
    return UserError(
        f"{name} has {what} to learn from{notes}.",
        "An example is told apart from the others of its batch, so there must be two at least, and "
        "some thousands to learn anything.",
        code="too-few",
    )
