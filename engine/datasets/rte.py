"""Textual entailment in the format of the RTE challenges: XML with a `t` and an `h` per `pair`.

Source: PASCAL Recognizing Textual Entailment Challenge, 2005 to 2008.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, XMLParser

from theodolite.engine.datasets import limits
from theodolite.engine.datasets.files import open_binary, where
from theodolite.engine.errors import UserError

_PIECE = 2**16


class _Pairs:
    """Parser target that collects the pairs."""

    def __init__(self, file: str) -> None:
        self.columns: dict[str, list[Any]] = {"left": [], "right": [], "label": [], "place": []}
        self._file = file
        self._role = ""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Refuse entities: a few lines of them may expand without bound, or name other files."""
        raise UserError(
            f"{self._file} has a document type of its own ({name}), which may define entities.",
            "Remove the <!DOCTYPE …> from it.",
            code="denied",
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Start a pair or one of its texts."""
        if tag == "pair":
            label = attributes.get("entailment") or attributes.get("value")
            if not label:
                raise self.fault("has no entailment")
            self.columns["label"].append(label)
            self.columns["place"].append(f"{self._file}, pair {len(self.columns['label'])}")
        self._role = {"t": "left", "h": "right"}.get(tag, "")
        if self._role:
            self.columns[self._role].append("")

    def data(self, text: str) -> None:
        """Add to the open text."""
        if self._role:
            self.columns[self._role][-1] += text

    def end(self, tag: str) -> None:
        """End a text or a pair."""
        self._role = ""
        if tag == "pair":
            sizes = {len(values) for values in self.columns.values()}
            if len(sizes) > 1:
                raise self.fault("has not exactly one <t> and one <h>")

    def close(self) -> dict[str, list[Any]]:
        """Return the columns."""
        return {role: [text.strip() for text in values] for role, values in self.columns.items()}

    def fault(self, what: str) -> UserError:
        """Return the error for the current pair."""
        return UserError(
            f"{self._file}, pair {len(self.columns['label'])} {what}.",
            'A pair is <pair entailment="YES"><t>Text.</t><h>Hypothesis.</h></pair>.',
            code="damaged",
        )


def columns(path: Path) -> dict[str, list[Any]]:
    """Read left, right, label and place of every pair."""
    # XML is dangerous for its entities, and `doctype` above refuses them.
    parser: XMLParser[dict[str, list[Any]]] = XMLParser(target=_Pairs(where(path)))  # noqa: S314
    unpacking = limits.Unpacking(where(path), path.stat().st_size, limits.MAX_BYTES)
    try:
        with open_binary(path) as raw:
            while piece := raw.read(_PIECE):
                unpacking.add(len(piece))
                parser.feed(piece)
        found = parser.close()
    except ParseError as error:
        line, _ = error.position
        raise UserError(
            f"{where(path)}, line {line} is not XML ({error}).",
            "Copy or download it again.",
            code="damaged",
        ) from error
    if not found["label"]:
        raise UserError(f"{where(path)} holds no pair.", "Is it complete?", code="missing")
    return found
