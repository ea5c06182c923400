"""The console in a real Chromium: typed errors, a trial, arrivals, the keyboard alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.server.conftest import Served

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture
def page(served: Served) -> Iterator[Page]:
    """A page that is logged in; errors of scripts fail the test."""
    from playwright.sync_api import sync_playwright  # half a second, which only these tests need

    assert CHROMIUM, "install Debian's chromium, as .ci/run does"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(120_000)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(served.address)
        page.fill("#key", served.key)
        page.press("#key", "Enter")
        page.wait_for_selector("h1:has-text('Overview')")
        yield page
        assert not errors
        browser.close()


def test_a_subscription_from_the_first_letter_to_its_notification(
    served: Served, page: Page
) -> None:
    served.http.post("/v1/events", json=[{"category": "Toy", "price": 3}, {"category": "Chair"}])
    page.goto(f"{served.address}/new")
    page.fill("#text", "category = 'Toy' and\nprice < < 5")
    page.wait_for_selector("#verdict.wrong")
    verdict = page.inner_text("#verdict")
    assert "expected" in verdict
    assert verdict.splitlines()[-1].index("^") == 8, "the caret stands below the mistake"
    page.fill("#text", "category = 'Toy' and price < 5")
    page.wait_for_selector("#verdict.right")
    page.click("#try")
    page.wait_for_selector("text=1 of the last 2 events match.")
    assert page.locator("details.tried .t-true").count() >= 3
    page.fill("#id", "toys")
    page.click("button:has-text('Save')")
    assert page.inner_text("#ticket").startswith("tt_")
    page.wait_for_selector("#arrivals .empty")
    served.http.post("/v1/events", json={"category": "Toy", "price": 4})
    page.wait_for_selector("#arrivals li time")
    assert '"price": 4' in page.inner_text("#arrivals")


def test_numbers_refresh_by_themselves(served: Served, page: Page) -> None:
    tile = page.locator(".tile", has_text="Subscriptions").locator(".figure")
    assert tile.inner_text().strip() == "0"
    served.subscribe("a = 1")
    page.wait_for_selector(".tile:has-text('Subscriptions') .figure:has-text('1')")
    assert page.locator("#numbers svg").count() == 8


def test_numbers_lead_to_the_login_when_the_session_has_ended(served: Served, page: Page) -> None:
    page.context.clear_cookies()
    page.wait_for_selector("h1:has-text('Log in')")


def test_a_list_of_arrivals_says_that_its_subscription_has_ended(
    served: Served, page: Page
) -> None:
    served.subscribe("a = 1", id="s")
    page.goto(f"{served.address}/subscriptions/s")
    page.wait_for_selector("#arrivals .empty")
    served.http.post("/v1/events", json={"a": 1})
    page.wait_for_selector("#arrivals details")
    served.http.delete("/v1/subscriptions/s")
    served.http.post("/v1/events", json={"a": 1})
    page.wait_for_selector("text=there is no subscription")


def test_nothing_is_wider_than_a_telephone(served: Served, page: Page) -> None:
    text = " or ".join(f"category = 'a long word number {n}'" for n in range(20))
    served.subscribe(text, id="a-long-id-without-any-space-in-it-" * 3)
    served.http.post("/v1/events", json={"a": "x" * 500})
    page.set_viewport_size({"width": 360, "height": 640})
    for path in ("/", "/subscriptions", "/new", "/publish", "/overlay", "/keys", "/docs"):
        page.goto(served.address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    page.goto(f"{served.address}/subscriptions")
    page.click("td a")
    page.wait_for_selector("#arrivals")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_keyboard_is_enough(served: Served, page: Page) -> None:
    """From the overview to a published event without a mouse."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Publish":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#event")
    page.focus("#event")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Publish"
    page.keyboard.press("Enter")
    page.wait_for_selector("text=subscriptions matched.")
    assert served.broker.stats()["events"] == 1
