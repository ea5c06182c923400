"""The data of the demo on Spark: auctions by SQL, subscriptions by templates, changes of them.

An auction follows from its number alone: every attribute is an expression over hashes of it, which
Spark evaluates in the JVM. So any one of them can be made again later, to explain a match. Events
of the demo are auctions as JSON documents, a few of which are broken.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.demo.auctions import ADJECTIVES, MAKERS, MATERIALS, SOLD

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_KINDS = ("furniture", "toy", "electronics", "collectible", "antique", "seat", "clothing")
_CONDITIONS = ("new", "like new", "used", "for parts")
_CITIES = (
    "Accra Athens Austin Bergen Berlin Bogotá Boston Cairo Dakar Delhi Dublin Geneva Hanoi Kyoto "
    "Lagos Leeds Lima Lisbon London Lyon Madrid Malmö Milan Nairobi Naples Oslo Ottawa Paris Porto "
    "Prague Quito Riga Rome Seoul Sofia Sydney Tallinn Tokyo Turin Vienna Vilnius Warsaw Zagreb"
).split()
_SELLERS, _BIDDERS = 5_000, 2_000
_OPENING, _WEEK = 1_772_323_200, 7 * 86_400
"""Auctions close within a week from 2026-03-01, UTC; in seconds. The session's time zone is UTC."""


# Auctions.

BROKEN = 5_000
"""One document in so many cannot be read."""


def documents(numbers: DataFrame, seed: int = 0) -> DataFrame:
    """The auctions of some numbers as JSON, in the columns ``auction`` and ``document``."""
    whole = auctions(numbers, seed).selectExpr("auction", "to_json(struct(*)) AS document")
    torn = f"pmod(auction, {2 * BROKEN}) = 7"
    wrapped = f"pmod(auction, {2 * BROKEN}) = {BROKEN + 7}"
    document = (
        f"CASE WHEN {torn} THEN left(document, cast(length(document) / 2 AS int)) "
        f"WHEN {wrapped} THEN concat('[', document, ']') ELSE document END"
    )
    return whole.selectExpr("auction", f"{document} AS document")


def broken(events: int) -> int:
    """How many of so many documents cannot be read."""
    return (events - 8) // BROKEN + 1 if events >= 8 else 0


def auctions(numbers: DataFrame, seed: int = 0) -> DataFrame:
    """The auctions of some numbers, which are in a column ``n``."""
    dice = _Dice(seed)
    kinds = numbers.selectExpr(
        "n", f"{dice.choice(1, SOLD)} AS category", f"{dice.choice(1, SOLD.values())} AS base"
    )
    spread = f"{dice.roll(2, 1000)} * {dice.roll(3, 1000)} / 500000D"
    priced = kinds.selectExpr("n", "category", f"round(base * (0.3D + {spread}), 2) AS price")
    words = (dice.choice(4, ADJECTIVES), dice.choice(5, MATERIALS), "category", "'by'")
    rating = f"2.5D + {dice.roll(10, 26)} / 10D"
    bids = ", ".join(_bid(dice, number) for number in range(3))
    columns = {
        "auction": "n",
        "title": f"concat_ws(' ', {', '.join(words)}, {dice.choice(6, MAKERS)})",
        "category": "category",
        "condition": dice.choice(7, _CONDITIONS),
        "price": "price",
        "seller": f"named_struct('name', {dice.name(9, 'seller', _SELLERS)}, 'rating', {rating})",
        "city": dice.choice(8, _CITIES),
        "closes": f"date_format(timestamp_seconds({_OPENING} + {dice.roll(11, _WEEK)}), "
        """"yyyy-MM-dd'T'HH:mm:ss'Z'")""",
        "bids": f"slice(array({bids}), 1, cast({dice.roll(12, 4)} AS int))",
    }
    return priced.selectExpr(*(f"{each} AS {name}" for name, each in columns.items()))


class _Dice(NamedTuple):
    """Expressions that are drawn by the number of an auction; the same salt, the same draw."""

    seed: int

    def roll(self, salt: int, sides: int) -> str:
        return f"pmod(xxhash64(n, {salt}, {self.seed}L), {sides})"

    def choice(self, salt: int, values: Any) -> str:
        drawn = ", ".join(map(repr, values))
        return f"element_at(array({drawn}), cast({self.roll(salt, len(values))} + 1 AS int))"

    def name(self, salt: int, what: str, count: int) -> str:
        return f"concat('{what}-', {self.roll(salt, count)})"


def _bid(dice: _Dice, number: int) -> str:
    factor = f"({0.8 + number / 4:.2f}D + {dice.roll(20 + number, 100)} / 400D)"
    bidder = dice.name(30 + number, "bidder", _BIDDERS)
    return f"named_struct('by', {bidder}, 'amount', round(price * {factor}, 2))"


# Subscriptions.

