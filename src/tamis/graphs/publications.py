"""Publications as flat arrays: their triples in three orders, and their terms as small numbers.

    triples     a p b        b p c                      local numbers of terms, from 0 in each
    spo         s<<42|p<<21|o, sorted, each once        for lookups by s, s p, s p o
    pos         p<<42|o<<21|s                           by p, p o
    osp         o<<42|s<<21|p                           by o, o s
    known       number in the dictionary <<32 | local   sorted; only terms that patterns mention

Every combination of known places is a prefix of one of the orders, so that two binary searches
find the triples that have them. A hash table for each combination would be faster for large graphs
and slower for small ones, and publications are small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays.jit import kernel
from tamis.arrays.types import Float64s, Int8s, Int64s, Offsets
from tamis.errors import LimitError
from tamis.graphs.reader import named_node, quads_of_graph, term_of_node
from tamis.graphs.term_syntax import key_of, term_of_key
from tamis.model.limits import LIMITS, Limits
from tamis.model.rdf_terms import Iri, RdfLiteral, RdfTerm, RdfTriple, value_of_term

BITS = 21
"""Bits of a local number: three of them make one key."""
MOST_TERMS = 1 << BITS
_EXACT = 2**53

NUMBER, RESOURCE, OTHER, UNDECIDED = range(4)
"""What a comparison with a number says of a term: see ``class_of``."""


def fits(graph: Collection[RdfTriple]) -> bool:
    """Whether the terms of a graph can be numbered for certain."""
    return 3 * len(graph) <= MOST_TERMS


class Publications(NamedTuple):
    """Some publications, arranged for lookups."""

    first: Offsets
    """Where the triples of each begin."""
    spo: Int64s
    pos: Int64s
    osp: Int64s
    first_known: Offsets
    known: Int64s
    first_term: Offsets
    """Where the terms of each begin."""
    values: Float64s
    """The number that each term stands for, of those that are a ``NUMBER``."""
    classes: Int8s

    def __len__(self) -> int:
        return len(self.first) - 1


class EncodedPublications(NamedTuple):
    """The arrays, and the terms that their local numbers stand for."""

    arrays: Publications
    terms: Sequence[RdfTerm | str]
    """Terms, or their keys, of all publications one behind the other."""

    def term(self, row: int, local: int) -> RdfTerm:
        """The term of a publication's local number."""
        found = self.terms[int(self.arrays.first_term[row]) + local]
        return term_of_key(found) if isinstance(found, str) else found

    def triples(self, row: int) -> Iterator[RdfTriple]:
        """The triples of a publication."""
        first = self.arrays.first
        for key in self.arrays.spo[first[row] : first[row + 1]].tolist():
            places = key >> 2 * BITS, key >> BITS & MOST_TERMS - 1, key & MOST_TERMS - 1
            yield tuple(self.term(row, place) for place in places)  # type: ignore[misc]


