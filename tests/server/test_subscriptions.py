"""Subscriptions over HTTP."""

from __future__ import annotations

import json
import re

from tamis.broker import BrokerSettings
from tamis.client import Client
from tests.broker.conftest import eventually
from tests.server.conftest import Serve, Served


def ticket(receipt: dict[str, str]) -> dict[str, str]:
    return {"Tamis-Ticket": receipt["ticket"]}


def test_a_subscription_is_made_read_changed_and_ended(served: Served) -> None:
    made = served.subscribe("price < 5", id="cheap", metadata={"why": "toys"}, lease=3600)
    assert made["id"] == "cheap"
    with served.client() as anyone:
        read = anyone.get("/v1/subscriptions/cheap", headers=ticket(made))
        assert read.status_code == 200
        assert read.json()["subscription"] == "price < 5"
        assert read.json()["metadata"] == {"why": "toys"}
        changed = anyone.patch(
            "/v1/subscriptions/cheap",
            json={"subscription": "price < 4", "enabled": False},
            headers=ticket(made),
        )
        assert changed.json()["subscription"] == "price < 4"
        assert changed.json()["enabled"] is False
        renewed = anyone.post(
            "/v1/subscriptions/cheap/renew", json={"lease": 7200}, headers=ticket(made)
        )
        assert renewed.json()["expires"] > made["expires"]
        for verb in ("enable", "disable"):
            assert (
                anyone.post(f"/v1/subscriptions/cheap/{verb}", headers=ticket(made)).status_code
                == 204
            )
            enabled = anyone.get("/v1/subscriptions/cheap", headers=ticket(made)).json()["enabled"]
            assert enabled is (verb == "enable")
        assert anyone.delete("/v1/subscriptions/cheap", headers=ticket(made)).status_code == 204
        assert anyone.get("/v1/subscriptions/cheap", headers=ticket(made)).status_code == 404


def test_without_ticket_or_key_there_is_no_access(served: Served) -> None:
    made = served.subscribe(id="mine")
    other = served.client(served.new_key("subscribe", "publish"))
    stranger = served.client(served.new_key("subscribe", "admin", tenant="other"))
    with other, stranger, served.client() as anyone:
        for method, path in (
            ("GET", "/v1/subscriptions/mine"),
            ("DELETE", "/v1/subscriptions/mine"),
            ("POST", "/v1/subscriptions/mine/renew"),
            ("GET", "/v1/subscriptions/mine/notifications"),
            ("GET", "/v1/subscriptions/mine/stream"),
            ("GET", "/v1/subscriptions/mine/dead-letters"),
        ):
            assert anyone.request(method, path).status_code == 401, path
            assert other.request(method, path).status_code == 403, path
            assert stranger.request(method, path).status_code == 404, path
            wrong = {"Tamis-Ticket": made["ticket"][:-2] + "xx"}
            assert anyone.request(method, path, headers=wrong).status_code == 403, path
        in_address = anyone.get(f"/v1/subscriptions/mine?ticket={made['ticket']}")
        assert in_address.status_code == 401


