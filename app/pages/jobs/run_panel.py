"""A panel which follows a background run on the page that started it; the address names the run.

While the run is alive, it asks every second, and each answer waits until then for a change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import vectors
from theodolite.app.components.actions import actions
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.jobs import service, views
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Controls, Values, on, on_open
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.web.progress import card
from theodolite.store.errors import StoreClosed
from theodolite.store.run_rows import LIVE, RunRow

if TYPE_CHECKING:
    from theodolite.app.blocks import Block
    from theodolite.app.jobs.job import Job
    from theodolite.app.question import Answer as QuestionAnswer
    from theodolite.app.question import Question
    from theodolite.app.workspace import Workspace

T = TypeVar("T")
A = TypeVar("A", bound="QuestionAnswer")
T_co = TypeVar("T_co", covariant=True)
Named = Mapping[str, Any]
"""Changes of a page's components, by their names on the page."""
NOTHING: Named = MappingProxyType({})
POLL_SECONDS = 1.0
WAIT_SECONDS, CHECK_SECONDS = 0.9, 0.05
"""Maximum time that an answer waits for the run to move, and the interval between checks."""
AT_ONCE = 16
"""Maximum number of tabs with an answer that waits."""
_MOVES = ("id", "attempt", "done", "failed", "state", "total")


