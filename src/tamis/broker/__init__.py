"""A broker: an engine with leases and tickets, durable storage and delivery.

with Broker.open("sqlite:///broker.db") as broker:
    me = broker.anonymous()
    receipt = broker.subscribe(NewSubscription("price < 5"), by=me).result()
    broker.publish([Publication({"price": 3})], by=me).result()
    broker.read(receipt.id, by=me, ticket=receipt.ticket).notifications
"""

from tamis.broker.broker import Broker
from tamis.broker.dry_run import DryRun
from tamis.broker.records import (
    DeadLetter,
    Gap,
    Identity,
    NewSubscription,
    Notification,
    Outcome,
    Page,
    Publication,
    Quotas,
    Receipt,
    Role,
    StoredEvent,
    StoredKey,
    StoredSubscription,
    UndecidedPair,
    Webhook,
)
from tamis.broker.settings import BrokerSettings

__all__ = [
    "Broker",
    "BrokerSettings",
    "DeadLetter",
    "DryRun",
    "Gap",
    "Identity",
    "NewSubscription",
    "Notification",
    "Outcome",
    "Page",
    "Publication",
    "Quotas",
    "Receipt",
    "Role",
    "StoredEvent",
    "StoredKey",
    "StoredSubscription",
    "UndecidedPair",
    "Webhook",
]
