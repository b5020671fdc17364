"""Files of any size to a folder of vectors: the job of a corpus, and that of one of its shards."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from theodolite.app import corpora, endpoints
from theodolite.app.fleet.needs import Resources
from theodolite.app.formats import count, last_part, plural
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import Move
from theodolite.app.typed import TypedApart
from theodolite.app.workspace import Workspace
from theodolite.engine import encoders
from theodolite.engine.corpus import cut as cutting, encode as shards
from theodolite.engine.corpus.cut import Cut, Shard
from theodolite.engine.corpus.files import DTYPES, ENDINGS, SHARDS, shard_file, whole
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.paths import expand


@dataclass(frozen=True)
class EncodeCorpusJob(Job):
    """Encodes a corpus that was cut into a folder of shards.

    Attributes:
        encoder: canonical spec.
        out: absolute path of the folder.
        corpus: hash of the cut, which determines the contents of the folder.
        sentences, shards: their numbers.
    """

    kind = "encode-corpus"
    continue_on_failure = True
    continue_on_crash = True

    encoder: str
    out: str
    corpus: str
    sentences: int
    shards: int

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        files: Sequence[Path],
        column: str | None,
        encoder: str,
        out: Path,
        form: Mapping[str, Any],
        move: Move,
    ) -> Self:
        """Cut the files into the folder; existing shards are reused."""
        workspace.refuse_visitors()
        for name, known in (("format", ENDINGS), ("dtype", DTYPES)):
            if form[name] not in known:
                raise UserError(
                    f"There is no {name} {form[name]!r}.",
                    f"Known: {', '.join(known)}.",
                    code="unknown",
                )
        model = _into_files(workspace, encoder)
        folder = expand(str(out)).absolute()

        def read(name: str, rows: int) -> None:
            move(0.0, 0.0, f"{name}: {count(rows)} sentences read")

        cut = cutting.cut(files, column, folder, model, **form, progress=read)
        return cls(model.name, str(folder), cut.hash, cut.rows, len(cut.shards))

    @property
    def title(self) -> str:
        """`Encode 1,000,000 sentences into vectors with minilm`."""
        n = plural(self.sentences, "sentence")
        return f"Encode {n} into {last_part(self.out)} with {self.encoder}"

    def units(self) -> list[str]:
        """One unit for each shard."""
        return [f"Shard {number} of {self.shards}" for number in range(1, self.shards + 1)]

    def part(self, position: int) -> EncodeShardJob:
        """The job of one shard, whose vectors arrive in a folder beside the finished shards."""
        cut, folder = self._cut(), Path(self.out)
        shard = cut.shards[position]
        return EncodeShardJob(
            self.encoder,
            str(shard_file(folder, shard.name, ".txt")),
            str(folder / SHARDS / shard.name),
            cut.fingerprint,
            cut.format,
            cut.dtype,
            shard.source,
            shard.start,
            shard.stop,
        )

    def resources(self, catalog: Catalog) -> Resources:
        """Its encoder; a shard has its text and its folder."""
        return Resources([self.encoder])

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Encode a shard unless it is done; once all are, add the corpus for search."""
        cut = self._cut()
        model = _into_files(workspace, self.encoder)
        shards.encode_shard(Path(self.out), cut, cut.shards[position], model, reporter)
        _finish(workspace, Path(self.out), cut)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether all shards are in the folder, perhaps made with another store."""
        return _finish(workspace, Path(self.out), self._cut())

    def _cut(self) -> Cut:
        """The cut that the folder holds."""
        cut = Cut.read(Path(self.out))
        if cut.hash != self.corpus:
            raise UserError(
                f"{self.out} now contains another corpus.",
                "Run the command again for this one.",
                code="stale",
            )
        return cut


@dataclass(frozen=True)
class EncodeShardJob(Job):
    """Encodes one shard, on a machine of a fleet into a folder laid out like a whole corpus.

    Attributes:
        encoder: canonical spec.
        text: the file with its sentences, named by their hash.
        out: the folder; at home it lies among the shards of the corpus.
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

    def resources(self, catalog: Catalog) -> Resources:
        """The encoder, the sentences and the output folder."""
        return Resources([self.encoder], files=[self.text], out=self.out, receive=self.receive)

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Encode the shard unless it is done, at home beside the others."""
        model, text, folder = _into_files(workspace, self.encoder), Path(self.text), Path(self.out)
        if text.parent == folder.parent:
            shards.encode_shard(self._corpus, *self._cut, model, reporter)
            self.is_stored(workspace)
            return
        sentences = shard_file(folder, text.stem, ".txt")
        sentences.parent.mkdir(parents=True, exist_ok=True)
        with whole(sentences) as path:
            shutil.copyfile(text, path)
        shards.encode_shard(folder, *self._cut, model, reporter)
        sentences.unlink(missing_ok=True)  # home has the sentences

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the corpus has the shard; once it has all, add it for search."""
        if shards.done(self._corpus, *self._cut) is None:
            return False
        _finish(workspace, self._corpus, Cut.read(self._corpus))
        return True

    def receive(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Copy its files to those of the other shards, the record that marks it as done last."""
        folder, name = Path(self.out), Path(self.text).stem
        try:
            if self.is_stored(workspace):
                return
            facts = shards.done(folder, *self._cut)
            if facts is None or facts["rows"] != self.stop - self.start:
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
    def _cut(self) -> tuple[Cut, Shard]:
        shard = Shard(Path(self.text).stem, self.source, self.start, self.stop)
        return Cut((shard,), self.encoder, self.fingerprint, self.format, self.dtype), shard


def _finish(workspace: Workspace, folder: Path, cut: Cut) -> bool:
    """Whether all shards are in a folder; it is then added for search."""
    done = shards.finish(folder, cut)
    if done:
        corpora.add(workspace.store, folder)
    return done


def _into_files(workspace: Workspace, spec: str) -> Encoder:
    """An encoder whose vectors go into a folder and not into the store.

    Vectors of an endpoint go into the store as well, so that paid requests are never repeated.
    """
    encoder = workspace.load(spec)  # keeps the weights loaded until others are needed
    if getattr(encoder, "needs_task", False):
        raise UserError(
            f"{encoder.name} needs a task.",
            "Name a data set in place of @task; a model with routes encodes data sets, by "
            "`theodolite encode ENCODER --in DATASET`.",
            code="missing",
        )
    if endpoints.addresses(encoder.name):
        return encoder
    memory = encoders.MemoryCache(max_bytes=1 << 20)
    cache = TypedApart(workspace.store.vectors, memory, reading=True)
    return encoders.load(encoder.name, cache=cache, datasets=workspace.catalog.every_sentence)
