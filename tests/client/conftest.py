"""The server of the tests of the server."""

from tests.server.conftest import serve, served

__all__ = ["serve", "served"]
