"""The text notation: a precedence parser that reads each token once and never goes back.

    expression  := [prefixes] or
    or          := unless ('or' unless)*
    unless      := and ('unless' and)*
    and         := not ('and' not)*
    not         := 'not' not | predicate
    predicate   := sum [comparison sum ['ignoring' 'case'] | ['not'] test | truth-test]
    truth-test  := 'is' ['not'] ('true' | 'false' | 'unknown')
    sum         := product (('+' | '-') product)*
    product     := primary (('*' | '/') primary)*
    primary     := literal | path | ?variable | name '(' arguments ')' | '(' or ')' | '{' … '}'
                 | '-' primary

Terms and expressions share the ladder, since an opening parenthesis does not tell which of the
two it opens; each rung checks what the rung below handed up. A truth test follows what is an
expression already on the lowest rung: one in parentheses, a call or a pattern. Rungs that differ
only in their operators are one function, which goes on while the operators are strong enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, MutableMapping

from tamis.arrays.sharing import Bounded
from tamis.errors import ParseError, SubscriptionError, TamisError, suggestion
from tamis.language.attribute_tests import TESTS, ignoring_case, negated_test, read_list
from tamis.language.cursor import CONVERSIONS, Cursor
from tamis.language.filters import FILTER_TESTS, filter_function, rdf_constant
from tamis.language.lexer import RDF_TOKEN, TESTS_OF_RUN, shown, sort_of, string_value
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
    TextTest,
    TruthTest,
    all_of,
    any_of,
)
from tamis.predicates.operands import Attribute, Constant, Operand, Quantity, Variable, calculate
from tamis.predicates.printing import format_term

Clause = Operand | Expression

_MISSPELT = {"==": "write '='", "<>": "write '!='"}
_JOINTS = {"or": 0, "unless": 1, "and": 2}
_FILTER_JOINTS = {"||": 0, "&&": 2}
"""The words that join expressions, with their strength; a FILTER has SPARQL's."""
_TESTED = frozenset({*TESTS, *FLIPPED})
"""What may follow an attribute alone; other words and symbols make more of it, or are joints."""
_WORDS = (*TESTS, "not", *_JOINTS)
_HYPHENS = re.compile(r"(?:[.-]\w+)+")
_ARITHMETIC = {"+": 0, "-": 0, "*": 1, "/": 1}
"""The symbols between terms, with their strength."""
_NAMES: Bounded[str, Attribute] = Bounded(10_000)
"""Attributes that ``parse`` has seen, by their names in the text."""
_LONGEST_NAME = 100
"""Characters in a name that is remembered."""


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
    names = _NAMES if attributes is None else {}
    return Parser(text, prefixes or {}, attributes, limits, names).parse()


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
        names: MutableMapping[str, Attribute] | None = None,
        *,
        runs: bool = True,
    ) -> None:
        declared, start = read_prefixes(text)
        self.prefixes = {**prefixes, **declared} if declared else prefixes
        self.attributes = attributes
        self.limits = limits
        self.names = {} if names is None else names
        """The attributes that are known already, by their names in the text."""
        self.depth = 0
        self.joints, self.negator = _JOINTS, "not"
        super().__init__(text, start, runs=runs)

    def parse(self) -> Expression:
        """The whole text as one expression."""
        try:
            expression = self.whole()
        except TamisError:
            self.check_end()  # what begins no token comes before all else that is wrong there
            raise
        self.check_end()
        return expression

    def whole(self) -> Expression:
        if not self.key:
            raise self.error("an empty subscription", hint="write 'true' to match every event")
        start = self.index
        expression = self.as_expression(self.joined(), start)
        if self.key:
            self.unexpected("'and', 'or' or the end", _WORDS, self.test_hint())
        return expression

    # The ladder, from the weakest operator to the strongest.

    def joined(self, weakest: int = 0) -> Clause:
        """Expressions joined by ``or``, ``unless`` and ``and``, or only by the stronger ones."""
        start = self.index
        left = self.predicate() if self.key != self.negator else self.negation()
        while (strength := self.joints.get(self.key, -1)) >= weakest:
            word = self.key
            parts = [self.as_expression(left, start)]
            while self.key == word:
                if len(self.tokens[self.index]) > len(word):
                    self.add_run(parts)
                    continue
                start = self.advance() + 1
                part = self.joined(strength + 1)
                if not isinstance(part, Expression):
                    part = self.as_expression(part, start)
                parts.append(part)
            left = _MAKERS[strength](*parts)
        return left

    def add_run(self, parts: list[Expression]) -> None:
        """Add the tests of a run (lexer.py): long lists of such tests are common."""
        try:
            known, attribute = "", None
            for name, operator, text, folded in TESTS_OF_RUN.findall(self.token):
                if name != known or attribute is None:
                    attribute = self.names.get(name) or self.attribute_of_run(name)
                    known = name
                constant = Constant(string_value(text))
                parts.append(TextTest(attribute, operator, constant, folded != ""))
                self.literals.append((constant, string_value))
        except (TamisError, ValueError):  # read one by one, the tests say what is wrong, and where
            Parser(
                self.text, self.prefixes, self.attributes, self.limits, self.names, runs=False
            ).parse()
            raise
        self.advance()

    def attribute_of_run(self, name: str) -> Attribute:
        """The attribute of a name that is not known yet."""
        attribute = Attribute(parse_path(name))
        if name.lower() in RESERVED or not self.is_known(attribute):
            raise SubscriptionError(f"there is no attribute {name!r}")
        self.remember(name, attribute)
        return attribute

    def negation(self) -> Clause:
        if self.key != self.negator:
            return self.predicate()
        start = self.advance()
        self.descend(start)
        part = self.as_expression(self.negated(start), start)
        self.depth -= 1
        return Not(part)

    def negated(self, start: int) -> Clause:
        """What ``not`` negates; SPARQL's ``!`` is stronger than a comparison."""
        if self.negator != "!" or self.key == "!":
            return self.negation()
        part = self.primary()
        if isinstance(part, Expression) or _is_truth(part):
            return part
        raise self.error("'!' negates a whole test", start, "put the test in parentheses: !(…)")

    def predicate(self) -> Clause:
        start = self.index
        left = self.tested_attribute() or self.term()
        operator = self.key
        if self.negator == "!" and operator in FILTER_TESTS and isinstance(left, Operand):
            return FILTER_TESTS[operator](self, left, start)
        if operator in TESTS and isinstance(left, Attribute):
            return TESTS[operator](self, left)
        if operator in FLIPPED and isinstance(left, Operand):
            return self.comparison(start, left)
        if operator == "is" and (isinstance(left, Expression) or _is_truth(left)):
            return self.truth_test(self.as_expression(left, start))
        if isinstance(left, Expression):
            return left
        if operator in _MISSPELT:
            raise self.error(f"unknown operator {shown(operator)}", hint=_MISSPELT[operator])
        if operator == "not" and isinstance(left, Attribute):
            return negated_test(self, left)
        return left

    def tested_attribute(self) -> Attribute | None:
        """The attribute that stands here, if the next token tests it: most predicates begin so, and
        there is no need to climb down to it."""
        index = self.index
        if self.keys[index + 1] not in _TESTED:
            return None
        attribute = self.names.get(self.tokens[index])
        if attribute is None:
            if self.sort != "word" or self.key in RESERVED:
                return None
            attribute = self.attribute(index)
        self.advance()
        return attribute

    def comparison(self, start: int, left: Operand) -> Expression:
        symbol = self.keys[self.advance()]
        convert = CONVERSIONS.get(self.tokens[self.index][:1])
        is_plain = self.negator != "!" or not RDF_TOKEN.fullmatch(self.token)
        if is_plain and convert is not None and self.keys[self.index + 1] not in _ARITHMETIC:
            right: Operand = self.literal(convert)
        elif self.key == "null" and symbol in EQUALITIES:
            word = "missing" if symbol == "=" else "present"
            hint = f"write {format_term(left)} is {word}, or `null` for an attribute's name"
            raise self.null_error(hint)
        else:
            right = self.as_term(self.term())
        folded = self.key == "ignoring" and ignoring_case(self)
        try:
            made = Comparison(left, symbol, right, folded)
        except SubscriptionError as error:
            raise self.error(str(error), start) from error
        if self.key in FLIPPED:
            raise self.error("comparisons do not chain", hint="write a < x and x < b")
        return made

    def truth_test(self, part: Expression) -> Expression:
        start = self.advance()
        negated = self.accept("not")
        if not self.at(*TruthTest.TRUTHS):
            self.unexpected("'true', 'false' or 'unknown'", TruthTest.TRUTHS)
        test: Expression = self.build(start, TruthTest, part, self.keys[self.advance()])
        return self.build(start, Not, test) if negated else test

    def term(self, weakest: int = 0) -> Clause:
        """Primaries with ``+``, ``-``, ``*`` and ``/`` between them, or only the stronger ones."""
        left = self.primary()
        while (strength := _ARITHMETIC.get(self.key, -1)) >= weakest:
            left = self.arithmetic(left, strength)
        return left

    def arithmetic(self, left: Clause, strength: int) -> Operand:
        operator = self.advance()
        symbol = self.keys[operator]
        if symbol == "-":
            self.check_hyphen(operator)
        right = self.as_term(self.term(strength + 1))
        return self.build(operator, calculate, self.as_term(left, operator), symbol, right)

    def check_hyphen(self, minus: int) -> None:
        """Refuse a minus between two bare names without spaces: most often it is one name."""
        before, after = self.tokens[minus - 1], self.token
        if not (sort_of(before) == sort_of(after) == "word"):
            return
        first, place = self.place(minus - 1), self.place(minus)
        if first + len(before) != place or place + 1 != self.place(minus + 1):
            return
        if before[-1] == "`" or after[0] == "`":
            return
        rest = _HYPHENS.match(self.text, place)
        assert rest is not None
        *outer, last = parse_path(before)
        name = format_path((*outer, *f"{last}{rest.group()}".split(".")))
        problem = f"a hyphen without spaces in '{before}{rest.group()}'"
        hint = f"write {name} for the attribute, or {before} - {after} for the difference"
        raise self.error(problem, minus - 1, hint)

    def primary(self) -> Clause:
        token = self.tokens[self.index]
        if token == "(":
            return self.group()
        if self.negator == "!" and RDF_TOKEN.fullmatch(token):
            return rdf_constant(self)
        known = self.names.get(token)
        if known is not None and self.keys[self.index + 1] != "(":
            self.advance()
            return known
        convert = CONVERSIONS.get(token[:1])
        if convert is not None:
            return self.literal(convert)
        sort = sort_of(token)
        read = _PRIMARIES.get(token if sort == "symbol" else sort)
        return self.unexpected("a predicate") if read is None else read(self)

    def variable(self) -> Variable:
        return Variable(self.tokens[self.advance()][1:])

    def group(self) -> Clause:
        self.descend(self.advance())
        inside = self.joined()
        if not self.accept(")"):
            self.unexpected("')'", _WORDS, self.test_hint())
        self.depth -= 1
        return inside

    def negative(self) -> Operand:
        if sort_of(self.tokens[self.index + 1]) == "number":
            return self.constant()
        start = self.advance()
        self.descend(start)
        operand = self.as_term(self.primary())
        self.depth -= 1
        return self.build(start, calculate, Constant(0), "-", operand)

    def word(self) -> Clause:
        if self.key in ("true", "false"):
            return self.constant()
        if self.key == "null":
            hint = "write 'is missing' or 'is present', or `null` for an attribute's name"
            raise self.null_error(hint)
        if self.key in RESERVED:
            hint = f"an attribute of this name is written `{self.token}`"
            return self.unexpected("a predicate", hint=hint)
        if self.key == "timestamp" and sort_of(self.tokens[self.index + 1]) == "string":
            return self.constant()
        index = self.advance()
        if self.at("(") and "`" not in self.tokens[index]:
            if self.negator == "!":
                return filter_function(self, index)
            return self.call(index)
        return self.attribute(index)

    # What the ladder is built of.

    def attribute(self, index: int) -> Attribute:
        name = self.tokens[index]
        attribute = Attribute(parse_path(name))
        if not self.is_known(attribute):
            hint = suggestion(str(attribute), self.attributes or ())
            raise self.error(f"unknown attribute '{attribute}'", index, hint)
        self.remember(name, attribute)
        return attribute

    def remember(self, name: str, attribute: Attribute) -> None:
        """Keep the attribute of a name, unless a constant may begin so."""
        if len(name) <= _LONGEST_NAME and name.lower() != "timestamp":
            self.names[name] = attribute

    def is_known(self, attribute: Attribute) -> bool:
        """Whether there may be such an attribute."""
        return self.attributes is None or str(attribute) in self.attributes

    def call(self, index: int) -> Expression:
        arguments: tuple[Argument, ...] = ()
        if self.keys[self.index + 1] == ")":
            self.expect("(")
            self.expect(")")
        else:
            arguments = read_list(self, self.argument)
        return self.build(index, Call, self.tokens[index], arguments)

    def argument(self) -> Argument:
        if self.sort == "variable":
            return self.variable()
        start = self.index
        constant = self.constant("a constant or a ?variable")
        if self.sort != "word":
            return constant
        return self.build(start, Quantity, constant, self.tokens[self.advance()])

    def pattern(self) -> Pattern:
        start = self.place(self.index)
        pattern, end = read_pattern(self.text, start, self.prefixes, self.filter, self.limits)
        self.move(end)
        return pattern

    def filter(self, text: str, start: int) -> tuple[Expression, int]:
        """The expression of a FILTER, whose parenthesis or function is at ``start``."""
        outer = self.joints, self.negator
        self.joints, self.negator = _FILTER_JOINTS, "!"
        self.move(start, enclosed=True)
        opening = self.index
        self.descend(opening)
        if self.accept("("):
            expression = self.as_expression(self.joined(), opening)
            self.expect(")")
        else:
            expression = self.as_expression(filter_function(self, self.advance()), opening)
        self.depth -= 1
        self.joints, self.negator = outer
        return expression, self.place(self.index - 1) + 1

    def descend(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} levels deep", at)

    def test_hint(self) -> str | None:
        """What to say of the word of a test that follows a whole expression."""
        if self.key == "is":
            return "put the expression before it in parentheses: (…) is true"
        if self.key in TESTS:
            return f"{self.key!r} follows an attribute; join tests by 'and' or 'or'"
        return None

    def as_expression(self, operand: Clause, at: int) -> Expression:
        if isinstance(operand, Expression):
            return operand
        if isinstance(operand, Constant) and isinstance(operand.value, bool):
            return And(()) if operand.value else Or(())
        if isinstance(operand, Attribute):
            if self.sort == "word" and self.key not in _JOINTS:
                self.unexpected("a comparison or a test", _WORDS)
            hint = f"write {operand} = true, or compare it with something"
            raise self.error(f"the attribute {str(operand)!r} alone is not a test", at, hint)
        raise self.error("a value alone is not a test", at, "compare it with an attribute")

    def as_term(self, operand: Clause, at: int | None = None) -> Operand:
        if isinstance(operand, Operand):
            return operand
        raise self.error("a test cannot stand in a comparison or in arithmetic", at)


def _unless(kept: Expression, *exceptions: Expression) -> Expression:
    return all_of(kept, *(Not(TruthTest(each, "true")) for each in exceptions))


_PRIMARIES: dict[str, Callable[[Parser], Clause]] = {
    "string": Parser.constant,  # a raw one
    "word": Parser.word,
    "variable": Parser.variable,
    "-": Parser.negative,
    "{": Parser.pattern,
}
"""What begins a primary: sorts of tokens, or a symbol."""
_MAKERS: tuple[Callable[..., Expression], ...] = (any_of, _unless, all_of)
"""What makes an expression of joined ones, by the strength of the joint."""


def _is_truth(term: Clause) -> bool:
    return isinstance(term, Constant) and isinstance(term.value, bool)
