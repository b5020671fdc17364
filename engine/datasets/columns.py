"""Guesses the role of each column of a table from its name and values.

Guesses only prefill the form, for a person to confirm.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from theodolite.engine.datasets.languages import is_language
from theodolite.engine.datasets.types import Kind

ROLES: dict[Kind, tuple[str, ...]] = {
    "pairs": ("left", "right", "score"),
    "labelled-pairs": ("left", "right", "label"),
    "labels": ("text", "label"),
    "sentences": ("text",),
    "triplets": ("anchor", "positive", "negative"),
    "retrieval": ("query", "document"),
    "parallel": ("left", "right"),
}
"""Required roles of each kind."""
OPTIONAL: dict[Kind, tuple[str, ...]] = {
    "pairs": ("split", "cluster"),
    "labelled-pairs": ("split", "cluster"),
    "labels": ("split", "cluster"),
    "parallel": ("split", "cluster"),
    "retrieval": ("grade", "split", "cluster"),
}
"""Optional roles of each kind."""
PACKED: tuple[Kind, ...] = ("retrieval", "parallel")
"""Kinds that may also come as an archive of several files."""


def roles_of(kind: Kind) -> tuple[str, ...]:
    """Return the required, then the optional roles of a kind."""
    return (*ROLES[kind], *OPTIONAL.get(kind, ()))


# Column names in data sets on the hub and in SentEval, without case and punctuation.
_NAMES: dict[str, tuple[str, ...]] = {
    "left": (
        *("left", "sentence1", "sentencea", "sent0", "sent1", "senta", "s1", "text1", "texta"),
        *("premise", "question1", "query", "anchor", "1string", "userinput"),
    ),
    "right": (
        *("right", "sentence2", "sentenceb", "sent2", "sent1", "sentb", "s2", "text2", "textb"),
        *("hypothesis", "question2", "answer", "positive", "2string"),
    ),
    "score": (
        *("score", "similarityscore", "relatednessscore", "similarity", "relatedness"),
        *("goldscore", "gold", "sim", "rating", "grade"),
    ),
    "text": (
        *("text", "sentence", "sentences", "content", "caption", "utterance", "utt", "tweet"),
        *("fulltext", "review", "question", "document", "body", "title", "query", "userinput"),
    ),
    "label": (
        *("label", "labelname", "labeltext", "category", "topic", "class", "intent", "stance"),
        *("target", "emotion", "sentiment", "goldlabel", "labels", "isduplicate", "quality"),
        *("accept", "genre", "stars"),
    ),
    "anchor": ("anchor", "sent0", "query", "premise", "question", "userinput"),
    "positive": (
        *("positive", "pos", "sent1", "entailment"),
        *("positivepassages", "positivectxs", "referencecontexts"),  # Tevatron, DPR, Ragas
    ),
    "negative": (
        *("negative", "negative1", "hardneg", "hardnegative", "neg", "contradiction"),
        *("negativepassages", "hardnegativectxs", "negativectxs"),
    ),
    "query": ("query", "qtext", "querytext", "question", "questiontext", "userinput"),
    "document": (
        *("document", "passage", "doc", "atext", "answer", "documenttext", "passagetext"),
        *("context", "response"),
    ),
    "grade": ("grade", "relevance", "rel", "label", "qrel", "score"),
    "split": ("split", "partition", "subset", "fold"),
    "cluster": ("cluster", "clusterid"),
}

_SIDES = (
    *(("question", "sentence"), ("context", "hypothesis"), ("claim", "evidence")),
    ("anchor", "target"),
)
"""Names that only together mean a pair: of QNLI and WikiQA, of ANLI, of checked facts, of patents'
phrases."""
_LISTS = (*_NAMES["positive"], *_NAMES["document"], "docs", "documents", "passages")
_KNOWN = {name for names in _NAMES.values() for name in names}
_IDS = ("queryid", "corpusid", "docid", "docno", "qid", "pid")
_COUNTERS = ("index", "id", "idx", "unnamed0", "level0", "indexlevel0")
"""Names of columns that only number the rows."""

LABELS = ("labels", "label", "accept")
"""Names of columns that may be lists of labels; Prodigy writes the last."""
_NUMBERS = ("score", "label", "grade", "cluster")
"""Roles that a numeric column may have."""

MAX_CLASSES, MAX_LABEL = 20, 60
"""Most whole numbers that are taken for classes, and most characters of a usual label."""
_MONTH = r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?"
    rf"|([A-Z][a-z]+,? )?({_MONTH} \d{{1,2}}|\d{{1,2}} {_MONTH}),?( [-+:.,\dA-Z]+)*"
)
_SOURCE = re.compile(r"https?://\S+|CC[- ](BY|0).*")
"""A link, or a licence and whose text it is, as Tatoeba has them."""
_CODE = re.compile(r"(?=\D*\d)(?![\d.,+-]+$)[!-~]+")
"""A word with a digit that is no number, such as `B00813GRG4`."""

PROBING = ("split", "label", "text")
"""The columns of SentEval's probing layout, whose files have no header."""
PROBING_SPLITS = {"tr": "train", "va": "dev", "te": "test"}


