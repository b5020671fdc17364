"""The initial query of Search, and the shipped encoders' hits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.app.blocks import Hit
from theodolite.app.examples import shipped
from theodolite.app.pages.search.answer import SearchSpec, answer
from theodolite.app.workspace import STARTER_ENCODERS

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

QUERY = "The storm cut the power to our street."


def make(workspace: Workspace) -> None:
    """Search with every shipped encoder, and write the hits."""
    spec = SearchSpec((QUERY,), encoders=STARTER_ENCODERS)
    *_, last = answer(workspace, spec, lambda job: True)
    hits = {
        encoder: [[hit.index, hit.cosine] for hit in lists[0]]
        for encoder, lists in last.complete().hits.items()
    }
    shipped.write_answer(workspace, "search", hits, STARTER_ENCODERS, [spec.data])


def known(workspace: Workspace, spec: SearchSpec) -> dict[str, list[list[Hit]]]:
    """Encoder -> its shipped hits for exactly this search; empty if none ship."""
    example = shipped.read("search")
    if not spec.is_near or example is None or spec != SearchSpec((QUERY,), encoders=spec.encoders):
        return {}
    mine = [name for name in spec.encoders if example.is_of(workspace, name)]
    sentences = workspace.catalog.sentences(spec.data)[0] if mine else []
    return {
        name: [[Hit(index, sentences[index], cosine) for index, cosine in example.answer[name]]]
        for name in mine
    }