def test_an_idempotency_key_makes_a_repeat_harmless(served: Served) -> None:
    body = {"subscription": "price < 5"}
    headers = {"Idempotency-Key": "a-key-of-mine-0001"}
    first = served.http.post("/v1/subscriptions", json=body, headers=headers)
    again = served.http.post("/v1/subscriptions", json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {**first.json(), "repeated": True}
    other = served.http.post(
        "/v1/subscriptions", json={"subscription": "price < 6"}, headers=headers
    )
    assert other.status_code == 409
    assert len(served.http.get("/v1/subscriptions").json()["items"]) == 1


def test_subscriptions_are_listed_by_pages_and_searched(served: Served) -> None:
    for number in range(25):
        served.subscribe(f"price < {number}", id=f"s{number:02}")
    pages, query = [], {"limit": "10"}
    while True:
        page = served.http.get("/v1/subscriptions", params=query).json()
        pages.append([each["id"] for each in page["items"]])
        if "next" not in page:
            break
        query["after"] = page["next"]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [id for page in pages for id in page] == [f"s{number:02}" for number in range(25)]
    found = served.http.get("/v1/subscriptions", params={"search": "< 7"}).json()["items"]
    assert [each["id"] for each in found] == ["s07"]


def test_a_syntax_error_has_its_place(served: Served) -> None:
    answer = served.http.post("/v1/subscriptions", json={"subscription": "price <\n < 5"})
    problem = answer.json()
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == "/problems/syntax"
    assert (problem["line"], problem["column"]) == (2, 2)


def test_bad_requests_say_what_is_wrong(served: Served) -> None:
    cases = [
        (b"{", 400, "not valid JSON"),
        (b"[]", 400, "not a JSON object"),
        (b"{}", 400, "'subscription' is missing"),
        (b'{"subscription": 5}', 400, "a text or a JSON form"),
        (b'{"subscription": "a = 1", "leese": 5}', 400, "did you mean 'lease'?"),
        (b'{"subscription": "a = 1", "lease": "long"}', 400, "must be a number"),
        (b'{"subscription": "a = 1", "lease": -1}', 422, "lease"),
        (b'{"subscription": "a = 1", "id": "a/b"}', 400, "'/'"),
        (b'{"subscription": "a = 1", "id": "\\ud800"}', 400, "surrogate"),
        (b'{"subscription": "a = 1", "dialect": "klingon"}', 422, "klingon"),
        (b'{"subscription": NaN}', 400, "finite"),
        (b"\xff", 400, "not valid UTF-8"),
        (b"[" * 100_000, 400, "nested"),
    ]
    for body, status, part in cases:
        answer = served.http.post(
            "/v1/subscriptions", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == status, (body[:50], answer.text)
        assert part in answer.json()["detail"], (body[:50], answer.text)
    plain = served.http.post(
        "/v1/subscriptions", content=b"a=1", headers={"Content-Type": "text/plain"}
    )
    assert plain.status_code == 415


def test_addresses_and_methods_that_are_not_there(served: Served) -> None:
    missing = served.http.get("/v1/nothing")
    assert (missing.status_code, missing.json()["type"]) == (404, "/problems/no-such-address")
    wrong = served.http.put("/v1/subscriptions")
    assert wrong.status_code == 405
    assert wrong.headers["allow"] == "GET, OPTIONS, POST"
    assert served.http.request("OPTIONS", "/v1/events").headers["allow"] == "OPTIONS, POST"


def test_keys_have_roles(served: Served) -> None:
    publisher = served.client(served.new_key("publish"))
    subscriber = served.client(served.new_key("subscribe"))
    body = {"subscription": "price < 5"}
    with publisher, subscriber, served.client() as anyone, served.client("nonsense") as wrong:
        assert publisher.post("/v1/subscriptions", json=body).status_code == 403
        assert publisher.post("/v1/events", json={}).status_code == 200
        assert subscriber.post("/v1/events", json={}).status_code == 403
        assert subscriber.post("/v1/subscriptions", json=body).status_code == 201
        assert subscriber.get("/v1/keys").status_code == 403
        assert anyone.post("/v1/events", json={}).status_code == 401
        unknown = wrong.post("/v1/events", json={})
        assert unknown.status_code == 401
        assert unknown.headers["www-authenticate"].startswith("Bearer")
        basic = anyone.get("/v1/keys", auth=("user", "word"))
        assert basic.status_code == 401


def test_keys_are_made_and_revoked(served: Served) -> None:
    made = served.http.post("/v1/keys", json={"name": "shop", "roles": ["publish"]}).json()
    with served.client(made["key"]) as shop:
        assert shop.post("/v1/events", json={}).status_code == 200
        names = [key["name"] for key in served.http.get("/v1/keys").json()["items"]]
        assert names == ["admin", "shop"]
        assert served.http.delete(f"/v1/keys/{made['number']}").status_code == 204
        assert shop.post("/v1/events", json={}).status_code == 401
    assert served.http.delete("/v1/keys/999").status_code == 404
    other = served.client(served.new_key("admin", tenant="other"))
    with other:
        assert (
            other.post(
                "/v1/keys", json={"name": "x", "roles": ["admin"], "tenant": "default"}
            ).status_code
            == 403
        )
        assert [key["name"] for key in other.get("/v1/keys").json()["items"]] == ["test"]


def test_rates_are_limited_by_key(serve: Serve) -> None:
    served = serve(requests_per_second=0.001, anonymous_requests_per_second=0.001)
    answers = [served.http.get("/v1/subscriptions") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert int(answers[1].headers["retry-after"]) >= 1
    with served.client("tk_wrong") as stranger:
        statuses = [stranger.get("/v1/subscriptions").status_code for _ in range(2)]
    assert statuses == [401, 429], "a wrong key counts as a request without one"
    assert served.http.get("/healthz").status_code == 200, "health is not limited"


def test_a_webhook_is_given_later_and_signed_with_the_secret_of_the_answer(served: Served) -> None:
    served.subscribe("n = 1", id="s")
    changed = served.http.patch(
        "/v1/subscriptions/s", json={"webhook": {"url": "https://x.example/"}, "enabled": False}
    ).json()
    assert changed["webhook"] == "https://x.example/"
    assert changed["enabled"] is False
    assert changed["webhook_state"] == "new"
    assert changed["webhook_secret"].startswith("whsec_")
    assert "webhook_secret" not in served.http.get("/v1/subscriptions/s").json()
    refused = served.http.patch("/v1/subscriptions/s", json={"webhook": {"url": "ftp://x"}})
    assert refused.status_code == 422


def test_keys_have_quotas(served: Served) -> None:
    quotas = {"subscriptions": 1, "calls": 0, "cost": 0.5, "requests": 100}
    body = {"name": "small", "roles": ["subscribe"], "quotas": quotas}
    made = served.http.post("/v1/keys", json=body).json()
    assert made["quotas"] == quotas
    listed = served.http.get("/v1/keys").json()["items"]
    assert [each["quotas"] for each in listed] == [{}, quotas]
    with served.client(made["key"]) as small:
        assert small.post("/v1/subscriptions", json={"subscription": "a = 1"}).status_code == 201
        assert small.post("/v1/subscriptions", json={"subscription": "a = 2"}).status_code == 403
    rare = served.http.post("/v1/keys", json={**body, "quotas": {"requests": 0.001}}).json()
    with served.client(rare["key"]) as client:
        statuses = [client.get("/v1/subscriptions").status_code for _ in range(2)]
    assert statuses == [200, 429]
    for wrong in ({"subscriptions": -1}, {"calls": "x"}, {"prise": 1}):
        answer = served.http.post("/v1/keys", json={**body, "quotas": wrong})
        assert answer.status_code == 400


def test_undecided_events_are_visible(serve: Serve) -> None:
    def near(event: object, place: str) -> bool:
        raise RuntimeError("no map today")

    served = serve(BrokerSettings(operators={"near": near}, tries=2, retry=0.0, housekeeping=0.05))
    made = served.subscribe("a = 1 and near('Bronx')", id="s")
    published = served.http.post("/v1/events", json={"a": 1}, headers={"Idempotency-Key": "e"})
    assert published.json()["events"][0]["incomplete"] == 1

    def given_up() -> dict[str, object] | None:
        with served.client() as anyone:
            answer = anyone.get("/v1/subscriptions/s/undecided", headers=ticket(made)).json()
        [pair] = answer["items"]
        assert (pair["subscription"], pair["event_id"], pair["event"]) == ("s", "e", {"a": 1})
        assert "no map today" in pair["reason"]
        return None if "next" in pair else pair

    assert eventually(given_up)["tries"] == 2
    assert len(served.http.get("/v1/undecided?limit=5").json()["items"]) == 1
    with served.client() as anyone:
        assert anyone.get("/v1/undecided").status_code == 401
        assert anyone.get("/v1/subscriptions/s/undecided").status_code == 401


def test_undecided_events_come_in_pages(serve: Serve) -> None:
    def near(event: object, place: str) -> bool:
        raise RuntimeError("no map today")

    served = serve(BrokerSettings(operators={"near": near}), page=2)
    made = [served.subscribe(f"n >= 0 and near('{place}')") for place in ("here", "there")]
    served.http.post("/v1/events", json=[{"n": n} for n in range(3)])
    seen: list[tuple[str, int]] = []
    query = "?limit=2"
    while query:
        page = served.http.get(f"/v1/undecided{query}").json()
        seen += [(each["subscription"], each["event"]["n"]) for each in page["items"]]
        query = f"?limit=2&after={page['next']}" if "next" in page else ""
    assert seen == [(each["id"], n) for n in range(3) for each in made]
    assert served.http.get("/v1/undecided?after=x").status_code == 400
    with Client(served.address, key=served.key) as client:
        assert [each.event["n"] for each in client.undecided(made[1]["id"])] == [0, 1, 2]


def test_texts_that_a_store_cannot_keep_are_refused(served: Served) -> None:
    """PostgreSQL takes no NUL, and nothing takes half of a surrogate pair."""
    made = served.subscribe("a = 1", id="s")
    for text in ("a\0b", "\ud800"):
        event = {"specversion": "1.0", "id": "1", "source": "x", "type": "t", "data": {"a": 1}}
        delivery = {"id": "d", "event": {"a": 1}, "subscriptions": ["s"]}
        kind = "application/cloudevents+json"
        requests = [
            ("/v1/subscriptions", {"subscription": "a = 1", "id": text}, "application/json"),
            ("/v1/subscriptions", {"subscription": f"a = '{text}'"}, "application/json"),
            ("/v1/check", {"subscription": f"a = '{text}'"}, "application/json"),
            ("/v1/events", {**event, "id": text}, kind),
            ("/v1/events", {**event, "source": text}, kind),
            ("/v1/deliveries", [{**delivery, "id": text}], "application/json"),
            ("/v1/deliveries", [{**delivery, "source": text}], "application/json"),
        ]
        for path, body, media_type in requests:
            answer = served.http.post(
                path, content=json.dumps(body), headers={"Content-Type": media_type}
            )
            assert answer.status_code in (400, 422), (path, body, answer.text)
        body = json.dumps([{**delivery, "id": f"d{ord(text[0])}", "subscriptions": [text, "s"]}])
        answer = served.http.post(
            "/v1/deliveries", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.json()["matched"] == 1, "nobody has that id, and the others get the event"
    assert served.http.get("/v1/subscriptions/a%00b", headers=ticket(made)).status_code == 404
    assert served.http.get("/v1/subscriptions?search=a%00b").status_code == 422
    assert served.http.get(f"/v1/subscriptions?search={'a' * 2_000}").status_code == 422
    nul = b'<urn:a> <urn:b> "x\\u0000y" .'
    graph = served.http.post("/v1/events", content=nul, headers={"Content-Type": "text/turtle"})
    assert graph.json()["published"] == 1
    tried = served.http.post("/v1/dry-run", json={"subscription": "a = 1"})
    assert tried.status_code == 200, tried.text
    assert served.http.get("/readyz").json() == {"status": "ready"}


def test_keys_have_numbers_of_64_bits(served: Served) -> None:
    for number in (2**62, 2**63, 2**70):
        assert served.http.delete(f"/v1/keys/{number}").status_code == 404


def test_the_administrator_of_a_tenant_gives_no_more_than_it_has(served: Served) -> None:
    quotas = {"calls": 2, "cost": 0.5, "requests": 50}
    body = {"name": "them", "tenant": "them", "roles": ["admin"], "quotas": quotas}
    made = served.http.post("/v1/keys", json=body).json()
    with served.client(made["key"]) as them:
        for given, expected in (
            (None, quotas),
            ({}, quotas),
            (
                {"calls": 9, "cost": 9, "requests": 0, "subscriptions": 7},
                {**quotas, "subscriptions": 7},
            ),
            ({"calls": 1, "requests": 5}, {"calls": 1, "cost": 0.5, "requests": 5}),
        ):
            asked = {"name": "k", "roles": ["subscribe"]} | (
                {} if given is None else {"quotas": given}
            )
            assert them.post("/v1/keys", json=asked).json()["quotas"] == expected
        page = them.post("/login", data={"key": made["key"]})
        assert page.status_code == 303
        token = re.findall(r'csrf-token" content="(\w+)"', them.get("/keys").text)[0]
        them.post("/keys", data={"name": "from the console", "role": "admin", "token": token})
        listed = them.get("/v1/keys").json()["items"]
        assert listed[-1]["name"] == "from the console"
        assert listed[-1]["quotas"] == quotas
