"""The schema of Le Subscribe, section 2.1, its events, and Hypothesis strategies for schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tamis.model.schema.schema import Schema

CATEGORIES = {
    "bedroom": [],
    "dining room": [],
    "outdoor": [],
    "table": ["dining room", "outdoor"],
    "chair": ["dining room", "outdoor"],
    "bed": ["bedroom"],
    "dining table": ["table"],
    "round table": ["dining table"],
}
PERIODS = ["XVI", "XVII", "XVIII"]

PAPER: dict[str, Any] = {
    "domains": {
        "category": {"kind": "hierarchical", "parents": CATEGORIES},
        "period": {"kind": "enumerated", "values": PERIODS, "order": [PERIODS]},
    },
    "attributes": {
        "price": "number",
        "period": "period",
        "quantity": "integer",
        "furniture_category": "category",
        "material": "string",
    },
    "types": {
        "antiques": {
            "price": "mandatory unique",
            "period": "mandatory unique",
            "quantity": "mandatory unique",
        },
        "furniture": {
            "price": "mandatory unique",
            "quantity": "mandatory unique",
            "furniture_category": "mandatory unique",
            "material": "optional unique",
        },
    },
}
E1 = {
    "event_type": ["antiques", "furniture"],
    "price": 200,
    "quantity": 2,
    "period": "XVI",
    "furniture_category": "table",
}
E2 = {
    "event_type": ["antiques", "furniture"],
    "price": 100,
    "quantity": 1,
    "period": "XVIII",
}


def paper_schema() -> Schema:
    """The paper's schema, of antiques and furniture."""
    return Schema(**PAPER)


PATHS = ["a", "b", "c.x", "c.y", "d"]
TYPES = ["s", "t", "u"]
WORDS = ["mandatory unique", "mandatory multiple", "optional unique", "optional multiple"]
DOMAINS: dict[str, dict[str, Any]] = {
    "grade": {
        "kind": "enumerated",
        "values": ["poor", "fair", "good", "odd"],
        "order": [["poor", "fair", "good"]],
    },
    "thing": {"kind": "hierarchical", "parents": {"p": ["q"], "q": ["r"], "s": ["r", "t"]}},
    "score": {"kind": "numeric", "integer": True, "least": 0, "greatest": 3},
}
DOMAIN_NAMES = [*DOMAINS, "number", "integer", "string", "boolean", "timestamp", "bytes"]


@st.composite
def schemas(draw: Any) -> Schema:
    """Small schemas, whose types share attributes."""
    attributes = {path: draw(st.sampled_from(DOMAIN_NAMES)) for path in PATHS}
    annotated = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(WORDS))
    types = draw(st.dictionaries(st.sampled_from(TYPES), annotated, min_size=1))
    return Schema(domains=DOMAINS, attributes=attributes, types=types)