class RunPanel:
    """The components that show one run: progress with time left, its parts, cancel, retry.

    Attributes:
        run: hidden box with the run's id; name it `run` in the page's address.
        moved: changes when the run has finished a unit or ended; update results on its `change`.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.run = gr.Textbox(visible="hidden", label="Run", elem_id="following-run")
        self.moved = gr.Textbox(visible="hidden", label="Moved")
        self._view = actions(elem_id="following")
        self._units = actions(elem_id="following-units")
        notice = parts.notice()
        self._said = parts.notice()  # a second notice: each refresh empties the first
        self._timer = gr.Timer(POLL_SECONDS, active=False)
        followed = [self.run, self.moved]
        shown = [self._view, self._units, self._timer, self.moved]
        refresh = (self._refresh, followed, shown, notice)
        on(self.run.change, *refresh, **HIDE_PROGRESS)
        on(
            self._timer.tick,
            self._tick,
            followed,
            shown,
            notice,
            concurrency_limit=AT_ONCE,
            **HIDE_PROGRESS,
        )
        for part in (self._view, self._units):
            done = on(part.act, self._act, [self.run], [self.run], self._said, **HIDE_PROGRESS)
            on(done.then, *refresh, **HIDE_PROGRESS)

    def connect(
        self,
        controls: Controls,
        shown: Mapping[str, Any],
        words: Any,
        go: gr.Button,
        notice: Any,
        *,
        load: Callable[[Values, gr.Request], Named],
        show: Callable[[Values, str | None], Iterator[Named]],
        make: Callable[[Values], str],
        refill: Mapping[str, Callable[[Values], Named]] = NOTHING,
    ) -> None:
        """Show a page's answer when the page is opened, a control changes, or the run progresses.

        Args:
            controls: controls of the page; the run becomes one of them.
            shown: components that `show` may change, by name.
            words: the component among `shown` which displays the progress.
            go: the button that starts the run.
            notice: component which shows an error.
            load: completes the values that the address names; returns those of the controls.
            show: takes the values, and the session of the tab; yields the changes.
            make: queues the run that computes the answer and returns its id, empty if stored.
            refill: control -> function which updates other controls on its change, before `show`.
        """

        def changed(named: Named) -> Answer:
            return {shown[name]: value for name, value in named.items()}

        def opening(request: gr.Request) -> Answer:
            named = load(controls.from_address(request), request)
            run = from_address(self._workspace, request)
            return {controls[name]: value for name, value in {**named, "run": run}.items()}

        def refilling(name: str, values: Values) -> Answer:
            return {controls[other]: value for other, value in refill[name](values).items()}

        def showing(values: Values, request: gr.Request) -> Iterator[Answer]:
            yield from map(changed, show(values, request.session_hash))

        def making(values: Values, request: gr.Request) -> Iterator[Answer]:
            session = request.session_hash
            for progress, run in background_call.followed(
                lambda say: [make(values)], "Looking for earlier results", session
            ):
                if run is None:
                    yield {words: progress}
                    continue
                yield {self.run: run[0]}
                if run[0] in ("", values.run):  # nothing changes that the page would answer
                    values.run = run[0]
                    yield from map(changed, show(values, session))

        asks = [controls[name].input for name in controls.declared if name not in refill]
        controls.add("run", self.run)
        on_open(opening, showing, controls, shown.values(), notice)
        again = (showing, controls, [*shown.values()], notice)
        declared = [controls[name] for name in controls.declared]
        for name in refill:
            filled = on(
                controls[name].input,
                partial(refilling, name),
                controls,
                declared,
                notice,
                **ALWAYS_LAST,
            )
            on(filled.then, *again, **ALWAYS_LAST)
        on(asks, *again, trigger_mode="multiple", **HIDE_PROGRESS)
        on(go.click, making, controls, [*shown.values(), self.run], notice, **HIDE_PROGRESS)
        on(self.moved.change, *again, **ALWAYS_LAST)
        controls.keep()

    def ask(
        self,
        question: Question[Any, A],
        controls: Controls,
        shown: Any,
        go: gr.Button,
        notice: Any,
        *,
        load: Callable[[Values, gr.Request], Named],
        refill: Mapping[str, Callable[[Values], Named]] = NOTHING,
        spec: Callable[[Values], Any] | None = None,
        blocks: Callable[[A, Values], Iterable[Block]] = lambda answer, _: answer.blocks(),
    ) -> None:
        """Connect a page to a question: what is stored is shown, and `go` has the rest computed.

        Where the answer says what it lacks, `go` does, and is there only if something is lacking.

        Args:
            question: the question.
            controls: controls of the page.
            shown: component of `surfaces.web.answer`.
            go: the button that starts what the answer needs.
            notice: component which shows an error.
            load: as of `connect`.
            refill: as of `connect`.
            spec: makes the spec of the controls; None where each has the name of its value.
            blocks: makes what is shown of an answer.
        """
        asked = spec or partial(web.spec_of, question.spec)

        def show(values: Values, session: str | None) -> Iterator[Named]:
            def ask(say: background_call.Say) -> list[Any]:
                # One call: a second one would take the place of what the tab asked meanwhile.
                *_, last = question.answer(self._workspace, asked(values), self._is_stored)
                return [last]

            first = "Looking for what is known"
            for words, last in background_call.followed(ask, first, session):
                if last is None:
                    yield {"answer": words}
                    continue
                lack = None if self._workspace.read_only else last[0].lack
                button = gr.skip() if lack is None else gr.update(value=lack, visible=lack != "")
                yield {"answer": web.value(blocks(last[0], values)), "go": button}

        def make(values: Values) -> str:
            self._workspace.refuse_visitors()
            runs = []

            def do(job: Job) -> bool:
                done = job.is_stored(self._workspace) or job.is_short(self._workspace)
                if not done:
                    runs.append(queue(self._workspace, job))
                return done

            for _ in question.answer(self._workspace, asked(values), do):
                pass
            return next(iter(runs), "")

        named = {"answer": shown, "go": go}
        self.connect(
            controls, named, shown, go, notice, load=load, show=show, make=make, refill=refill
        )

    def _is_stored(self, job: Job) -> bool:
        return job.is_stored(self._workspace)

    def _tick(self, run_id: str, known: str) -> Answer:
        """Show the state of the run as soon as it moves, or after a while."""
        if run_id:
            wait_for_move(self._workspace, run_id, known)
        return self._refresh(run_id, known)

    def _refresh(self, run_id: str, known: str) -> Answer:
        """Show the current state of the run, and keep polling while it is alive.

        Its parts are read again only when one has ended.
        """
        if not run_id:
            return {self._view: "", self._units: "", self._timer: gr.update(active=False)}
        run = self._workspace.store.runs.get(run_id)
        now = moved(run)
        verbs = views.buttons(self._workspace, run, without=("next", "remove"))
        shown = {
            self._view: card(run, verbs),
            self._timer: gr.update(active=run["state"] in LIVE),
            self.moved: now,
        }
        if now != known:
            units = self._workspace.store.runs.units(run_id)
            shown[self._units] = views.parts_of(run, units, not self._workspace.read_only)
        return shown

    def _act(self, run_id: str, event: PageEvent) -> Answer:
        """Apply a button's action to the run, or evaluate a failed part again."""
        if event.act != "unit":
            return {self._said: parts.say(service.act(self._workspace, event.act, event.id))}
        again, what = service.evaluate_again(self._workspace, run_id, event.number("id"))
        if self._workspace.store.runs.get(run_id)["state"] in LIVE:
            return {self._said: parts.say(f"{what} will be available again after this run.")}
        return {self.run: again}


