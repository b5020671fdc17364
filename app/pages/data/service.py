"""Your own data sets: files stored as uploads or named on the hub, and their removal."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from theodolite.app import corpora, endpoints, formats
from theodolite.app.workspace import Workspace
from theodolite.engine import chat
from theodolite.engine.datasets import (
    archives,
    by_rule,
    conversion,
    documents,
    hub,
    limits,
    tables,
    written,
)
from theodolite.engine.datasets.columns import OPTIONAL, ROLES, candidates
from theodolite.engine.datasets.files import listed
from theodolite.engine.datasets.formats import open_table
from theodolite.engine.datasets.tables import Mapping, Preview
from theodolite.engine.datasets.types import TYPES, Retrieval
from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import is_document
from theodolite.store.uploads import UploadRow

SAMPLE = 200
"""Rows that are read to tell columns by their values."""


def keep(
    workspace: Workspace,
    file: Path,
    filename: str,
    name: str,
    mapping: Mapping,
    notes: Sequence[str] = (),
) -> UploadRow:
    """Read a file under a mapping and, if that succeeds, store it as an upload.

    Rows without a label are left out if other rows have one.

    Args:
        workspace: the workspace.
        file: the file.
        filename: its original name.
        name: name of the data set.
        mapping: the roles of the columns.
        notes: what is to be known about it.
    """
    workspace.refuse_visitors()
    if not name:
        raise UserError(
            "The data set has no name.", "Name it: tasks and links use the name.", code="missing"
        )
    labelled, without = tables.labelled_rows(file, filename, mapping)
    facts: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        if labelled:
            facts = {"unlabelled": without, "columns": mapping.columns}
            notes = [*notes, f"Rows left out for lack of a label: {without:,}."]
            filename = f"{name_for(filename)}.jsonl"
            file = Path(folder) / filename
            file.write_text(labelled, encoding="utf-8")
            roles = {role: role for role in mapping.columns}
            mapping = Mapping(mapping.kind, roles, type=mapping.type)
        elif without and "text" in mapping.columns:
            mapping = Mapping("sentences", {"text": mapping.columns["text"]}, mapping.header)
            notes = [*notes, "No row has a label, so these are sentences without."]
        dataset = tables.read(file, filename, mapping, f"upload:{name}")
        notes = [*notes, *getattr(dataset, "notes", ())]
        labels = getattr(dataset, "labels", ())
        if labels and len(set(labels)) == len(labels):
            notes.append("Every row has a label of its own, so no task can be measured on it.")
            facts["no_task"] = True
        if isinstance(dataset, Retrieval) and not dataset.judgements:
            notes.append("No queries with judgements: Choose makes some by rule.")
            facts["no_task"] = True
        if notes:
            facts["notes"] = notes
        facts |= {"sentences": len(dataset.sentences), "hash": dataset.hash}
        row = workspace.store.uploads.add(
            name, mapping.kind, file, mapping=mapping.to_dict(), info=facts, filename=filename
        )
    workspace.catalog.remember(f"upload:{name}", dataset)
    return row


def doubts(file: Path, preview: Preview) -> tuple[list[str], str]:
    """What to ask where columns of a table could each be the text, or the label, by their values.

    A column called `text` or `label` is what it says.

    Returns:
        The doubts in words, and a choice as it is typed; empty where there are none.
    """
    if preview.type or preview.kind not in ("labels", "sentences"):
        return [], ""
    table = open_table(*archives.first_table(file, file.name), preview.header)
    rows = [cells for _, cells in islice(table.rows, SAMPLE) if len(cells) == len(table.columns)]
    texts, labels = candidates(
        {
            name: [str(row[i]) for row in rows]
            for i, name in enumerate(table.columns)
            if name.casefold() != "split"
        }
    )
    by_name = {name.casefold(): [name] for name in table.columns}
    texts = by_name.get("text", texts)
    labels = by_name.get("label", [name for name in labels if name not in texts])
    texts = [*dict.fromkeys([*texts, *filter(None, [preview.guesses.get("text")])])]
    several = [
        f"{formats.listed(names)} could each be the {role}"
        for role, names in (("text", texts), ("label", labels))
        if len(names) > 1 and texts
    ]
    label = next((f",label={name}" for name in labels if name not in texts[:1]), "")
    return several, f"text={texts[0]}{label}" if several else ""


@dataclass(frozen=True)
class Brought:
    """Files as one that readers can read.

    Attributes:
        path: the file.
        notes: what was converted for it, in sentences.
        sheets: names of the sheets of an Excel file.
        sheet: the one that was read.
    """

    path: Path
    notes: Sequence[str] = ()
    sheets: Sequence[str] = ()
    sheet: str = ""


@contextmanager
def bring(files: Sequence[Path], sheet: str = "") -> Iterator[Brought]:
    """Combine files, or folders of them, into one: a single one as it is, else an archive.

    Sheets of Excel become CSV, text becomes UTF-8, and documents the corpus of a retrieval set.

    Args:
        files: their paths.
        sheet: of Excel files; empty for the first with rows.
    """
    missing = next((path for path in files if not path.exists()), None)
    if missing or not files:
        raise UserError(
            f"There is no file {str(missing or '')!r}.", "Check the path.", code="no-file"
        )
    inside = {
        place.relative_to(path.parent): place
        for path in files
        for place in (_files_below(path) if path.is_dir() else [path])
        if place.is_file()  # no pipe, and no broken link
        and not any(part.startswith(".") for part in place.relative_to(path.parent).parts[1:])
    }
    stems = {path.name.partition(".")[0] for path in files}
    if len(files) == 1 and files[0].is_dir():
        stems = {files[0].resolve().name}
    stem = stems.pop() if len(stems) == 1 else "data"
    with TemporaryDirectory() as folder:
        target = Path(folder) / f"{stem}{archives.ENDING}"
        packed = len(files) == 1 and files[0].is_file() and archives.is_archive(files[0].name)
        if notes := _documents(files[0] if packed else None, inside, target):
            yield Brought(target, notes)
            return
        converted = {}
        for number, (name, place) in enumerate(inside.items()):
            (own := Path(folder) / str(number)).mkdir()
            converted[name] = conversion.convert(place, own, sheet)
        notes = [one.note for one in converted.values() if one.note]
        if len(files) == 1 and files[0].is_file():
            (only,) = converted.values()
            try:
                yield Brought(only.path, notes, only.sheets, only.sheet)
            except UserError as error:
                if not only.sheets[1:] or only.path.name not in error.message:
                    raise
                # Another sheet may have been meant.
                hint = f"{error.hint} {only.note}".strip()
                raise UserError(error.message, hint, code=error.code) from error
            return
        every = {name.with_name(one.path.name).as_posix(): one for name, one in converted.items()}
        archives.pack({name: one.path for name, one in every.items()}, target)
        yield Brought(target, notes)


def _files_below(folder: Path) -> list[Path]:
    """The files of a folder and of those in it, but for hidden folders.

    `rglob` would leave out what it cannot open, and read all of a disk whose root is given.
    """

    def refuse(error: OSError) -> None:
        raise UserError(
            f"{error.filename} cannot be opened ({error.strerror}).",
            "Check its permissions, or give the files that are wanted.",
            code="no-file",
        )

    files: list[Path] = []
    for inside, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(inside, name) for name in names]
        if len(files) > documents.MAX_FILES:
            raise UserError(
                f"{folder} contains more than {documents.MAX_FILES:,} files.",
                "Is it the right one? If it is, give parts of it.",
                code="too-large",
            )
    return sorted(files)


def _documents(archive: Path | None, inside: dict[Path, Path], target: Path) -> Sequence[str]:
    """Pack the documents of an archive or of files; return notes, none if there are none."""
    if archive:
        entries = partial(archives.entries, archive, archive.name, documents.MAX_FILES)
        names = [name for name, _ in entries(lambda name: False)]
    else:
        names = [name.as_posix() for name in inside]
    labels = documents.labels_of(names)
    wanted = {name: name for name in labels} or documents.among(names)
    if not wanted:
        return ()
    if archive:
        contents = entries(wanted.__contains__)
    elif sum(inside[Path(name)].stat().st_size for name in wanted) > limits.MAX_BYTES:
        raise limits.too_large(target.stem)
    else:
        contents = ((name, inside[Path(name)].read_bytes()) for name in wanted)
    files = ((wanted[name], raw) for name, raw in contents if name in wanted)
    notes = documents.pack(files, target, labels)
    unread, others = list[str](), list[str]()
    for name in names:
        if name not in wanted:
            of_word = is_document(PurePosixPath(name.lower()).suffix)
            (unread if of_word else others).append(name)
    if unread:
        notes.append(
            f"Documents of Word and the like, left out: {len(unread):,} ({listed(unread, 3)}). "
            "Save them as PDF or plain text."
        )
    if others:
        notes.append(f"Other files, left out: {len(others):,} ({listed(others, 3)}).")
    return notes


def write_queries(
    workspace: Workspace,
    documents: str,
    model: str,
    name: str,
    n: int,
    *,
    send_texts: bool,
    tell: Callable[[str], object],
    move: Callable[[float, float, str], object],
) -> UploadRow:
    """Keep documents with queries that a language model writes for some of them as a data set.

    Args:
        workspace: the workspace.
        documents: a data set of documents; queries that people asked are not taken over.
        model: `api:URL#MODEL`.
        name: of the data set to be made.
        n: number of documents drawn, for one query each.
        send_texts: allow, this time, that they are sent to another machine.
        tell: called with what is sent where, before it is.
        move: called with what is done, of how much, and what it is.
    """
    workspace.refuse_visitors()
    check_free(workspace, name)  # before anything is paid for
    data, spec = workspace.catalog.load(documents), chat.canonical(model)
    if not isinstance(data, Retrieval) or data.whole:
        raise UserError(
            f"{documents} is not a data set of whole documents.",
            "Bring a folder of documents: `theodolite data add FOLDER`.",
            code="wrong-kind",
        )
    chosen = written.draw(data, n)
    sends = chat.amount_sent(spec, [written.messages(data.documents[key]) for key in chosen])
    if not send_texts and endpoints.unallowed(workspace.store, spec):
        raise UserError(
            f"Nothing leaves this machine without permission, and this would send {sends}.",
            "Allow it with --send-texts.",
            code="denied",
        )
    tell(f"Sends {sends}: documents.")
    queries, error = written.write(
        spec,
        [(key, data.documents[key]) for key in chosen],
        lambda share: move(share, 1.0, "Queries"),
        [chat.address(spec).url],
    )
    if not queries:
        raise error or UserError(
            f"{spec} wrote no query for any of {len(chosen):,} documents.",
            "Its answers were not JSON with a query: choose another model.",
            code="unreachable",
        )
    notes = [f"{spec} wrote queries for {len(queries):,} of {len(chosen):,} documents."]
    notes += [f"It ended early: {error.message}"] if error else []
    return _keep_queries(workspace, data.documents, queries, name, notes)


def _keep_queries(
    workspace: Workspace,
    documents: dict[str, str],
    queries: dict[str, str],
    name: str,
    notes: Sequence[str],
) -> UploadRow:
    """Keep documents with one written query each, in BEIR's layout."""
    ids = {key: by_rule.WRITTEN + key for key in queries}
    asked = {ids[key]: text for key, text in queries.items()}
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}{archives.ENDING}"
        archives.pack_retrieval(asked, documents, {ids[key]: [key] for key in queries}, file)
        return keep(workspace, file, file.name, name, mapping_of(file, "retrieval", None), notes)


