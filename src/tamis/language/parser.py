"""The text notation: a precedence parser that reads each token once and never goes back.

    expression  := [prefixes] or
    or          := unless ('or' unless)*
    unless      := and ('unless' and)*
    and         := not ('and' not)*
    not         := 'not' not | predicate
    predicate   := sum [comparison sum ['ignoring' 'case'] | ['not'] test | truth-test]
    truth-test  := 'is' ['not'] ('true' | 'false' | 'unknown')
    sum         := product (('+' | '-') product)*
    product     := unary (('*' | '/') unary)*
    unary       := '-' unary | primary
    primary     := literal | path | ?variable | name '(' arguments ')' | '(' or ')' | '{' … '}'

Terms and expressions share the ladder, since an opening parenthesis does not tell which of the
two it opens; each rung checks what the rung below handed up. A truth test follows what is an
expression already on the lowest rung: one in parentheses, a call or a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from tamis.errors import ParseError, SubscriptionError, suggestion
from tamis.language.attribute_tests import TESTS, ignoring_case, read_list, read_test
from tamis.language.cursor import Cursor
from tamis.language.lexer import Token, next_token
from tamis.language.patterns import read_pattern, read_prefixes
from tamis.model.limits import LIMITS, MAX_DEPTH, Limits, check_limit
from tamis.model.paths import RESERVED, format_path, parse_path
from tamis.predicates.expression import (
    EQUALITIES,
    FLIPPED,
    And,
    Argument,
    Call,
    Comparison,
    Expression,
    Not,
    Or,
    Pattern,
    TruthTest,
    all_of,
    any_of,
)
from tamis.predicates.operands import Attribute, Constant, Operand, Quantity, Variable, calculate
from tamis.predicates.printing import format_term

Clause = Operand | Expression
Reader = Callable[[], Clause]

_MISSPELT = {"==": "write '='", "<>": "write '!='"}
_JOINTS = ("and", "or", "unless")
_WORDS = (*TESTS, "not", *_JOINTS)
_HYPHENS = re.compile(r"(?:[.-]\w+)+")
_LADDER = {"or": ("or",), "unless": ("unless",), "and": ("and",), "not": ("not",)}
_FILTER_LADDER = {"or": ("||",), "unless": (), "and": ("&&",), "not": ("!",)}
"""The words of each rung; a FILTER has SPARQL's."""


def parse(
    text: str,
    *,
    prefixes: Mapping[str, str] | None = None,
    attributes: Collection[str] | None = None,
    limits: Limits = LIMITS,
) -> Expression:
    """The expression that a text denotes.

    ``prefixes`` are for IRIs in graph patterns; ``attributes``, if given, are the dotted paths
    that may occur: any other is an error with a hint.
    """
    check_text(text, limits)
    return Parser(text, prefixes or {}, attributes, limits).parse()


def check_text(text: str, limits: Limits) -> None:
    """Refuse what cannot be the text of a subscription."""
    if not isinstance(text, str):
        kind = type(text).__name__
        raise SubscriptionError(f"the text of a subscription must be a string, not {kind}")
    check_limit(len(text), limits.text, "characters in one subscription")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            problem = "a lone surrogate, which is not a Unicode character,"
            raise ParseError(problem, text, error.start) from error


