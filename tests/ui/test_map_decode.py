"""The map's places in words: by mouse, by keyboard, from a link, without a decoder."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of, gone_from_address
from tests.ui.decoding import FIRST, WITHOUT, registered
from tests.ui.maps import ENCODER, drawn, on_screen, over, said
from theodolite.app.pages.map import decoding as map_decoding
from theodolite.app.pages.map import job as map_job


@pytest.fixture(scope="module", autouse=True)
def made(workspace, decoder_folder):
    """The map of an encoder that has a decoder."""
    registered(workspace, decoder_folder)
    return map_job.quick(workspace, ENCODER, "starter-topics")


def card(page):
    """What stands there."""
    return page.get_by_role("region", name="The place decoded")


def test_a_click_anywhere_decodes_that_place(visit, workspace, made):
    """Through the nearest points, weighted; as the server works it out."""
    page = drawn(visit)
    low, high = made.points.min(axis=0), made.points.max(axis=0)
    middle = (low + high) / 2
    page.get_by_role("button", name="Decode", exact=True).click()
    page.mouse.click(*on_screen(page, np.array([low, high, middle]))[2].tolist())
    expect(card(page)).to_be_visible()
    expect(card(page)).to_contain_text("weighted mean of the 8 nearest points, in all 64 dim")
    expect(card(page)).to_contain_text("Cosine of the sentence to that mean:")
    away = np.hypot(*(made.points - middle).T)
    nearest = made.sentences[int(away.argmin())]
    expect(card(page).locator("tbody tr").first).to_contain_text(nearest)
    address_of(page, "said=")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(card(page)).to_be_hidden()
    gone_from_address(page, "said=")


def test_a_place_on_a_point_says_its_sentence(visit, made):
    """A link to it opens it."""
    x, y = made.points[made.sentences.index(FIRST)].tolist()
    page = drawn(visit, f"map?encoder={ENCODER}&method=pca&said={x!r},{y!r}")
    expect(card(page).get_by_role("heading")).to_have_text(FIRST)
    expect(said(page)).to_contain_text(f"Decoded: {FIRST}")


def test_by_keyboard_alone(visit, workspace, made):
    """D decodes the middle of what is seen; Escape lets go of it."""
    page = drawn(visit)
    over(page).focus()
    page.keyboard.press("d")
    expect(card(page)).to_be_visible()
    low, high = made.points.min(axis=0), made.points.max(axis=0)
    x, y = ((low + high) / 2).tolist()
    expected = map_decoding.decoded(workspace, made, x, y)["neighbours"][0]["text"]
    expect(card(page).locator("tbody tr").first).to_contain_text(expected)
    page.keyboard.press("Escape")
    expect(card(page)).to_be_hidden()
    page.keyboard.press("n")  # the first point, and what stands there
    page.keyboard.press("d")
    expect(card(page)).to_contain_text("the nearest point, in all 64 dimensions")


def test_without_a_decoder_there_is_a_calm_word(visit, workspace):
    """And the way to one."""
    map_job.quick(workspace, WITHOUT, "starter-topics")
    page = drawn(visit, f"map?encoder={WITHOUT}&method=pca")
    over(page).focus()
    page.keyboard.press("d")
    expect(card(page)).to_contain_text(f"No decoder for {WITHOUT} yet")
    link = card(page).get_by_role("link", name="Train a decoder")
    assert link.get_attribute("href").endswith(f"train-decoder?encoder={quote(WITHOUT)}")


@pytest.mark.parametrize("place", ["", "x=1", "x=nan&y=0", "x=1&y=inf", "x=a&y=b"])
def test_what_is_no_place_is_refused(site, made, place):
    """With a plain answer."""
    import httpx

    answer = httpx.get(f"{site}/theodolite/map/{made.key}/decode?{place}")
    assert answer.status_code == 404