def remove(workspace: Workspace, name: str) -> None:
    """Delete the file of an upload, `upload:NAME`, or unregister a corpus folder, `corpus:NAME`.

    Results measured on it are kept.
    """
    workspace.refuse_visitors()
    if name.startswith(corpora.PREFIX):
        corpora.remove(workspace.store, name)
        return
    if not workspace.store.uploads.remove(name.removeprefix("upload:")):
        raise UserError(
            f"There is no upload {name!r}.", "`theodolite data list` shows them.", code="unknown"
        )


def name_for(filename: str) -> str:
    """Suggest a name for a data set: the file's, without endings and invalid characters."""
    stem = re.sub(r"\.[A-Za-z0-9]{1,8}(\.gz)?$", "", filename)
    return re.sub(r"[^\w .+-]", "-", stem).strip(" .-")[:80] or "data"


def check_free(workspace: Workspace, name: str) -> None:
    """Refuse a name that no upload can have, or that one has."""
    workspace.store.uploads.check_name(name)
    if workspace.store.uploads.get(name):
        raise UserError(
            f"There is a data set upload:{name} already.",
            "Choose another name, or remove that one first.",
            code="conflict",
        )


def free_name(workspace: Workspace, filename: str) -> str:
    """The name of `name_for`, with a number if it is taken."""
    stem, taken = name_for(filename), {row["name"] for row in workspace.store.uploads.list()}
    names = (f"{stem}-{n}" if n > 1 else stem for n in count(1))
    return next(name for name in names if name not in taken)


