"""The app in a window of a real browser, and installed by one."""

from pathlib import Path

from playwright.sync_api import Browser as Chromium, Page, Playwright

from tests.fakes.started import serving
from tests.ui.steps import FLAGS, PATIENCE
from tests.waiting import wait_until
from theodolite.app.desktop import window
from theodolite.app.workspace import Workspace

NAME, PASSWORD = "ada", "lovelace:1815"


def shown_by(playwright: Playwright, profile: Path) -> tuple[Chromium, Page]:
    """The browser with this profile, and the page in its window."""
    port_file = profile / "DevToolsActivePort"
    wait_until(port_file.exists)
    opened = playwright.chromium.connect_over_cdp(
        f"http://127.0.0.1:{port_file.read_text().split()[0]}"
    )
    (context,) = opened.contexts
    return opened, context.pages[0] if context.pages else context.wait_for_event("page")


def test_the_window_has_no_bars_and_keeps_its_size(
    chromium: str, tmp_path: Path, site: str, playwright: Playwright
) -> None:
    """Opened, made smaller and closed; opened again, it is as it was left."""
    browser = window.Browser((chromium, *FLAGS, "--headless=new", "--remote-debugging-port=0"))
    sizes = []
    for _ in range(2):
        with window.open_window(browser, f"{site}/", tmp_path) as shown:
            opened, page = shown_by(playwright, tmp_path / "1")
            page.wait_for_selector(".t-header")
            assert page.evaluate("matchMedia('(display-mode: standalone)').matches")
            sizes.append(page.evaluate("[outerWidth, outerHeight]"))
            devtools = page.context.new_cdp_session(page)
            number = devtools.send("Browser.getWindowForTarget")["windowId"]
            devtools.send(
                "Browser.setWindowBounds",
                {"windowId": number, "bounds": {"width": 901, "height": 705}},
            )
            page.wait_for_function("outerWidth == 901 && outerHeight == 705")
            opened.new_browser_cdp_session().send("Browser.close")
            shown.wait()
        (tmp_path / "1" / "DevToolsActivePort").unlink(missing_ok=True)
    assert sizes == [[int(side) for side in window.FIRST_SIZE.split(",")], [901, 705]]


def test_it_can_be_installed_behind_a_login(
    chromium: str, tmp_path: Path, playwright: Playwright
) -> None:
    """Chromium itself has nothing against it, before the login as well as after."""
    workspace = Workspace(tmp_path / "store")
    context = playwright.chromium.launch_persistent_context(
        tmp_path / "profile", executable_path=chromium, args=list(FLAGS)
    )
    page = context.pages[0]
    page.set_default_timeout(PATIENCE)
    with serving(workspace, auth=(NAME, PASSWORD)) as demo:
        page.goto(demo.local_url)
        page.get_by_label("Name").wait_for()
        assert faults(page) == []
        page.get_by_label("Name").fill(NAME)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_selector(".t-header")
        assert faults(page) == []
        context.close()


def faults(page: Page) -> list:
    """Why the browser would not install the page, and what of its manifest it cannot read."""
    devtools = page.context.new_cdp_session(page)
    manifest = devtools.send("Page.getAppManifest")
    assert manifest["url"].endswith("/manifest.json")
    found = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    devtools.detach()
    return [*manifest["errors"], *found]
