"""Takes the screenshots of docs/broker.md from the demo of the broker, as it runs.

python -m tests.server.screenshots docs/broker
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.server.test_browser import CHROMIUM, FLAGS

_SIZE = {"width": 1120, "height": 680}


def main(folder: Path) -> None:
    command = [sys.executable, "-m", "tamis.cli.main", "demo", "--broker", "--port", "0"]
    demo = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert demo.stderr is not None
    said = ""
    while "Press Ctrl-C" not in said:
        said += demo.stderr.readline()
    (address,) = re.findall(r"(http://\S+?)/\n", said)
    (key,) = re.findall(r"(tk_\S+)", said)
    try:
        take(address, key, folder)
    finally:
        demo.send_signal(2)
        demo.communicate(timeout=60)


def take(address: str, key: str, folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=_SIZE)
        page.goto(address)
        page.fill("#key", key)
        page.press("#key", "Enter")
        page.wait_for_timeout(30_000)
        page.screenshot(path=folder / "overview.png")
        page.goto(f"{address}/new")
        page.fill("#text", "category = 'train set' and\nprice < < 60")
        page.wait_for_selector("#verdict.wrong")
        page.screenshot(path=folder / "error.png")
        page.fill("#text", "price < 60 and bids.amount > 20")
        page.wait_for_selector("#verdict.right")
        page.click("#try")
        page.wait_for_selector("details.tried")
        page.screenshot(path=folder / "try.png")
        page.goto(f"{address}/subscriptions/bargains")
        page.wait_for_timeout(1_000)
        page.screenshot(path=folder / "subscription.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
