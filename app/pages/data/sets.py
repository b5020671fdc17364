"""The data sets as blocks: the list of all, and one with its facts and first rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import (
    Action,
    Actions,
    Block,
    Card,
    Cell,
    Code,
    Facts,
    Fold,
    Link,
    Links,
    Points,
    Table,
    Text,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import chunks, starter
from theodolite.engine.datasets.types import (
    HOLDS,
    Captions,
    Dataset,
    DatasetInfo,
    LabelledPairs,
    LabelledSentences,
    Parallel,
    Retrieval,
    ScoredPairs,
    Summaries,
    Triplets,
)

MIN_FAMILY = 3
"""Data sets of a folder that are one line of the list."""
MAX_ROWS, MAX_LABELS = 20, 8
ORIGINS = {
    "upload": ("Uploads", "Stored on this machine."),
    "starter": (
        "Starter set",
        "Small, and written for this app. It shows how the app works and is not a benchmark. It "
        "has a single grader, so agreement was not measured.",
    ),
    "corpus": ("Encoded corpora", "Folders written by theodolite encode-corpus, read in place."),
    "hub": ("From the hub", "Files from the Hugging Face hub, pinned to a commit."),
    "folder": ("Data folder", "The folder given by --data or THEODOLITE_DATA, read in place."),
}
HEADS = ("Data set", "About", "Holds", "Size", "Task")


def list_sets(workspace: Workspace) -> list[Block]:
    """All data sets by origin, those of one folder in a line, and those that cannot be read."""
    infos = workspace.catalog.with_sizes(workspace.catalog.list())
    cards: list[Block] = []
    for origin, (title, lead) in ORIGINS.items():
        families: dict[str, list[DatasetInfo]] = {}
        for info in infos:
            if info.origin == origin:
                families.setdefault(info.name.partition("/")[0], []).append(info)
        rows = [
            row
            for family, members in families.items()
            for row in (
                map(_row, members) if len(members) < MIN_FAMILY else [_family_row(family, members)]
            )
        ]
        if rows:
            table = Table(f"theodolite-{origin}", HEADS, rows)
            title = f"{title}: {sum(map(len, families.values()))}"
            cards.append(Card(title, [Text("", lead), table]))
    unread = workspace.catalog.unread()
    return [*cards, Points([("", f"{one.name} cannot be read. {one.problem}") for one in unread])]


def _row(info: DatasetInfo) -> tuple[Any, ...]:
    return (
        open_button(info.name),
        Cell(info.description, info.description, notes=[info.licence] if info.licence else []),
        HOLDS[info.kind or "sentences"],
        formats.size(info.bytes) if info.bytes else "",
        (info.task or "").removeprefix(f"{info.name}/"),
    )


def _family_row(family: str, members: Sequence[DatasetInfo]) -> tuple[Any, ...]:
    # What their descriptions begin with, without the word before what differs.
    words = zip(*(member.description.split() for member in members), strict=False)
    about = [same[0] for same in takewhile(lambda each: len(set(each)) == 1, words)]
    while about and about[-1] in ("by", "in"):
        about.pop()
    size = sum(info.bytes or 0 for info in members)
    buttons = [
        open_button(member.name, member.name.removeprefix(f"{family}/")) for member in members
    ]
    return (
        f"{family}, {len(members)} sets",
        (*([f"{' '.join(about).rstrip(',:.')}:"] if about else []), *buttons),
        " and ".join(dict.fromkeys(HOLDS[info.kind or "sentences"] for info in members)),
        formats.size(size) if size else "",
        "one each" if all(info.task for info in members) else "",
    )


def open_button(name: str, label: str = "") -> Action:
    """The button that opens a data set or a suite."""
    return Action(label or name, "open", name, f"Preview {name}", opens="set")


def preview(workspace: Workspace, name: str) -> Card:
    """One data set: facts, first rows, what to do with it, and its removal."""
    data = workspace.catalog.load(name)
    known = {info.name: info for info in workspace.catalog.list()}
    info = known.get(chunks.base(name)) or DatasetInfo(name, data.kind, "hub", "Read from the hub.")
    heads, rows = table(data)
    numbered = [(i, *row) for i, row in enumerate(islice(rows, MAX_ROWS), 1)]
    blocks: list[Block] = [
        Facts(facts(data, info)),
        Table(f"First rows of {name}", ("Row", *heads), numbered),
        Links(list(_links(workspace, name, data, info))),
    ]
    if info.origin == "starter":
        title = "The rubric it was written and graded by"
        blocks.append(Fold(title, [Code([starter.rubric()], shell=False)]))
    if info.origin in REMOVAL and not workspace.read_only:
        remove = Action("Remove it", "remove", name, f"Remove {name} permanently")
        blocks.append(Fold(f"Remove {name}", [Actions([remove], REMOVAL[info.origin])]))
    blocks.append(Actions([Action("Close", "open", "", "Close the preview", opens="set")]))
    return Card(name, blocks, tag=HOLDS[data.kind])


REMOVAL = {
    "upload": "Its file is deleted; results on it are kept.",
    "corpus": "It is no longer listed; its folder stays.",
}


def _links(workspace: Workspace, name: str, data: Dataset, info: DatasetInfo) -> Iterator[Link]:
    tasks = list(info.tasks) or ([name] if data.kind == "pairs" else [])
    if info.task and not info.task.endswith("/classify"):
        tasks = [info.task]
    if tasks:
        yield Link("Evaluate on it", "evaluate", {"task": tasks})
    yield Link("Search in it", "search", {"in": name})
    yield Link("Map it", "map", {"in": name})
    if isinstance(data, Retrieval) and not data.places:
        yield Link("Search its chunks", "search", {"in": f"{name}|chunk:recursive,800,100"})
    if (tasks or data.kind == "retrieval") and not workspace.read_only:  # it starts a run
        yield Link("Choose an encoder for it", "choose", {"data": name})
    if data.kind == "pairs":
        yield Link("Cosine distributions", "distributions", {"task": tasks[0]})


def facts(data: Dataset, info: DatasetInfo) -> list[tuple[str, str]]:
    """Size, description and hash of a data set, as pairs of name and text."""
    clusters = set(filter(None, getattr(data, "clusters", {}).values()))
    known = {
        "sentences": formats.count(len(data.sentences)),
        **counts(data),
        "what it is": info.description,
        "licence": info.licence or "not stated",
        "type of task": info.type or "",
        "tasks": ", ".join(info.tasks),
        "languages": ", ".join(info.languages),
        "clusters": formats.count(len(clusters)) if clusters else "",
        "notes": " ".join(getattr(data, "notes", ())),
        "content hash": data.hash,
    }
    return [(name, text) for name, text in known.items() if text]


def counts(data: Dataset) -> dict[str, str]:
    """What a data set holds beside its sentences, such as its labels, as name -> text."""
    match data:
        case ScoredPairs():
            pairs = {name: len(part.gold) for name, part in data.parts.items()}
            return {data.parts_are: _each(pairs), "scores": "{:g} to {:g}".format(*data.scale)}
        case Captions():
            return {"images": _each({name: len(p.images) for name, p in data.parts.items()})}
        case LabelledSentences() | LabelledPairs():
            pairs_of = isinstance(data, LabelledPairs)
            labels = Counter(data.labels)
            more = len(labels) - MAX_LABELS
            of_labels = _each(dict(labels.most_common(MAX_LABELS)))
            return {
                **({"pairs": formats.count(len(data.labels))} if pairs_of else {}),
                formats.plural(len(labels), "label"): of_labels
                + (f" and {more} more" if more > 0 else ""),
                **({"splits": _each(Counter(data.splits))} if data.splits else {}),
            }
        case Retrieval():
            judged = {name: sum(map(len, of.values())) for name, of in data.judgements.items()}
            known = {
                "queries": _each({name: len(of) for name, of in data.judgements.items()}),
                "documents": formats.count(len(data.documents)),
                "judgements": _each(judged),
                "searched in": "" if data.candidates is None else "each query's own",
            }
            return {name: text for name, text in known.items() if text}
        case Parallel():
            return {"pairs": _each({name: len(p.gold) for name, p in data.parts.items()})}
        case Summaries():
            human, machine = sum(map(len, data.human)), sum(map(len, data.machine))
            scale = "{:g} to {:g}".format(*data.scale)
            return {
                "documents": formats.count(len(data.documents)),
                "summaries": _each({"by people": human, "by machines": machine}),
                "ratings": f"{', '.join(data.ratings)}, {scale}",
            }
    return {}


def _each(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({formats.count(n)})" for name, n in counts.items())


def table(data: Dataset) -> tuple[tuple[str, ...], Iterable[Sequence[Any]]]:
    """Column heads and the rows; the documents of a query are one text, each after its grade."""
    match data:
        case ScoredPairs():
            return ("Part", "Left", "Right", "Score"), (
                (name, left, right, float(gold))
                for name, part in data.parts.items()
                for left, right, gold in zip(part.left, part.right, part.gold, strict=True)
            )
        case LabelledSentences():
            return ("Label", "Sentence"), zip(data.labels, data.sentences, strict=True)
        case LabelledPairs():
            sentences, places = data.sentences, zip(data.labels, data.left, data.right, strict=True)
            return ("Label", "Left", "Right"), (
                (label, sentences[left], sentences[right]) for label, left, right in places
            )
        case Triplets():
            triplets = zip(data.anchors, data.positives, data.negatives, strict=True)
            return ("Anchor", "Positive", "Negative"), triplets
        case Retrieval() if data.places or not data.judgements:
            start = {key: " ".join(text[:200].split()) for key, text in data.documents.items()}
            return ("Document", "Its first 200 characters"), start.items()
        case Retrieval():
            return ("Split", "Query", "Judged documents, grade first"), _judgements(data)
        case Parallel():
            left, right = data.languages
            return ("Split", left or "Left", right or "Right"), (
                (split, p.left[a], p.right[b]) for split, p in data.parts.items() for a, b in p.gold
            )
        case Summaries():
            every = (data.documents, data.human, data.machine, data.ratings["relevance"])
            heads = ("Document", "First human summary", "First machine summary", "Relevance")
            return heads, (
                (document, human[0], machine[0], float(ratings[0]))
                for document, human, machine, ratings in zip(*every, strict=True)
            )
    return ("Sentence",), ((sentence,) for sentence in data.sentences)


def _judgements(data: Retrieval) -> Iterator[tuple[str, str, str]]:
    for split, judged in data.judgements.items():
        for query, grades in judged.items():
            best = sorted(grades.items(), key=lambda item: -item[1])
            texts = [f"{n} {data.documents.get(key, f'{key} (not there)')}" for key, n in best]
            yield split, data.queries[query], "; ".join(texts)
