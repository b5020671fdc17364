"""A panel which follows a background run on the page that started it; the address names the run.

While the run is alive, it asks every second, and each answer waits until then for a change. A run
that failed or was cancelled may be retried elsewhere: it is polled now and then.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import gradio as gr

from theodolite.app.components.actions import actions
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs import service, views
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Controls, PageEvent, Values, on, on_open
from theodolite.app.web.progress import card
from theodolite.app.workspace import Workspace
from theodolite.store.run_rows import LIVE, RunRow

Named = Mapping[str, Any]
"""Changes of a page's components, by their names on the page."""
NOTHING: Named = MappingProxyType({})
POLL_SECONDS, IDLE_SECONDS = 1.0, 5.0
WAIT_SECONDS, CHECK_SECONDS = 0.9, 0.05
"""Maximum time that an answer waits for the run to move, and the interval between checks."""
AT_ONCE = 16
"""Maximum number of tabs with an answer that waits."""


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
        notice = self._notice = parts.notice()
        self._timer = gr.Timer(POLL_SECONDS, active=False)
        followed = [self.run, self.moved]
        outputs = [self._view, self._units, self._timer, self.moved]
        refresh = (self._refresh, followed, outputs, notice)
        on(self.run.change, *refresh, **parts.HIDE_PROGRESS)
        on(
            self._timer.tick,
            self._tick,
            followed,
            outputs,
            notice,
            concurrency_limit=AT_ONCE,
            **parts.HIDE_PROGRESS,
        )
        for part in (self._view, self._units):
            done = on(part.act, self._act, [self.run], [self.run], notice, **parts.HIDE_PROGRESS)
            on(done.then, *refresh, **parts.HIDE_PROGRESS)

    def connect(
        self,
        controls: Controls,
        outputs: Mapping[str, Any],
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
            outputs: components that `show` may change, by name; it may change the `run` as well.
            words: the component among `shown` which displays the progress.
            go: the button that starts the run.
            notice: component which shows an error.
            load: completes the values that the address names; returns those of the controls.
            show: takes the values, and the session of the tab; yields the changes.
            make: queues the run that computes the answer and returns its id, empty if stored.
            refill: control -> function which updates other controls on its change, before `show`.
        """
        places = {**outputs, "run": self.run}
        chips = {
            name: choices.watch(controls[name])
            for name, control in controls.declared.items()
            if control.options.get("multiselect") and control.options.get("allow_custom_value")
        }

        def changed(fields: Named) -> Answer:
            return {places[name]: value for name, value in fields.items()}

        def opening(request: gr.Request) -> Answer:
            named = load(controls.from_address(request), request)
            run = address.first(request, "run")
            filled = {controls[name]: value for name, value in {**named, "run": run}.items()}
            return filled | {
                known: choices.joined(named[name]) for name, (known, _) in chips.items()
            }

        def refilling(name: str, values: Values) -> Answer:
            return {controls[other]: value for other, value in refill[name](values).items()}

        def showing(values: Values, request: gr.Request) -> Iterator[Answer]:
            yield from map(changed, show(values, request.session_hash))

        def making(values: Values, request: gr.Request) -> Iterator[Answer]:
            session = request.session_hash
            for progress, run in background_call.follow(
                lambda say: [make(values)], "Looking for earlier results", session
            ):
                if run is None:
                    yield {words: progress}
                    continue
                yield {self.run: run[0]}
                if run[0] in ("", values.run):  # nothing changes that the page would answer
                    values.run = run[0]
                    yield from map(changed, show(values, session))

        asks = [
            chips[name][1] if name in chips else controls[name].input
            for name in controls.declared
            if name not in refill
        ]
        controls.add("run", self.run)
        boxes = [known for known, _ in chips.values()]
        on_open(opening, showing, controls, [*places.values(), *boxes], notice)
        again = (showing, controls, [*places.values()], notice)
        declared = [controls[name] for name in controls.declared]
        for name in refill:
            update = on(
                controls[name].input,
                partial(refilling, name),
                controls,
                declared,
                notice,
                **parts.ALWAYS_LAST,
            )
            on(update.then, *again, **parts.ALWAYS_LAST)
        on(asks, *again, trigger_mode="multiple", **parts.HIDE_PROGRESS)
        on(go.click, making, controls, [*places.values()], notice, **parts.HIDE_PROGRESS)
        on(self.moved.change, *again, **parts.ALWAYS_LAST)
        controls.keep()

    def _tick(self, run_id: str, known: str) -> Answer:
        """Show the state of the run as soon as it moves, or after a while."""
        end = time.monotonic() + WAIT_SECONDS
        while run_id and time.monotonic() < end:
            run = self._workspace.store.runs.get(run_id)
            if run["state"] not in LIVE or progress_mark(run) != known:
                break
            time.sleep(CHECK_SECONDS)
        return self._refresh(run_id, known)

    def _refresh(self, run_id: str, known: str) -> Answer:
        """Show the current state of the run, and keep polling while it is alive.

        Its parts are read again only when one has ended.
        """
        if not run_id:
            return {self._view: "", self._units: "", self._timer: gr.update(active=False)}
        run = self._workspace.store.runs.get(run_id)
        now = progress_mark(run)
        verbs = views.buttons(self._workspace, run, without=("next", "remove"))
        updates = {
            self._view: card(run, verbs),
            self._timer: gr.update(
                value=POLL_SECONDS if run["state"] in LIVE else IDLE_SECONDS,
                active=run["state"] != "done",
            ),
            self.moved: now,
        }
        if now != known:
            is_over = run["state"] == "done"  # folds to one line; its parts are in the log
            units = [] if is_over else self._workspace.store.runs.units(run_id)
            updates[self._units] = views.parts_of(run, units, not self._workspace.read_only)
        return updates

    def _act(self, run_id: str, event: PageEvent) -> Answer:
        """Apply a button's action to the run, or evaluate a failed part again."""
        if event.act != "unit":
            return {self._notice: parts.say(service.act(self._workspace, event.act, event.id))}
        again, what = service.evaluate_again(self._workspace, run_id, event.number("id"))
        if self._workspace.store.runs.get(run_id)["state"] in LIVE:
            return {self._notice: parts.say(f"{what} will be available again after this run.")}
        return {self.run: again}


def progress_mark(run: RunRow) -> str:
    """A text that changes when the run has finished a unit or ended."""
    return " ".join(
        str(run[name]) for name in ("id", "attempt", "done", "failed", "state", "total")
    )