_DRAWS: dict[str, Callable[[random.Random], Any]] = {
    "adjective": lambda chance: chance.choice(ADJECTIVES),
    "amount": lambda chance: chance.randrange(200, 1_000),
    "bidder": lambda chance: f"bidder-{chance.randrange(_BIDDERS)}",
    "category": lambda chance: chance.choice(tuple(SOLD)),
    "city": lambda chance: chance.choice(_CITIES),
    "condition": lambda chance: chance.choice(_CONDITIONS),
    "hour": lambda chance: f"2026-03-01T{chance.randrange(1, 24):02}:00:00Z",
    "kind": lambda chance: chance.choice(_KINDS),
    "low": lambda chance: chance.randrange(4, 20),
    "maker": lambda chance: chance.choice(MAKERS),
    "material": lambda chance: chance.choice(MATERIALS),
    "seller": lambda chance: f"seller-{chance.randrange(_SELLERS)}",
    "top": lambda chance: chance.randrange(25, 90),
}

TEMPLATES: dict[str, str] = {
    "antiques": "category is a 'antique' and city = 'Oslo' and price < {top}",
    "search": (
        "category = '{category}' and city = '{city}' and condition = '{condition}' "
        "and price < {low}"
    ),
    "seller": "seller.name = '{seller}' and price between {low} and {top}",
    "bidder": "bids.by = '{bidder}' and bids.amount > {amount}",
    "cities": (
        "city in ('{city}', '{city}', '{city}') and category = '{category}' "
        "and condition = '{condition}' and price < {low}"
    ),
    "closing": "closes < '{hour}' and seller.name = '{seller}'",
    "kind": (
        "category is a '{kind}' and city = '{city}' and seller.rating >= 4.8 and price < {top}"
    ),
    "title": "title starts with '{adjective} {material} {category}' and city = '{city}'",
    "either": (
        "city = '{city}' and (category = '{category}' or title starts with '{adjective} "
        "{material}') and price < {low}"
    ),
    "like": "seller.name = '{seller}' and title like '%{material}%{maker}'",
}
_SHARES = {
    "search": 3_200,
    "seller": 2_000,
    "bidder": 2_000,
    "cities": 1_000,
    "closing": 1_000,
    "kind": 400,
    "title": 249,
    "either": 150,
    "like": 1,
}
"""Of ten thousand. Python decides on ``like``, so there are few of them."""


class _Drawn:
    """A mapping whose values are drawn each time."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def __getitem__(self, name: str) -> Any:
        return _DRAWS[name](self._chance)


class Row(NamedTuple):
    """A subscription, or its removal if there is no text."""

    id: str
    text: str | None
    version: int


STAR = "antiques-in-oslo"
"""A subscription that every change replaces by one that is content with more."""
_CHANGED = 1_000
"""A change adds, replaces and removes one in so many."""


def star(version: int) -> Row:
    """The subscription whose versions the demo compares."""
    return Row(STAR, TEMPLATES["antiques"].format(top=30 * version), version)


class Change(NamedTuple):
    """The rows of a change file."""

    new: list[Row]
    replaced: list[Row]
    removed: list[Row]

    def rows(self) -> list[Row]:
        """All of them."""
        return [*self.new, *self.replaced, *self.removed]


class Subscriptions:
    """Generated subscriptions, and changes to them."""

    def __init__(self, count: int, seed: int = 0) -> None:
        self._chance = random.Random(f"stream {seed}")
        self._version = 1
        self._made = 0
        self._ids: list[str] = []
        """Those that are there, without the star's."""
        self.first = [star(1), *self._new(count - 1)]

    def _new(self, count: int) -> list[Row]:
        names = self._chance.choices(tuple(_SHARES), tuple(_SHARES.values()), k=count)
        ids = [f"{name}-{number}" for number, name in enumerate(names, self._made + 1)]
        self._made += count
        self._ids += ids
        return [self._drawn(id) for id in ids]

    def _drawn(self, id: str) -> Row:
        text = TEMPLATES[id.split("-")[0]]
        return Row(id, text.format_map(_Drawn(self._chance)), self._version)

    def change(self) -> Change:
        """What is new, replaced and removed next."""
        self._version += 1
        count = min(len(self._ids) // 2, len(self._ids) // _CHANGED + 1)
        touched = self._chance.sample(self._ids, 2 * count)
        replaced = [star(self._version), *map(self._drawn, touched[:count])]
        removed = touched[count:]
        self._ids = sorted(set(self._ids).difference(removed))
        gone = [Row(id, None, self._version) for id in removed]
        return Change(self._new(count), replaced, gone)


def table(rows: Sequence[Row]) -> pa.Table:
    """Rows as Tamis takes them: ``id``, ``subscription``, ``version``."""
    import pyarrow as pa

    ids, texts, versions = zip(*rows)
    return pa.table(
        {
            "id": pa.array(ids, pa.string()),
            "subscription": pa.array(texts, pa.string()),
            "version": pa.array(versions, pa.int64()),
        }
    )
