"""Data sets that a manifest describes: their files, the columns in them, their type and licence.

A file `dataset.json` makes data sets of a folder of any files. It holds one object, or a list:

    {"kind": "labels", "files": {"train": "a.csv", "test": "b.csv"},
     "columns": {"text": "review", "label": "stars"}}

See `Manifest` for what it may hold. The manifests of collections that many people have ship in
`manifests.json`; one in the folder overrides them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from theodolite.engine.datasets.archives import SPLITS
from theodolite.engine.datasets.columns import ROLES, roles_of
from theodolite.engine.datasets.files import DatasetSource, existing, find, lines, number, where
from theodolite.engine.datasets.languages import codes
from theodolite.engine.datasets.shapes import build
from theodolite.engine.datasets.tables import Mapping as Columns, join_splits, read_columns
from theodolite.engine.datasets.types import Dataset, DatasetInfo, Kind, ScoredPairs, TaskType
from theodolite.engine.errors import UserError, first_line

NAME = "dataset.json"
_FOLDERS = ("mteb/*/*", "nli", "nli/*", "captions/*", "unlabelled", "unlabelled/*")
_VARIABLES = {"language": r"[\w-]+", "split": r"\w+", "part": r".+"}
_NARROW = ("label", "score", "grade")

Side = tuple[Path, int, int]
"""A file of lines, the first line that is taken, and the step to the next."""
Part = Path | dict[str, Side]
"""A table or a file of lines; or role -> file, whose line i belongs to line i of the others."""


@dataclass(frozen=True)
class Manifest:
    """A description of data sets.

    Attributes:
        kind: as in `DatasetInfo`.
        files: split (empty for none) -> file, list of files, or role -> file with a line for each
            row, written `[FILE, FIRST, STEP]` where it is not every line; or a pattern of file
            names, or several: `{split}-{language}.csv`, with `{part}` for anything.
        name: of the data set; by default the folder's. With `{language}`, `{part}` or `{split}`
            there is one for each.
        folder: below the data folder; of shipped manifests only.
        type: MTEB's type of its task.
        description, licence: for people.
        languages: codes such as `de`.
        columns: role -> column of a table, or several to be joined, a line each.
        header: whether the first line of a table has names; by default this is detected.
        lines: how a line is written, such as `{label};{text}`; the first that fits counts.
        skip: number of lines before the first row.
        labels: file with the name of each label: `0 TAB anger`.
        scale: lowest and highest score.
        strip: whether white space around a text is left out.
        only, without: words of a `{part}` by which files are taken or left out.
    """

    kind: Kind
    files: Any
    name: str = ""
    folder: str = ""
    type: TaskType | None = None
    description: str = ""
    licence: str = ""
    languages: Sequence[str] = ()
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    header: bool | None = None
    lines: Sequence[str] = ()
    skip: int = 0
    labels: str = ""
    scale: Sequence[float] = ()
    strip: bool = True
    only: Sequence[str] = ()
    without: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check the roles."""
        sides = self.files.values() if isinstance(self.files, Mapping) else ()
        roles = [
            *self.columns,
            *(role for side in sides if isinstance(side, Mapping) for role in side),
        ]
        roles += [role for line in self.lines[-1:] for role in re.findall(r"\{(\w+)\}", line)]
        Columns(self.kind, dict.fromkeys(roles, "column"), type=self.type)

    @classmethod
    def of(cls, value: Any, place: str) -> Manifest:
        """The manifest in a JSON value."""
        known = [field.name for field in fields(cls)]
        try:
            if unknown := [name for name in value if name not in known]:
                raise UserError(
                    f"{place} has the field {unknown[0]!r}.",
                    f"The fields are {', '.join(known)}.",
                    code="unknown",
                )
            return cls(**value)
        except (TypeError, AttributeError) as error:
            raise UserError(
                f"{place} is not a manifest: {first_line(error)}.",
                f"It needs kind and files; the kinds are {', '.join(ROLES)}.",
                code="damaged",
            ) from error


def sources(root: Path) -> list[DatasetSource]:
    """List the data sets of all manifests for a data folder."""
    own = [file for place in _FOLDERS for file in sorted(root.glob(f"{place}/{NAME}"))]
    sets = [source for file in own for source in _of_file(root, file)]
    for manifest in _read_shipped():
        folder = root / manifest.folder
        if folder.is_dir() and folder / NAME not in own:
            sets += _sets(manifest, folder)
    return sets


