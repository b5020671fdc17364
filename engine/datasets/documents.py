"""Documents as people have them, text, Markdown, web pages and PDF, as a corpus in BEIR's layout.

The text is taken out once, when files are brought: what is kept and read again is `corpus.jsonl`.
A document is named by its file, such as `guide/install.md`. Queries and judgements may come beside
the documents. Of a web page only the text is taken; headings become those of Markdown.
"""

import html
import io
import json
import logging
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from theodolite.engine.datasets import archives, beir
from theodolite.engine.datasets.dialect import ENDINGS
from theodolite.engine.datasets.files import (
    encoding_of,
    listed,
    other_encoding,
    refuse_other,
)
from theodolite.engine.datasets.limits import MAX_ROW
from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import is_page

MAX_FILES = 20_000
"""Most files of an archive or a folder of documents."""
MAX_OPERATORS = 10_000_000
"""Most drawing operators of a PDF; a page of a book has some thousands."""
_OF_EACH = 5
"""Fewest texts of a label by which folders are labels."""
_UNLABELLED = "unsup"
"""The folder of reviews without labels, beside those of labels."""
_PAGES = (".html", ".htm")
_MARKDOWN = (".md", ".markdown", ".mdx")
_PROSE = (*_MARKDOWN, ".rst", *_PAGES, ".pdf")
_BESIDE = ("readme", "license", "licence", "changelog", "contributing")
"""Names of files that describe a data set."""
_HIDDEN = ("script", "style", "template", "noscript", "svg", "iframe", "object", "textarea")
_TAG = re.compile(r"""<(/?)([a-z][a-z0-9-]*)(?:"[^"<]*"|'[^'<]*'|[^<>"'])*+>""", re.IGNORECASE)
_BLOCK = re.compile(
    r"address|article|aside|blockquote|body|dd|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    r"h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|title|tr|ul"
)
_FRONT = re.compile(r"---[ \t]*\n(?=[\w-]+:)(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
"""What Markdown of a website has before its text: lines of keys and values, in YAML."""
_TITLE = re.compile(r"""^title:[ \t]*["']?(.+?)["']?[ \t]*$""", re.MULTILINE)
_CHARSET = re.compile(rb"""charset=["']?([\w-]+)""", re.IGNORECASE)
_START = 2048
"""Bytes of a web page in which its encoding is looked for."""


class _LeftOut(Exception):
    """Why a document is left out."""


def among(names: Sequence[str]) -> dict[str, str]:
    """Return the documents among the files of a data set; none where it consists of tables.

    File -> its name in the data set, without a folder that all are in; of queries and judgements
    beside documents too.

    Where there are as many documents as tables, the documents count. Text files are documents if
    there are several or one in a folder, which alone has sentences, and nothing in their names says
    otherwise, such as train.txt and test.txt, or a.en.txt and a.de.txt.
    """
    ends = {name: PurePosixPath(name.lower()).suffix for name in names}
    texts = [name for name in names if ends[name] == ".txt"]
    prose = [name for name in names if ends[name] in _PROSE]
    tables = [n for n in names if ends[n] in ENDINGS and n not in texts and not is_judged(n)]
    telling = [name for name in prose if PurePosixPath(name).stem.casefold() not in _BESIDE]
    is_prose = telling and len(prose) >= len(tables)
    several = len(texts) > 1 and not (archives.tables(texts) or archives.are_languages(texts))
    alone = len(texts) == 1 and "/" in texts[0] and not archives.split_of(texts[0])[0]
    is_text = (several or alone) and not tables
    if any(beir.role_of(name) == "corpus" for name in names) or not (is_prose or is_text):
        return {}
    chosen = sorted([*prose, *texts, *filter(is_judged, names)])
    firsts = {PurePosixPath(name).parts[0] for name in chosen}
    inside = len(firsts) == 1 and all("/" in name for name in chosen)
    return {name: name.partition("/")[2] if inside else name for name in chosen}


def labels_of(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return split and label of texts in folders named by their labels; none for other files.

    As 20 Newsgroups and IMDb's reviews (Maas et al. 2011) have them: LABEL/FILE or
    SPLIT/LABEL/FILE, plain texts, and some of each label.
    """
    paths = {name: PurePosixPath("/" + name.lstrip("/")) for name in names}
    paths = {
        name: path
        for name, path in paths.items()
        if path.stem.casefold() not in _BESIDE and path.parent.name != _UNLABELLED
    }
    top = posixpath.commonpath([str(path.parent) for path in paths.values()] or [""])
    inside = {name: path.parent.relative_to(top).parts for name, path in paths.items()}
    splits = {name: archives.split_of(of[0])[0] if of[1:] else "" for name, of in inside.items()}
    if any(splits.values()):  # lists and counts stand above the folders of labels
        inside = {name: of for name, of in inside.items() if of[1:]}
        paths = {n: p for n, p in paths.items() if n in inside or p.suffix.lower() in _PROSE}
    else:
        folders = {of[0] for of in inside.values() if of} | {_UNLABELLED}
        inside = {n: of for n, of in inside.items() if of or not _lists(paths[n], folders)}
        paths = {name: paths[name] for name in inside}
    counts = Counter(of[-1] for name, of in inside.items() if len(of) == 1 + bool(splits[name]))
    plain = all(path.suffix in ("", ".txt") for path in paths.values())
    if not plain or counts.total() < len(paths) or min(counts.values(), default=0) < _OF_EACH:
        return {}
    return {name: (splits[name], of[-1]) for name, of in inside.items()} if len(counts) > 1 else {}


def _lists(path: PurePosixPath, folders: Collection[str]) -> bool:
    """Whether a file beside folders of labels is no text, but about those in them."""
    kind = path.suffix.lower()
    is_listed = any(word in folders for word in re.split(r"[-_.]", path.stem))
    return is_listed if kind in ("", ".txt") else kind not in (*_PROSE, *ENDINGS)


def is_judged(name: str) -> bool:
    """Whether a file has the queries or the judgements of a retrieval set, by its name."""
    return not name.endswith(".txt") and beir.role_of(name) in ("queries", "qrels")


def pack(
    files: Iterable[tuple[str, bytes]],
    target: Path,
    labels: Mapping[str, tuple[str, str]] | None = None,
) -> list[str]:
    """Pack documents as a corpus, with queries and judgements that are among the files.

    Args:
        files: name and content of each file.
        target: the archive to write.
        labels: see `labels_of`; if given, a table of texts is packed for each split.

    Returns:
        What was read and what was left out, in sentences.
    """
    lines, converted, beside = dict[str, list[str]](), list[str](), dict[str, bytes]()
    kinds, without = Counter[str](), dict[str, list[str]]()
    for name, raw in files:
        if is_judged(name):
            beside["/".join(PurePosixPath(name).parts[-2:])] = raw
            continue
        try:
            text, is_told = text_of(name, raw)
            split, label = (labels or {}).get(name, ("", ""))
            row = {"text": text, "label": label} if label else {"_id": name, "text": text}
            place = f"{split or 'texts'}.jsonl" if label else archives.CORPUS
            line = json.dumps(row, ensure_ascii=False) + "\n"
            _check_length(len(line))
            lines.setdefault(place, []).append(line)
            kinds[PurePosixPath(name.lower()).suffix] += 1
            if is_told:
                converted.append(name)
        except _LeftOut as reason:
            without.setdefault(str(reason), []).append(name)
    lost = [f"{why}: {len(some):,} ({listed(some, 3)})." for why, some in without.items()]
    if not lines:
        raise UserError(
            f"There is no document to read. {' '.join(lost)}",
            "Give documents with text: plain text or Markdown in UTF-8, HTML or PDF.",
            code="missing",
        )
    with zipfile.ZipFile(target, "w") as archive:
        tables = {place: "".join(sorted(some)).encode() for place, some in lines.items()}
        for name, raw in {**tables, **beside}.items():
            archive.writestr(zipfile.ZipInfo(name), raw)
    if converted:
        lost.append(
            f"Not in UTF-8, and read as Windows-1252 or UTF-16: {len(converted):,} "
            f"({listed(converted, 3)}). If letters look wrong, save them as UTF-8."
        )
    if kinds == {".txt": 2}:
        lost.append(
            "If the lines of two text files translate one another, name these by their languages, "
            "such as a.en.txt and a.de.txt."
        )
    each = ", ".join(f"{n:,} {ending or 'without an ending'}" for ending, n in kinds.most_common())
    what = (
        "Texts, labelled by their folders (as documents, put them into one)"
        if labels
        else "Documents, named by their files"
    )
    return [f"{what}: {kinds.total():,} ({each}).", *lost]


def text_of(name: str, raw: bytes) -> tuple[str, bool]:
    """Return the text of a document, and whether nothing but its bytes tells the encoding."""
    ending, is_told = PurePosixPath(name.lower()).suffix, False
    if ending == ".pdf":
        text = _of_pdf(raw)
    elif ending in _PAGES:
        page, is_told = _decode(raw, name, _CHARSET.search(raw[:_START]))
        text = _of_html(page)
    else:
        text, is_told = _decode(raw, name, None)
    text = re.sub(r"\r\n?|\f", "\n", text).strip()
    if ending in _MARKDOWN and (front := _FRONT.match(text)):
        text = text[front.end() :].lstrip()
        if (title := _TITLE.search(front[1])) and not text.startswith("# "):
            text = f"# {title[1]}\n\n{text}".rstrip()
    if not text:
        scanned = "PDF without text, probably scanned, so recognise its text (OCR) first"
        raise _LeftOut(scanned if ending == ".pdf" else "Empty documents, left out")
    return text, is_told


def _check_length(characters: int) -> None:
    if characters > MAX_ROW:
        raise _LeftOut("Documents of more than a million characters, left out, so split them")


def _decode(raw: bytes, name: str, declared: re.Match[bytes] | None) -> tuple[str, bool]:
    """Decode text of any encoding that is certain; return whether only its bytes tell it."""
    told = None
    try:
        if declared is None and not (name.lower().endswith(_PAGES) and is_page(raw[:_START])):
            refuse_other(raw[:_START], name)
        encoding = encoding_of(raw[:4])
        text = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError:
        told = declared[1].decode("ascii") if declared else other_encoding([raw])
        try:
            text = raw.decode(told or "utf-8")
        except (UnicodeDecodeError, LookupError):
            raise _LeftOut("Text of an unknown encoding, left out, so save it as UTF-8") from None
    except UserError:
        raise _LeftOut("Not what their names say, left out") from None
    if "\0" in text:
        raise _LeftOut("Not what their names say, left out")
    return text, bool(told and not declared)


def _of_html(page: str) -> str:
    """Return the text of a web page, in time proportional to its length whatever it holds.

    `html.parser` takes minutes for a page of 150 KB that opens tags and never ends them.
    """
    parts, at = list[str](), 0
    while (start := page.find("<", at)) >= 0:
        parts.append(_plain(page[at:start]))
        if page.startswith(("<!", "<?"), start):
            ends = "-->" if page.startswith("<!--", start) else ">"
            end = page.find(ends, start)
            at = len(page) if end < 0 else end + len(ends)
        elif tag := _TAG.match(page, start):
            name, at = tag[2].lower(), tag.end()
            if name in _HIDDEN and not tag[1]:
                closing = re.compile(rf"</{name}\b[^<>]*>?", re.IGNORECASE).search(page, at)
                at = closing.end() if closing else len(page)
            elif _BLOCK.fullmatch(name):
                heading = re.fullmatch("h[1-6]", name) and not tag[1]
                parts.append("\n" if name in ("li", "tr") else "\n\n")
                parts.append("#" * int(name[1]) + " " if heading else "")
            elif name in ("br", "td", "th"):
                parts.append("\n" if name == "br" else " ")
        else:
            parts.append("<")
            at = start + 1
    text = "".join([*parts, _plain(page[at:])])
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", text))


def _of_pdf(raw: bytes) -> str:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it mends is no news
    pages, characters, left = list[str](), 0, MAX_OPERATORS

    def count(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _LeftOut("PDF of too many pages or drawings, left out, so split them")

    try:
        reader = PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise FileNotDecryptedError
        for page in reader.pages:
            count()
            pages.append(page.extract_text(visitor_operand_before=count))
            characters += len(pages[-1])
            _check_length(characters)
    except _LeftOut:
        raise
    except (FileNotDecryptedError, DependencyError):
        raise _LeftOut("PDF with a password, left out, so save them without it") from None
    except Exception:  # pypdf raises whatever its parsers do
        raise _LeftOut("Damaged PDF, left out") from None
    # JSON and UTF-8 have no place for halves of characters, which broken fonts yield.
    return "\n\n".join(pages).encode("utf-8", "replace").decode("utf-8").replace("\0", "")
