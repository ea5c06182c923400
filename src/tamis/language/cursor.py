"""A place in a text: the current token, what may follow it, and errors located there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, NoReturn, TypeVar

from tamis.errors import ParseError, SubscriptionError, suggestion
from tamis.language.lexer import Token, next_token, number_value, string_value
from tamis.model.kinds import Value
from tamis.model.timestamp import Timestamp
from tamis.predicates.operands import Constant

Made = TypeVar("Made")


def negative_value(literal: str) -> int | float:
    """The value of a number's text behind a minus."""
    return -number_value(literal)


def timestamp_value(literal: str) -> Timestamp:
    """The value of a string's text behind the word ``timestamp``."""
    return Timestamp.parse(string_value(literal))


class Literal(NamedTuple):
    """A literal of the text, the constant that it became, and how its text becomes a value."""

    constant: Constant
    convert: Callable[[str], Value]


class Cursor:
    """Steps through the tokens of a text."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.token = self.previous = next_token(text, start)
        self.literals: list[Literal | None] = []
        """For each number and string so far: its constant, or None if it became something else."""

    def advance(self) -> Token:
        """The current token; the next one becomes current."""
        token = self.previous = self.token
        self.token = next_token(self.text, token.end)
        return token

    def move(self, position: int) -> None:
        """Go on at a position of the text."""
        self.token = next_token(self.text, position)

    def at(self, *words: str) -> bool:
        """Whether the current token is one of these keywords or symbols."""
        token = self.token
        return token.sort in ("word", "symbol") and token.text.lower() in words

    def accept(self, *words: str) -> bool:
        """Step over one of these keywords or symbols, if it stands here."""
        if self.at(*words):
            self.advance()
            return True
        return False

    def expect(self, *words: str) -> None:
        """Step over these keywords or symbols, which must stand here."""
        for word in words:
            if not self.accept(word):
                self.unexpected(repr(word), [word])

    def error(self, problem: str, at: Token | None = None, hint: str | None = None) -> ParseError:
        """A parse error at a token, by default the current one."""
        return ParseError(problem, self.text, (at or self.token).start, hint)

    def unexpected(
        self, expected: str, words: Collection[str] = (), hint: str | None = None
    ) -> NoReturn:
        """Fail: the current token is not what was expected; ``words`` are the ones that may be
        meant, and ``hint`` is for a word that is none of them, not even misspelt."""
        word = self.token.text.lower()
        if self.token.sort == "word" and word not in words:
            hint = suggestion(word, words) or hint
        raise self.error(f"expected {expected}, found {self.token}", hint=hint)

    def null_error(self, hint: str) -> ParseError:
        """The error of ``null``, which stands here as if it were a value."""
        return self.error("null is not a value: the attribute is missing", hint=hint)

    def build(self, at: Token, make: Callable[..., Made], *arguments: object) -> Made:
        """Make a node; what its constructor refuses is an error at the token."""
        try:
            return make(*arguments)
        except (SubscriptionError, ValueError) as error:
            raise self.error(str(error), at) from error

    def constant(self, expected: str = "a constant") -> Constant:
        """Read a number, string, boolean or timestamp."""
        negative = self.accept("-")
        token = self.token
        if token.sort == "number":
            return self._literal(negative_value if negative else number_value)
        if negative:
            self.unexpected("a number")
        if self.at("null"):
            raise self.null_error("test 'is missing' or 'is present' instead")
        if token.sort == "string":
            return self._literal(string_value)
        if self.at("true", "false"):
            return Constant(self.advance().text.lower() == "true")
        if self.at("timestamp"):
            self.advance()
            if self.token.sort != "string":
                self.unexpected("a string such as '2026-01-01T12:00:00Z'")
            return self._literal(timestamp_value)
        hint = "a constant is a number, a 'string', true, false or timestamp '…'"
        self.unexpected(expected, hint=hint)

    def _literal(self, convert: Callable[[str], Value]) -> Constant:
        token = self.token
        constant = self.build(token, lambda: Constant(convert(token.text)))
        self.literals.append(Literal(constant, convert))
        self.advance()
        return constant

    def string(self, expected: str = "a string") -> str:
        """Read a string that does not become a constant of the tree."""
        token = self.token
        if token.sort != "string":
            self.unexpected(expected)
        self.literals.append(None)
        self.advance()
        return self.build(token, string_value, token.text)
