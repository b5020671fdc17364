"""The job *encode-corpus*: files of any size to a folder of vectors, a unit for each shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from theodolite.app import corpora
from theodolite.app.fleet.needs import Resources
from theodolite.app.formats import count, last_part, plural
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.submit import Move
from theodolite.app.pages.encoders.shard import EncodeShardJob, into_files
from theodolite.engine.corpus import cut as cutting
from theodolite.engine.corpus import encode as shards
from theodolite.engine.corpus.cut import Cut
from theodolite.engine.corpus.files import DTYPES, ENDINGS, SHARDS, shard_file
from theodolite.engine.errors import UserError
from theodolite.engine.paths import named

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets import Catalog


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
        model = into_files(workspace, encoder)
        folder = named(str(out)).absolute()

        def read(name: str, rows: int) -> None:
            move(0.0, 0.0, f"{name}: {count(rows)} sentences read")

        made = cutting.cut(files, column, folder, model, **form, progress=read)
        return cls(model.name, str(folder), made.hash, made.rows, len(made.shards))

    @property
    def title(self) -> str:
        """`Encode 1,000,000 sentences into vectors with minilm`."""
        folder = last_part(self.out)
        return f"Encode {plural(self.sentences, 'sentence')} into {folder} with {self.encoder}"

    def units(self) -> list[str]:
        """One unit for each shard."""
        return [f"Shard {number} of {self.shards}" for number in range(1, self.shards + 1)]

    def part(self, position: int) -> EncodeShardJob:
        """The job of one shard, whose vectors arrive in a folder beside the finished shards."""
        cut = self._cut()
        shard, folder = cut.shards[position], Path(self.out)
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
        model = into_files(workspace, self.encoder)
        shards.encode_shard(Path(self.out), cut, cut.shards[position], model, reporter)
        if shards.finish(Path(self.out), cut):
            corpora.add(workspace.store, Path(self.out))

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether all shards are in the folder."""
        done = shards.finish(Path(self.out), self._cut())
        if done:  # perhaps with another store
            corpora.add(workspace.store, Path(self.out))
        return done

    def _cut(self) -> Cut:
        """The cut that the folder holds."""
        found = Cut.read(Path(self.out))
        if found.hash != self.corpus:
            raise UserError(
                f"{self.out} now contains another corpus.",
                "Run the command again for this one.",
                code="stale",
            )
        return found
