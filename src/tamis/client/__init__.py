"""A client of a broker over HTTP: the same verbs as an engine's, without NumPy or an engine.

    from tamis.client import Client

    with Client("http://127.0.0.1:8080", key="…") as client:
        mine = client.subscribe("category = 'Toy' and price < 5")
        client.publish({"category": "Toy", "price": 3})
        for notification in client.notifications(mine):
            print(notification.event)
            client.acknowledge(notification)

``AsyncClient`` has the same methods as coroutines. Needs httpx: pip install 'tamis[client]'.
"""

from __future__ import annotations

from tamis.client.asynchronous import AsyncClient
from tamis.client.errors import ClientError
from tamis.client.records import (
    Delivery,
    Gap,
    Notification,
    Page,
    PublishReport,
    Subscription,
    SubscriptionInfo,
    UndecidedEvent,
)
from tamis.client.synchronous import Client

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "Delivery",
    "Gap",
    "Notification",
    "Page",
    "PublishReport",
    "Subscription",
    "SubscriptionInfo",
    "UndecidedEvent",
]
