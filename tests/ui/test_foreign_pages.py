"""What pages of others can do to the app in a real browser: link to it, and nothing else."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from gradio.utils import get_upload_folder
from playwright.sync_api import Page, expect

from tests.fakes.started import serving
from tests.ui.steps import address_of, says
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
def desk(desk: Workspace) -> Workspace:
    """A person's own, with one encoder."""
    desk.store.encoders.add(LISTED)
    return desk


def shown_by(web: tuple[Path, str], html: str) -> str:
    """Address of a page of others on this machine, at another port and by another name."""
    (web[0] / "index.html").write_text(html)
    return web[1].replace("127.0.0.1", "localhost")


def asked_by_others(page: Page, app: str) -> list[str]:
    """What the page's script gets from the app; nothing of what it sent is kept."""
    name = f"{uuid.uuid4().hex}.csv"
    answer = page.evaluate(FETCHES, [app, name])
    assert not list(Path(get_upload_folder()).rglob(name))
    return list(answer)


def test_a_page_of_others_frames_and_reads_nothing_of_ours(
    stranger: Page, place: str, web: tuple[Path, str]
) -> None:
    """Nothing of ours is drawn on it, so nothing can be clicked unseen.

    Its script, at another port of this machine, reads no answer and stores no file.
    """
    other = shown_by(
        web, f'<iframe src="{place}/{LINK}"></iframe><iframe src="{place}/jobs"></iframe>'
    )
    stranger.goto(other)
    assert [frame.url.split(":")[0] for frame in stranger.frames[1:]] == ["chrome-error"] * 2
    assert asked_by_others(stranger, place) == NOTHING
    stranger.goto(other.replace("localhost", "127.0.0.1"))
    assert asked_by_others(stranger, place) == NOTHING
    stranger.goto(f"{place}/jobs")
    stranger.evaluate("""() => {
      const frame = document.createElement("iframe");
      document.body.append(Object.assign(frame, { src: "./data", id: "inner" }));
    }""")
    expect(stranger.frame_locator("#inner").locator(".t-header")).to_be_visible()


def test_a_link_of_others_loads_nothing_before_a_click(
    stranger: Page, place: str, web: tuple[Path, str]
) -> None:
    """It asks, also when the page is loaded again; then it is the page it would have been.

    Or the page without what it names, where what is listed stays.
    """
    stranger.goto(shown_by(web, f'<a href="{place}/{LINK}">Look</a>'))
    stranger.get_by_role("link", name="Look").click()
    question = stranger.get_by_role("heading", name="Load what this link names?")
    expect(question).to_be_visible()
    stranger.reload()
    expect(question).to_be_visible()
    expect(stranger.get_by_role("listitem")).to_have_text(["random:17"])
    stranger.get_by_role("link", name="Load", exact=True).click()
    says(stranger.locator("#hits"), "random:17")
    address_of(stranger, "encoder=random", "17")
    stranger.goto(f"{place}/{LINK}")
    stranger.get_by_role("link", name="Open the page without").click()
    says(stranger.locator("#hits"), LISTED)
    expect(stranger.locator("#hits")).not_to_contain_text("random:17")


# Under a name of one's own


@pytest.fixture(scope="module")
def named(desk: Workspace, web: tuple[Path, str]) -> Iterator[tuple[str, str]]:
    """Addresses of the app with a login and of a page of others: two sites, for a browser.

    It takes both for safe as it takes HTTPS, and keeps cookies that are for HTTPS alone.
    """
    other = shown_by(web, "<h1>Others</h1>").replace("localhost", "others.localhost")
    with serving(desk, auth=("ada", "lovelace")) as demo:
        yield f"http://own.localhost:{demo.server_port}", other


def sign_in(page: Page, words: str = "lovelace") -> None:
    """Give the login."""
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(words)
    page.get_by_role("button", name="Sign in").click()


def test_a_login_stays_with_our_own_site(stranger: Page, named: tuple[str, str]) -> None:
    """A page of others that asks with credentials gets nothing; a link of theirs gets in."""
    (app, other), page = named, stranger
    page.goto(f"{app}/jobs")
    says(page.locator("body"), "After five wrong tries the next has to wait")
    page.keyboard.press("Enter")
    empty = page.get_by_label("Name").evaluate("one => one.validationMessage")
    assert empty and not page.get_by_role("alert").inner_text()  # the browser says it
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text("Name and password do not match.")
    expect(page.get_by_label("Name")).to_have_value("ada")
    expect(page.get_by_label("Password")).to_be_focused()
    sign_in(page)
    expect(page.locator(".t-header")).to_be_visible()
    cookies = {c["name"]: c for c in page.context.cookies(app) if "access-token" in c["name"]}
    assert len(cookies) == 2
    assert all(cookie["sameSite"] == "Lax" and cookie["httpOnly"] for cookie in cookies.values())
    page.goto(other)
    assert asked_by_others(page, app) == NOTHING
    page.evaluate("to => { location.href = to; }", f"{app}/data")
    expect(page.locator(".t-header")).to_be_visible()


def test_a_link_asks_also_where_it_first_wants_the_login(
    stranger: Page, named: tuple[str, str]
) -> None:
    """The page loads itself again after the login: that is no click on the link's behalf."""
    (app, other), page = named, stranger
    page.goto(other)
    page.evaluate("to => { location.href = to; }", f"{app}/{LINK}")
    page.get_by_role("link", name="Load", exact=True).click()
    sign_in(page)
    says(page.locator("#hits"), "random:17")
