"""The job *mine*: hard negatives for pairs, kept as a data set of triplets to train on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.data import service
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.formats import json_lines
from theodolite.engine.datasets.tables import Mapping
from theodolite.engine.encoders.spec import parse
from theodolite.engine.errors import UserError
from theodolite.engine.training.examples import absolute, names_of, open_examples
from theodolite.engine.training.mining import Mined, Mining, mine

CHECKED = 1000
"""Pairs that are read before a run is queued or begun."""
ROLES = ("anchor", "positive", "negative")


@dataclass(frozen=True)
class MineSpec(Spec, Job):
    """Find hard negatives for pairs, and keep the triplets as a data set to train on.

    Near texts that are no partner become negatives; with a margin, those that are nearly as close
    as a partner are left out, since they are probably right.
    """

    kind = "mine"

    pairs: Annotated[str, Field("Pairs", "A file or data set of pairs, as for `train`.")]
    name: Annotated[
        str,
        Field("Name", "Of the data set of triplets; by default as the pairs, with -mined."),
    ] = ""
    encoder: Annotated[
        str,
        Field("Encoder", "Finds the negatives.", names="encoder", flags=("--encoder", "-e")),
    ] = "minilm"
    documents: Annotated[
        str, Field("More texts", "A data set whose texts may be negatives, beside all partners.")
    ] = ""
    negatives: Annotated[int, Field("Negatives", "The most for each pair.", ge=1)] = 3
    range_min: Annotated[int, Field("Skipped", "How many of the nearest to skip.", ge=0)] = 0
    range_max: Annotated[
        int | None, Field("Nearest", "How many to choose from; default: ten times the negatives.")
    ] = None
    margin: Annotated[
        float | None,
        Field("Margin", "How far the cosine has to be below that of the farthest partner."),
    ] = None
    relative_margin: Annotated[
        float | None,
        Field("Relative margin", "The same, as a share of that partner's cosine: 0.05."),
    ] = None
    max_score: Annotated[float | None, Field("Highest cosine", "Highest cosine of a negative.")] = (
        None
    )

    def check(self) -> None:
        """Complete what means the same in another process, and check the bounds."""
        stem = service.name_for(self.pairs.rpartition("/")[2].removeprefix("upload:"))
        vars(self).update(
            pairs=absolute(self.pairs),
            name=self.name or f"{stem}-mined",
            encoder=str(parse(self.encoder)),
        )
        _ = self.how

    @property
    def how(self) -> Mining:
        """Which texts become negatives."""
        ranks = (self.negatives, self.range_min, self.range_max)
        return Mining(*ranks, self.margin, self.relative_margin, self.max_score)

    @property
    def title(self) -> str:
        """`Hard negatives for nli by minilm`."""
        return f"Hard negatives for {Path(self.pairs).name} by {self.encoder}"

    @property
    def result_name(self) -> str:
        """The data set that comes of it, as trainings name it."""
        return f"upload:{self.name}"

    def validate(self, workspace: Workspace) -> None:
        """Read the first pairs; refuse a name that is taken."""
        with TemporaryDirectory() as folder:
            list(self._pairs(workspace, Path(folder), CHECKED))
        service.check_free(workspace, self.name)

    def _pairs(
        self, workspace: Workspace, folder: Path, limit: int | None = None
    ) -> Iterator[tuple[str, ...]]:
        options: dict[str, Any] = {"hard_negatives": False, "limit": limit, "folder": folder}
        for name in names_of(self.pairs):
            yield from open_examples(name, "sup", workspace.catalog, **options)

    def ending(self, store: object, run_id: str) -> str:
        """What to train on."""
        return f"Train on {self.result_name}."

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Mined]:
        """Keep pairs with their negatives as a data set; yield each."""
        if self.result_name in workspace.catalog.names():
            return  # killed after it was kept
        texts = workspace.catalog.load(self.documents).sentences if self.documents else []
        with TemporaryDirectory() as folder:
            place = Path(folder)
            pairs = self._pairs(workspace, place)
            triplets = list(mine(pairs, texts, workspace.load(self.encoder), self.how, reporter))
            if not triplets:
                raise UserError(
                    f"No text is a hard negative of a pair in {self.pairs} under these bounds.",
                    "Widen them: a smaller margin, a larger range, or more documents.",
                    code="too-few",
                )
            rows = ({role: getattr(triplet, role) for role in ROLES} for triplet in triplets)
            file = place / f"{service.name_for(self.name)}.jsonl"
            file.write_text(json_lines(rows), encoding="utf-8")
            mapping = Mapping("triplets", {role: role for role in ROLES})
            notes = [f"The negatives were mined for {self.pairs} by {self.encoder}."]
            service.keep(workspace, file, file.name, self.name, mapping, notes)
        yield from triplets
