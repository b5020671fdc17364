"""Replace names in what is published: paths, or all names given by the user."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Literal

from theodolite.app import formats
from theodolite.engine.encoders.spec import SOURCES, EncoderSpec, SourceSpec, StepSpec
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import RankerSpec, Spec, parse

Mask = Literal["none", "paths", "names"]
UPLOAD = "upload:"
SHIPPED = ("minilm", "wordllama", "random", "borep")
"""Sources whose name reveals nothing about the user."""


def private(encoders: Collection[str]) -> list[str]:
    """Paths and addresses of servers in the names of encoders."""
    found = []
    for source in (source for name in encoders for source in parse(name).sources):
        found += [source.value] if SOURCES[source.kind].value_is == "address" else source.paths
    return list(dict.fromkeys(found))


class Alias:
    """Replacements for names: equal names get equal ones, different names different ones."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._given: dict[str, str] = {}

    def encoder(self, spec: Spec) -> Spec:
        """The spec with its masked parts replaced."""
        if self._mask == "none":
            return spec
        if isinstance(spec, RankerSpec):
            model = spec.model and self._source(spec.model)
            return replace(spec, parts=tuple(map(self.encoder, spec.parts)), model=model)
        return EncoderSpec(
            tuple(map(self._source, spec.sources)), tuple(map(self._step, spec.steps))
        )

    def data(self, name: str) -> str:
        """A name of a data set or task; those of uploads are given by the user."""
        if self._mask != "names" or not name.startswith(UPLOAD):
            return name
        upload, slash, rest = name.removeprefix(UPLOAD).partition("/")
        return f"{UPLOAD}{self._number(UPLOAD + upload, 'data')}{slash}{rest}"

    def own(self, name: str, word: str) -> str:
        """A name that the user gave to something."""
        return self._number(name, word) if self._mask == "names" else name

    def setting(self, name: str) -> str:
        """An encoder, a file or a data set in the settings of a training."""
        if Path(name).is_absolute():
            return name if self._mask == "none" else self._path(name)
        with contextlib.suppress(UserError):
            return str(self.encoder(parse(name)))
        return self.data(name)

    def _source(self, source: SourceSpec) -> SourceSpec:
        words = source.option("words")
        if words and Path(words).is_absolute():
            source = source.with_options(words=self._path(words))
        if data := source.option("data"):
            source = source.with_options(data=self.data(data))
        kind = SOURCES[source.kind].value_is
        if kind == "path":
            return replace(source, value=self._path(source.value))
        if kind == "address":
            name = self._number(source.value, "endpoint")
            return replace(source, value=f"https://{name}.invalid#{name}")
        if self._mask == "names" and source.value and source.kind not in SHIPPED:
            return replace(source, value=self._number(source.value, "encoder"))
        return source

    def _step(self, step: StepSpec) -> StepSpec:
        return replace(step, data=self.data(step.data))

    def _path(self, path: str) -> str:
        if self._mask == "names":
            return f"/{self._number(path, 'encoder')}"
        return self._given.setdefault(path, self._free(f"/{formats.last_part(path)}"))

    def _number(self, value: str, word: str) -> str:
        many = sum(given.startswith(f"{word}-") for given in self._given.values())
        return self._given.setdefault(value, f"{word}-{many + 1}")

    def _free(self, name: str) -> str:
        """The name, with a numeric suffix when it is taken."""
        taken, tried, number = set(self._given.values()), name, 1
        while tried in taken:
            number += 1
            tried = f"{name}-{number}"
        return tried
