"""The chart: drawn here, coloured by the page, its numbers beside it, its events in Python."""

from __future__ import annotations

from collections.abc import Iterator

import gradio as gr
import numpy as np
import pytest
from playwright.sync_api import expect

from tests.ui.steps import saved
from theodolite.app import ui
from theodolite.app.components import modules
from theodolite.app.components.chart import chart, drawing, plain
from theodolite.app.web import figures, palette, parts, template, theme
from theodolite.app.web.routes import routes
from theodolite.app.workspace import Workspace

HOSTILE = "<b>bold</b> & <img src=x>"


@pytest.fixture(scope="module")
def alone(workspace: Workspace) -> Iterator[str]:
    """A page with nothing but a chart and what it last sent, in the frame."""
    points = figures.scatter(
        x=np.arange(8)[::2] / 4,
        y=[0.0, 1.0, 4.0, 9.0],
        mode="markers",
        name=plain(HOSTILE),
        showlegend=True,
        marker={"size": 14},
    )
    axes = figures.axis("cosine"), figures.axis("density")
    figure = figures.draw([points], *axes, height=360, left=48, legend=True)
    with gr.Blocks(analytics_enabled=False) as demo:
        with parts.bar("A chart"):
            pass
        drawn = chart(drawing(figure, "Four points on a parabola."), elem_id="chart")
        box = gr.Textbox(label="Heard")

        def hear(event: gr.EventData) -> str:
            return f"{event.points[0]['index']} at {event.points[0]['y']}"

        drawn.click(hear, None, box)
    demo.launch(
        prevent_thread_lock=True,
        quiet=True,
        theme=theme.theme(),
        head=ui.head(),
        footer_links=[],
        run_history=False,
        app_kwargs={"routes": [*routes(), *modules.routes(), *palette.routes(workspace, ui.RAIL)]},
    )
    template.begin_with(demo.app, ui.first_painted())
    yield str(demo.local_url).rstrip("/")
    demo.close()


def test_a_chart_is_seen_read_taken_away_and_pressed(visitor, alone):
    """Its names stay text, its colours are the page's, its events reach Python."""
    page = visitor(alone).open()
    plot, twin = page.locator(".t-plot"), page.locator(".t-twin")
    expect(plot.locator(".legendtext")).to_have_text(HOSTILE)
    plot.locator(".points path").nth(2).click(force=True)
    expect(page.get_by_label("Heard")).to_have_value("2 at 4")

    page.get_by_text("Numbers as a table").click()
    expect(twin.locator("tbody tr")).to_have_count(4)
    expect(twin.locator("td").first).to_have_text(HOSTILE)
    expect(page.locator(".t-plot img, .t-twin img")).to_have_count(0)
    button = page.get_by_role("button", name="Download CSV")
    lines = saved(page, button).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "series,cosine,density"
    assert lines[4].endswith(",1.5,9")

    text = plot.locator(".xtitle")
    light = text.evaluate("node => getComputedStyle(node).fill")
    page.evaluate("theodolite.toggleTheme()")
    page.wait_for_function(
        "before => getComputedStyle(document.querySelector('.t-plot .xtitle')).fill !== before",
        arg=light,
    )
    titles = [one.get_attribute("data-title") for one in page.locator(".modebar-btn").all()]
    assert titles == ["Zoom", "Pan", "Reset axes", "Download plot as a PNG"]
    expect(page.get_by_role("group", name="Four points on a parabola.")).to_be_visible()
