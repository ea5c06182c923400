"""The console over HTTP: who gets in, what forms need, what protects the pages."""

from __future__ import annotations

import re

import httpx
import pytest

from tamis.server.console.drawing import duration, overlay_picture, plot, short
from tamis.server.serve import running
from tamis.server.settings import ServerSettings
from tests.broker.test_links import pair
from tests.server.conftest import Serve, Served


@pytest.fixture
def browser(served: Served):
    """A client with cookies and without a key, as a browser is."""
    with httpx.Client(base_url=served.address, timeout=120) as client:
        yield client


def log_in(browser: httpx.Client, key: str) -> str:
    answer = browser.post("/login", data={"key": key, "next": "/"})
    assert answer.status_code == 303, answer.text
    page = browser.get("/")
    assert page.status_code == 200
    (token,) = re.findall(r'<meta name="csrf-token" content="(\w+)">', page.text)
    return token


PAGES = [
    "/",
    "/subscriptions",
    "/new",
    "/publish",
    "/overlay",
    "/keys",
    "/docs",
    "/subscriptions/x",
]


def test_pages_need_a_session(browser: httpx.Client) -> None:
    for path in PAGES:
        answer = browser.get(path)
        assert answer.status_code == 303, path
        assert answer.headers["location"] == f"/login?next={path}"
    wrong = browser.post("/login", data={"key": "nonsense"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    assert browser.get("/login?next=https://evil.example/").text.count("evil") == 0
    assert browser.get("/console/numbers").status_code == 303


def test_the_cookie_is_not_the_key_and_ends_with_it(served: Served, browser: httpx.Client) -> None:
    made = served.http.post("/v1/keys", json={"name": "me", "roles": ["admin"]}).json()
    log_in(browser, made["key"])
    cookie = browser.cookies["tamis_session"]
    assert made["key"] not in cookie
    forged = httpx.get(served.address, cookies={"tamis_session": cookie[:-3] + "AAA"})
    assert forged.status_code == 303
    served.http.delete(f"/v1/keys/{made['number']}")
    assert browser.get("/").status_code == 303


def test_every_page_is_protected(served: Served, browser: httpx.Client) -> None:
    served.subscribe(id="x")
    login = browser.post("/login", data={"key": served.key})
    flags = login.headers["set-cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags
    assert browser.post("/login", data={"key": "x" * 5_000}).status_code == 413
    for path in PAGES:
        page = browser.get(path)
        assert page.status_code == 200, path
        policy = page.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe-inline" not in policy
        assert not re.search(r"<script(?! src=)|\son\w+=|\sstyle=", page.text), (
            f"inline code in {path}"
        )
    assert browser.get("/static/console.js").status_code == 200
    assert browser.get("/static/../pages.py").status_code == 404


def test_forms_need_the_token_of_the_session(served: Served, browser: httpx.Client) -> None:
    served.subscribe(id="x")
    token = log_in(browser, served.key)
    forms = {
        "/new": {"text": "a = 1", "do": "save"},
        "/publish": {"event": "{}"},
        "/keys": {"name": "k", "role": "publish"},
        "/subscriptions/x/delete": {},
    }
    for path, fields in forms.items():
        assert browser.post(path, data=fields).status_code == 403, path
        assert browser.post(path, data={**fields, "token": "0" * 64}).status_code == 403, path
    body = {"subscription": "a = 1"}
    assert browser.post("/v1/subscriptions", json=body).status_code == 403
    assert browser.post("/console/try", json=body).status_code == 403
    headers = {"X-CSRF-Token": token}
    assert browser.post("/v1/subscriptions", json=body, headers=headers).status_code == 201
    for path, fields in forms.items():
        answer = browser.post(path, data={**fields, "token": token})
        assert answer.status_code in (200, 303), path
    assert browser.get("/subscriptions/x").status_code == 404
    assert browser.post("/logout", data={"token": token}).headers["location"] == "/login"
    assert browser.get("/").status_code == 303


def test_pages_work_without_the_script(served: Served, browser: httpx.Client) -> None:
    token = {"token": log_in(browser, served.key)}
    served.http.post("/v1/events", json=[{"price": 3}, {"price": 9}])
    tried = browser.post("/new", data={**token, "text": "price < 5", "do": "try"})
    assert "1 of the last 2 events match" in tried.text
    assert "price is 9" in tried.text
    wrong = browser.post("/new", data={**token, "text": "price < < 5", "do": "save"})
    assert wrong.status_code == 422
    assert "column 9" in wrong.text
    saved = browser.post(
        "/new", data={**token, "text": "price < 5", "id": "cheap", "lease": "2", "do": "save"}
    )
    assert 'id="ticket"' in saved.text
    assert "cheap" in browser.get("/subscriptions?search=che").text
    published = browser.post("/publish", data={**token, "event": '{"price": 4}'})
    assert "<b>1</b> subscription matched" in published.text
    assert browser.post("/publish", data={**token, "event": "nonsense"}).status_code == 422
    changed = browser.post(
        "/subscriptions/cheap/edit", data={**token, "text": "price < 4", "lease": "3", "do": "save"}
    )
    assert changed.status_code == 303
    page = browser.get("/subscriptions/cheap").text
    assert "price &lt; 4" in page
    for verb, look in (("disable", "disabled"), ("enable", "enabled")):
        assert browser.post(f"/subscriptions/cheap/{verb}", data=token).status_code == 303
        assert f">{look}</span>" in browser.get("/subscriptions/cheap").text
    assert browser.post("/subscriptions/cheap/explode", data=token).status_code == 404
    assert "no brokers are linked" in browser.get("/overlay").text


def test_a_key_sees_what_it_may(served: Served, browser: httpx.Client) -> None:
    log_in(browser, served.new_key("publish"))
    assert browser.get("/keys").status_code == 403
    assert browser.get("/publish").status_code == 200


def test_nothing_of_a_subscription_becomes_markup(served: Served, browser: httpx.Client) -> None:
    log_in(browser, served.key)
    evil = "<script>alert(1)</script>"
    served.subscribe(f"title = '{evil}'", id="<b>")
    served.http.post("/v1/events", json={"title": evil})
    for path in ("/subscriptions", "/subscriptions/%3Cb%3E"):
        page = browser.get(path)
        assert page.status_code == 200
        assert evil not in page.text
        assert "<b>" not in page.text


def test_long_texts_are_shown_and_not_estimated(served: Served, browser: httpx.Client) -> None:
    served.subscribe(" or ".join(f"a = {n}" for n in range(2_000)), id="long")
    log_in(browser, served.key)
    for path in ("/subscriptions", "/subscriptions/long"):
        page = browser.get(path)
        assert page.status_code == 200
        assert "not estimated" in page.text
        assert len(page.text) < 15_000


def test_without_the_console_there_is_none(serve: Serve) -> None:
    served = serve(console=False)
    assert served.http.get("/").status_code == 404
    assert served.http.get("/login").status_code == 404


def test_numbers_for_people() -> None:
    assert [short(value) for value in (0, 0.349, 12.5, 950, 12_345, 1_234_567)] == [
        "0", "0.349", "12.5", "950", "12,345", "1.2 million",
    ]  # fmt: skip
    assert [duration(value) for value in (-1, 40, 300, 4_000, 300_000)] == [
        "0 s", "40 s", "5 min", "1 h 6 min", "3 days",
    ]  # fmt: skip
    assert "now 3" in plot([1, 2, 3], "Events")
    picture = overlay_picture("here", [("<a>", True), ("b", False)])
    assert "&lt;a&gt;" in picture
    assert picture.count("<line") == 2


def test_the_overlay_is_drawn(tmp_path) -> None:
    with pair(tmp_path) as (left, _), running(left, ServerSettings(port=0)) as server:
        key, _ = left.create_key("admin", ["admin"]).result()
        with httpx.Client(base_url=server.address, timeout=120) as browser:
            log_in(browser, key)
            page = browser.get("/overlay").text
    assert '<line class="up"' in page
    assert re.search(r"<td[^>]*>b</td><td[^>]*>connected</td>", page)


def test_forms_of_other_sites_are_refused(served: Served, browser: httpx.Client) -> None:
    """Even that of the login: it could log somebody in with the key of an attacker."""
    form = {"key": served.key}
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ):
        answer = browser.post("/login", data=form, headers=headers)
        assert answer.status_code == 403, headers
        assert "set-cookie" not in answer.headers
    for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": served.address}):
        assert browser.post("/login", data=form, headers=headers).status_code == 303, headers


def test_a_session_ends_where_it_was_copied_to(served: Served, browser: httpx.Client) -> None:
    token = log_in(browser, served.key)
    cookies = {"tamis_session": browser.cookies["tamis_session"]}
    assert httpx.get(served.address, cookies=cookies).status_code == 200
    browser.post("/logout", data={"token": token})
    assert httpx.get(served.address, cookies=cookies).status_code == 303
    log_in(browser, served.key)
    assert browser.cookies["tamis_session"] != cookies["tamis_session"]


def test_pages_count_against_the_rate_of_their_key(serve: Serve) -> None:
    served = serve(requests_per_second=1)
    with served.client() as browser:
        browser.post("/login", data={"key": served.key})
        found = [browser.get("/console/numbers").status_code for _ in range(4)]
    assert found[0] == 200
    assert found[-1] == 429
    body = {"subscription": "a = 1"}
    tried = [served.http.post("/console/try", json=body).status_code for _ in range(2)]
    assert tried[-1] == 429
