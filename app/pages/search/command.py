"""`theodolite search`: sentences by meaning, example, words or pattern, from a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.app.terminal import JsonOption, do_here, emit, queued, say, verb
from theodolite.app.workspace import Workspace


@verb
def search(
    workspace: Workspace,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Annotated[
        str,
        typer.Option(
            "--in", metavar="DATASET", help="The collection to use; see `theodolite data`."
        ),
    ] = "starter-topics",
    encoder: Annotated[
        list[str] | None, typer.Option("--encoder", "-e", help="Repeat for each encoder.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="Top k.")] = 10,
    by: Annotated[str, typer.Option(help="meaning, examples, words or pattern.")] = "meaning",
    unlike: Annotated[
        list[str] | None, typer.Option(help="A sentence to be unlike; may be repeated.")
    ] = None,
    least: Annotated[float | None, typer.Option(min=-1, max=1, help="Minimum cosine.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Filter by label, 'label: sport'; may be repeated.")
    ] = None,
    index: Annotated[
        bool,
        typer.Option(
            "--index",
            help="First build an index of a large collection, for this and later searches.",
        ),
    ] = False,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue", help="Queue encoding and --index for the app's worker; search later."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find sentences of a collection: the nearest, one list for each encoder, or by their words.

    theodolite search "a dog runs on the grass" --in flickr30k -e minilm -e random:256 -k 5

    theodolite search "a dog runs" --unlike "a dog sleeps" --least 0.4

    theodolite search "^Who .*[?]$" --by pattern

    Every sentence is compared with the query. Of more than 200,000 sentences --index makes an index
    once; later searches then read little and find nearly the same.
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.search import searchable, service
    from theodolite.app.pages.search.job import needed

    query_spec = service.spec(
        [query],
        collection,
        mode="examples" if unlike and by == "meaning" else by,
        k=k,
        least=least,
        only=only or (),
        unlike=unlike or (),
        encoders=encoder or ["minilm"],
    )
    limits = service.limits_of(workspace, query_spec)
    if not query_spec.is_near:
        hits, total = service.hits_of_text(workspace, query_spec, query, limits)
        rows = [{"id": hit.index, "sentence": hit.sentence} for hit in hits]
        emit(rows, ("id", "sentence"), as_json)
        say(f"{total:,} found, the first {len(rows)} shown.")
        return
    rows = []
    for spec in query_spec.encoders:
        job = needed(workspace, spec, collection, index=index)
        if job is not None and queue:
            queued(submit.queue(workspace, job), as_json)
            continue
        if job is not None:
            do_here(workspace, job)
        opened = searchable.open_collection(workspace, spec, collection)
        (found,) = service.hits_in(opened, query_spec, limits)
        rows += [
            {"encoder": spec, "rank": rank, "cosine": hit.cosine, "sentence": hit.sentence}
            for rank, hit in enumerate(found, 1)
        ]
    if queue and not rows:
        return
    emit(rows, ("encoder", "rank", "cosine", "sentence"), as_json)


VERBS = {"search": search}
