"""Subscriptions to generated auctions, which between them use every test on attributes.

Each template has an id and a text; ``{names}`` in it stand for choices, so that one template gives
many subscriptions that differ in their constants.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count as numbers

_TEMPLATES: dict[str, str] = {
    # One attribute, one constant.
    "cheap": "price < {price}",
    "dear": "price >= {price} and shipping.cost = 0",
    "range": "price between {low} and {price}",
    "place": "shipping.country in ({country}, {country})",
    "abroad": "shipping.country not in ({country}, {country}, {country}) and shipping.cost <= 9.5",
    "condition": "condition != 'for parts' and category = {category}",
    "charity": "charity = true or seller.rating > {rating}",
    # Text.
    "title": "title starts with {adjective} and price < {price}",
    "maker": "title contains text {maker} ignoring case and price >= {low}",
    "year": "title like '%(19__)' and category is a {kind}",
    "decade": r"title matches r'\(19[0-5]\d\)$' and price < {price}",
    "word": r"title matches r'\b(tin|brass)\b' ignoring case and price < {price}",
    "part": "category ends with {ending} and not condition = 'used'",
    "seller": "seller.name = {seller} ignoring case and shipping.country = {country}",
    "sellers": "seller.name in ({seller}, 'kiosk') ignoring case and seller.rating >= {rating}",
    # A taxonomy.
    "kind": "category is a {kind} and price < {price}",
    "not-kind": "category is not a {kind} and shipping.country = {country}",
    # All values of a list, or none at all.
    "tag": "tags contains {tag} and condition != {condition}",
    "tags": "tags contains {tag} ignoring case and not tags contains 'damaged'",
    "no-reserve": "reserve is missing and buy_now is present and price <= {price}",
    "no-bids": "bids is missing and ends < timestamp {moment}",
    # One and the same element of a list.
    "bidder": "bids.bidder = {bidder} and bids.amount > {price}",
    "network": "bids.ip in cidr ({network}, {network})",
    "suspect": (
        "bids.ip in cidr {network} and bids.bidder in ({bidder}, {bidder}, {bidder}) "
        "and bids.amount >= {low}"
    ),
    "late-bid": "bids.at >= timestamp {moment} and bids.bidder != {bidder} and price < {price}",
    # Attributes against attributes.
    "reserve-met": "highest >= reserve * {factor}",
    "overbid": "bids.amount > price * {factor} and category is a {kind}",
    "total": "price + shipping.cost < {price} and condition != 'for parts'",
    "bargain": "highest / price <= {factor} and seller.rating >= {rating}",
    "almost": "(highest - reserve) * 2 > -{low} and highest < reserve and bids.at < ends",
    "self-bid": "bids.bidder = seller.name ignoring case or bids.bidder = {bidder}",
    # Time, and larger combinations.
    "period": "starts between timestamp {early} and timestamp {moment}",
    "weekend": (
        "ends >= timestamp '2026-03-14' and ends < timestamp '2026-03-16' and price < {price}"
    ),
    "choosy": (
        "category is a {kind} and (price < {low} or tags contains 'no-reserve') "
        "and not (shipping.cost > 20 or title contains text 'broken' ignoring case)"
    ),
    "dealer": (
        "(category is a 'antique' or title starts with 'Vintage') and seller.rating > {rating} "
        "and bids.amount < {price} and bids.bidder in ({bidder}, {bidder})"
    ),
    "cautious": "category is a {kind} and price < {price} unless seller.rating < {rating}",
}

_CHOICES: dict[str, tuple[str, ...]] = {
    "price": ("30", "40", "50", "60", "75", "90", "100", "125", "150", "200", "250", "400"),
    "low": ("5", "10", "15", "20", "25"),
    "rating": ("3", "3.2", "3.5", "3.8", "4", "4.2", "4.4", "4.5", "4.7", "4.8"),
    "factor": ("0.9", "1", "1.05", "1.1", "1.2", "1.25", "1.4", "1.5", "2"),
    "country": ("'DE'", "'FR'", "'GB'", "'IT'", "'JP'", "'PL'", "'US'"),
    "condition": ("'new'", "'like new'", "'used'", "'for parts'"),
    "category": ("'chair'", "'radio'", "'laptop'", "'coin'", "'boots'"),
    "kind": ("'furniture'", "'toy'", "'electronics'", "'collectible'", "'antique'", "'seat'"),
    "ending": ("'chair'", "'camera'", "'table'", "'game'"),
    "adjective": ("'Vintage'", "'Rare'", "'Signed'", "'Mint'"),
    "maker": ("'thonet'", "'MÄRKLIN'", "'leica'", "'steiff'"),
    "seller": ("'ANNA'", "'bob''s barn'", "'zoë'", "'Museum-Shop'"),
    "tag": ("'antique'", "'boxed'", "'gift'", "'signed'", "'Pickup-Only'"),
    "bidder": ("'ada'", "'ben'", "'chiara'", "'dmitri'", "'emeka'", "'fatima'", "'goro'"),
    "network": ("'10.0.0.0/9'", "'192.168.0.0/16'", "'203.0.113.0/25'", "'2001:db8::/33'"),
    "early": ("'2026-03-03'", "'2026-03-05T12:00:00Z'", "'2026-03-08'"),
    "moment": ("'2026-03-12'", "'2026-03-18T06:00:00+02:00'", "'2026-03-25'"),
}

_TRIES = 20
"""Attempts at a text that has not been given yet; some templates have few."""


def subscriptions(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """So many subscriptions, each an id and a text; every template has its turn."""
    seen: set[str] = set()
    chance = random.Random(f"subscriptions {seed}")
    for number, name in zip(range(count), _names(), strict=False):
        text = _filled(_TEMPLATES[name], chance)
        for _ in range(_TRIES):
            if text not in seen:
                break
            text = _filled(_TEMPLATES[name], chance)
        seen.add(text)
        yield f"{name}-{number // len(_TEMPLATES) + 1}", text


def _names() -> Iterator[str]:
    for _ in numbers():
        yield from _TEMPLATES


def _filled(text: str, chance: random.Random) -> str:
    """The text with each name replaced by one of its choices, none of them taken twice."""
    for name, choices in _CHOICES.items():
        drawn = chance.sample(choices, text.count(f"{{{name}}}"))
        for choice in drawn:
            text = text.replace(f"{{{name}}}", choice, 1)
    return text
