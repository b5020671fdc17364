"""The job *encode-shard*: one shard of a corpus, encoded by a worker of a fleet."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app import corpora, endpoints
from theodolite.app.fleet.needs import Resources
from theodolite.app.jobs.job import Job
from theodolite.engine.corpus import encode as shards
from theodolite.engine.corpus.cut import Cut, Shard
from theodolite.engine.corpus.files import ENDINGS, SHARDS, shard_file, whole
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets import Catalog
    from theodolite.engine.encoders import Encoder


@dataclass(frozen=True)
class EncodeShardJob(Job):
    """Encodes one shard into a folder of its own, laid out like a whole corpus.

    Attributes:
        encoder: canonical spec.
        text: the file with its sentences, named by their hash.
        out: the folder; in the corpus at home it lies among the shards.
        fingerprint: of the encoder.
        format, dtype: of the vectors.
        source, start, stop: where the sentences come from.
    """

    kind = "encode-shard"

    encoder: str
    text: str
    out: str
    fingerprint: str
    format: str
    dtype: str
    source: str
    start: int
    stop: int

    @property
    def title(self) -> str:
        """`part-1.txt, rows 1 to 16,384, with minilm`."""
        return f"{self.source}, rows {self.start + 1:,} to {self.stop:,}, with {self.encoder}"

    def units(self) -> list[str]:
        """One unit."""
        return [self.title]

    def part(self, position: int) -> EncodeShardJob:
        """The job itself: it has one unit."""
        return self

    def resources(self, catalog: Catalog) -> Resources:
        """The encoder, the sentences and the output folder."""
        return Resources([self.encoder], files=[self.text], out=self.out)

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Encode the shard unless it is done; at home, add it to the other shards at once."""
        folder, name = Path(self.out), self._shard.name
        (folder / SHARDS).mkdir(parents=True, exist_ok=True)
        sentences = shard_file(folder, name, ".txt")
        with whole(sentences) as path:
            shutil.copyfile(self.text, path)
        model = into_files(workspace, self.encoder)
        shards.encode_shard(folder, self._cut, self._shard, model, reporter)
        sentences.unlink(missing_ok=True)  # home has the sentences
        if Path(self.text).parent == folder.parent:
            self.receive(workspace, {})

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the corpus has the shard; once it has all, add it for search."""
        corpus = self._corpus
        if shards.done(corpus, self._cut, self._shard) is None:
            return False
        if shards.finish(corpus, Cut.read(corpus)):
            corpora.add(workspace.store, corpus)
        return True

    def receive(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Copy its files to those of the other shards, the record that marks it as done last."""
        folder, name = Path(self.out), self._shard.name
        try:
            if self.is_stored(workspace):
                return
            facts = shards.done(folder, self._cut, self._shard)
            if facts is None or facts["rows"] != self._shard.rows:
                raise UserError(
                    f"{self.title}: its files are not complete.", "Try it again.", code="damaged"
                )
            for ending in (".keys", ENDINGS[self.format], ".json"):
                with whole(shard_file(self._corpus, name, ending)) as path:
                    shutil.copyfile(shard_file(folder, name, ending), path)
            if self.format == "parquet":  # it holds the sentences too
                Path(self.text).unlink(missing_ok=True)
            self.is_stored(workspace)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def _corpus(self) -> Path:
        return Path(self.out).parent.parent  # `out` is in its folder `shards`

    @property
    def _shard(self) -> Shard:
        return Shard(Path(self.text).stem, self.source, self.start, self.stop)

    @property
    def _cut(self) -> Cut:
        return Cut((self._shard,), self.encoder, self.fingerprint, self.format, self.dtype)


def into_files(workspace: Workspace, spec: str) -> Encoder:
    """An encoder whose vectors go into a folder and not into the store.

    Vectors of an endpoint go into the store as well, so that paid requests are never repeated.
    """
    from theodolite.app.typed import NothingKept
    from theodolite.engine import encoders

    kept = workspace.load(spec)  # keeps the weights loaded until others are needed
    if getattr(kept, "needs_task", False):
        raise UserError(
            f"{kept.name} needs a task.",
            "Name a data set in place of @task; a model with routes encodes data sets, by "
            "`theodolite encode ENCODER --in DATASET`.",
            code="missing",
        )
    if endpoints.addresses(kept.name):
        return kept
    cache = NothingKept(workspace.store.vectors, encoders.MemoryCache(max_bytes=1 << 20))
    return encoders.load(kept.name, cache=cache, datasets=workspace.catalog.every_sentence)