@lru_cache(maxsize=1)
def _read_shipped() -> list[Manifest]:
    file = resources("theodolite.engine.datasets") / "manifests.json"
    return [Manifest.of(one, "manifests.json") for one in json.loads(file.read_text("utf-8"))]


def _of_file(root: Path, file: Path) -> list[DatasetSource]:
    """The data sets of a folder's own manifest; one with its problem if it cannot be read."""
    place = file.parent.relative_to(root).as_posix()
    try:
        facts = json.loads(file.read_text("utf-8"))
        every = facts if isinstance(facts, list) else [facts]
        return [s for one in every for s in _sets(Manifest.of(one, where(file)), file.parent, file)]
    except (ValueError, OSError, RecursionError) as error:  # UserError is a ValueError
        problem = str(error) if isinstance(error, UserError) else f"{where(file)}: {error}"
        info = DatasetInfo(place, None, "folder", "A folder with a manifest.", problem=problem)
        return [DatasetSource(info, partial(_refuse, problem, file))]


def _refuse(problem: str, file: Path) -> Dataset:
    raise UserError(problem, f"Correct {NAME}.", code="damaged")


def _sets(manifest: Manifest, folder: Path, file: Path | None = None) -> Iterator[DatasetSource]:
    """The data sets of a manifest of which there are files."""
    for variables, by_split in _files(manifest, folder):
        parts = (part for some in by_split.values() for part in some)
        paths = (p if isinstance(p, Path) else next(iter(p.values()))[0] for p in parts)
        if not (file or any(map(find, paths))):
            continue
        name = _fill(manifest.name or folder.name, variables)
        split = tuple(filter(None, by_split)) if "split" in roles_of(manifest.kind) else ()
        info = DatasetInfo(
            name,
            manifest.kind,
            "folder",
            _fill(manifest.description, variables) or f"Files of the folder {folder.name}.",
            manifest.licence,
            type=manifest.type,
            task={"labels": f"{name}/classify", "sentences": None, "triplets": None}.get(
                manifest.kind, name
            ),
            splits=split,
            languages=codes(variables.get("language", ""), *manifest.languages),
        )
        others = [folder / manifest.labels] if manifest.labels else []
        others += [file] if file else []
        yield DatasetSource(info, partial(read, name, manifest, by_split, others))


