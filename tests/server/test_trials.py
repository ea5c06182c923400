"""Subscriptions that are checked and tried before they are made."""

from __future__ import annotations

from tests.server.conftest import Served


def test_a_subscription_is_checked(served: Served) -> None:
    fine = served.http.post("/v1/check", json={"subscription": "price<5 and not a=1"}).json()
    assert fine["canonical"] == "price < 5 and not a = 1"
    assert fine["cost"] > 0
    wrong = served.http.post("/v1/check", json={"subscription": "price < < 5"})
    assert wrong.status_code == 422
    assert (wrong.json()["line"], wrong.json()["column"]) == (1, 9)
    never = served.http.post(
        "/v1/check", json={"subscription": "a = 1 and a = 2 and b < 1 and b > 2"}
    )
    assert never.json()["remarks"]


def test_a_dry_run_explains_recent_events(served: Served) -> None:
    for n in range(30):
        served.http.post("/v1/events", json={"n": n, "color": "red" if n % 2 else "blue"})
    body = {"subscription": "n >= 25 and color = 'red'", "last": 10}
    tried = served.http.post("/v1/dry-run", json=body).json()
    assert [each["event"]["n"] for each in tried["events"]] == list(range(29, 19, -1))
    assert tried["matched"] == 3
    first, second = tried["events"][:2]
    assert first["matches"] is True
    assert second["explanation"]["truth"] == "false"
    assert [part["truth"] for part in second["explanation"]["parts"]] == ["true", "false"]
    assert served.http.get("/v1/subscriptions").json()["items"] == [], "nothing was made"
    for last in (0, -1, 1001, "x"):
        assert served.http.post("/v1/dry-run", json={**body, "last": last}).status_code == 400, last


def test_a_dry_run_sees_only_the_tenant_of_its_key(served: Served) -> None:
    served.http.post("/v1/events", json={"secret": 1})
    with served.client(served.new_key("subscribe", "publish", tenant="other")) as other:
        other.post("/v1/events", json={"own": 1})
        tried = other.post("/v1/dry-run", json={"subscription": "secret = 1"}).json()
    assert [each["event"] for each in tried["events"]] == [{"own": 1}]
    with served.client(served.new_key("publish")) as publisher:
        assert publisher.post("/v1/dry-run", json={"subscription": "a = 1"}).status_code == 403
