"""Access control for agents: available data, and files below folders that the user allowed."""

from collections.abc import Sequence
from pathlib import Path

from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.chunks import base
from theodolite.engine.encoders.spec import SourceSpec
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import parse

SHIPPED = ("minilm", "wordllama", "random", "borep")
"""Sources that ship with Theodolite."""


class Allowed:
    """Checks the names that an agent gives, before anything is opened.

    Args:
        workspace: its listed encoders and data sets are all allowed.
        roots: folders below which files may be named.
    """

    def __init__(self, workspace: Workspace, roots: Sequence[Path] = ()) -> None:
        self._workspace = workspace
        self._roots = [root.expanduser().resolve() for root in roots]

    def encoder(self, spec: str) -> str:
        """The canonical form of a spec.

        A listed encoder is allowed whatever it names. In any other spec, each source must ship with
        Theodolite or be a file below a root; nothing is fetched from the hub or sent to an
        endpoint.
        """
        parsed = parse(spec)
        name = str(parsed)
        if self._workspace.store.encoders.get(name) is None:
            for source in parsed.sources:
                self._source(source)
            for step in (step for encoder in parsed.encoders for step in encoder.steps):
                if step.data and not step.data.startswith("@"):
                    self.data(step.data)
        return name

    def data(self, name: str) -> str:
        """An available data set: of the starter set, the data folder, or the uploads."""
        if base(name) not in self._workspace.catalog.names():
            raise UserError(
                f"There is no data set {name!r} here.",
                "The tool `data` lists those that are.",
                code="unknown",
            )
        return name

    def _source(self, source: SourceSpec) -> None:
        for path in source.paths:
            real = Path(path).resolve()
            if not any(real.is_relative_to(root) for root in self._roots):
                raise UserError(
                    f"{source.kind} names a file outside the folders that are allowed here.",
                    "The user can allow its folder: theodolite mcp --root FOLDER, or add the "
                    "encoder: theodolite encoders add.",
                    code="denied",
                )
        if source.kind not in SHIPPED and not source.paths:
            raise UserError(
                f"{source} is not among the encoders here, and an agent cannot download any.",
                "The tool `encoders` lists them; the user can add others: theodolite encoders add.",
                code="denied",
            )
