"""What those who run a broker look at: health, metrics, logs, TLS, CORS."""

from __future__ import annotations

import json
import logging
import ssl
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tamis.server.logs import JsonLines, TextLines
from tamis.server.rates import Rates
from tamis.server.requests import RateError
from tests.certificates import certificate
from tests.server.conftest import Serve, Served


def test_health_and_readiness(served: Served) -> None:
    assert served.http.get("/healthz").json()["status"] == "alive"
    assert served.http.get("/readyz").json() == {"status": "ready"}
    served.broker.close()
    answer = served.http.get("/readyz")
    assert answer.status_code == 503
    refused = served.http.post("/v1/events", json={})
    assert refused.status_code == 503
    assert "retry-after" in refused.headers


def test_metrics_are_those_of_prometheus(served: Served) -> None:
    served.subscribe("n >= 0")
    served.http.post("/v1/events", json=[{"n": 1}, {"n": -1}])
    served.http.get("/v1/subscriptions/missing")
    text = served.http.get("/metrics").text
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["tamis_events_total",] == 2
    assert samples["tamis_matches_total",] == 1
    assert samples["tamis_subscriptions",] == 1
    assert samples["tamis_http_requests_total", "201", "subscribe"] == 1
    assert samples["tamis_http_requests_total", "404", "subscription"] == 1
    assert samples["tamis_http_request_seconds_count", "publish"] == 1
    for name in ("pending", "slow", "links", "webhooks_failed_total", "event_bytes"):
        assert (f"tamis_{name}",) in samples
    helps = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP ")}
    types = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    assert helps == types, "each metric says what it is"
    stats = served.http.get("/v1/stats").json()
    assert (stats["events"], stats["matches"]) == (2, 1)
    with served.client(served.new_key("publish")) as other:
        assert other.get("/v1/stats").status_code == 403


def test_cors_is_off_unless_allowed(serve: Serve, tmp_path: Path) -> None:
    origin = {"Origin": "https://a.example"}
    asking = {**origin, "Access-Control-Request-Method": "POST"}
    closed = serve()
    assert (
        "access-control-allow-origin" not in closed.http.get("/v1/schema", headers=origin).headers
    )
    opened = serve(store=tmp_path / "other.db", cors_origins=("https://a.example",))
    allowed = opened.http.get("/v1/schema", headers=origin)
    assert allowed.headers["access-control-allow-origin"] == "https://a.example"
    assert opened.http.options("/v1/events", headers=asking).status_code == 200
    other = opened.http.get("/v1/schema", headers={"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers


def test_tls_by_configuration(serve: Serve, tmp_path: Path) -> None:
    public, private = certificate(tmp_path)
    served = serve(tls_certificate=str(public), tls_key=str(private))
    assert served.address.startswith("https://")
    trusted = ssl.create_default_context(cafile=str(public))
    with httpx.Client(base_url=served.address, verify=trusted) as http:
        assert http.get("/healthz").status_code == 200
        login = http.post("/login", data={"key": served.key})
        assert "secure" in login.headers["set-cookie"].lower()


def test_logs_are_lines() -> None:
    record = logging.LogRecord("tamis.server", logging.INFO, "x", 1, "request", None, None)
    record.fields = {"status": 200, "operation": "publish"}
    line = json.loads(JsonLines().format(record))
    assert (line["message"], line["status"], line["level"]) == ("request", 200, "info")
    assert TextLines().format(record).endswith("request status=200 operation=publish")
    forged = logging.LogRecord("tamis", logging.INFO, "x", 1, "no %s", ("a\r\nb\u2028c",), None)
    assert TextLines().format(forged).endswith("no a\\r\\nb\\u2028c"), "one line, whatever it says"
    try:
        raise ValueError("what happened")
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    assert "what happened" in json.loads(JsonLines().format(record))["error"]
    assert "what happened" in TextLines().format(record)


def test_requests_are_logged_if_asked_for(serve: Serve, caplog) -> None:
    served = serve(log_requests=True)
    with caplog.at_level(logging.INFO, "tamis.server"):
        served.http.get("/healthz")
    (record,) = [record for record in caplog.records if record.getMessage() == "request"]
    assert record.fields["operation"] == "health"
    assert record.fields["status"] == 200


def test_a_bucket_fills_at_its_rate() -> None:
    now = 0.0
    rates = Rates(10, clock=lambda: now)
    for _ in range(20):
        rates.take("a")
    try:
        rates.take("a")
        raise AssertionError("the bucket is empty")
    except RateError as error:
        assert error.retry_after == 0.1
    rates.take("b")
    now = 0.1
    rates.take("a")
    now = 100.0
    for _ in range(20):
        rates.take("a")


def test_metrics_for_administrators_only(serve: Serve) -> None:
    served = serve(public_metrics=False)
    assert served.http.get("/metrics").status_code == 200
    with served.client() as anyone, served.client(served.new_key("publish")) as other:
        assert anyone.get("/metrics").status_code == 401
        assert other.get("/metrics").status_code == 403
        assert anyone.get("/healthz").status_code == 200


def test_answers_are_neither_guessed_at_nor_kept(served: Served) -> None:
    for path in ("/v1/subscriptions", "/v1/openapi.json", "/v1/nothing", "/v1/stats"):
        answer = served.http.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert answer.headers["cache-control"] == "no-store", path