class Parser(Cursor):
    """Reads one text, which ``check_text`` has seen."""

    def __init__(
        self,
        text: str,
        prefixes: Mapping[str, str],
        attributes: Collection[str] | None = None,
        limits: Limits = LIMITS,
        start: int = 0,
    ) -> None:
        declared, start = read_prefixes(text, start)
        self.prefixes = {**prefixes, **declared}
        self.attributes = attributes
        self.limits = limits
        self.depth = 0
        self.words: Mapping[str, tuple[str, ...]] = _LADDER
        super().__init__(text, start)

    def parse(self) -> Expression:
        """The whole text as one expression."""
        if self.token.sort == "end":
            raise self.error("an empty subscription", hint="write 'true' to match every event")
        start = self.token
        expression = self.as_expression(self.disjunction(), start)
        if self.token.sort != "end":
            self.unexpected("'and', 'or' or the end", _WORDS, self.test_hint())
        return expression

    # The ladder, from the weakest operator to the strongest.

    def disjunction(self) -> Clause:
        return self.chain("or", self.exception, any_of)

    def exception(self) -> Clause:
        return self.chain("unless", self.conjunction, _unless)

    def conjunction(self) -> Clause:
        return self.chain("and", self.negation, all_of)

    def chain(self, rung: str, read: Reader, make: Callable[..., Expression]) -> Clause:
        words = self.words[rung]
        start = self.token
        first = read()
        if not self.at(*words):
            return first
        parts = [self.as_expression(first, start)]
        while self.accept(*words):
            start = self.token
            parts.append(self.as_expression(read(), start))
        return self.build(start, make, *parts)

    def negation(self) -> Clause:
        start = self.token
        if not self.accept(*self.words["not"]):
            return self.predicate()
        self.descend(start)
        part = self.as_expression(self.negation(), start)
        self.depth -= 1
        return Not(part)

    def predicate(self) -> Clause:
        start = self.token
        left = self.sum()
        if isinstance(left, Expression) or (_is_truth(left) and self.at("is")):
            return self.truth_test(self.as_expression(left, start))
        operator = self.token
        if operator.sort == "symbol" and operator.text in FLIPPED:
            self.advance()
            if self.at("null") and operator.text in EQUALITIES:
                word = "missing" if operator.text == "=" else "present"
                hint = f"write {format_term(left)} is {word}, or `null` for an attribute's name"
                raise self.null_error(hint)
            right = self.as_term(self.sum())
            folded = ignoring_case(self)
            made = self.build(start, Comparison, left, operator.text, right, folded)
            if self.token.text in FLIPPED:
                raise self.error("comparisons do not chain", hint="write a < x and x < b")
            return made
        if operator.text in _MISSPELT:
            raise self.error(f"unknown operator {operator}", hint=_MISSPELT[operator.text])
        test = read_test(self, left) if isinstance(left, Attribute) else None
        return left if test is None else test

    def truth_test(self, part: Expression) -> Expression:
        """The test that follows an expression, or the expression if none does."""
        start = self.token
        if not self.accept("is"):
            return part
        negated = self.accept("not")
        if not self.at(*TruthTest.TRUTHS):
            self.unexpected("'true', 'false' or 'unknown'", TruthTest.TRUTHS)
        test: Expression = self.build(start, TruthTest, part, self.advance().text.lower())
        return self.build(start, Not, test) if negated else test

    def sum(self) -> Clause:
        left = self.product()
        while self.at("+", "-"):
            left = self.arithmetic(left, self.product)
        return left

    def product(self) -> Clause:
        left = self.unary()
        while self.at("*", "/"):
            left = self.arithmetic(left, self.unary)
        return left

    def arithmetic(self, left: Clause, read: Reader) -> Clause:
        before, operator = self.previous, self.advance()
        if operator.text == "-":
            self.check_hyphen(before, operator)
        right = self.as_term(read())
        return self.build(operator, calculate, self.as_term(left, operator), operator.text, right)

    def check_hyphen(self, before: Token, minus: Token) -> None:
        """Refuse a minus between two bare names without spaces: most often it is one name."""
        after = self.token
        if not (before.sort == after.sort == "word"):
            return
        if before.end != minus.start or minus.end != after.start:
            return
        if before.text[-1] == "`" or after.text[0] == "`":
            return
        rest = _HYPHENS.match(self.text, minus.start)
        assert rest is not None
        *outer, last = parse_path(before.text)
        name = format_path((*outer, *f"{last}{rest.group()}".split(".")))
        problem = f"a hyphen without spaces in '{before.text}{rest.group()}'"
        hint = f"write {name} for the attribute, or {before.text} - {after.text} for the difference"
        raise self.error(problem, before, hint)

    def unary(self) -> Clause:
        start = self.token
        if not self.at("-"):
            return self.primary()
        if next_token(self.text, start.end).sort == "number":
            return self.constant()
        self.advance()
        self.descend(start)
        operand = self.as_term(self.unary())
        self.depth -= 1
        return self.build(start, calculate, Constant(0), "-", operand)

    def primary(self) -> Clause:
        token = self.token
        if token.sort in ("number", "string"):
            return self.constant("a predicate")
        if token.sort == "variable":
            return Variable(self.advance().text[1:])
        if token.sort == "word":
            return self.word()
        if self.accept("("):
            self.descend(token)
            inside = self.disjunction()
            if not self.accept(")"):
                self.unexpected("')'", _WORDS, self.test_hint())
            self.depth -= 1
            return inside
        if self.at("{"):
            return self.pattern()
        return self.unexpected("a predicate")

    def word(self) -> Clause:
        token = self.token
        word = token.text.lower()
        if word in ("true", "false"):
            return self.constant()
        if word == "null":
            hint = "write 'is missing' or 'is present', or `null` for an attribute's name"
            raise self.null_error(hint)
        if word in RESERVED:
            hint = f"an attribute of this name is written `{token.text}`"
            return self.unexpected("a predicate", hint=hint)
        if word == "timestamp" and next_token(self.text, token.end).sort == "string":
            return self.constant()
        self.advance()
        if self.at("(") and "`" not in token.text:
            return self.call(token)
        return self.attribute(token)

    # What the ladder is built of.

    def attribute(self, token: Token) -> Attribute:
        attribute = self.build(token, lambda: Attribute(parse_path(token.text)))
        if self.attributes is not None and str(attribute) not in self.attributes:
            hint = suggestion(str(attribute), self.attributes)
            raise self.error(f"unknown attribute '{attribute}'", token, hint)
        return attribute

    def call(self, name: Token) -> Expression:
        arguments: tuple[Argument, ...] = ()
        if next_token(self.text, self.token.end).text == ")":
            self.expect("(", ")")
        else:
            arguments = read_list(self, self.argument)
        return self.build(name, Call, name.text, arguments)

    def argument(self) -> Argument:
        if self.token.sort == "variable":
            return Variable(self.advance().text[1:])
        start = self.token
        constant = self.constant("a constant or a ?variable")
        if self.token.sort != "word":
            return constant
        return self.build(start, Quantity, constant, self.advance().text)

    def pattern(self) -> Pattern:
        start = self.token.start
        pattern, end = read_pattern(self.text, start, self.prefixes, self.filter, self.limits)
        self.move(end)
        return pattern

    def filter(self, text: str, start: int) -> tuple[Expression, int]:
        """The expression of a FILTER, whose opening parenthesis is at ``start``."""
        outer, self.words = self.words, _FILTER_LADDER
        self.move(start)
        opening = self.token
        self.descend(opening)
        self.expect("(")
        expression = self.as_expression(self.disjunction(), opening)
        self.depth -= 1
        closing = self.token
        if not (closing.sort == "symbol" and closing.text == ")"):
            self.unexpected("')'")
        self.words = outer
        return expression, closing.end

    def descend(self, at: Token) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} levels deep", at)

    def test_hint(self) -> str | None:
        """What to say of the word of a test that follows a whole expression."""
        word = self.token.text.lower()
        if word == "is":
            return "put the expression before it in parentheses: (…) is true"
        if word in TESTS:
            return f"{word!r} follows an attribute; join tests by 'and' or 'or'"
        return None

    def as_expression(self, operand: Clause, at: Token) -> Expression:
        if isinstance(operand, Expression):
            return operand
        if isinstance(operand, Constant) and isinstance(operand.value, bool):
            return And(()) if operand.value else Or(())
        if isinstance(operand, Attribute):
            if self.token.sort == "word" and not self.at(*_JOINTS):
                self.unexpected("a comparison or a test", _WORDS)
            hint = f"write {operand} = true, or compare it with something"
            raise self.error(f"the attribute {str(operand)!r} alone is not a test", at, hint)
        raise self.error("a value alone is not a test", at, "compare it with an attribute")

    def as_term(self, operand: Clause, at: Token | None = None) -> Operand:
        if isinstance(operand, Operand):
            return operand
        raise self.error("a test cannot stand in a comparison or in arithmetic", at)


def _unless(kept: Expression, *exceptions: Expression) -> Expression:
    return all_of(kept, *(Not(TruthTest(each, "true")) for each in exceptions))


def _is_truth(term: Clause) -> bool:
    return isinstance(term, Constant) and isinstance(term.value, bool)
