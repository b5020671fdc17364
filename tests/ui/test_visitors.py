"""A read-only app: visitors look, and nothing is offered that would change or run anything."""

from playwright.sync_api import expect

from tests.ui.conftest import served_to_visitors
from tests.ui.steps import says
from theodolite.app.pages.judge import session as judging
from theodolite.app.pages.judge.session import JudgeSpec

ACTS = "[data-act=stop], [data-act=cancel], [data-act=retry], [data-act=remove]"


def test_they_look_and_touch_nothing(visitor, desk):
    desk.store.runs.create("evaluate", {"encoders": [], "tasks": [], "n": 1}, title="A run")
    session = judging.begin(desk, JudgeSpec("starter-topics", ["random:256", "random:64"], draw=5))
    judging.mark(desk, session, "relevant")
    with served_to_visitors(desk) as address:
        visit = visitor(address)
        for path, place, seen, gone in (
            ("", "h1", "Home", "#t-main a[href='./data'], #t-main a[href='./encoders']"),
            (
                "encoders?encoder=random:256",
                "#encoders",
                "random:256",
                "#opened [data-act], #spec, #add",
            ),
            ("jobs", ".t-runs li", "A run", ACTS),
            (
                f"judge?session={session}",
                "#judging",
                "The last mark: relevant",
                "#judging [data-act]",
            ),
            ("train", "#command pre", "theodolite train", "#start, #cost, #upload, #file, #sweep"),
            ("runs", "#runs", "ships as an example", f"{ACTS}, #ablations, .t-verbs a"),
            ("upgrade?new=random:256", "#t-main", "Not measured yet", "#t-main :text('Press')"),
            ("fair-play", "#t-main", "eeds", "[data-act=evaluate]"),
            (
                "compare",
                "h1",
                "Compare",
                "button:text('Publish'), #t-main .t-answer a[href^='./evaluate']",
            ),
        ):
            page = visit.open(path)
            says(page.locator(place).first, seen)
            expect(page.locator(gone).locator("visible=true")).to_have_count(0)
        fields = {"address": "compare", "mask": "none", "texts": True}
        assert page.request.post(f"{address}/theodolite/publish", data=fields).status in (404, 405)
        page.goto("about:blank")  # what it still loads may be asked of the next server on this port
