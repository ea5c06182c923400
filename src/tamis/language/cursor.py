"""A place in a text: the current token, what may follow it, and errors located there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NoReturn, TypeVar

from tamis.errors import ParseError, SubscriptionError, suggestion
from tamis.language.lexer import (
    fault,
    is_fault,
    keys_of,
    number_value,
    places_of,
    shown,
    sort_of,
    string_value,
    tokens_beside_pattern,
    tokens_of,
)
from tamis.model.kinds import Value
from tamis.model.timestamp import Timestamp
from tamis.predicates.operands import Constant

Made = TypeVar("Made")
Conversion = Callable[[str], Value]
Literal = tuple[Constant, Conversion]
"""The constant that a literal of the text became, and how its text becomes a value."""


def negative_value(literal: str) -> int | float:
    """The value of a number's text behind a minus."""
    return -number_value(literal)


def timestamp_value(literal: str) -> Timestamp:
    """The value of a string's text behind the word ``timestamp``."""
    return Timestamp.parse(string_value(literal))


CONVERSIONS: dict[str, Conversion] = {
    **dict.fromkeys("0123456789", number_value),
    **dict.fromkeys("'\"", string_value),
}
"""How most literals become values, by their first characters."""


class Cursor:
    """Steps through the tokens of a text.

        tokens    category   =   'Toy'   AND   price   <   5   (empty)
        keys      category   =   'toy'   and   price   <   5   (empty)    what words are compared by
                                          ↑ index

    Empty tokens follow the last one, so that those after the current one can always be looked at.
    """

    def __init__(self, text: str, start: int, *, runs: bool = True) -> None:
        self.text = text
        self._runs = runs
        self._is_varied = not text.islower() or "or " in text
        """Whether there are words in capitals, or perhaps runs."""
        self.literals: list[Literal | None] = []
        """For each number and string so far: its constant, or None if it became something else."""
        self._go_through(tokens_of(text, start, runs=runs), start)

    def move(self, position: int, *, enclosed: bool = False) -> None:
        """Go on at a position behind a graph pattern, or ``enclosed`` in the parentheses there."""
        tokens = tokens_beside_pattern(self.text, position, enclosed=enclosed, runs=self._runs)
        self._go_through(list(tokens), position, enclosed=enclosed)

    def _go_through(self, tokens: list[str], start: int, *, enclosed: bool = False) -> None:
        self._start = start
        self._enclosed = enclosed
        self._places: list[int] | None = None
        self._is_faulty = bool(tokens) and is_fault(tokens[-1])
        if self._is_faulty:
            tokens.pop()
        tokens += ("", "")
        self.tokens = tokens
        self.keys = keys_of(tokens) if self._is_varied else tokens
        self.index = 0
        self.key = self.keys[0]

    def check_end(self) -> None:
        """Raise if the current token is the end of what can be read, but not of the text."""
        if not self.key and self._is_faulty:
            raise fault(self.text, self.place(self.index))

    def place(self, index: int) -> int:
        """Where a token stands in the text."""
        if self._places is None:
            count, enclosed = len(self.tokens) - 1, self._enclosed
            self._places = places_of(
                self.text, self._start, count, enclosed=enclosed, runs=self._runs
            )
        return self._places[min(index, len(self._places) - 1)]

    @property
    def token(self) -> str:
        """The current token."""
        return self.tokens[self.index]

    @property
    def sort(self) -> str:
        """The sort of the current token."""
        return sort_of(self.tokens[self.index])

    def advance(self) -> int:
        """Step over the current token, and return its index."""
        index = self.index
        self.index = index + 1
        self.key = self.keys[index + 1]
        return index

    def at(self, *words: str) -> bool:
        """Whether the current token is one of these keywords or symbols."""
        return self.key in words

    def accept(self, *words: str) -> bool:
        """Step over one of these keywords or symbols, if it stands here."""
        if self.key not in words:
            return False
        self.index += 1
        self.key = self.keys[self.index]
        return True

    def expect(self, word: str) -> None:
        """Step over a keyword or symbol, which must stand here."""
        if self.key != word:
            self.unexpected(repr(word), [word])
        self.index += 1
        self.key = self.keys[self.index]

    def error(self, problem: str, at: int | None = None, hint: str | None = None) -> ParseError:
        """A parse error at a token, by default the current one."""
        return ParseError(problem, self.text, self.place(self.index if at is None else at), hint)

    def unexpected(
        self, expected: str, words: Collection[str] = (), hint: str | None = None
    ) -> NoReturn:
        """Fail: the current token is not what was expected; ``words`` are the ones that may be
        meant, and ``hint`` is for a word that is none of them, not even misspelt."""
        if self.sort == "word" and self.key not in words:
            hint = suggestion(self.key, words) or hint
        raise self.error(f"expected {expected}, found {shown(self.token)}", hint=hint)

    def null_error(self, hint: str) -> ParseError:
        """The error of ``null``, which stands here as if it were a value."""
        return self.error("null is not a value: the attribute is missing", hint=hint)

    def build(self, at: int, make: Callable[..., Made], *arguments: object) -> Made:
        """Make a node; what its constructor refuses is an error at the token."""
        try:
            return make(*arguments)
        except (SubscriptionError, ValueError) as error:
            raise self.error(str(error), at) from error

    def constant(self, expected: str = "a constant") -> Constant:
        """Read a number, string, boolean or timestamp."""
        convert = CONVERSIONS.get(self.tokens[self.index][:1])
        if convert is not None:
            return self.literal(convert)
        if self.accept("-"):
            if self.sort != "number":
                self.unexpected("a number")
            return self.literal(negative_value)
        if self.sort == "string":
            return self.literal(string_value)
        if self.at("null"):
            raise self.null_error("test 'is missing' or 'is present' instead")
        if self.at("true", "false"):
            return Constant(self.keys[self.advance()] == "true")
        if self.accept("timestamp"):
            if self.sort != "string":
                self.unexpected("a string such as '2026-01-01T12:00:00Z'")
            return self.literal(timestamp_value)
        hint = "a constant is a number, a 'string', true, false or timestamp '…'"
        self.unexpected(expected, hint=hint)

    def literal(self, convert: Conversion) -> Constant:
        """The current token, a number or a string, as a constant."""
        index = self.index
        try:
            constant = Constant(convert(self.tokens[index]))
        except (SubscriptionError, ValueError) as error:
            raise self.error(str(error), index) from error
        self.literals.append((constant, convert))
        self.index = index + 1
        self.key = self.keys[index + 1]
        return constant

    def plain_list(self) -> tuple[Constant, ...]:
        """The list in parentheses that begins here, if it has nothing but plain literals, as most
        do: its constants are made in one go. Of any other, or a faulty one, nothing is read."""
        first = self.index + 1
        try:
            end = self.tokens.index(")", first)
            literals = self.tokens[first:end:2]
            conversions = [CONVERSIONS[literal[0]] for literal in literals]
            constants = [Constant(convert(text)) for convert, text in zip(conversions, literals)]
        except (KeyError, SubscriptionError, ValueError):
            return ()
        if not literals or self.tokens[first + 1 : end : 2] != [","] * (len(literals) - 1):
            return ()
        self.literals += zip(constants, conversions)
        self.index = end + 1
        self.key = self.keys[end + 1]
        return tuple(constants)

    def string(self, expected: str = "a string") -> str:
        """Read a string that does not become a constant of the tree."""
        if self.sort != "string":
            self.unexpected(expected)
        self.literals.append(None)
        index = self.advance()
        return self.build(index, string_value, self.tokens[index])
