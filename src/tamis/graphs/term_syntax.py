"""RDF terms as N-Triples writes them: one term from a text, and the key of a term.

    <http://x/a>    _:b    "plain"    "Hallo"@de    "5"^^<http://www.w3.org/2001/XMLSchema#integer>

A *key* is a shorter text that equal terms share and no others. Dictionaries of terms use it: an IRI
is its own key, a blank node begins with a control character and a literal with a quotation mark,
neither of which an IRI may contain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tamis.errors import EventError, SubscriptionError
from tamis.model.rdf_terms import XSD, BlankNode, Iri, RdfLiteral, RdfTerm, RdfTriple

STRING = XSD + "string"
_TERM = re.compile(
    r"""<(?P<iri>[^<>"{}|^`\x00-\x20]*)>
    | _:(?P<blank>[\w:](?:[\w.·:-]*[\w·:-])?)
    | "(?P<lexical>[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*)"
      (?:@(?P<language>[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)|\^\^<(?P<datatype>[^<>"{}|^`\x00-\x20]*)>)?
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def parse_term(text: str) -> RdfTerm:
    """The term that a text in the syntax of N-Triples denotes."""
    found = _TERM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise EventError(
            f"{str(text)[:100]!r} is not an RDF term: write <http://…>, _:name, "
            '"text", "text"@en or "5"^^<http://…>'
        )
    try:
        return _term(found)
    except SubscriptionError as error:
        raise EventError(str(error)) from error


def parse_triples(text: str) -> Iterator[RdfTriple]:
    """The triples of a document of N-Triples, as ``text_of_term`` writes their terms."""
    for line in text.split("\n"):  # splitlines would end lines within literals, at U+2028 say
        if not line:
            continue
        found = [_term(each) for each in _TERM.finditer(line)]
        subject, predicate, value = found if len(found) == 3 else (None, None, None)
        if isinstance(subject, RdfLiteral) or subject is None or not isinstance(predicate, Iri):
            raise EventError(f"{line[:100]!r} is not a triple")
        assert value is not None
        yield subject, predicate, value


def _term(found: re.Match[str]) -> RdfTerm:
    if (iri := found["iri"]) is not None:
        return Iri(_unescaped(iri))
    if (blank := found["blank"]) is not None:
        return BlankNode(blank)
    lexical = _unescaped(found["lexical"])
    if (language := found["language"]) is not None:
        return RdfLiteral(lexical, language=language)
    datatype = found["datatype"]
    return RdfLiteral(lexical) if datatype is None else RdfLiteral(lexical, _unescaped(datatype))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) > 1:
        code = int(escape[1:], 16)
        if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
    elif escape in _PLAIN:
        return _PLAIN[escape]
    raise EventError(f"{found[0]!r} stands for no character")


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\0": "\\u0000"})


def text_of_term(term: RdfTerm) -> str:
    """A term in the syntax of N-Triples."""
    if isinstance(term, Iri):
        return f"<{term.value}>"
    if isinstance(term, BlankNode):
        return f"_:{term.label}"
    suffix = f"^^<{term.datatype}>" if term.language is None else f"@{term.language}"
    return f'"{term.lexical.translate(_ESCAPES)}"{suffix}'


def document_of(graph: Iterable[RdfTriple]) -> str:
    """Triples as a document of N-Triples."""
    return "".join(f"{' '.join(map(text_of_term, triple))} .\n" for triple in graph)


def key_of(term: RdfTerm) -> str:
    """The text that equal terms share; tags of languages are equal in any case of letters."""
    if type(term) is Iri:
        return term.value
    if type(term) is RdfLiteral:
        if term.language is None:
            return f'"{term.lexical}"{term.datatype}'
        return f'"{term.lexical}"@{term.language.lower()}'
    assert isinstance(term, BlankNode)
    return "\0" + term.label


def term_of_key(key: str) -> RdfTerm:
    """The term of a key; tags of languages are in lower case then."""
    if key[0] == "\0":
        return BlankNode(key[1:])
    if key[0] != '"':
        return Iri(key)
    lexical, _, tag = key[1:].rpartition('"')
    return RdfLiteral(lexical, language=tag[1:]) if tag[0] == "@" else RdfLiteral(lexical, tag)
