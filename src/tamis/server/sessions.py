"""Sessions of the console: a signed cookie with the number of the key, never the key itself."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

from itsdangerous import BadSignature, URLSafeTimedSerializer

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.responses import Response

COOKIE = "tamis_session"


class Session(NamedTuple):
    """A session: the key that began it, something random, and the token of its forms."""

    key: int
    nonce: str
    token: str


class Sessions:
    """Begins sessions and recognizes them. Nothing is kept of them but which were ended before
    their time; a revoked key ends its sessions."""

    def __init__(self, secret: str, seconds: float) -> None:
        self._secret = secret.encode()
        self._signer = URLSafeTimedSerializer(secret, salt="tamis console")
        self._seconds = seconds
        self._ended: dict[str, float] = {}
        """Sessions that were logged out, by nonce, and when they would have ended anyway."""

    def begin(self, response: Response, key: int, *, secure: bool) -> None:
        """Put a new session into a response."""
        cookie = self._signer.dumps([key, secrets.token_urlsafe(16)])
        response.set_cookie(
            COOKIE,
            cookie if isinstance(cookie, str) else cookie.decode(),
            max_age=int(self._seconds),
            httponly=True,
            samesite="strict",
            secure=secure,
        )

    def end(self, request: HTTPConnection, response: Response) -> None:
        """End the session of a request: also whoever has copied its cookie is logged out."""
        session, now = self.of(request), time.time()
        if session is not None:
            self._ended = {nonce: end for nonce, end in self._ended.items() if end > now}
            self._ended[session.nonce] = now + self._seconds
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def of(self, request: HTTPConnection) -> Session | None:
        """The session of a request, if it has one that is ours and has not ended."""
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            return None
        try:
            key, nonce = self._signer.loads(cookie, max_age=int(self._seconds))
        except (BadSignature, ValueError, TypeError):
            return None
        if nonce in self._ended:
            return None
        return Session(key, nonce, self._token(nonce))

    def _token(self, nonce: str) -> str:
        return hmac.digest(self._secret, b"form " + nonce.encode(), hashlib.sha256).hex()
