"""`theodolite search`: sentences by meaning, from a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.terminal import (
    DataOption,
    JsonOption,
    StoreOption,
    emit,
    plain_errors,
    progress_bar,
    say,
)
from app.workspace import Workspace

if TYPE_CHECKING:
    from app.pages.search.service import Limits
from app.terminal import open_workspace


@plain_errors
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Annotated[
        str, typer.Option("--in", metavar="DATASET", help="Where to look; see `theodolite data`.")
    ] = "starter-topics",
    encoder: Annotated[
        list[str] | None, typer.Option("--encoder", "-e", help="Once for each encoder.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many at most.")] = 10,
    by: Annotated[str, typer.Option(help="meaning, words or pattern.")] = "meaning",
    unlike: Annotated[
        list[str] | None, typer.Option(help="A sentence to be unlike; once for each.")
    ] = None,
    least: Annotated[float | None, typer.Option(min=-1, max=1, help="The least cosine.")] = None,
    index: Annotated[
        bool,
        typer.Option("--index", help="Make an index of a large collection first, for later ones."),
    ] = False,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find sentences of a collection: the nearest, one list for each encoder, or by their words.

    theodolite search "a dog runs on the grass" --in flickr30k -e minilm -e random:256 -k 5

    theodolite search "a dog runs" --unlike "a dog sleeps" --least 0.4

    theodolite search "^Who .*[?]$" --by pattern

    Every sentence is compared with the query. Of more than 200,000 sentences --index makes an index
    once; later searches then read little and find nearly the same.
    """
    from app.pages.search import indexes
    from app.pages.search.service import Limits, alike, nearest
    from engine.errors import UserError

    workspace = open_workspace(store, data)
    limits = Limits(k, least)
    if by in ("words", "pattern"):
        _by_words(workspace, by, collection, query, limits, as_json)
        return
    if by != "meaning":
        raise UserError(f"There is no search by {by!r}.", "Choose meaning, words or pattern.")
    rows: list[dict[str, Any]] = []
    with progress_bar("encoding") as move:
        for spec in encoder or ["minilm"]:
            what = f"encoding {collection} with {spec}"
            moved = lambda done, total, what=what: move(done, total, what)  # noqa: E731
            if index and indexes.is_large(len(workspace.catalog.sentences(collection)[0])):
                indexes.make(workspace, spec, collection, moved)
            hits = (
                [alike(workspace, spec, collection, [query], unlike, limits, moved)]
                if unlike
                else nearest(workspace, spec, collection, [query], limits, moved)
            )
            rows += [
                {"encoder": spec, "rank": rank, "cosine": hit.cosine, "sentence": hit.sentence}
                for rank, hit in enumerate(hits[0], 1)
            ]
    emit(rows, ("encoder", "rank", "cosine", "sentence"), as_json)


def _by_words(
    workspace: Workspace, by: str, collection: str, query: str, limits: Limits, as_json: bool
) -> None:
    from app.pages.search import service as retrieval

    find = retrieval.containing if by == "words" else retrieval.matching
    hits, total = find(workspace, collection, query, limits)
    rows = [{"id": hit.index, "sentence": hit.sentence} for hit in hits]
    emit(rows, ("id", "sentence"), as_json)
    say(f"{total:,} found, the first {len(rows)} shown.")
