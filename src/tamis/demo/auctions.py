"""Generated auctions: events, a taxonomy of what is sold, and where their subscriptions come from.

The same seed gives the same auctions, on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.demo.auction_subscriptions import subscriptions

__all__ = ["TAXONOMY", "events", "subscriptions"]

TAXONOMY: dict[str, list[str]] = {
    "furniture": ["goods"],
    "seat": ["furniture"],
    "chair": ["seat"],
    "rocking chair": ["chair", "antique"],
    "sofa": ["seat"],
    "table": ["furniture"],
    "desk": ["table"],
    "toy": ["goods"],
    "doll": ["toy"],
    "train set": ["toy", "collectible"],
    "board game": ["toy"],
    "electronics": ["goods"],
    "camera": ["electronics"],
    "film camera": ["camera", "collectible"],
    "radio": ["electronics", "antique"],
    "laptop": ["electronics"],
    "clothing": ["goods"],
    "jacket": ["clothing"],
    "boots": ["clothing"],
    "collectible": ["goods"],
    "antique": ["collectible"],
    "coin": ["collectible"],
    "stamp": ["collectible"],
}
"""Each term with its parents; a rocking chair is a chair and an antique."""

SOLD = {
    "rocking chair": 180,
    "chair": 60,
    "sofa": 320,
    "table": 150,
    "desk": 220,
    "doll": 25,
    "train set": 90,
    "board game": 20,
    "camera": 240,
    "film camera": 130,
    "radio": 70,
    "laptop": 450,
    "jacket": 55,
    "boots": 65,
    "coin": 40,
    "stamp": 12,
}
"""What is sold, all of it terms of the taxonomy, and for about how much."""
ADJECTIVES = ("Vintage", "New", "Rare", "Restored", "Broken", "Handmade", "Mint", "Signed")
MATERIALS = ("oak", "walnut", "leather", "tin", "brass", "wool", "porcelain", "plastic")
MAKERS = ("Thonet", "Märklin", "Leica", "Braun", "Steiff", "Zenit", "Ercol", "IKEA")
_SELLERS = ("anna", "attic-finds", "Bob's Barn", "estate_42", "kiosk", "museum-shop", "Zoë")
_BIDDERS = ("ada", "ben", "chiara", "dmitri", "emeka", "fatima", "goro", "hanna", "ivan", "june")
_NETWORKS = (
    "10.0.{}.{}",
    "192.168.{}.{}",
    "203.0.113.{1}",
    "198.51.100.{1}",
    "2001:db8:{:x}::{:x}",
)
_TAGS = ("antique", "boxed", "gift", "new", "damaged", "signed", "pickup-only", "no-reserve")
_COUNTRIES = ("DE", "FR", "GB", "IT", "JP", "PL", "US")
_CONDITIONS = ("new", "like new", "used", "for parts")
_OPENING = datetime(2026, 3, 1, tzinfo=UTC)


def events(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """So many auctions."""
    chance = random.Random(f"auctions {seed}")
    for number in range(count):
        yield _auction(chance, number)


def _auction(chance: random.Random, number: int) -> dict[str, Any]:
    category = chance.choice(list(SOLD))
    price = round(SOLD[category] * chance.lognormvariate(0, 0.5), 2)
    starts = _OPENING + timedelta(minutes=chance.randrange(30 * 24 * 60))
    ends = starts + timedelta(days=chance.choice((1, 3, 7, 10)))
    bids = _bids(chance, price, starts, ends)
    auction = {
        "auction": f"A{number:06}",
        "title": _title(chance, category),
        "category": category,
        "condition": chance.choice(_CONDITIONS),
        "seller": {"name": chance.choice(_SELLERS), "rating": round(chance.uniform(2.5, 5), 1)},
        "price": price,
        "shipping": {
            "country": chance.choice(_COUNTRIES),
            "cost": chance.choice((0, 4.9, 9.5, 25, 60)),
        },
        "starts": starts,
        "ends": ends,
    }
    return auction | _extras(chance, price, bids)


def _extras(chance: random.Random, price: float, bids: list[dict[str, Any]]) -> dict[str, Any]:
    """What only some auctions have."""
    extras: dict[str, Any] = {}
    if bids:
        extras |= {"bids": bids, "highest": bids[-1]["amount"]}
    if chance.random() < 0.6:
        extras["tags"] = chance.sample(_TAGS, chance.randrange(4))
    if chance.random() < 0.4:
        extras["reserve"] = round(price * chance.uniform(0.8, 2), 2)
    if chance.random() < 0.3:
        extras["buy_now"] = round(price * chance.uniform(1.5, 3), 2)
    if chance.random() < 0.5:
        extras["charity"] = chance.random() < 0.2
    return extras


def _bids(
    chance: random.Random, price: float, starts: datetime, ends: datetime
) -> list[dict[str, Any]]:
    """Bids that rise from about the asking price, in the order of time."""
    moments = sorted(chance.random() for _ in range(chance.choice((0, 0, 1, 2, 3, 5))))
    amount = price * 0.8
    bids = []
    for moment in moments:
        amount *= chance.uniform(1.02, 1.35)
        seconds = round((ends - starts).total_seconds() * moment)
        bids.append(
            {
                "bidder": chance.choice(_BIDDERS),
                "amount": round(amount, 2),
                "ip": _address(chance),
                "at": starts + timedelta(seconds=seconds),
            }
        )
    return bids


def _title(chance: random.Random, category: str) -> str:
    words = [chance.choice(ADJECTIVES), chance.choice(MATERIALS), category]
    if chance.random() < 0.4:
        words.append(f"by {chance.choice(MAKERS)}")
    if chance.random() < 0.3:
        words.append(f"({chance.randrange(1890, 2020)})")
    title = " ".join(words)
    return title.upper() if chance.random() < 0.1 else title


def _address(chance: random.Random) -> str:
    network = chance.choice(_NETWORKS)
    return network.format(chance.randrange(256), chance.randrange(1, 255))