def _fill(text: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _files(manifest: Manifest, folder: Path) -> list[tuple[dict[str, str], dict[str, list[Part]]]]:
    """The variables of each data set's name, and its files by split."""
    if isinstance(manifest.files, Mapping):
        return [({}, {split: _files_of(folder, given) for split, given in manifest.files.items()})]
    patterns = [manifest.files] if isinstance(manifest.files, str) else manifest.files
    files: dict[tuple[tuple[str, str], ...], dict[str, list[Part]]] = {}
    for pattern in patterns:
        for variables, path in _find_matches(folder, pattern):
            words = set(re.split(r"[-_]", variables.get("part", "")))
            if words & set(manifest.without) or (manifest.only and not words & set(manifest.only)):
                continue
            own = tuple((n, v) for n, v in variables.items() if f"{{{n}}}" in manifest.name)
            split = "" if "{split}" in manifest.name else variables.get("split", "")
            files.setdefault(own, {}).setdefault(split, []).append(path)
    return [
        (dict(own), dict(sorted(of.items(), key=_order)))
        for own, of in sorted(files.items(), key=_order)
    ]


def _order(item: tuple[Any, Any]) -> tuple[int, str]:
    """Splits in their usual order, everything else by name."""
    split = dict(item[0]).get("split", "") if isinstance(item[0], tuple) else item[0]
    return (SPLITS.index(split) if split in SPLITS else len(SPLITS), str(item[0]))


def _find_matches(folder: Path, pattern: str) -> Iterator[tuple[dict[str, str], Path]]:
    """The variables of each file, plain or packed, whose name fits a pattern."""
    below = folder / Path(pattern).parent
    fits = _expression(Path(pattern).name, _VARIABLES)
    plain = {path.name.removesuffix(".gz") for path in below.glob("*") if path.is_file()}
    for name in sorted(plain):
        if match := fits.fullmatch(name):
            yield match.groupdict(), find(below / name) or below / name


def _expression(pattern: str, variables: Mapping[str, str]) -> re.Pattern[str]:
    """The regular expression of a pattern with names in braces."""
    pieces = re.split(r"\{(\w+)\}", pattern)
    if unknown := [name for name in pieces[1::2] if name not in variables]:
        raise UserError(
            f"The pattern {pattern!r} has {{{unknown[0]}}}.",
            f"Available: {', '.join(variables)}.",
            code="unknown",
        )
    return re.compile(
        "".join(
            f"(?P<{piece}>{variables[piece]})" if place % 2 else re.escape(piece)
            for place, piece in enumerate(pieces)
        )
    )


def _files_of(folder: Path, value: Any) -> list[Part]:
    """The files of a split, all of them inside of the folder."""

    def inside(name: str) -> Path:
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UserError(f"{name} is outside of {folder.name}.", code="denied")
        return find(path) or path

    def side(of: Any) -> Side:
        file, first, step = (of, 0, 1) if isinstance(of, str) else of
        return inside(file), first, step

    if isinstance(value, Mapping):
        return [{role: side(of) for role, of in value.items()}]
    return [inside(name) for name in ([value] if isinstance(value, str) else value)]


def read(
    name: str, manifest: Manifest, files: Mapping[str, Sequence[Part]], others: Sequence[Path] = ()
) -> Dataset:
    """Read a data set.

    Args:
        name: its name.
        manifest: what describes it.
        files: its files by split.
        others: the manifest and other files on which the content depends.
    """
    columns = join_splits(
        (split, _columns(manifest, part)) for split, parts in files.items() for part in parts
    )
    if manifest.labels:
        names = dict(line.split("\t", 1) for line in lines(existing(others[0])))
        columns["label"] = [names.get(label, label) for label in columns["label"]]
    if not any(columns.values()):
        raise UserError(f"The files of {name} hold no row.", "Are they complete?", code="missing")
    data = build(manifest.kind, columns, name, name, type=manifest.type)
    if manifest.scale and isinstance(data, ScoredPairs):
        data = replace(data, scale=(float(manifest.scale[0]), float(manifest.scale[1])))
    return data


def _columns(manifest: Manifest, part: Part) -> dict[str, list[Any]]:
    """The values of each role in a file, or in files side by side."""
    if isinstance(part, dict):
        return _side_by_side(part, strip=manifest.strip)
    if manifest.lines:
        return _of_lines(manifest, existing(part))
    wanted = {
        f"{role}/{i}" if i else role: column
        for role, columns in manifest.columns.items()
        for i, column in enumerate([columns] if isinstance(columns, str) else columns)
    }
    placed = manifest.kind == "retrieval"
    path = existing(part)
    by_role = read_columns(path, path.name, wanted, manifest.header, placed=placed)
    for role in [role for role in by_role if "/" in role]:
        first = role.partition("/")[0]
        by_role[first] = [
            f"{a}\n{b}" for a, b in zip(by_role[first], by_role.pop(role), strict=True)
        ]
    return by_role


def _of_lines(manifest: Manifest, path: Path) -> dict[str, list[Any]]:
    """The values of each role in the lines of a file; empty lines are left out."""
    patterns = [
        _expression(
            line,
            {
                role: r"[^\t;]*" if role in _NARROW else ".*"
                for role in (*roles_of(manifest.kind), "id")
            },
        )
        for line in manifest.lines
    ]
    columns: dict[str, list[Any]] = {role: [] for role in patterns[-1].groupindex}
    for count, line in enumerate(lines(path), start=1):
        if count <= manifest.skip or not line.strip():
            continue
        hit = next((match for pattern in patterns if (match := pattern.fullmatch(line))), None)
        if hit is None:
            raise UserError(
                f"{where(path)}, line {count} is not written like the others.",
                f"Every line is {manifest.lines[-1]!r}.",
                code="damaged",
            )
        for role, values in columns.items():
            values.append(_value(role, hit[role], f"{where(path)}, line {count}", manifest.strip))
    return columns


def _side_by_side(sides: Mapping[str, Side], *, strip: bool) -> dict[str, list[Any]]:
    """The values of each role, from the lines of a file each."""
    columns: dict[str, list[Any]] = {}
    for role, (path, first, step) in sides.items():
        every = list(lines(existing(path)))[first::step]
        columns[role] = [
            _value(role, line, f"{where(path)}, line {1 + first + step * i}", strip)
            for i, line in enumerate(every)
        ]
    (left, *_), counts = sides.values(), [len(values) for values in columns.values()]
    for (path, *_), count in zip(sides.values(), counts, strict=True):
        if count != counts[0]:
            raise UserError(
                f"{where(left[0])} has {counts[0]} rows and {where(path)} has {count}.",
                "Line i of one belongs to line i of the other, so both need as many.",
                code="mismatch",
            )
    return columns


def _value(role: str, text: str, place: str, strip: bool) -> str | float:
    if role == "score":
        return number(text, place)
    return text.strip() if strip else text