def moved(run: RunRow) -> str:
    """A text that changes when the run has finished a unit or ended."""
    row: Mapping[str, Any] = run
    return " ".join(str(row[name]) for name in _MOVES)


def wait_for_move(workspace: Workspace, run_id: str, known: str) -> None:
    """Return once a run is over or no longer as `known` by `moved`, after WAIT_SECONDS at most."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        run = workspace.store.runs.get(run_id)
        if run["state"] not in LIVE or moved(run) != known:
            return
        time.sleep(CHECK_SECONDS)


def from_address(workspace: Workspace, request: gr.Request) -> str:
    """The id of the run in the address, empty if there is no such run."""
    run_id = address.first(request, "run")
    return run_id if run_id in {run["id"] for run in workspace.store.runs.list()} else ""


class Drawn(Protocol[T_co]):
    """A job on one collection, whose answer is stored when computed."""

    @property
    def data(self) -> str:
        """Name in the catalog."""

    def stored(self, workspace: Workspace) -> T_co | None:
        """The answer, if it is stored."""


def awaited(
    workspace: Workspace,
    run_id: str,
    job: Drawn[T],
    encoders: Sequence[str],
    quick: Callable[[], T | None],
    session: str | None,
    *,
    most: int,
    words: str,
    drawn: Callable[[T], Named],
    nothing: Callable[[bool, float | None], Named],
) -> Iterator[Named]:
    """Yield the progress, then a job's stored answer, a quick one, or advice on what to do.

    Args:
        workspace: store and data.
        run_id: id of the run that the page follows, if any.
        job: the job.
        encoders: encoders by which the collection must be encoded.
        quick: computes an answer at once from the encoded collection.
        session: session of the tab.
        most: maximum number of sentences of a collection for which `quick` is tried.
        words: name of the component which displays the progress.
        drawn: renders an answer.
        nothing: renders the advice; takes whether a run is about to produce the answer, and the
            seconds that encoding would take if that is too long for a page, else None.
    """
    alive = bool(run_id) and workspace.store.runs.get(run_id)["state"] in LIVE

    def find(say: background_call.Say) -> list[T | None]:
        """Encode the missing sentences, unless the run is about to do so."""
        sentences, _ = workspace.catalog.sentences(job.data)
        say(
            f"Loading {' and '.join(encoders)}; a model that has not been used yet takes some "
            "seconds",
            None,
            None,
        )
        # An encoder fitted on the collection cannot be identified before that is encoded.
        if not any("@task" in encoder for encoder in encoders):
            found = job.stored(workspace)
            if found is not None or len(sentences) > most:
                return [found]
        if workspace.demo:
            with suppress(StoreClosed):
                return [quick()]
            return [None]
        for encoder in encoders:
            if alive and vectors.missing(workspace, encoder, job.data):
                return [None]
            background_call.encode(workspace, encoder, job.data, say)
        say("Arranging the points", None, None)
        return [job.stored(workspace) or quick()]

    try:
        for progress, found in background_call.followed(find, f"Opening {job.data}", session):
            if found is None:
                yield {words: progress}
            else:
                yield nothing(alive, None) if found[0] is None else drawn(found[0])
    except background_call.TooSlow as slow:
        yield nothing(alive, slow.left)
