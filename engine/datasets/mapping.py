"""Which column of a table plays which role."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any

from theodolite.engine.datasets.columns import PACKED, ROLES, roles_of
from theodolite.engine.datasets.info import TYPES, Kind, TaskType
from theodolite.engine.errors import UserError


@dataclass(frozen=True)
class Mapping:
    """The roles of a table's columns.

    Attributes:
        kind: the kind of data set.
        columns: role -> column; roles are those of `columns.ROLES` and `columns.OPTIONAL`. Empty
            for an archive, whose files are identified by their names.
        header: whether the first line of a CSV or TSV holds names; None to detect.
        type: the task type, if the kind has several: `Classification` or `Clustering` for labels,
            `Retrieval` or `Reranking` for queries with documents.
    """

    kind: Kind
    columns: dict[str, str]
    header: bool | None = None
    type: TaskType | None = None

    def __post_init__(self) -> None:
        if self.kind not in ROLES:
            raise UserError(
                f"There is no kind of data set called {self.kind!r}.",
                f"Choose one of {', '.join(ROLES)}.",
                code="unknown",
            )
        types = TYPES.get(self.kind, ())
        if self.type is not None and self.type not in types:
            raise UserError(
                f"There is no task of type {self.type!r} on {self.kind}.",
                f"Choose {' or '.join(types)}." if types else "Leave the type out.",
                code="unknown",
            )
        if not self.columns and self.kind in PACKED:
            return
        needed = ROLES[self.kind]
        missing = [role for role in needed if not self.columns.get(role)]
        unknown = [role for role in self.columns if role not in roles_of(self.kind)]
        if missing or unknown:
            fault = f"no column for {missing[0]!r}" if missing else f"a role {unknown[0]!r}"
            raise UserError(
                f"The mapping of these {self.kind} has {fault}.",
                f"{self.kind.capitalize()} need a column for each of: {', '.join(needed)}.",
                code="missing" if missing else "unknown",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-serialisable values."""
        chosen = {"type": self.type} if self.type else {}
        return {"kind": self.kind, "columns": dict(self.columns), "header": self.header, **chosen}

    @classmethod
    def from_dict(cls, values: MappingABC[str, Any]) -> Mapping:
        """Rebuild a mapping from `to_dict`."""
        return cls(
            values["kind"], dict(values["columns"]), values.get("header"), values.get("type")
        )
