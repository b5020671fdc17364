"""The pages: one folder per page, and the list of them.

The frame around the pages is `app.ui`; shared building blocks are in `app.web`.

A folder contains everything about its page: `answer.py` (its question: spec and answer),
`service.py` (what it computes with; no Gradio, no Typer, no HTML), `page.py` (the Gradio page),
`command.py` (commands that are no questions), `views.py` (HTML that is no block). Several pages
on one subject can share a folder. The frame, the commands and the kinds of jobs are built from the
list below: `command.py` lists its commands in `VERBS`, and a folder lists its questions and the
classes of its jobs in `QUESTIONS` and `JOBS` of its `__init__.py`.

A page's module has `TITLE` (shown in the rail), `PATH` (one segment, empty for the first page) and
`build(workspace)`, which creates its components and attaches its events. `build` is called once,
when the app starts. It must be fast and import nothing heavy: torch, scikit-learn and plotly are
imported where they are used. Read data when the page is opened, with `on_load`, never while
building.

- A page that asks one question lays out its controls and calls `ask` of `app.pages.layout`, which
  places the notice, the run and the answer, and fills the controls from the address.
- A page begins with `parts.bar`: its subject and main action, with everything else in `parts.more`.
  The main content follows immediately and has the class `t-answer`.
- Controls are declared with `app.web.controls`, as `CONTROLS` of the module. Handlers attached with
  its `on`, `on_load` and `poll` return {component: value}; a UserError or StoreError is shown as a
  notice. `on_open` fills the controls and answers them in one event.
- Functions that change something begin with `workspace.refuse_visitors()`, in the service.
- The handler of an event of our own HTML takes `event: PageEvent`, which validates what it reads.
- Controls that determine the view are passed to `address.keep({"encoder": box, …})` and read back
  with `address.first`, `address.every` and `address.choice` in the `on_load` handler. Names with
  free-text values are listed in `app.web.guard.links.TEXTS`; for all other names, a link that
  contains an encoder which is not listed asks for confirmation first.
- `CLOSED` of the module: what visitors of a demonstration cannot do on the page, and why.
- `workspace.read_only`: leave out (do not merely disable) uploads, local paths, deletes and runs.
- Escape external text with `html.escape` in our HTML and with `figures.plain` in figures. Never put
  it into a `gr.HTML` template with `{{ }}`, whose content is evaluated as JavaScript.
- Figures are blocks `Chart`.
- Polling: one `gr.Timer`, one indexed query, `gr.skip()` if nothing changed,
  `show_progress="hidden"`.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Line(NamedTuple):
    """One line of the rail.

    Attributes:
        icon: name of an icon in `app.web.frame`.
        tabs: its pages: name of a tab -> module below this package, or `module:attribute` of
            several pages in one; a single page has no tabs.
        title: its label; if empty, the title of the first page.
    """

    icon: str
    tabs: dict[str, str]
    title: str = ""


RAIL = (
    (Line("overview", {"": "overview.page"}),),
    (
        Line(
            "data",
            {
                "Data sets": "data.page",
                "Checks": "curate.page",
                "Leaks": "curate.leaks",
                "Similarity": "data.similarity",
            },
            "Data",
        ),
        Line(
            "encoders",
            {
                "Encoders": "encoders.page",
                "Train": "train.page",
                "Train a decoder": "train.decoder_page",
                "Trainings": "trainings.page",
            },
            "Encoders",
        ),
    ),
    (
        Line("choose", {"From a file": "choose.page", "By judging": "judge.page"}, "Choose"),
        Line(
            "results",
            {
                "Compare": "compare.page",
                "Fairness": "compare.fair_page",
                "Board": "board.page",
                "Cost": "board.cost_page",
                "Evaluate": "evaluate.page",
            },
            "Results",
        ),
    ),
    (
        Line("search", {"": "search.page"}),
        Line(
            "map",
            {
                "One space": "map.page",
                "Two spaces": "spaces.page",
                "Upgrade": "spaces.upgrade",
                "Geometry": "geometry.page:GEOMETRY",
                "Distributions": "geometry.page:DISTRIBUTIONS",
            },
            "Map",
        ),
        Line(
            "decode",
            {
                "Round trip": "decode.page:DECODE",
                "Interpolation": "decode.page:INTERPOLATION",
                "Arithmetic": "decode.page:ARITHMETIC",
                "Diagnosis": "diagnose.page",
            },
            "Decode",
        ),
    ),
    (Line("jobs", {"Jobs": "jobs.page", "Workers": "jobs.workers"}, "Jobs"),),
)
"""The rooms in the order of the rail, in visually separated groups; the last is at its foot."""
_MODULES = [module for group in RAIL for line in group for module in line.tabs.values()]
FOLDERS = tuple(dict.fromkeys(module.partition(".")[0] for module in _MODULES))
"""The distinct folders of the pages."""


def declared(what: str) -> dict[str, str]:
    """The names that the pages declare in `QUESTIONS` or `JOBS`.

    Returns:
        Name -> `module:attribute`; the modules of folders are not imported. A page in one file
        declares `":ATTRIBUTE"`.
    """
    return {
        name: f"{__name__}.{page}.{where}".replace(".:", ":")
        for page in FOLDERS
        for name, where in getattr(import_module(f"{__name__}.{page}"), what, {}).items()
    }


def questions() -> dict[str, str]:
    """Name of a question's function -> `module:attribute`."""
    from theodolite.app.spec import function_name  # the command's help needs no specs

    return {function_name(verb): place for verb, place in declared("QUESTIONS").items()}


def load(place: str) -> Any:
    """Import what `module:attribute` names."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