def is_probing(line: str) -> bool:
    """Whether a line is in SentEval's probing layout: `tr`, `va` or `te`, tab, label, tab, text."""
    cells = line.split("\t")
    return len(cells) == len(PROBING) and cells[0] in PROBING_SPLITS


def last_part(column: str) -> str:
    """The name of a field inside another without that of the other: `en` of `translation.en`."""
    return column.rpartition(".")[2]


def guess(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[Kind, dict[str, str]]:
    """Guess the kind of a table and the column of each role.

    Args:
        columns: distinct names.
        rows: a sample of complete rows.

    Returns:
        The likeliest kind, and role -> column for the roles found, of any kind, so that a form can
        be prefilled for whichever kind a person chooses.
    """
    unnamed = all(map(_is_unnamed, columns))
    cells = {c: [row[i] for row in rows] for i, c in enumerate(columns)}
    places = [i for i, c in enumerate(columns) if not _is_counter(c, cells[c], unnamed)]
    places = [i for i in places if not _is_about(columns[i], cells[columns[i]])] or places
    columns, rows = [columns[i] for i in places], [[row[i] for i in places] for row in rows]
    numeric = {c for i, c in enumerate(columns) if _is_numeric([row[i] for row in rows])}
    roles: dict[str, str] = {}
    for role, names in _NAMES.items():
        allowed = [c for c in columns if c not in numeric or role in _NUMBERS]
        other = {"right": roles.get("left"), "positive": roles.get("anchor")}.get(role)
        free = [c for c in reversed(allowed) if c != other]
        within = {_bare(last_part(c)): c for c in free}
        plain = within | {_bare(c): c for c in free}
        if column := next((plain[name] for name in names if name in plain), None):
            roles[role] = column
    _correct(roles, cells)
    answered = _is_answered(roles, cells)
    if {"anchor", "document", "negative"} <= roles.keys() and "positive" not in roles:
        # What `mine_hard_negatives` writes of questions and answers.
        roles["positive"] = roles["document"]
    if {*map(_bare, columns)} in ({"anchor", "positive"}, {"query", "positive"}):
        roles["query"], roles["document"] = roles["anchor"], roles["positive"]
    if "grade" in roles and not (
        roles["grade"] in numeric and _is_whole(rows, columns.index(roles["grade"]))
    ):
        del roles["grade"]
    named = {"left", "right"} <= roles.keys()
    has_text = "text" in roles
    two = _by_value(roles, columns, rows, numeric) and not has_text
    if answered:
        roles.pop("label", None)
    elif "label" not in roles and not unnamed:
        rating = "" if named else roles.get("score", "")
        free = [c for c in columns if c not in roles.values() or c == rating]
        values = {c: [str(cell) for cell in cells[c]] for c in free}
        labels = [c for c in candidates(values)[1] if not named or set(values[c]) == {"0", "1"}]
        labels = [rating] if rating in labels else labels
        roles |= {"label": labels[0]} if len(labels) == 1 else {}
    two = two or (len(columns) == 2 and all(is_language(last_part(c)) for c in columns))
    if unnamed and (kind := _by_place(columns, rows, numeric)):
        return kind, roles | {role: columns[place] for role, place in _PLACES[kind].items()}
    only = {roles.get(role) for role in ("query", "document", "split")} >= set(columns)
    return _kind(roles, named or unnamed, two, only or answered), roles


_PAIRED = {"left": 0, "right": 1, "label": 2, "query": 0, "document": 1, "grade": 2, "text": 1}
_PLACES: dict[Kind, Mapping[str, int]] = {
    "labels": {"label": 0, "text": -1},
    "triplets": {"anchor": 0, "positive": 1, "negative": 2, "text": -1},
    "labelled-pairs": _PAIRED,
    "retrieval": _PAIRED,
}


def _by_place(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], numeric: set[str]
) -> Kind | None:
    """Tell known layouts without names: a class, a title and the text of it, or three texts.

    Or two texts, and whether they belong together: judged documents where queries repeat.
    Sources: AG News and DBpedia (Zhang, Zhao and LeCun 2015); the triples of MS MARCO; PAWS.
    """
    cells = [[str(row[i]) for row in rows] for i in range(len(columns))]
    size = [sum(map(len, values)) for values in cells]
    differ = [2 * len(set(values)) > len(rows) for values in cells]
    if (
        len(columns) == 3
        and set(cells[2]) == {"0", "1"}
        and differ[1]
        and columns[1] not in numeric
    ):
        return "labelled-pairs" if differ[0] else "retrieval"
    if len(columns) < 3 or not (differ[1] and differ[-1]) or {columns[1], columns[-1]} & numeric:
        return None
    if columns[0] in numeric and _is_whole(rows, 0) and len(set(cells[0])) <= MAX_CLASSES:
        return "labels" if size[-1] >= 2 * size[1] else None
    return "triplets" if len(columns) == 3 and min(size) >= 15 * len(rows) else None


