"""Parsing many texts that differ only in their constants: recognise the template, parse it once.

    category = 'Toy' and price < 5          the text between the literals, and which of them are
    category = 'Car' and price < 900        numbers, is the key of the template

The first two texts of a template are parsed in full (one that comes alone is not worth the
learning). The parser tells which constant of the tree came from which literal of the text, so that
the tree can be rebuilt for other literals without parsing. A conjunction, or a disjunction of a
few, is put together from the templates of its predicates: there are far fewer of those.
A text whose literals do not all become constants of the tree (networks, worked-out arithmetic) has
no template and is parsed in full each time; so is one with comments, quoted names or patterns,
where literals are not told apart by a glance, one that is very long, and one that a constant makes
invalid, to get its error with the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

from tamis.arrays.sharing import Bounded
from tamis.errors import TamisError
from tamis.language.cursor import Literal
from tamis.language.lexer import LITERALS
from tamis.language.parser import Parser, check_text
from tamis.model.kinds import Value
from tamis.model.limits import LIMITS, Limits
from tamis.predicates.expression import And, Expression, Or, TextTest
from tamis.predicates.operands import Attribute, Constant, Operand

_MOST = 10_000
"""Templates kept; when there are more, all are forgotten and learned again."""
_LONGEST = 2_000
"""Characters in a text that may have a template. Longer ones rarely have one in common, and to look
for it takes a fifth of what parsing takes (W7: 0.35 s of 1.3 s)."""
_SEEN = 100_000
"""Keys that are remembered as seen once, by their hashes."""
_DISJUNCTS = 16
"""Conjunctions that are put together in one template."""
_HOLE = "\0"
"""Stands for a literal."""
_OR = re.compile(r"\s+or\s+", re.IGNORECASE)
_AND = re.compile(rf"\s+and\s+(?!{_HOLE})", re.IGNORECASE)
"""Not the word that belongs to ``between``."""
_BRACKET = re.compile(r"[()]")

_SORTS = str.maketrans(dict.fromkeys("0123456789", "0") | dict.fromkeys("'\"rR", "'"))

Key = tuple[str, ...]
Constants = Sequence[Constant]
Build = Callable[[Constants], Any]


class Split(NamedTuple):
    """A text, its key, and its literals."""

    text: str
    key: Key
    literals: list[str]


class Template(NamedTuple):
    """How literals become constants, and constants the tree."""

    convert: tuple[Callable[[str], Value], ...]
    build: Build
    parts: tuple[tuple[Template, ...], ...] = ()
    """The predicates of each conjunction, if it was put together from those."""

    def fill(self, literals: Sequence[str]) -> Expression:
        """The expression of a text that has this template and these literals."""
        constants = [Constant(convert(text)) for convert, text in zip(self.convert, literals)]
        expression: Expression = self.build(constants)
        return expression


class Templates:
    """Parses texts as ``parse`` does, faster where they repeat a template."""

    def __init__(
        self,
        *,
        prefixes: Mapping[str, str] | None = None,
        attributes: Collection[str] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._prefixes = prefixes or {}
        self._attributes = attributes
        self._limits = limits
        self._names: Bounded[str, Attribute] = Bounded(_MOST)
        """Attributes of texts, by their names."""
        self._known: Bounded[Key, Template | None] = Bounded(_MOST)
        """None for those that have no template; texts that none can have are not there."""
        self._seen: set[int] = set()
        self._predicates: Bounded[tuple[str, str], Template | None] = Bounded(_MOST)
        """Templates of single predicates, by the sorts of their literals and the text around."""

    def parse(self, text: str) -> Expression:
        """The expression that a text denotes."""
        return self.expression(self.split(text))

    def expression(self, split: Split) -> Expression:
        """The expression of a text that was split."""
        text, key, literals = split
        template = self._known.get(key)
        if template is not None:
            try:
                return template.fill(literals)
            except (TamisError, ValueError):
                pass  # the parser says what is wrong, and where
        elif key and key not in self._known and self._is_seen(key):
            return self._learn(text, key, literals)
        return self._parser(text).parse()

    def template(self, split: Split) -> Template | None:
        """The template of a text that was split; None if it has none, or is seen for the first
        time and cannot be put together. Its literals need not be valid."""
        text, key, literals = split
        if not key or key in self._known:
            return self._known.get(key)
        composed = self._composed(key, literals)
        if composed is not None:
            if self._is_seen(key):
                self._known[key] = composed
            return composed
        if hash(key) in self._seen:
            self._learn(text, key, literals)
        return self._known.get(key)

    def split(self, text: str) -> Split:
        """The literals of a text, and what stands between them."""
        check_text(text, self._limits)
        if len(text) > _LONGEST or "{" in text or "#" in text or "`" in text:
            return Split(text, (), [])
        pieces = LITERALS.split(text)
        literals = pieces[1::2]
        sorts = "".join([literal[0] for literal in literals]).translate(_SORTS)
        return Split(text, (sorts, *pieces[::2]), literals)

    def _composed(self, key: Key, literals: Sequence[str]) -> Template | None:
        """The template of a disjunction of conjunctions of predicates that are known.

        The text is cut at its words ``or`` and ``and``. If every piece is a predicate when it
        stands alone, the cuts were right: none was within brackets or belonged to something else.
        """
        disjuncts = _OR.split(_HOLE.join(key[1:]))
        if len(disjuncts) > _DISJUNCTS:
            return None
        parts = []
        first = 0
        for disjunct in disjuncts:
            conjuncts = []
            for text in _AND.split(_unwrapped(disjunct)):
                end = first + text.count(_HOLE)
                predicate = self._predicate(key[0][first:end], text, literals[first:end])
                if predicate is None:
                    return None
                conjuncts.append(predicate)
                first = end
            parts.append(tuple(conjuncts))
        return _put_together(tuple(parts))

    def _predicate(self, sorts: str, text: str, literals: Sequence[str]) -> Template | None:
        """The template of one predicate; None if it has none, or is seen for the first time."""
        key = sorts, text
        if key in self._predicates or not self._is_seen(key):
            return self._predicates.get(key)
        parser = self._parser(
            "".join(chain(*zip_longest(text.split(_HOLE), literals, fillvalue="")))
        )
        try:
            expression = parser.parse()
        except TamisError:
            template = None
        else:
            is_one = not isinstance(expression, And | Or)
            template = _template(expression, parser.literals, len(literals)) if is_one else None
        self._predicates[key] = template
        return template

    def _parser(self, text: str) -> Parser:
        return Parser(text, self._prefixes, self._attributes, self._limits, self._names)

    def _is_seen(self, key: tuple[str, ...]) -> bool:
        """Whether the key was there before; from now on it was."""
        seen = hash(key)
        if seen in self._seen:
            return True
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(seen)
        return False

    def _learn(self, text: str, key: Key, literals: list[str]) -> Expression:
        """Parse a text, and remember its template."""
        parser = self._parser(text)
        expression = parser.parse()
        self._known[key] = _template(expression, parser.literals, len(literals))
        return expression

    def parse_many(self, texts: Iterable[str]) -> Iterator[Expression]:
        """The expressions of many texts, in their order."""
        return map(self.parse, texts)


def _unwrapped(text: str) -> str:
    """A text without the brackets around it."""
    text = text.strip()
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for mark in _BRACKET.finditer(text):
        depth += 1 if mark[0] == "(" else -1
        if not depth:
            return text[1:-1].strip() if mark.end() == len(text) else text
    return text


def _put_together(parts: tuple[tuple[Template, ...], ...]) -> Template:
    """The template of a disjunction of conjunctions of predicates."""
    predicates = [predicate for conjuncts in parts for predicate in conjuncts]
    if len(predicates) == 1:
        return predicates[0]._replace(parts=parts)
    convert = tuple(chain.from_iterable(predicate.convert for predicate in predicates))

    def build(constants: Constants) -> Expression:
        first = 0
        disjuncts: list[Expression] = []
        for conjuncts in parts:
            built: list[Expression] = []
            for predicate in conjuncts:
                end = first + len(predicate.convert)
                built.append(predicate.build(constants[first:end]))
                first = end
            disjuncts.append(built[0] if len(built) == 1 else And(tuple(built)))
        return disjuncts[0] if len(disjuncts) == 1 else Or(tuple(disjuncts))

    return Template(convert, build, parts)


def _template(
    expression: Expression, literals: Sequence[Literal | None], count: int
) -> Template | None:
    """The template of a parsed text, if each literal became one constant of the tree."""
    found = [literal for literal in literals if literal is not None]
    holes = {id(constant): hole for hole, (constant, _) in enumerate(found)}
    used: set[int] = set()
    build = _builder(expression, holes, used)
    if len(found) != count or len(used) != count:
        return None
    return Template(tuple(convert for _, convert in found), build or _constantly(expression))


def _builder(node: Any, holes: Mapping[int, int], used: set[int]) -> Build | None:
    """A function that rebuilds the node around other constants; None if it holds no hole."""
    if isinstance(node, Constant):
        hole = holes.get(id(node))
        if hole is None:
            return None
        used.add(hole)
        return itemgetter(hole)
    if isinstance(node, tuple):
        builders = [_builder(value, holes, used) or _constantly(value) for value in node]
        return lambda constants: tuple([build(constants) for build in builders])
    if isinstance(node, Expression | Operand):
        return _node_builder(node, holes, used)
    return None


def _node_builder(
    node: Expression | Operand, holes: Mapping[int, int], used: set[int]
) -> Build | None:
    """Copies the node slot by slot, for its constructor has seen all but the constants' values.

    Those were checked when they were made, and no node asks more of them, but for the pattern of
    a test of text: there the constructor looks again.
    """
    kind = type(node)
    names = [field.name for field in fields(node)]  # type: ignore[arg-type]
    before = len(used)
    builders = [_builder(getattr(node, name), holes, used) for name in names]
    if len(used) == before:
        return None
    if isinstance(node, TextTest):
        values = [build or _constantly(getattr(node, name)) for name, build in zip(names, builders)]
        return lambda constants: kind(*[value(constants) for value in values])
    setters = [getattr(kind, name).__set__ for name in names]
    same = [
        (put, getattr(node, name))
        for put, name, build in zip(setters, names, builders)
        if not build
    ]
    changing = [(put, build) for put, build in zip(setters, builders) if build]
    new = kind.__new__

    def rebuild(constants: Constants) -> Any:
        copy = new(kind)
        for put, value in same:
            put(copy, value)
        for put, build in changing:
            put(copy, build(constants))
        return copy

    return rebuild


def _constantly(value: Any) -> Build:
    return lambda _: value