def hub_name(repository: str, revision: str, file: str, columns: str) -> str:
    """The name of a data set that is read from a file of the hub.

    Args:
        repository: owner/name.
        revision: commit, tag or branch; empty for main.
        file: empty to get a list of the files.
        columns: `role=column&…`; empty for guesses.
    """
    from urllib.parse import quote

    if not repository.strip():
        raise UserError("No data set given.", "Give owner/name, as on the hub.", code="missing")
    head = f"{hub.PREFIX}{repository.strip()}@{quote(revision.strip() or 'main', safe='')}"
    path = f"/{quote(file.strip())}" if file.strip() else ""
    name = f"{head}{path}" + (f"?{columns.strip()}" if columns.strip() else "")
    hub.parse(name)
    return name


def packed_mapping(file: Path) -> Mapping | None:
    """The mapping of an archive whose files tell by their names what they hold; None for tables.

    Tables, which may be large, are not read for it.
    """
    is_archive = archives.is_archive(file.name)
    if not is_archive or archives.tables(archives.names_in(file, file.name)):
        return None
    return tables.preview(file, file.name).mapping


def mapping_of(
    file: Path,
    kind: str | None,
    columns: str | None,
    type: str | None = None,
    seen: Preview | None = None,
) -> Mapping:
    """The mapping for the options of a command, with gaps filled by guesses.

    Args:
        file: the table or archive.
        kind: kind of data set; None for the most likely.
        columns: `role=column,…`; None for guesses.
        type: type of task, as MTEB spells it; None for the default of the kind.
        seen: the file's preview, if there is one already.
    """
    seen = seen or tables.preview(file, file.name)
    if type is not None and kind is None:
        kinds = {name: kind for kind, types in TYPES.items() if kind in ROLES for name in types}
        if type not in kinds:
            raise UserError(
                f"There is no type of task {type!r} for your own files.",
                f"Choose one of {', '.join(kinds)}.",
                code="unknown",
            )
        kind = kinds[type]
    type_name: Any = kind
    of: Any = type
    if seen.type:
        return Mapping(seen.kind, {}, seen.header, of or seen.type)
    chosen = {}
    for piece in filter(None, (columns or "").split(",")):
        role, equals, column = (word.strip() for word in piece.partition("="))
        if not equals:
            raise UserError(
                f"{piece!r} does not say which column plays which role.",
                "Write --columns role=column,role=column.",
            )
        chosen[role] = column
    # The given roles determine the kind; `Mapping` refuses an unknown one.
    named = (k for k, roles in ROLES.items() if chosen and set(roles) <= chosen.keys())
    type_name = type_name or next(named, seen.kind)
    if not chosen:
        roles = ROLES.get(type_name, ())
        every = (*roles, *OPTIONAL.get(type_name, ()))
        chosen = {role: seen.guesses[role] for role in every if role in seen.guesses}
        if missing := [role for role in roles if role not in chosen]:
            known = ",".join(f"{role}={chosen.get(role, 'COLUMN')}" for role in roles)
            raise UserError(
                f"No column of {file.name} looks like the {' or the '.join(missing)} of "
                f"{type_name}. "
                f"Its columns are: {listed(seen.columns)}.",
                "Each row needs its text in a column of its own, not in a list or an object. "
                * (not seen.guesses)
                + f"Name the column in Columns (--columns): {known}",
                code="unknown",
            )
    return Mapping(type_name, chosen, seen.header, of)