def _correct(roles: dict[str, str], cells: Mapping[str, Sequence[Any]]) -> None:
    """Correct roles found by name by what is in their columns, and find texts named as a pair."""
    values = {role: [str(cell) for cell in cells[column]] for role, column in roles.items()}
    names = {_bare(last_part(c)): c for c in reversed(list(cells))}
    if sides := next((pair for pair in _SIDES if names.keys() >= set(pair)), None):
        roles["left"], roles["right"] = (names[side] for side in sides)
    scores = values.get("score")
    if scores and not any(map(is_number, scores)):
        del roles["score"]
    if _bare(last_part(roles.get("text", ""))) == "title":
        texts = candidates({c: [str(cell) for cell in cells[c]] for c in cells})[0]
        roles["text"] = next(iter(texts), roles["text"])
    labels = values.get("label", [])
    if len(labels) > 3 and len(set(labels)) == len(labels) and _is_text(labels):
        del roles["label"]
    whole = all(float(label).is_integer() for label in labels if is_number(label))
    if _is_numeric(labels) and not whole and {"left", "right"} <= roles.keys():
        roles.setdefault("score", roles["label"])


def _is_answered(roles: Mapping[str, str], cells: Mapping[str, Sequence[Any]]) -> bool:
    """Whether names tell a question and the text that answers it, and no label or score."""
    if not {"query", "document"} <= roles.keys() or {"label", "score", "negative"} & roles.keys():
        return False
    return _is_text([str(cell) for cell in cells[roles["document"]]])


def _kind(roles: dict[str, str], paired: bool, two: bool, only: bool) -> Kind:
    """Return the first kind whose roles are all found; plain sentences need the least."""
    possible: tuple[tuple[Kind, bool], ...] = (
        ("pairs", True),
        ("retrieval", "grade" in roles or only),
        ("triplets", True),
        ("labelled-pairs", paired),
        ("labels", True),
        ("parallel", two),
    )
    fits = (kind for kind, may in possible if may and all(role in roles for role in ROLES[kind]))
    return next(fits, "sentences")


def _bare(name: str) -> str:
    return "".join(ch for ch in name.casefold() if ch.isalnum())


