"""Taxonomies by attribute."""

import json
import pickle

import pytest

from tamis.errors import ParseError, TaxonomyError
from tamis.model.taxonomy.taxonomies import NO_TAXONOMIES, Taxonomies
from tamis.model.taxonomy.taxonomy import Taxonomy

THINGS = {"chair": ["furniture"]}
COLORS = {"red": ["warm"], "chair": ["warm"]}


def test_an_attribute_has_its_own_or_that_of_all():
    both = Taxonomies(THINGS, {"color": COLORS, "a.`b.c`": COLORS})
    assert both.of(("x",)) == both.default == Taxonomy(THINGS)
    assert both.of(("color",)) == Taxonomy(COLORS)
    assert both.of(("color",)) is both.of(("a", "b.c"))
    assert Taxonomies(None, {("color",): COLORS}).of(("x",)) is None
    assert NO_TAXONOMIES.of(("x",)) is None
    assert "color" in repr(both)


def test_what_is_given_does_not_change_them():
    things = Taxonomy(THINGS)
    both = Taxonomies(things, {"color": COLORS})
    things.add("table", ["furniture"])
    assert "table" not in both.default
    with pytest.raises(TaxonomyError, match="copy"):
        both.default.add("table", ["furniture"])
    assert Taxonomies(both.default).default is both.default


def test_changes_make_others():
    one = Taxonomies(THINGS)
    both = one.changed(COLORS, "color")
    assert one.of(("color",)) == Taxonomy(THINGS)
    assert both == Taxonomies(THINGS, {"color": COLORS})
    assert both.changed(COLORS) == Taxonomies(COLORS, {"color": COLORS})
    assert both.changed(THINGS, ("color",)) != both
    with pytest.raises(ParseError):
        both.changed(COLORS, "a b")


def test_what_is_given_to_an_engine():
    both = Taxonomies(THINGS, {"color": COLORS})
    assert Taxonomies.given(both) is both
    assert Taxonomies.given(THINGS) == Taxonomies.given(Taxonomy(THINGS)) == Taxonomies(THINGS)
    assert Taxonomies.given(None) == NO_TAXONOMIES


@pytest.mark.parametrize(
    "some",
    [
        NO_TAXONOMIES,
        Taxonomies(THINGS),
        Taxonomies({}),
        Taxonomies(None, {"color": COLORS}),
        Taxonomies(THINGS, {"color": COLORS, "a.`b.c`": COLORS, "x": THINGS}),
    ],
)
def test_plain_data_and_back(some):
    plain = json.loads(json.dumps(some.to_json()))
    assert Taxonomies.from_json(plain) == some
    assert pickle.loads(pickle.dumps(some)) == some


def test_one_of_several_attributes_is_written_once():
    both = Taxonomies(COLORS, {"x": THINGS, "y": THINGS})
    assert len(both.to_json()) == 2
    again = Taxonomies.from_json(both.to_json())
    assert again.of(("x",)) is again.of(("y",))
