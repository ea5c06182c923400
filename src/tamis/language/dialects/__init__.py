"""Other notations for subscriptions: each function takes a text or a form, and gives an expression.

tamis.dialects.sparql("ASK { ?item dct:creator ?who FILTER (?who != ex:nobody) }")
tamis.dialects.five_tuples([["?paper", "http://x/author", "http://x/arno", [], []]])
"""

from tamis.language.dialects.five_tuples import five_tuples
from tamis.language.dialects.sparql import sparql

__all__ = ["five_tuples", "sparql"]
