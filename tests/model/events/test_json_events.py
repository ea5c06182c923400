"""JSON: strict, and every refusal says where."""

import json
import random
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import EventError, LimitError, TamisError
from tamis.model.events.event import Event
from tamis.model.events.readers import read_json, read_ndjson
from tamis.model.limits import MAX_DEPTH, Limits

PLACE = re.compile(
    r"line \d+, column \d+|at byte \d+|at '|at the top|under the top|under '|levels deep"
    r"|stands twice|is an object, not|bytes in one JSON document"
)


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("{}", {}),
        (' \t\r\n{"a" : null}\n', {}),
        ('{"a":18446744073709551615,"b":-9223372036854775808}', {"a": 2**64 - 1, "b": -(2**63)}),
        ('{"a":1.0,"b":1e2,"c":-0.5}', {"a": 1.0, "b": 100.0, "c": -0.5}),
        ('{"a":0.1000000000000000000000000000000000001}', {"a": 0.1}),
        ('{"a":[1,null,[true]],"b":{"c":"\\u00e9"}}', {"a": [1, [True]], "b": {"c": "é"}}),
        ('{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a":"2024-01-01"}', {"a": "2024-01-01"}),
        ('{"a":"NaN"}', {"a": "NaN"}),
        ('\ufeff{"a":1}', {"a": 1}),
        ('{"a":{"x":1},"b":{"x":2}}', {"a": {"x": 1}, "b": {"x": 2}}),
    ],
)
def test_documents(text, attributes):
    assert read_json(text) == Event(attributes)
    assert read_json(text.encode()) == Event(attributes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expecting value at line 1, column 1"),
        ('{"a":1', "line 1, column 7"),
        ('{"a":\n  x}', "expecting value at line 2, column 3"),
        ("{'a':1}", "line 1, column 2"),
        ('{"a":1}{', "extra data at line 1, column 8"),
        ('{"a":1,}', "column"),
        ('{"a":01}', "line 1, column 7"),
        ('{"a":"\n"}', "invalid control character at line 1, column 7"),
        ('{"a":"x}', "unterminated string starting at line 1, column 6"),
        (
            '{"NaN":"-Infinity \\" NaN","b":\n NaN}',
            "the constant NaN is not a finite value at line 2, column 2",
        ),
        ('{"a":[1,-Infinity]}', "the constant -Infinity is not a finite value at line 1, column 9"),
        ('{"a":Infinity}', "the constant Infinity is not a finite value at line 1, column 6"),
        ('{"1e400":-1e400}', "the number -1e400 is not a finite value at line 1, column 10"),
        (
            '{"a":"1e400","b":[1e400]}',
            "the number 1e400 is not a finite value at line 1, column 19",
        ),
        ("[]", "an object, not an array"),
        ("5", "not a number"),
        ("null", "not null"),
        ('"x"', "not a string"),
        ("true", "not a boolean"),
        ('{"a":{"b":[18446744073709551616]}}', "64 bits.* at 'a.b'"),
        ('{"a":-9223372036854775809}', "64 bits.* at 'a'"),
        ('{"a":' + "9" * 100_000 + "}", "64 bits.* at 'a'"),
        ('{"a":"\\ud800"}', "surrogate.* at 'a'"),
        ('{"a":{"\\udc00":1}}', "surrogate.* as a key under 'a'"),
        ('{"a":1,"a":2}', "the key 'a' stands twice"),
        ('{"x":[{"b":{"a.c":null,"a.c":null}}]}', "the key 'x.b.`a.c`' stands twice"),
        (b'{"a":"\xff"}', "not valid UTF-8: invalid start byte at byte 6"),
        ('{"a":1}'.encode("utf-16"), "not valid UTF-8: .* at byte 0"),
        (bytearray(b"{}"), "text or bytes, not a bytearray"),
        (None, "not a NoneType"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_refusals(text, message):
    with pytest.raises(EventError, match=message):
        read_json(text)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 100_000])
@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}")])
def test_depth(depth, left, right):
    with pytest.raises(LimitError, match="levels deep"):
        read_json('{"a":' + left * depth + "1" + right * depth + "}")
    with pytest.raises(TamisError, match=r"levels deep|line 3, column \d+"):
        list(read_ndjson(["{}", "", '{"a":' + left * depth]))


def test_digits_are_not_converted_when_python_would():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        with pytest.raises(EventError, match="64 bits"):
            read_json('{"a":' + "9" * 5_000_000 + "}")
    finally:
        sys.set_int_max_str_digits(before)


