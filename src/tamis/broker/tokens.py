"""Tickets and keys: random texts, of which the broker keeps only keyed hashes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from tamis.errors import StorageError

_BYTES = 32


class Tokens:
    """Makes tokens and checks them; without the secret, what is stored is of no use.

    A ticket is computed from a random *nonce*, so that a request that is repeated under its
    idempotency key gets the same ticket again although no ticket is stored.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 16:
            raise StorageError("the secret of a broker needs 16 bytes or more")
        self._secret = secret

    @classmethod
    def of_file(cls, path: Path) -> Tokens:
        """The secret in a file, which is made if it is not there; only its owner may read it."""
        try:
            return cls(path.read_bytes())
        except FileNotFoundError:
            pass
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return cls(path.read_bytes())

    def nonce(self) -> bytes:
        """Something random to make a token of."""
        return secrets.token_bytes(_BYTES)

    def token(self, prefix: str, nonce: bytes) -> str:
        """The token of a nonce."""
        digest = self._digest(b"token", nonce)
        return prefix + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def hash(self, token: str) -> bytes:
        """What is stored of a token."""
        return self._digest(b"stored", token.encode(errors="surrogatepass"))

    def matches(self, token: str, stored: bytes) -> bool:
        """Whether a hash is that of a token, in the same time whatever the answer."""
        return hmac.compare_digest(self.hash(token), stored)

    def derived(self, purpose: str, number: int) -> bytes:
        """A key for some purpose, which need not be stored."""
        return self._digest(purpose.encode(), str(number).encode())

    def _digest(self, purpose: bytes, data: bytes) -> bytes:
        return hmac.digest(self._secret, purpose + b"\0" + data, hashlib.sha256)
