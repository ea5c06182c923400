"""When one test on a value implies another: sound, and complete only where that is cheap.

Each of these tests is true or false of the values that it knows, and unknown of all others; two of
one sort know the same values (strings, addresses). So if ``p`` implies ``q``, then ``not q``
implies ``not p``.
"""

from __future__ import annotations

from tamis.predicates.expression import Comparison, Expression, In, InCidr, IsA, Network, TextTest
from tamis.predicates.facts import Facts
from tamis.predicates.normal import Literal
from tamis.predicates.operands import Constant
from tamis.predicates.texts import like_parts

_WEAKER = {"<": ("<=", "!="), ">": (">=", "!=")}
"""What else is true of two terms of which a comparison is."""


def implies(known: Literal, wanted: Literal, facts: Facts) -> bool:
    """Whether a literal, on the same attributes, is known to imply another."""
    if known == wanted:
        return True
    if known.positive and wanted.positive:
        return _implies(known.predicate, wanted.predicate, facts)
    if isinstance(known.predicate, Comparison) or isinstance(wanted.predicate, Comparison):
        return _negates(known, wanted)
    if not known.positive and not wanted.positive:
        return _implies(wanted.predicate, known.predicate, facts)
    return False


def _negates(known: Literal, wanted: Literal) -> bool:
    """Whether ``a < b`` is known and ``not a = b``, which is ``a != b``, is wanted."""
    one, other = known.predicate, wanted.predicate
    return (
        isinstance(one, Comparison)
        and isinstance(other, Comparison)
        and known.positive
        and not wanted.positive
        and (one.left, one.right) == (other.left, other.right)
        and one.operator in _WEAKER
        and other.operator == "="
        and not other.ignore_case
    )


def _implies(known: Expression, wanted: Expression, facts: Facts) -> bool:
    """Whether one test implies another, none of them negated."""
    if isinstance(known, Comparison) and isinstance(wanted, Comparison):
        same = (known.left, known.right) == (wanted.left, wanted.right)
        return same and wanted.operator in _WEAKER.get(known.operator, ())
    if isinstance(known, TextTest) and isinstance(wanted, TextTest):
        return known.attribute == wanted.attribute and _text_implies(known, wanted)
    if isinstance(known, IsA) and isinstance(wanted, IsA) and known.attribute == wanted.attribute:
        taxonomy = facts.taxonomy(known.attribute.path)
        return taxonomy is not None and taxonomy.is_a(_word(known.ancestor), _word(wanted.ancestor))
    if isinstance(known, InCidr) and isinstance(wanted, InCidr):
        return known.attribute == wanted.attribute and all(
            any(_is_within(inner, outer) for outer in wanted.networks) for inner in known.networks
        )
    if isinstance(wanted, In) and isinstance(known, Comparison | In):
        return _listed_implies(known, wanted)
    return False


def _listed_implies(known: Comparison | In, wanted: In) -> bool:
    """Of tests that ignore case, whose constants are folded."""
    if isinstance(known, In):
        return known.attribute == wanted.attribute and set(known.values) <= set(wanted.values)
    return (
        known.left == wanted.attribute
        and known.operator == "="
        and known.ignore_case
        and known.right in wanted.values
    )


def _text_implies(known: TextTest, wanted: TextTest) -> bool:
    """Whether the texts that one asks for contain what the other asks for, at the right place."""
    if known.ignore_case is not wanted.ignore_case:
        return False
    text = _word(wanted.pattern)
    parts = _fixed_parts(known)
    if wanted.operator == "contains text":
        return any(text in part for part in parts)
    if wanted.operator == "ends with" and known.operator in ("ends with", "like"):
        return parts[-1].endswith(text)
    if wanted.operator == "starts with" and known.operator in ("starts with", "like"):
        return parts[0].startswith(text)
    return False


def _fixed_parts(test: TextTest) -> list[str]:
    """Texts that stand in each string of which the test is true, first and last at its ends."""
    pattern = _word(test.pattern)
    if test.operator == "like":
        return ([] if test.ignore_case else like_parts(pattern)) or [""]
    return [""] if test.operator == "matches" else [pattern]


def _word(constant: Constant) -> str:
    return str(constant.value)


def _is_within(inner: Network, outer: Network) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]