def test_the_document_limit_counts_bytes():
    limits = Limits(document=12)
    text = '{"a":"éé"}'
    assert len(text) == 10
    assert read_json(text, limits) == Event({"a": "éé"})
    for longer in ('{"a":"ééé"}', '{"a":"ééé"}'.encode(), '{"a":"12345"}'):
        with pytest.raises(LimitError, match=r"1[34] bytes.* limit is 12"):
            read_json(longer, limits)
    with pytest.raises(LimitError, match=r"^line 2: 13 bytes"):
        list(read_ndjson(["{}", '{"a":"12345"}'], limits))
    with pytest.raises(LimitError, match=r"^line 1: .* at 'a'"):
        list(read_ndjson(['{"a":"12345"}'], Limits(string=4)))


def test_lines():
    lines = ['{"a":1}\n', "\n", b" \r\n", b'{"a":2}\r\n', '{"a":"\u2028"}']
    assert list(read_ndjson(lines)) == [Event({"a": a}) for a in (1, 2, "\u2028")]
    assert list(read_ndjson('{"a":"\u2028"}\n\n{}\n')) == [Event({"a": "\u2028"}), Event({})]
    assert list(read_ndjson([])) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a":x}', "not valid JSON: expecting value at line 4, column 6"),
        ('{"a":NaN}', "the constant NaN is not a finite value at line 4, column 6"),
        ('{"a":1e999}', "the number 1e999 is not a finite value at line 4, column 6"),
        ("[]", "^line 4: a JSON event is an object"),
        ('{"a":99999999999999999999}', "^line 4: .*64 bits.* at 'a'"),
        (b"\xff", "^line 4: not valid UTF-8: .* at byte 0"),
        ('{"b":{"a":1,"a":1}}', "^line 4: the key 'b.a' stands twice"),
        (None, "^line 4: .* not a NoneType"),
    ],
)
def test_bad_lines_are_named(line, message):
    events = read_ndjson(iter(["{}", "", '{"a":1}', line]))
    assert next(events) == Event({})
    assert next(events) == Event({"a": 1})
    with pytest.raises(EventError, match=message):
        next(events)


def test_a_file_is_an_iterable_of_lines(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text('\ufeff{"a":1}\n\n{"a":"é"}\n', encoding="utf-8")
    with path.open(encoding="utf-8") as text, path.open("rb") as raw:
        assert (
            list(read_ndjson(text))
            == list(read_ndjson(raw))
            == [
                Event({"a": 1}),
                Event({"a": "é"}),
            ]
        )


SEEDS = [
    b'{"shop": "x", "items": [{"color": "red", "price": 3.5e1}, {"color": "bl\\u00fce"}]}',
    b'{"a": {"b": {"c": [1, 2, [3, null, true, false]]}}, "d": -12345678901234567890}',
    '{"größe": "\U0001f600", "a.b": "", "": {}, "list": []}'.encode(),
]
INSERTIONS = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"-Infinity", b"1e999",
              b"\xff", b"\xc3", b"\x00", b"\\ud800", b"9" * 30, b"null", b"[" * 60,
              b'"a":1,"a":2,']  # fmt: skip


def mutated(document, chance):
    """The document with a few bytes dropped, changed, doubled, moved or put in."""
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randrange(len(document) + 1) for _ in range(2))
        document = chance.choice([
            document[:at] + document[to:],
            document[:at],
            document[:at] + bytes([chance.randrange(256)]) + document[at + 1 :],
            document[:at] + chance.choice(INSERTIONS) + document[at:],
            document[:at] + document[at:to] * 2 + document[to:],
            document[to:] + document[at:to] + document[:at],
        ])  # fmt: skip
    return document


def outcome(read, document):
    """What was read, or the message of the refusal."""
    try:
        return read(document), None
    except TamisError as error:
        return None, str(error)


def test_mutated_documents_are_read_or_refused_with_a_place():
    chance = random.Random(20240517)
    refused = 0
    for _ in range(10_000):
        document = mutated(chance.choice(SEEDS), chance)
        event, refusal = outcome(read_json, document)
        if refusal is None:
            assert event == Event(json.loads(document.decode("utf-8-sig")))
        else:
            refused += 1
            assert PLACE.search(refusal), (document, refusal)
            assert len(refusal) < 400, document
    assert 5_000 < refused < 10_000


@settings(deadline=None)
@given(st.binary(max_size=40) | st.text('{}[]",:\\ 0-1eE.nulltrfasNIiy', max_size=30))
def test_random_documents_are_read_or_refused_with_a_place(document):
    event, refusal = outcome(read_json, document)
    if refusal is None:
        assert event == Event(json.loads(document))
    else:
        assert PLACE.search(refusal), refusal


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_random_lines_are_read_or_refused_with_their_line(data):
    _, refusal = outcome(lambda lines: list(read_ndjson(lines)), data)
    assert refusal is None or re.search(r"line \d+", refusal)
