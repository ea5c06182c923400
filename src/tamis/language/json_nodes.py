"""A place in a JSON document: what stands there, what may stand there, and errors located there.

Errors end with the place as a JSON pointer: ``'op' is missing at /and/0``. Only known keys are
ever followed, so a pointer needs no escapes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, NoReturn, TypeVar

from tamis.errors import LimitError, SubscriptionError, suggestion
from tamis.model.limits import Limits
from tamis.predicates.operands import is_unicode

Made = TypeVar("Made")

_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


class Budget:
    """Counts the characters that a document has at least."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.used = 0


class Node:
    """A part of a document, by its JSON pointer."""

    __slots__ = ("budget", "place", "raw")

    def __init__(self, raw: Any, place: str, budget: Budget) -> None:
        self.raw = raw
        self.place = place
        self.budget = budget
        budget.used += len(raw) if isinstance(raw, str) else 1
        if budget.used > budget.limits.text:
            self.exceed(f"a form of more than {budget.limits.text:,} characters")

    def __getitem__(self, key: str) -> Node:
        return Node(self.raw[key], f"{self.place}/{key}", self.budget)

    def __contains__(self, key: str) -> bool:
        return key in self.raw

    def fail(self, problem: str) -> NoReturn:
        """Refuse the document for what stands here."""
        raise SubscriptionError(f"{problem} at {self.place or '/'}")

    def exceed(self, problem: str) -> NoReturn:
        """Refuse the document for the size of what stands here."""
        raise LimitError(f"{problem} at {self.place or '/'}")

    def unknown(self, what: str, word: Any, known: Collection[str]) -> NoReturn:
        """Refuse a word that is none of the known ones."""
        if not isinstance(word, str):
            self.fail(f"a key is a string, not {_type(word)}")
        hint = suggestion(word[:50], known) or "use one of " + ", ".join(known)
        self.fail(f"unknown {what} {word[:50]!r}; {hint}")

    def build(self, make: Callable[..., Made], *arguments: object) -> Made:
        """Make something; what its constructor refuses is an error here."""
        try:
            return make(*arguments)
        except LimitError as error:
            self.exceed(str(error))
        except (SubscriptionError, ValueError) as error:
            self.fail(str(error))

    def shape(self, shapes: Collection[str], what: str) -> str:
        """The key that tells which of several shapes an object has."""
        if not isinstance(self.raw, dict):
            self.fail(f"{what} is an object, not {_type(self.raw)}")
        found = next((key for key in shapes if key in self.raw), None)
        if found is None:
            for key in self.raw:
                self.unknown("key", key, shapes)
            self.fail(f"{what} has one of the keys {', '.join(shapes)}")
        return found

    def check_keys(self, required: Collection[str], optional: Collection[str] = ()) -> None:
        """Refuse an object that has other keys, or lacks one."""
        for key in self.raw:
            if key not in required and key not in optional:
                self.unknown("key", key, [*required, *optional])
        for key in required:
            if key not in self.raw:
                self.fail(f"{key!r} is missing")

    def items(self) -> Iterator[Node]:
        """The items of a list: values, networks, arguments, terms, filters."""
        return self._nodes(self.budget.limits.items)

    def operands(self) -> Iterator[Node]:
        """The items of a list of operands."""
        return self._nodes(self.budget.limits.operands)

    def triples(self) -> Iterator[Node]:
        """The triples of a graph pattern."""
        return self._nodes(self.budget.limits.pattern)

    def _nodes(self, limit: int) -> Iterator[Node]:
        if not isinstance(self.raw, list):
            self.fail(f"expected a list, found {_type(self.raw)}")
        if len(self.raw) > limit:
            self.exceed(f"{len(self.raw):,} items, where the limit is {limit:,},")
        for index, item in enumerate(self.raw):
            yield Node(item, f"{self.place}/{index}", self.budget)

    def string(self) -> str:
        """A string of Unicode."""
        if not isinstance(self.raw, str):
            self.fail(f"expected a string, found {_type(self.raw)}")
        if not is_unicode(self.raw):
            self.fail("a lone surrogate, which is not Unicode,")
        return self.raw

    def scalar(self) -> Any:
        """A number, a string, a boolean or null."""
        if type(self.raw) not in _TYPES or isinstance(self.raw, dict | list):
            self.fail(f"expected a number, a string or a boolean, found {_type(self.raw)}")
        return self.raw

    def flag(self, key: str) -> bool:
        """A boolean that is false if it is not there."""
        if key not in self:
            return False
        node = self[key]
        if not isinstance(node.raw, bool):
            node.fail(f"expected true or false, found {_type(node.raw)}")
        return node.raw

    def word(self, key: str, words: Collection[str]) -> str:
        """A string that is one of several words."""
        if key not in self:
            self.fail(f"{key!r} is missing")
        node = self[key]
        word = node.string()
        if word not in words:
            node.unknown(key, word, words)
        return word


def _type(raw: Any) -> str:
    return _TYPES.get(type(raw), f"a {type(raw).__name__}")
