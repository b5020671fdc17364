"""The button *Report* of a page: downloads its content as a file."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr

from theodolite.app.report.file import Report, html
from theodolite.app.web.controls import on

SAVE = """(made) => {
  if (made) window.theodolite.download(...JSON.parse(made));
  return "";
}"""


def report_button(
    inputs: Mapping[str, Any] | Sequence[Any], notice: Any, make: Callable[..., Report]
) -> None:
    """Place the button here. Visitors have it too: a report shows nothing that they do not see.

    Reports are made one at a time across all users, and have at most `file.MAX_BYTES`.

    Args:
        inputs: of `make`, as `controls.on` takes them.
        notice: where errors are shown.
        make: makes the report; may raise a UserError.
    """
    button = gr.Button("Report", size="md", elem_id="report", elem_classes=["t-report"])
    fetched = gr.Textbox(visible="hidden", label="Report")

    def fetch(*values: Any) -> dict[Any, Any]:
        file = make(*values)
        return {fetched: json.dumps([f"{file.name}.html", html(file)])}

    done = on(
        button.click,
        fetch,
        inputs,
        [fetched],
        notice,
        concurrency_limit=1,
        show_progress="minimal",
        show_progress_on=button,
    )
    done.then(None, fetched, fetched, js=SAVE)
