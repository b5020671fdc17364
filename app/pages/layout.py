"""How a page asks its question: controls from its address, a button, the run, the answer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.blocks import Link, Nothing
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import NOTHING, Named, RunPanel
from theodolite.app.published import Published, Static
from theodolite.app.question import Answer, Question, Working
from theodolite.app.report.button import report_button
from theodolite.app.spec import Spec, parameters
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Controls, Values
from theodolite.app.workspace import Workspace

A = TypeVar("A", bound=Answer)
AWAITED = Nothing(
    "The first results are being computed",
    "They will appear here as they are computed. Jobs shows the progress.",
    Link("Jobs", "jobs"),
)
NO_RUNS = (
    "This demonstration does not start runs: choose something else, or run Theodolite on your own "
    "machine."
)
RUNS = "It appears here when its run is done."
Load = Callable[[Values, gr.Request], Named]


@dataclass(frozen=True)
class Page:
    """A page of a module that has several; `build` lays it out."""

    TITLE: str
    PATH: str
    DESCRIPTION: str
    PUBLISHED: Static
    build: Callable[[Workspace], None]


class Asked(NamedTuple):
    """The components below the controls of a page that asks a question."""

    panel: RunPanel
    answer: gr.HTML
    notice: gr.HTML


def ask(
    workspace: Workspace,
    question: Question[Any, A],
    controls: Controls,
    go: gr.Button,
    *,
    load: Load | None = None,
    refill: Mapping[str, Callable[[Values], Named]] = NOTHING,
    spec: Callable[[Values], Any] | None = None,
    report: bool = False,
    **options: Any,
) -> Asked:
    """Place the notice, the run and the answer of a question below a page's controls.

    What is stored is shown, and `go` has the rest computed. Where the answer says what it lacks,
    `go` does, and is there only if something is lacking.

    Args:
        workspace: store and data.
        question: the question.
        controls: controls of the page, already placed.
        go: the button that starts what the answer needs.
        load: completes the values that the address names; None for `fill`.
        refill: control -> function which updates other controls on its change.
        spec: makes the spec of the controls; None where each has the name of its value.
        report: whether to place the button that downloads the answer.
        **options: of `web.answer`: `charts`, `elem_id`.
    """
    notice, panel = parts.notice(), RunPanel(workspace)
    answer = web.answer(**{"elem_classes": ["t-answer"]} | options)
    asking = _Asking(workspace, question, spec or partial(web.spec_of, question.spec))
    panel.connect(
        controls,
        {"answer": answer, "go": go},
        answer,
        go,
        notice,
        load=load or partial(fill, workspace, question.spec),
        show=asking.show,
        make=asking.make,
        refill=refill,
    )
    if report:
        report_button(controls, notice, partial(web.report, question, workspace, read=asking.spec))
    return Asked(panel, answer, notice)


@dataclass(frozen=True)
class _Asking(Generic[A]):
    """What a page does about its question; the fields are those of `ask`."""

    workspace: Workspace
    question: Question[Any, A]
    spec: Callable[[Values], Any]

    def show(self, values: Values, session: str | None) -> Iterator[Named]:
        """Yield the progress, then the answer; nothing where a value is missing."""
        required = [one.name for one in parameters(self.question.spec) if one.required]
        if not all(getattr(values, name, True) for name in required):
            yield {"answer": ""}
            return

        jobs: list[Job] = []

        def do(job: Job) -> bool:
            done = job.is_stored(self.workspace)
            if not done:
                jobs.append(job)
            return done

        def last(say: background_call.Say) -> A:
            # One call: a second one would take the place of what the tab asked meanwhile.
            for one in self.question.answer(self.workspace, self.spec(values), do):
                if isinstance(one, Working):
                    say(one.text, one.done, one.left)
                else:
                    whole = one
            return whole

        for words, answer in background_call.follow(last, "Looking for what is known", session):
            if answer is None:
                yield {"answer": words}
                continue
            lack = None if self.workspace.read_only else answer.lack
            button = gr.skip() if lack is None else gr.update(value=lack, visible=lack != "")
            # A page that was reloaded before its run was queued does not know of it.
            live = self.workspace.store.runs.live(*((job.kind, job.to_spec()) for job in jobs))
            blocks = answer.blocks()
            if jobs and (live or self.workspace.read_only):
                hint = RUNS if live else NO_RUNS
                blocks = [replace(b, hint=hint) if isinstance(b, Nothing) else b for b in blocks]
            yield {"answer": web.value(blocks), "go": button, "run": live or gr.skip()}

    def make(self, values: Values) -> str:
        """Queue what is lacking; return the id of the first run, empty if there is none."""
        self.workspace.refuse_visitors()
        runs = []

        def do(job: Job) -> bool:
            done = job.is_stored(self.workspace) or job.is_short(self.workspace)
            if not done:
                runs.append(queue(self.workspace, job))
            return done

        for _ in self.question.answer(self.workspace, self.spec(values), do):
            pass
        return next(iter(runs), "")


def fill(workspace: Workspace, spec: type[Spec], values: Values, request: gr.Request) -> Named:
    """The values of the address for the controls, with the encoders and data sets there are."""
    fields = dict(vars(values))
    single = (p.name for p in parameters(spec) if p.field.names == "encoder" and not p.many)
    others = [str(fields[name]) for name in single if fields.get(name)]
    for parameter in parameters(spec):
        selection, names = fields.get(parameter.name), parameter.field.names
        if parameter.name not in fields:
            continue
        if parameter.field.offers is not None:
            offers, raw = parameter.field.offers(workspace), address.every(request, parameter.key)
            pairs = [(label, value) for value, label in offers.items()]
            pairs += [(value, value) for value in raw if value not in offers]
            value = raw if parameter.many else [*raw, *offers][0]
            selection = gr.update(choices=pairs, value=value)
        elif names == "encoder" and parameter.many:
            selection = choices.fill(workspace, choices.from_address(workspace, request))
        elif names == "encoder":
            selection = choices.first(workspace, selection, others)
            others, selection = [*others, selection], choices.one(workspace, selection)
        elif names == "dataset" and not parameter.many:
            _, selection = collections.fill(workspace, selection)
        elif names == "dataset":
            raw = list(selection or ())  # the answer names those that are gone
            offered = dict.fromkeys([*workspace.catalog.names(), *raw])
            selection = gr.update(choices=list(offered), value=raw)
        elif parameter.many and isinstance(selection, str):
            selection = "\n".join(address.every(request, parameter.key)) or selection
        fields[parameter.name] = selection
    return fields


class QuestionPage:
    """The page of a module that has a `QUESTION`, a `TITLE` and a `PATH`, and no `build`.

    `BUTTON` of the module is what its button says.
    """

    def __init__(self, module: ModuleType) -> None:
        self.TITLE, self.PATH = module.TITLE, module.PATH
        self.PUBLISHED = getattr(module, "PUBLISHED", Static(module.QUESTION, _usual))
        button = getattr(module, "BUTTON", module.TITLE)
        self.build = partial(build, module.QUESTION, module.TITLE, button)


def _usual(published: Published) -> Iterator[tuple[str, Spec]]:
    """Nothing, unless an address is given."""
    yield from ()


def build(question: Question[Any, Any], title: str, button: str, workspace: Workspace) -> None:
    """Lay out a page: the values that must be given, a button, and the others behind it."""
    every = parameters(question.spec)
    controls = Controls(*web.controls(question.spec))
    with parts.bar(title, question.about):
        for one in every:
            offers = one.field.offers is not None
            if one.required or (offers and not one.many) or (one.field.names and not offers):
                controls.render(one.name)
        visible, name = not workspace.read_only, f"{question.name}-button"
        go = gr.Button(button, variant="primary", elem_id=name, visible=visible)
        with parts.more():
            for one in every:
                if one.name not in controls:
                    controls.render(one.name)
    ask(workspace, question, controls, go, report=True, elem_id=question.name)
