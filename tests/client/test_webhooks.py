"""Signatures of webhooks, as the broker makes them and a receiver checks them."""

from __future__ import annotations

import pytest

from tamis.broker.webhook_request import signed, webhook_secret
from tamis.client.webhooks import verify
from tamis.errors import AuthenticationError

SECRET = webhook_secret(b"0" * 32)


def test_a_signature_of_the_broker_is_right() -> None:
    headers = signed(SECRET, "s/1", 1_000.0, b"body")
    verify(SECRET, headers, b"body", now=1_010.0)
    verify(SECRET, {name.title(): value for name, value in headers.items()}, b"body", now=1_010.0)
    other = signed(webhook_secret(b"1" * 32), "s/1", 1_000.0, b"body")
    both = {
        **headers,
        "webhook-signature": f"{other['webhook-signature']} {headers['webhook-signature']}",
    }
    verify(SECRET, both, b"body", now=1_010.0)


@pytest.mark.parametrize(
    ("change", "body", "now"),
    [
        ({}, b"another", 1_000.0),
        ({}, b"body", 2_000.0),
        ({}, b"body", 0.0),
        ({"webhook-id": "s/2"}, b"body", 1_000.0),
        ({"webhook-timestamp": "1001"}, b"body", 1_000.0),
        ({"webhook-timestamp": "nan"}, b"body", 1_000.0),
        ({"webhook-timestamp": "soon"}, b"body", 1_000.0),
        ({"webhook-signature": "v1,AAAA"}, b"body", 1_000.0),
        ({"webhook-signature": ""}, b"body", 1_000.0),
        ({"webhook-signature": "v1,größe"}, b"body", 1_000.0),
    ],
)
def test_anything_else_is_refused(change: dict[str, str], body: bytes, now: float) -> None:
    headers = {**signed(SECRET, "s/1", 1_000.0, b"body"), **change}
    with pytest.raises(AuthenticationError):
        verify(SECRET, headers, body, now=now)
    with pytest.raises(AuthenticationError):
        verify(SECRET, {}, body, now=now)
