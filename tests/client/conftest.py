"""The server of the tests of the server, and a receiver of its webhooks."""

from tests.broker.test_webhooks import receiver
from tests.server.conftest import serve, served

__all__ = ["receiver", "serve", "served"]
