"""For receivers of webhooks: is this request really from the broker? (Standard Webhooks)"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

from tamis.errors import AuthenticationError

TOLERANCE = 300.0
"""Seconds by which the time of a request may differ from ours: an old one may be a replay."""


def verify(
    secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None
) -> None:
    """Raise an AuthenticationError unless a request was signed with the secret of its subscription
    (``Subscription.webhook_secret``), just now."""
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, sent = given["webhook-id"], given["webhook-timestamp"]
        signatures = given["webhook-signature"].split()
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        age = abs((time.time() if now is None else now) - float(sent))
    except (KeyError, ValueError, binascii.Error) as error:
        raise AuthenticationError(f"the request is not signed as webhooks are: {error}") from error
    if not age <= TOLERANCE:
        raise AuthenticationError("the request is too old, or the clocks differ")
    digest = hmac.digest(key, f"{id}.{sent}.".encode() + body, hashlib.sha256)
    expected = "v1," + base64.b64encode(digest).decode()
    given_bytes = [signature.encode(errors="replace") for signature in signatures]
    if not any(hmac.compare_digest(expected.encode(), each) for each in given_bytes):
        raise AuthenticationError("the signature is not that of the secret")
