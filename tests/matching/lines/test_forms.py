"""Strings in other forms: columns as single values, single values as what they are defined by."""

from __future__ import annotations

import ipaddress
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.matching.lines.forms import FORM_LINES, AddressLine, fold_all
from tamis.predicates.texts import fold, like_parts

LETTERS = "aAzßẞİıſKȺΣς𐐀𞤀😀Пé"
"""Among them letters whose fold is longer or shorter in bytes, and some that have none."""

groups = st.sampled_from(["", "0", "1", "ab", "FFFF", "00000", "g", "12345", "10.0.0.1", "1.2.3"])
octets = st.sampled_from(["0", "1", "9", "10", "99", "100", "255", "256", "00", "01", "", "1a"])
addresses = st.one_of(
    st.lists(groups, min_size=1, max_size=10).map(":".join),
    st.lists(octets, min_size=3, max_size=5).map(".".join),
    st.ip_addresses().map(str),
    st.ip_addresses(v=6).map(lambda address: address.exploded.upper()),
    st.builds("{}{}{}".format, st.sampled_from(["::", " ", ""]), st.ip_addresses(), st.just("%e")),
    st.text(alphabet="0123456789abcdefABCDEF:.", max_size=50),
)


@given(st.lists(addresses | st.none(), max_size=30))
def test_addresses_are_those_of_python(texts: list[str | None]) -> None:
    expected = []
    for text in texts:
        try:
            address = ipaddress.ip_address(str(text))
            digits = address.max_prefixlen // 4
            found = f"{address.version}{int(address):0{digits}x}" if "%" not in str(text) else None
        except ValueError:
            found = None
        expected.append(found)
    assert [AddressLine.form(str(text)) for text in texts] == expected
    strings = pa.array([str(text) for text in texts], pa.large_string())
    assert AddressLine.forms(strings).to_pylist() == expected
    assert AddressLine.forms(strings.slice(1)).to_pylist() == expected[1:]


@given(st.lists(st.text(alphabet=LETTERS) | st.text() | st.none(), max_size=20))
def test_columns_fold_as_single_strings_do(texts: list[str | None]) -> None:
    expected = [None if text is None else fold(text) for text in texts]
    strings = pa.array(texts, pa.large_string())
    assert fold_all(strings).to_pylist() == expected
    assert fold_all(strings.slice(1)).to_pylist() == expected[1:]


def test_every_character_folds_as_it_should() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    found = fold_all(pa.array(characters, pa.large_string())).to_pylist()
    assert found == [fold(character) for character in characters]


@pytest.mark.parametrize("form", FORM_LINES)
@given(texts=st.lists(st.text(alphabet=LETTERS + "1.:", max_size=6), max_size=10))
def test_columns_have_the_forms_of_single_strings(form: str, texts: list[str]) -> None:
    line = FORM_LINES[form]
    strings = pa.array(texts, pa.large_string())
    assert line.forms(strings).to_pylist() == [line.form(text) for text in texts]


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("", [""]),
        ("abc", ["abc"]),
        ("a%", ["a", ""]),
        ("%a", ["", "a"]),
        ("%a%", ["", "a", ""]),
        ("%%a%%b", ["", "a", "b"]),
        ("%", ["", ""]),
        (r"a\%b%", ["a%b", ""]),
        (r"a\_\\", ["a_\\"]),
        ("a_", None),
    ],
)
def test_parts_of_like_patterns(pattern: str, parts: list[str] | None) -> None:
    assert like_parts(pattern) == parts


TEXTS = [
    "x ends with 'oak'",
    "not x ends with 'oak'",
    "x ends with 'OAK' ignoring case and x starts with 'ß' ignoring case",
    "x = 'Straße' ignoring case",
    "x != 'STRASSE' ignoring case",
    "x in ('Oak', 'elm') ignoring case",
    "not x in ('Oak', 'elm') ignoring case",
    "x like 'oak%' and x like '%tree'",
    "x like '%'",
    "x like 'OAK' ignoring case",
    "not x like '%K' ignoring case",
    "x in cidr '10.0.0.0/8' or x in cidr '2001:db8::/32'",
    "not x in cidr '10.0.0.0/8'",
    "x in cidr '0.0.0.0/0' and not x in cidr '10.1.0.0/16'",
    "x starts with 'o' and x like 'oa%' and x < 'oaz'",
]
VALUES: list[Any] = [
    *("oak", "Oak", "OAK tree", "oak tree", "soak", "K", "k", "K", "straße", "STRASSE", "STRAẞE"),
    *("10.0.0.1", "10.1.2.3", "11.0.0.1", "2001:db8::1", "::ffff:10.0.0.1", "1.2.3", "", "ßoak"),
    *(5, 1.5, True, float("nan"), None, b"oak", ["oak", "elm"], ["10.0.0.1", "x"], []),
]


def test_they_need_no_oracle_and_agree_with_it() -> None:
    sieve, scan = tamis.Engine(), tamis.Engine(matcher="scan")
    for text in TEXTS:
        sieve.subscribe(text)
        scan.subscribe(text)
    assert all(segment.is_plain for segment in sieve.subscriptions.index.matcher.segments())
    expected = [sorted(scan[id].text for id in scan.match({"x": value})) for value in VALUES]
    events = [{"x": value} for value in VALUES]
    assert [sorted(sieve[id].text for id in sieve.match(event)) for event in events] == expected
    strings = [value for value in VALUES if isinstance(value, str)]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        found: list[list[str]] = [[] for _ in strings]
        for row, id in sieve.match_batch(pa.table({"x": pa.array(strings, kind)})).pairs():
            found[row].append(sieve[id].text)
        by_value = [expected[VALUES.index(string)] for string in strings]
        assert [sorted(each) for each in found] == by_value
