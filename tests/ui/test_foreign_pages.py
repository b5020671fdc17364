"""What pages of others can do to the app in a real browser: link to it, and nothing else."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from gradio.utils import get_upload_folder
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.ui.conftest import served
from tests.ui.others import certificate, https_before, site
from theodolite.app import ui
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.workspace import Workspace

LISTED = "random:16"
LINK = "search?q=rain&in=starter-pairs&encoder=random:16&encoder=random:17"
NOTHING = ["nothing"] * 4
FETCHES = """async ([ours, name]) => {
  const form = new FormData();
  form.append("files", new Blob(["text\\nstored by others\\n"]), name);
  const said = [];
  for (const [path, options] of [
    ["gradio_api/upload", { method: "POST", mode: "no-cors", body: form }],
    ["config", {}],
    ["gradio_api/queue/data?session_hash=x", {}],
    ["gradio_api/queue/join", { method: "POST", body: JSON.stringify({ fn_index: 0, data: [], session_hash: "x" }) }],
  ]) {
    try {
      const answer = await fetch(`${ours}/${path}`, { credentials: "include", ...options });
      said.push(answer.type === "opaque" ? "opaque" : await answer.text());
    } catch { said.push("nothing"); }
  }
  return said;
}"""  # noqa: E501


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A person's own, with one encoder."""
    made = Workspace(tmp_path_factory.mktemp("foreign") / "store")
    encoders.add(made, LISTED)
    yield made
    made.close()


@pytest.fixture(scope="module")
def app(workspace: Workspace) -> Iterator[str]:
    """Address of the app over it."""
    with served(workspace) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab of somebody who was never here."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def asked_by_others(page: Page, app: str) -> list[str]:
    """What the page's script gets from the app; nothing of what it sent is kept."""
    name = f"{uuid.uuid4().hex}.csv"
    answer = page.evaluate(FETCHES, [app, name])
    assert not list(Path(get_upload_folder()).rglob(name))
    return list(answer)


def test_a_frame_on_a_page_of_others_stays_empty(page: Page, app: str) -> None:
    """Nothing of ours is drawn there, so nothing can be clicked unseen."""
    with site(f'<iframe src="{app}/{LINK}"></iframe><iframe src="{app}/jobs"></iframe>') as port:
        page.goto(f"http://localhost:{port}/")
        for frame in page.frames[1:]:
            assert frame.url.startswith("chrome-error:")


def test_a_frame_on_a_page_of_ours_is_shown(page: Page, app: str) -> None:
    """The rule is about others."""
    page.goto(f"{app}/jobs")
    page.evaluate("""() => {
      const frame = document.createElement("iframe");
      document.body.append(Object.assign(frame, { src: "./data", id: "inner" }));
    }""")
    expect(page.frame_locator("#inner").locator(".t-header")).to_be_visible()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_another_port_of_this_machine_gets_no_answer(page: Page, app: str, host: str) -> None:
    """Neither reads an answer of the queue nor stores a file."""
    with site("<h1>Others</h1>") as port:
        page.goto(f"http://{host}:{port}/")
        assert asked_by_others(page, app) == NOTHING


def test_a_link_of_others_loads_nothing_before_a_click(page: Page, app: str) -> None:
    """It asks, also when the page is loaded again; then it is the page it would have been."""
    with site(f'<a href="{app}/{LINK}">Look</a>') as port:
        page.goto(f"http://localhost:{port}/")
        page.get_by_role("link", name="Look").click()
        question = page.get_by_role("heading", name="Load what this link names?")
        expect(question).to_be_visible()
        page.reload()
        expect(question).to_be_visible()
        expect(page.get_by_role("listitem")).to_have_text(["random:17"])
        page.get_by_role("link", name="Load", exact=True).click()
        expect(page.locator("#hits")).to_contain_text("random:17")
        assert "encoder=random%3A17" in page.url or "encoder=random:17" in page.url


def test_the_rest_of_a_link_can_be_opened_without(page: Page, app: str) -> None:
    """What is listed stays."""
    page.goto(f"{app}/{LINK}")
    page.get_by_role("link", name="Open the page without").click()
    expect(page.locator("#hits")).to_contain_text(LISTED)
    expect(page.locator("#hits")).not_to_contain_text("random:17")


# Under a name of one's own


@pytest.fixture(scope="module")
def secure(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """Addresses of the app with a login and of a page of others, both over HTTPS."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = certificate(tmp_path_factory.mktemp("certificate"))
    demo = ui.launch(workspace, open_browser=False, block=False, auth=("ada", "lovelace"))
    with https_before(demo.server_port, made) as port, site("<h1>Others</h1>", made) as other:
        yield f"https://own.localhost:{port}", f"https://others.localhost:{other}"
    demo.close()


@pytest.fixture
def trusting(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that takes the certificate."""
    context = browser.new_context(ignore_https_errors=True)
    yield context
    context.close()


def signed_in(context: BrowserContext, app: str) -> None:
    """A tab in which the login was given."""
    page = context.new_page()
    page.goto(f"{app}/jobs")
    expect(page.get_by_text("After five wrong tries the next has to wait")).to_be_visible()
    sign_in(page)
    expect(page.locator(".t-header")).to_be_visible()


def sign_in(page: Page) -> None:
    """Give the login."""
    page.get_by_label("username").fill("ada")
    page.get_by_label("password").fill("lovelace")
    page.get_by_role("button", name="Login").click()


def test_a_login_stays_with_our_own_site(trusting: BrowserContext, secure: tuple[str, str]) -> None:
    """A page of others that asks with credentials gets nothing; a link of theirs gets in."""
    app, other = secure
    signed_in(trusting, app)
    cookies = {c["name"]: c for c in trusting.cookies(app) if "access-token" in c["name"]}
    assert len(cookies) == 2
    assert all(cookie["sameSite"] == "Lax" and cookie["httpOnly"] for cookie in cookies.values())
    page = trusting.new_page()
    page.goto(f"{other}/")
    assert asked_by_others(page, app) == NOTHING
    page.evaluate("to => { location.href = to; }", f"{app}/data")
    expect(page.locator(".t-header")).to_be_visible()


def test_a_link_asks_also_where_it_first_wants_the_login(
    trusting: BrowserContext, secure: tuple[str, str]
) -> None:
    """The page loads itself again after the login: that is no click on the link's behalf."""
    app, other = secure
    page = trusting.new_page()
    page.goto(f"{other}/")
    page.evaluate("to => { location.href = to; }", f"{app}/{LINK}")
    page.get_by_role("link", name="Load", exact=True).click()
    sign_in(page)
    expect(page.locator("#hits")).to_contain_text("random:17")