def negatives(columns: Sequence[str]) -> list[str]:
    """Return the columns of negatives, which may be numbered: `negative_1`, `negative_2`."""
    return [c for c in columns if _bare(last_part(c)).rstrip("0123456789") in _NAMES["negative"]]


def labelled_lists(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns that by their names may be lists of documents, and of their labels."""
    names = {_bare(last_part(c)): c for c in reversed(columns)}
    documents = next((names[name] for name in _LISTS if name in names), None)
    labels = next((names[name] for name in LABELS if name in names), None)
    return (documents, labels) if documents and labels and not negatives(columns) else None


def known_name(name: str) -> bool:
    """Whether a column of this name has a role of its own in some kind of data set."""
    return _bare(name) in _KNOWN or _bare(name) in _IDS


def has_header(rows: Sequence[Sequence[str]]) -> tuple[bool, bool]:
    """Tell whether the first row of a table holds the names of its columns.

    Args:
        rows: the first rows, at least one.

    Returns:
        Whether it does, and whether that is more than a guess.
    """
    cells = [cell.strip() for cell in rows[0]]
    whole = [row for row in rows[1:] if len(row) == len(cells)]
    columns = [[row[i].strip() for row in whole] for i in range(len(cells))]
    start = int(not cells or not cells[0])  # after an empty one for the index
    counted = cells[start:] == [str(i) for i in range(len(cells) - start)]
    numbers = list(filter(is_number, cells))  # beside names, dimensions of vectors
    counted |= len(numbers) > 2 and numbers == [str(i) for i in range(len(numbers))]
    if len(cells) > 1 and counted and not all(map(_is_numeric, columns)):
        return True, True  # a table of pandas whose columns have no names
    if any(
        cell and not is_number(cell) and _is_numeric([value for value in column if value])
        for cell, column in zip(cells, columns, strict=False)
    ):
        return True, True
    if any(is_number(cell) or is_sentence(cell) for cell in cells):
        return False, True
    if all(not cell or known_name(cell) for cell in cells) or all(map(is_language, cells)):
        return True, True
    if any(cell in column for cell, column in zip(cells, columns, strict=False) if cell):
        return False, True
    if any(map(known_name, filter(None, cells))):
        return True, True
    return not any(map(_alike, cells, columns)), False


def _alike(cell: str, column: Sequence[str]) -> bool:
    """Whether a cell is as long as others of its column, and longer than a name."""
    lengths = sorted(len(value) for value in column if value)
    running = len(cell.split()) >= 3 or (not cell.isascii() and len(cell) >= 6)
    return running and (not lengths or 2 * len(cell) >= lengths[len(lengths) // 2])


def _by_value(
    roles: dict[str, str],
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    numeric: set[str],
) -> bool:
    """Fill the roles not found by name: long cells are text, two of them with a number a pair.

    Returns:
        Whether there are two columns, both of long cells.
    """
    if not rows:
        return False
    cells = {c: [str(row[i]) for row in rows] for i, c in enumerate(columns) if c not in numeric}
    mean = {c: sum(map(len, values)) / len(values) for c, values in cells.items()}
    texts = [c for c, values in cells.items() if mean[c] >= 15 or len(set(values)) > len(rows) / 2]
    is_one = _bare(roles.get("text", "")) in ("text", "review")
    if len(texts) == 2 and not {"left", "right"} & roles.keys() and not is_one:
        roles["left"], roles["right"] = texts
    pair = {roles.get("left"), roles.get("right")}
    # Whole numbers may be classes (0, 1, 2 in NLI files), unless the columns have no names.
    classes = {c for i, c in enumerate(columns) if c in numeric and _is_whole(rows, i)}
    measures = [c for c in columns if c in numeric and c not in classes]
    if len(measures) != 1:
        measures += [c for c in columns if c in classes and _is_unnamed(c)]
    if "score" not in roles and len(measures) == 1 and "left" in roles:
        roles["score"] = measures[0]
    if "text" not in roles and texts:
        roles["text"] = max(texts, key=lambda c: mean[c])
    others = [
        c
        for c in columns
        if c not in (*texts, roles.get("text"), roles.get("cluster"))
        and (c in classes or c not in numeric)
    ]
    of_pairs = [c for c in others if c not in numeric] if set(texts) == pair else []
    if "label" not in roles and len(others) == 1 and len(texts) == 1:
        roles["label"] = others[0]
    elif "label" not in roles and len(of_pairs) == 1:
        roles["label"] = of_pairs[0]
    return len(columns) == 2 and len(texts) == 2 and min(mean[c] for c in texts) >= 15


def candidates(values: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """Columns that by their values could be the text, the longest first, or the label.

    Args:
        values: column -> its cells.
    """
    length = {name: sum(map(len, cells)) for name, cells in values.items()}
    texts = sorted((n for n, cells in values.items() if _is_text(cells)), key=lambda n: -length[n])
    ids = {n for n in values if _bare(n).endswith("id") and all(map(_CODE.fullmatch, values[n]))}
    return texts, [name for name in values if name not in ids and _is_label(values[name])]


def _is_text(cells: Sequence[str]) -> bool:
    """Whether most cells differ and are words, not one number, date or code."""
    words = [
        cell
        for cell in map(str.strip, cells)
        if cell and not _DATE.fullmatch(cell) and not (cell.isascii() and len(cell.split()) == 1)
    ]
    return 2 * len(words) > len(cells) and 2 * len(set(words)) > len(words)


def _is_label(cells: Sequence[str]) -> bool:
    """Whether cells repeat as classes do; not dates, and not numbers that measure something."""
    known = [cell.strip() for cell in cells if cell.strip()]
    distinct = set(known)
    if not 2 <= len(distinct) <= len(known) / 2 or any(map(_DATE.fullmatch, distinct)):
        return False
    numbers = [float(cell) for cell in distinct if is_number(cell)]
    if len(numbers) == len(distinct):
        return len(numbers) <= MAX_CLASSES and all(map(float.is_integer, numbers))
    return sum(map(len, known)) <= MAX_LABEL * len(known)


def _is_unnamed(column: str) -> bool:
    return column.startswith("column ") or column.isdecimal()


def _is_counter(column: str, cells: Sequence[Any], unnamed: bool) -> bool:
    """Whether a column only numbers the rows, as pandas' index does, whose column has no name."""
    numbers = [float(cell) for cell in cells if is_number(cell)]
    if not numbers or len(numbers) < len(cells) or not all(map(float.is_integer, numbers)):
        return False
    if _bare(column) in _COUNTERS or (column.startswith("column ") and not unnamed):
        return True
    steps = {b - a for a, b in pairwise(numbers)}
    return len(numbers) > 3 and steps == {1.0} and _bare(column) not in _KNOWN


def _is_about(column: str, cells: Sequence[Any]) -> bool:
    """Whether a column of no known name is empty, or has dates, links, or an id for each row."""
    if not cells or _bare(column) in _KNOWN:
        return False
    texts = [str(cell).strip() for cell in cells]
    filled = list(filter(None, texts))
    if all(map(_DATE.fullmatch, filled)) or all(map(_SOURCE.fullmatch, filled)):
        return True
    numbered = len(texts) > MAX_CLASSES and all(map(str.isdecimal, texts))
    coded = len(texts) > 3 and all(map(_CODE.fullmatch, texts))
    return len(set(texts)) == len(texts) and (numbered or coded)


def _is_whole(rows: Sequence[Sequence[Any]], index: int) -> bool:
    values = [row[index] for row in rows if is_number(row[index])]
    return all(float(value).is_integer() for value in values)


def _is_numeric(values: Sequence[Any]) -> bool:
    """Whether at least 80 % of the values are numbers, allowing for a few bad cells."""
    return bool(values) and sum(map(is_number, values)) >= 0.8 * len(values)


def is_sentence(cell: str) -> bool:
    """Whether a cell of the first line is a sentence, and so not a column's name."""
    return len(cell) > 60 or cell.endswith((".", "!", "?", "。", "।", "؟"))


def is_number(value: Any) -> bool:
    """Whether a cell holds a finite number; booleans do not count."""
    if isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False