class Encoder:
    """Collects publications; ``numbers`` is the dictionary of the terms that patterns mention."""

    def __init__(
        self, numbers: Mapping[str, int], *, values: bool = True, limits: Limits = LIMITS
    ) -> None:
        self._numbers = numbers
        self._values = values
        self._limits = limits
        self._triples: list[int] = []
        self._first = [0]
        self._terms: list[Any] = []
        self._known: list[int] = []
        self._first_term = [0]
        self._classes: dict[str, tuple[int, float]] = {}
        self._numeric: list[float] = []
        self._keys: list[str] = []
        """The terms of documents whose terms have no numbers yet, three for each triple."""
        self._ends: list[int] = []
        self._class: list[int] = []

    def add(self, graph: Iterable[RdfTriple]) -> None:
        """Take in one publication."""
        self._flush()
        local: dict[str, int] = {}
        terms: list[Any] = []
        triples = self._triples
        for triple in graph:
            for term in triple:
                key = term.value if type(term) is Iri else key_of(term)
                number = local.get(key)
                if number is None:
                    number = local[key] = len(local)
                    terms.append(term)
                triples.append(number)
        self._end(local, terms)

    def add_document(self, data: str | bytes, format: str = "n-triples") -> None:
        """Take in one publication as a document; of its terms only their keys are kept."""
        self._keys += self.keys_of(data, format)
        self._ends.append(len(self._keys))

    def keys_of(self, data: str | bytes, format: str = "n-triples") -> list[str]:
        """The keys of the terms of a document, three for each triple."""
        named = named_node()
        keys: list[str] = []
        left = self._limits.triples
        for quad in quads_of_graph(data, format, limits=self._limits):
            subject, value = quad.subject, quad.object
            keys += (
                subject.value if type(subject) is named else _key_of_node(subject),
                quad.predicate.value,
                value.value if type(value) is named else _key_of_node(value),
            )
            left -= 1
            if left < 0:
                most = self._limits.triples
                raise LimitError(f"the graph of an event has at most {most:,} triples")
        return keys

    def finish_numbered(self, ids: Int64s, ends: Offsets, keys: list[str]) -> EncodedPublications:
        """Publications whose terms have numbers, three for each triple; nothing else was added."""
        return self._arranged_documents(self._documents(ids, ends, keys))

    def _numbered_documents(self) -> _Documents:
        """Number the terms of the documents so far, all at once: Arrow does that in a tenth of the
        time that a dict for each document takes."""
        import pyarrow as pa

        column = pa.array(self._keys, pa.large_string()).dictionary_encode()
        distinct = [str(key) for key in column.dictionary.to_pylist()]
        ids = column.indices.to_numpy().astype(np.int64)
        ends = np.array(self._ends, np.int64)
        self._keys, self._ends = [], []
        return self._documents(ids, ends, distinct)

    def _documents(self, ids: Int64s, ends: Offsets, distinct: list[str]) -> _Documents:
        local, used, first = _localize(ids, ends, len(distinct))
        if int(np.diff(first).max(initial=0)) > MOST_TERMS:
            raise LimitError(f"a graph of more than {MOST_TERMS:,} terms, which is the limit")
        get = self._numbers.get
        known = np.array([get(key, -1) for key in distinct], np.int64)
        classes, values = np.empty(0, np.int8), np.empty(0, np.float64)
        if self._values:
            found = [self._class_of(key, key) for key in distinct]
            classes = np.array([each[0] for each in found], np.int8)[used]
            values = np.array([each[1] for each in found], np.float64)[used]
        starts = np.concatenate([np.zeros(1, np.int64), ends // 3])
        return _Documents(
            starts, local.reshape(-1, 3), first, known[used], values, classes, distinct, used
        )

    def _flush(self) -> None:
        """Put documents behind what there is, before something else follows them."""
        if not self._ends:
            return
        documents = self._numbered_documents()
        self._first += (self._first[-1] + documents.first[1:]).tolist()
        self._first_term += (self._first_term[-1] + documents.first_term[1:]).tolist()
        self._triples += documents.triples.ravel().tolist()
        self._known += documents.known.tolist()
        self._terms += [documents.distinct[number] for number in documents.used.tolist()]
        self._class += documents.classes.tolist()
        self._numeric += documents.values.tolist()

    def _end(self, local: dict[str, int], terms: list[Any]) -> None:
        if len(local) > MOST_TERMS:
            raise LimitError(f"a graph of {len(local):,} terms: the limit is {MOST_TERMS:,}")
        get = self._numbers.get
        self._known += [get(key, -1) for key in local]
        self._terms += terms
        self._first.append(len(self._triples) // 3)
        self._first_term.append(len(self._terms))
        if self._values:
            for key, term in zip(local, terms):
                found = self._class_of(key, term)
                self._class.append(found[0])
                self._numeric.append(found[1])

    def _class_of(self, key: str, term: Any) -> tuple[int, float]:
        if key[0] != '"':
            return RESOURCE, 0.0
        found = self._classes.get(key)
        if found is None:
            literal = term_of_key(term) if isinstance(term, str) else term
            found = self._classes[key] = class_of(literal)
        return found

    def finish(self) -> EncodedPublications:
        """All of them, arranged."""
        if self._ends and len(self._first) == 1:
            return self._arranged_documents(self._numbered_documents())
        self._flush()
        arrays = _arranged(
            np.array(self._first, np.int64),
            np.array(self._triples, np.int64).reshape(-1, 3),
            np.array(self._first_term, np.int64),
            np.array(self._known, np.int64),
            np.array(self._numeric, np.float64),
            np.array(self._class, np.int8),
        )
        return EncodedPublications(arrays, self._terms)

    def _arranged_documents(self, found: _Documents) -> EncodedPublications:
        arrays = _arranged(
            found.first,
            found.triples,
            found.first_term,
            found.known,
            found.values,
            found.classes,
        )
        return EncodedPublications(arrays, KeyColumn(found.distinct, found.used))


class _Documents(NamedTuple):
    """Documents whose terms have numbers."""

    first: Offsets
    triples: Int64s
    first_term: Offsets
    known: Int64s
    values: Float64s
    classes: Int8s
    distinct: list[str]
    used: Int64s


class KeyColumn(Sequence[str]):
    """Keys of terms, most of which occur many times: each distinct one is kept once."""

    def __init__(self, distinct: list[str], used: Int64s) -> None:
        self._distinct = distinct
        self._used = used

    def __len__(self) -> int:
        return len(self._used)

    def __getitem__(self, at: Any) -> Any:
        return self._distinct[self._used[at]]


def _arranged(
    first: Offsets,
    triples: Int64s,
    first_term: Offsets,
    known: Int64s,
    values: Float64s,
    classes: Int8s,
) -> Publications:
    """The publications in their orders."""
    starts, spo, pos, osp = _arrange(first, triples)
    first_known, sorted_known = _arrange_known(first_term, known)
    return Publications(
        starts, spo, pos, osp, first_known, sorted_known, first_term, values, classes
    )


def class_of(term: RdfTerm) -> tuple[int, float]:
    """How a term compares with a number, and the number that it is.

    NUMBER compares as doubles do, RESOURCE differs from any number, OTHER is an error, and the
    oracle decides on UNDECIDED: integers that no double holds.
    """
    if not isinstance(term, RdfLiteral):
        return RESOURCE, 0.0
    value = value_of_term(term)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return OTHER, 0.0
    if isinstance(value, int) and abs(value) > _EXACT:
        return UNDECIDED, 0.0
    return NUMBER, float(value)


def _key_of_node(node: Any) -> str:
    return key_of(term_of_node(node))


@kernel
def _localize(ids: Int64s, ends: Offsets, distinct: int) -> tuple[Int64s, Int64s, Offsets]:
    """Numbers from 0 for the terms of each document, which terms these are, and where those of each
    document begin."""
    numbers = np.empty(distinct, np.int64)
    owner = np.full(distinct, -1, np.int64)
    local = np.empty(len(ids), np.int64)
    used = np.empty(len(ids), np.int64)
    first = np.zeros(len(ends) + 1, np.int64)
    filled = start = 0
    for document in range(len(ends)):
        begin = filled
        for i in range(start, ends[document]):
            if owner[ids[i]] != document:
                owner[ids[i]] = document
                numbers[ids[i]] = filled - begin
                used[filled] = ids[i]
                filled += 1
            local[i] = numbers[ids[i]]
        start = ends[document]
        first[document + 1] = filled
    return local, used[:filled], first


@kernel
def _arrange(first: Offsets, triples: Int64s) -> tuple[Offsets, Int64s, Int64s, Int64s]:
    """The triples of each publication in three orders, each once."""
    starts = np.zeros(len(first), np.int64)
    spo = np.empty(len(triples), np.int64)
    pos = np.empty(len(triples), np.int64)
    osp = np.empty(len(triples), np.int64)
    end = 0
    for row in range(len(first) - 1):
        size = first[row + 1] - first[row]
        keys = np.empty(size, np.int64)
        for i in range(size):
            s, p, o = triples[first[row] + i]
            keys[i] = s << 42 | p << 21 | o
        keys.sort()
        start = end
        for i in range(size):
            if i == 0 or keys[i] != keys[i - 1]:
                spo[end] = keys[i]
                end += 1
        for i in range(start, end):
            s, p, o = spo[i] >> 42, spo[i] >> 21 & 0x1FFFFF, spo[i] & 0x1FFFFF
            pos[i] = p << 42 | o << 21 | s
            osp[i] = o << 42 | s << 21 | p
        pos[start:end].sort()
        osp[start:end].sort()
        starts[row + 1] = end
    return starts, spo[:end], pos[:end], osp[:end]


@kernel
def _arrange_known(first: Offsets, known: Int64s) -> tuple[Offsets, Int64s]:
    """The terms of each publication that the dictionary has, by their numbers there."""
    starts = np.zeros(len(first), np.int64)
    found = np.empty(len(known), np.int64)
    end = 0
    for row in range(len(first) - 1):
        start = end
        for i in range(first[row], first[row + 1]):
            if known[i] >= 0:
                found[end] = known[i] << 32 | i - first[row]
                end += 1
        found[start:end].sort()
        starts[row + 1] = end
    return starts, found[:end]


@kernel
def lower_bound(keys: Int64s, low: int, high: int, key: int) -> int:
    """The first place from ``low`` to ``high`` whose key is not below the given one."""
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def local_number(known: Int64s, low: int, high: int, number: int) -> int:
    """The local number of a term of the dictionary; -1 if the publication does not have it."""
    at = lower_bound(known, low, high, number << 32)
    if at < high and known[at] >> 32 == number:
        return int(known[at]) & 0xFFFFFFFF
    return -1
