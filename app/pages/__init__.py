"""The pages: a folder each, and the list of them.

The frame is `app.ui`; what a page is made of is `app.web`.

A folder holds all of its page: `service.py` (what it does; no Gradio, no Typer, no HTML), `page.py`
(its face in the browser), `command.py` (its face in the terminal), `views.py` (HTML and figures).
Several pages of one subject share a folder. Frame, verbs and kinds of jobs are made of the list
below: `command.py` names its verbs in `VERBS`, and a folder that has jobs names their classes in
`JOBS` of its `__init__.py`.

A page's module has `TITLE` (on the rail), `PATH` (one segment, empty for the first page) and
`build(workspace)`, which lays out its components and attaches its events. It is called once, when
the app starts, and must be quick and import nothing heavy: torch, scikit-learn, plotly and the
engine's working parts belong inside the handlers. Data is read when the page is opened, with
`on_load`, never while building.

- A page begins with `parts.bar`: what it is of and the one action, the rest in `parts.more`. What
  people came for follows at once, and has the class `t-answer`.
- Controls are declared with `app.web.controls`, as `CONTROLS` of the module; with its `on`,
  `on_load` and `poll` a handler answers events: it returns {component: value}, and a UserError or
  StoreError becomes a calm notice. `on_open` fills the controls and answers them by one event.
- What changes something begins with `workspace.refuse_visitors()`, in the service.
- A handler of an event of our own HTML takes `event: PageEvent`: what it reads of it is checked.
- Controls that make up the view are given to `address.keep({"encoder": box, …})` and read back
  with `address.first`, `address.every`, `address.choice` in the `on_load` handler. A name whose
  values are free text is listed in `app.web.guard.links.TEXTS`: of others a link that names an
  encoder which is not listed asks first.
- `CLOSED` of the module: what strangers cannot do on the page of a demonstration, and why.
- `workspace.read_only`: leave out (do not merely disable) uploads, local paths, deletes and runs.
- Text from outside is escaped with `html.escape` in HTML of ours and `chart.plain` in figures.
  Never put it into a `gr.HTML` template with `{{ }}`: what stands there is evaluated as JavaScript.
- Figures are drawn by `components.chart.chart`, with a value from `components.chart.drawing`.
- Polling: one `gr.Timer`, one indexed query, `gr.skip()` when nothing changed,
  `show_progress="hidden"`.
"""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One line of the rail.

    Attributes:
        icon: its name among `app.web.icons`.
        tabs: the pages it stands for by the names of their tabs, each a module below this package;
            a single one has no tabs.
        title: on it; empty for that of the first page.
    """

    icon: str
    tabs: dict[str, str]
    title: str = ""


def _one(name: str) -> Line:
    return Line(name, {"": f"{name}.page"})


RAIL = (
    (_one("overview"),),
    (_one("data"), _one("encoders")),
    (_one("choose"), _one("evaluate"), _one("judge"),
     Line("compare", {"Differences": "compare.page", "Fairness": "fair.page"}, "Compare"),
     Line("board", {"Ranking": "board.page", "Cost": "board.cost_page",
                    "Data sets": "board.similarity_page", "Leaks": "board.leaks_page"}, "Board")),
    (_one("search"), _one("map"), _one("spaces"),
     Line("geometry", {"Geometry": "geometry.page", "Distributions": "geometry.distributions"}),
     _one("curate")),
    (Line("decode", {"Round trip": "decode.page", "Interpolation": "decode.interpolate",
                     "Arithmetic": "decode.arithmetic", "Diagnosis": "diagnose.page"}, "Decode"),),
    (Line("train", {"Encoders": "train.page", "Decoders": "train.decoder_page"}, "Train"),
     _one("trainings")),
    (Line("jobs", {"Jobs": "jobs.page", "Workers": "jobs.workers_page"}, "Jobs"),),
)  # fmt: skip
"""The pages in the order of the rail, in groups that stand apart."""
_MODULES = [module for group in RAIL for line in group for module in line.tabs.values()]
FOLDERS = tuple(dict.fromkeys(module.partition(".")[0] for module in _MODULES))
"""Where they are, each folder once."""
